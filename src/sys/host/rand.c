#include "sys/host/rand.h"

#include <errno.h>
#include <sys/random.h>

void rand_bytes(void *p, size_t n)
{
	char *at = p;

	while (n > 0) {
		ssize_t got = getrandom(at, n, 0);

		/* Only a signal can stop it, and only before the kernel's pool is ready. */
		assert(got > 0 || errno == EINTR);
		if (got > 0) {
			at += got;
			n -= (size_t)got;
		}
	}
}

uint64_t rand_u64(void)
{
	uint64_t v;

	rand_bytes(&v, sizeof(v));
	return v;
}
