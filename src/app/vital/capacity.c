#include "app/vital/capacity.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "app/call/op_context.h"
#include "base/arena.h"
#include "base/str.h"
#include "sys/file/file.h"

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

/* Bytes that are free for us on the file system of this path, or -1 when nobody knows. */
static int64_t disk_available(const char *path)
{
	struct statvfs fs;

	if (statvfs(path, &fs) < 0)
		return -1;
	return (int64_t)MIN((uint64_t)fs.f_bavail * fs.f_frsize, (uint64_t)INT64_MAX);
}

/* The folder of a store that is a file; NULL for others. */
static const char *store_folder(struct arena *a, const char *url)
{
	str path = str_from(url ? url : ""), scheme = STR("sqlite:");
	size_t end = path.n;

	if (!str_starts(path, scheme))
		return NULL;
	while (end > scheme.n && path.p[end - 1] != '/')
		end--;
	return end > scheme.n ? arena_cstr(a, str_sub(path, scheme.n, end - scheme.n)) : NULL;
}

/* The store and the worktrees may be on different file systems, by a link or a mount. */
static int disk_lacking(const struct config *c, const struct op_daemon *d, char *buf, size_t size)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const char *paths[] = { store_folder(&a, d->store_url), d->dir,
		path_join(&a, d->dir, "worktrees") };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		int64_t available = paths[i] ? disk_available(paths[i]) : -1;

		if (available >= 0 && available < c->limits_min_free_disk_bytes)
			return snprintf(buf, size,
					"%lld MiB of disk space are free, limits.min_free_disk "
					"asks for %lld MiB (%s)",
					(long long)available >> 20,
					(long long)c->limits_min_free_disk_bytes >> 20, paths[i]);
	}
	return 0;
}

str capacity_lacking(const struct config *c, const struct op_daemon *d, char *buf, size_t size)
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
	if (n == 0 && c->limits_min_free_disk_bytes)
		n = disk_lacking(c, d, buf, size);
	if (n == 0 && c->limits_max_load_pct && getloadavg(&load, 1) == 1 && cpus > 0 &&
			load * 100 / (double)cpus > (double)c->limits_max_load_pct)
		n = snprintf(buf, size,
				"the load is %.1f, limits.max_load_pct allows %lld%% of %ld "
				"processors",
				load, (long long)c->limits_max_load_pct, cpus);
	return (str){ buf, n > 0 ? MIN((size_t)n, size - 1) : 0 };
}
