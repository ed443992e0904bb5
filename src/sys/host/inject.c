#include "sys/host/inject.h"

#ifdef OV_INJECT
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/ov.h"
#include "base/str.h"

/* The one place with state of the process: it exists in test builds only. */
static struct {
	const char *seen[256];
	size_t n_seen;
	uint64_t passed; /* times that the chosen point was passed */
} inject;

/* One write, so that several processes can share the file. */
static void list_point(const char *file, const char *point)
{
	char line[128];
	int fd, n;

	for (size_t i = 0; i < inject.n_seen; i++)
		if (!strcmp(inject.seen[i], point))
			return;
	if (inject.n_seen < ARRAY_LEN(inject.seen))
		inject.seen[inject.n_seen++] = point;
	n = snprintf(line, sizeof(line), "%s\n", point);
	assert(n > 0 && n < (int)sizeof(line));
	fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (write(fd, line, (size_t)n) != n)
		abort();
	close(fd);
}

void inject_hit(const char *point)
{
	const char *file = getenv("OVERSEER_INJECT_LIST");
	str chosen = str_from(getenv("OVERSEER_INJECT")), name;
	uint64_t at = 1;

	if (file)
		list_point(file, point);
	if (!str_split(&chosen, ':', &name) || !str_is(name, point))
		return;
	if (chosen.n && !str_to_u64(chosen, &at))
		abort();
	if (++inject.passed == at)
		kill(getpid(), SIGKILL);
}
#endif
