#pragma once
/*
 * For tests that start processes through sys/proc: valgrind 3.19 does not know pidfd_open(2), nor
 * how posix_spawn(3) tells of a failed exec, so they are left out under it; the sanitizers see
 * them.
 */
#include <errno.h>
#include <sys/pidfd.h>
#include <unistd.h>

static inline int pidfds_missing(void)
{
	int fd = pidfd_open(getpid(), 0);

	if (fd < 0)
		return errno == ENOSYS;
	close(fd);
	return 0;
}

#define SKIP_WITHOUT_PIDFDS()         \
	do {                          \
		if (pidfds_missing()) \
			skip();       \
	} while (0)
