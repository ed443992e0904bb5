/*
 * A scratch place for tests with real processes: a folder of its own with the run's folder in it,
 * small files, and waiting for a condition with a generous bound (never for a time).
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/ov.h"
#include "base/str.h"
#include "shim/proto.h"
#include "tests/test.h"

struct place {
	struct arena a;
	const char *root; /* "$W" of the scripts */
	const char *dir;  /* the run's folder */
};

static inline const char *shim_path(void)
{
	const char *p = getenv("OV_SHIM");

	assert_non_null(p);
	return p;
}

/* Condition, looked at every 2 ms for at most a minute. */
#define WAIT_FOR(condition)                                                     \
	do {                                                                    \
		int _i = 0;                                                     \
		while (!(condition)) {                                          \
			if (++_i > 30000)                                       \
				fail_msg("waited in vain for: %s", #condition); \
			poll(NULL, 0, 2);                                       \
		}                                                               \
	} while (0)

/* Places in use: what runs in one that a failed test left is ended with the test program. */
static char open_places[32][32];

static inline void place_init(struct place *p)
{
	char root[] = "/tmp/ov-shim-XXXXXX";

	p->a = ARENA_INIT;
	assert_non_null(mkdtemp(root));
	p->root = arena_cstr(&p->a, str_from(root));
	p->dir = arena_printf(&p->a, "%s/run", root).p;
	for (size_t i = 0; i < ARRAY_LEN(open_places); i++)
		if (!open_places[i][0]) {
			memcpy(open_places[i], root, sizeof(root));
			break;
		}
}

static inline int place_remove_one(const char *path, const struct stat *st _unused_,
		int type _unused_, struct FTW *f _unused_)
{
	return remove(path);
}

static inline void place_done(struct place *p)
{
	for (size_t i = 0; i < ARRAY_LEN(open_places); i++)
		if (strcmp(open_places[i], p->root) == 0)
			open_places[i][0] = '\0';
	nftw(p->root, place_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	arena_done(&p->a);
}

/* The whole file, or an empty text. */
static inline str slurp(struct place *p, const char *path)
{
	struct buf b = BUF_INIT;
	char piece[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	str s;

	for (ssize_t n; fd >= 0 && (n = read(fd, piece, sizeof(piece))) > 0;)
		buf_add(&b, piece, (size_t)n);
	if (fd >= 0)
		close(fd);
	s = arena_str(&p->a, buf_str(&b));
	buf_done(&b);
	return s;
}

/* Whether a process was started with the place in its environment, as shims and agents are. */
static inline bool place_owns(const char *root, const char *pid)
{
	struct place p = { .a = ARENA_INIT };
	str text = slurp(&p, arena_printf(&p.a, "/proc/%s/environ", pid).p), part;
	str want = arena_printf(&p.a, "W=%s", root);
	bool found = false;

	while (!found && str_split(&text, '\0', &part))
		found = str_eq(part, want);
	arena_done(&p.a);
	return found;
}

__attribute__((destructor)) static void places_abandon(void)
{
	for (size_t i = 0; i < ARRAY_LEN(open_places); i++) {
		DIR *d = open_places[i][0] ? opendir("/proc") : NULL;

		for (struct dirent *e; d && (e = readdir(d));)
			if (atoi(e->d_name) > 1 && place_owns(open_places[i], e->d_name))
				kill(atoi(e->d_name), SIGKILL);
		if (d)
			closedir(d);
	}
}

static inline const char *place_path(struct place *p, const char *name)
{
	return arena_printf(&p->a, "%s/%s", p->root, name).p;
}

static inline const char *run_path(struct place *p, const char *name)
{
	return arena_printf(&p->a, "%s/%s", p->dir, name).p;
}

static inline bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static inline void spit(const char *path, str bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes.p, bytes.n), (ssize_t)bytes.n);
	close(fd);
}

/* The number that a script put into a file ("echo $$ >f.tmp; mv f.tmp f"). */
static inline pid_t wait_pid(struct place *p, const char *name)
{
	const char *path = place_path(p, name);
	int64_t pid = 0;

	WAIT_FOR(exists(path));
	assert_true(str_to_i64(str_trim(slurp(p, path)), &pid));
	return (pid_t)pid;
}

/* Ended, even if nobody has reaped it. */
static inline bool gone(pid_t pid)
{
	char path[40], text[512], *s;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return true;
	text[n] = '\0';
	s = strrchr(text, ')');
	return s && (s[2] == 'Z' || s[2] == 'X');
}

static inline int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A script's way of leaving its pid behind. */
#define LEAVE_PID(name) "echo $$ >$W/" name ".tmp; mv $W/" name ".tmp $W/" name "; "
