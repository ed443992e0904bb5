#include "app/capacity.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Available memory in bytes, or -1 when it cannot be read: unknown holds nothing up. */
static int64_t memory_available(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128];
	int64_t kib = -1;

	if (!f)
		return -1;
	while (kib < 0 && fgets(line, sizeof(line), f))
		if (strncmp(line, "MemAvailable:", 13) == 0)
			kib = strtoll(line + 13, NULL, 10);
	fclose(f);
	return kib < 0 ? -1 : kib * 1024;
}

str capacity_lacking(const struct config *c, char *buf, size_t size)
{
	double load;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int64_t available;
	int n = 0;

	if (c->limits_min_free_memory_bytes) {
		available = memory_available();
		if (available >= 0 && available < c->limits_min_free_memory_bytes)
			n = snprintf(buf, size,
					"%lld MiB of memory are free, limits.min_free_memory asks "
					"for %lld MiB",
					(long long)available >> 20,
					(long long)c->limits_min_free_memory_bytes >> 20);
	}
	if (n == 0 && c->limits_max_load_pct && getloadavg(&load, 1) == 1 && cpus > 0 &&
			load * 100 / (double)cpus > (double)c->limits_max_load_pct)
		n = snprintf(buf, size,
				"the load is %.1f, limits.max_load_pct allows %lld%% of %ld "
				"processors",
				load, (long long)c->limits_max_load_pct, cpus);
	return (str){ buf, n > 0 ? MIN((size_t)n, size - 1) : 0 };
}
