/* Any bytes as config.toml: refused with words, or read into something that is whole. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/utf8.h"
#include "core/config/config.h"
#include "data/value/json.h"

static void check(const struct config *c)
{
	struct arena a = ARENA_INIT;
	value *view = config_view(&a, c);

	if (value_count(view) < 23 || json_text(&a, view).n == 0)
		abort();
	if (c->policy.workers_max < 1 || c->policy.agents_n != c->agents_n ||
			c->policy.retry_max_attempts < 1 || c->policy.workers_max_waiting < 1)
		abort();
	for (size_t i = 0; i < c->agents_n; i++)
		if (c->agents[i].command_n == 0 || c->agents[i].concurrency < 1 ||
				!c->agents[i].name.n)
			abort();
	arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ov_err err = { 0 };
	struct config *c = NULL;
	int r = config_parse((str){ (const char *)data, size }, &c, &err);

	if (r == 0)
		check(c);
	else if (c || err.code != r || !err.msg[0])
		abort();
	config_free(c);
	return 0;
}
