/*
 * Who belongs to the run, written down while it can be seen: everybody below us, since we are the
 * subreaper and nobody can leave. If we are killed, the daemon finds them by pid and start time,
 * also whoever has cleared its environment and moved to another control group. Looked at after
 * something happened, at most once a second, and else less and less often.
 */
#include "shim/shim_impl.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"

enum {
	/* what is over by then leaves nobody behind, and most short commands are */
	FIRST_LOOK_MS = 250,
	LOOK_MS = 1000,
	LOOK_RARELY_MS = 60 * 1000,
	SEEN_MAX = RUN_DESCENDANTS_MAX,
};

struct seen {
	VEC(pid_t) pids; /* those whose children were not looked at yet come last */
	struct buf text;
};

/* Whole, if it is short; "" when it cannot be read. */
static void slurp(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
}

/* Field 22 of stat, counted after the command's closing parenthesis; 0: it has ended. */
static uint64_t start_of(pid_t pid)
{
	char path[40], text[1024], *p;
	uint64_t start = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	slurp(path, text, sizeof(text));
	p = strrchr(text, ')');
	if (!p || p[1] != ' ' || p[2] == 'Z' || p[2] == 'X')
		return 0;
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (p)
		str_to_u64(str_sub(str_from(p), 1, strcspn(p + 1, " ")), &start);
	return start;
}

static void see(struct seen *n, pid_t pid)
{
	uint64_t start = n->pids.n < SEEN_MAX ? start_of(pid) : 0;

	for (size_t i = 0; i < n->pids.n; i++)
		if (n->pids.p[i] == pid)
			return;
	if (!start)
		return;
	vec_push(&n->pids, pid);
	buf_addf(&n->text, "%d %" PRIu64 "\n", (int)pid, start);
}

/* The children that one thread started. */
static void see_children_of_thread(struct seen *n, pid_t pid, const char *tid)
{
	char path[64], text[16 * 1024], *at = text, *end;

	snprintf(path, sizeof(path), "/proc/%d/task/%.10s/children", (int)pid, tid);
	slurp(path, text, sizeof(text));
	for (;;) {
		long child = strtol(at, &end, 10);

		/* A number that the end of the buffer cut is none. */
		if (end == at || *end != ' ' || child <= 0)
			return;
		see(n, (pid_t)child);
		at = end;
	}
}

static void see_children(struct seen *n, pid_t pid)
{
	char path[40];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));)
		if (isdigit((unsigned char)e->d_name[0]))
			see_children_of_thread(n, pid, e->d_name);
	if (d)
		closedir(d);
}

static void write_down(struct shim *s, str text)
{
	static const char tmp[] = RUN_DESCENDANTS ".tmp";
	int fd;

	if (str_eq(buf_str(&s->descendants), text))
		return;
	fd = open_file(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
	/* Not synced: after a power cut nobody of them is there. */
	if (fd >= 0 && write(fd, text.p, text.n) == (ssize_t)text.n &&
			rename(tmp, RUN_DESCENDANTS) == 0) {
		buf_clear(&s->descendants);
		buf_adds(&s->descendants, text);
	}
	if (fd >= 0)
		close(fd);
}

static void descendants_look(struct shim *s)
{
	struct seen n = { 0 };
	char boot[64];

	/* Numbers of another boot are those of others. */
	slurp("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	buf_adds(&n.text, str_from(boot));
	see_children(&n, getpid());
	for (size_t i = 0; i < n.pids.n; i++)
		see_children(&n, n.pids.p[i]);
	write_down(s, buf_str(&n.text));
	vec_done(&n.pids);
	buf_done(&n.text);
}

/* What is there in the end is swept, and what is written of it would name the dead. */
static bool descendants_is_over(const struct shim *s)
{
	return s->phase == PH_RECORD;
}

void descendants_begin(struct shim *s)
{
	s->look_due = mono_ms() + FIRST_LOOK_MS;
	s->looked_at = s->look_due - LOOK_MS;
	s->look_wait = LOOK_MS;
}

int64_t descendants_due(const struct shim *s)
{
	return descendants_is_over(s) ? -1 : s->look_due;
}

void descendants_turn(struct shim *s, bool happened)
{
	int64_t now = mono_ms();

	if (descendants_is_over(s))
		return;
	/* The look that is already due comes soon enough; a rare one is drawn nearer. */
	if (happened) {
		s->look_wait = LOOK_MS;
		s->look_due = MIN(s->look_due, MAX(s->looked_at + LOOK_MS, now));
	}
	if (now < s->look_due)
		return;
	descendants_look(s);
	s->looked_at = now;
	s->look_due = now + s->look_wait;
	s->look_wait = MIN(s->look_wait * 2, (int64_t)LOOK_RARELY_MS);
}
