#include "app/agents/driver.h"

#include "app/agents/driver_exec.h"
#include "app/agents/driver_tmux.h"
#include "base/str.h"

static const struct driver *const drivers[] = { &driver_exec, &driver_tmux };

const struct driver *driver_find(str runtime)
{
	for (size_t i = 0; i < ARRAY_LEN(drivers); i++)
		if (str_is(runtime, drivers[i]->runtime))
			return drivers[i];
	return NULL;
}
