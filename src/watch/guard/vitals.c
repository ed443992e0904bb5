#include "watch/guard/vitals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"

enum {
	CHUNK = 16 * 1024, /* of health.jsonl, longer than its longest line */
	FIRST_MS = 20,     /* after a registration, until the first beat is looked for */
	STALL_MS = 1000,   /* how often it is looked whether a stall is over, at most */
};

void vitals_init(struct vitals *v, struct arena *a, const char *dir)
{
	*v = (struct vitals){
		.dir = dir,
		.heartbeat = path_join(a, dir, VITAL_HEARTBEAT),
		.health = path_join(a, dir, VITAL_HEALTH),
		.folder_wd = -1,
		.health_wd = -1,
		.health_fd = -1,
		.stopped = -1,
	};
	v->notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
}

void vitals_done(struct vitals *v)
{
	fd_closep(&v->notify);
	fd_closep(&v->health_fd);
}

/* ---- what changed ---- */

/*
 * Names that come into the folder, and lines at the end of health.jsonl; not the heartbeat, which
 * would wake us at each beat.
 */
int vitals_watch(struct vitals *v, struct ov_err *err)
{
	v->told = false;
	if (v->notify < 0)
		return ov_fail(err, OV_EIO, "the kernel gives no inotify");
	v->folder_wd = inotify_add_watch(v->notify, v->dir, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
	if (v->folder_wd < 0)
		return ov_fail_errno(err, errno, "watch %s", v->dir);
	v->told = true;
	v->health_wd = inotify_add_watch(v->notify, v->health, IN_MODIFY);
	return 0;
}

/* Another file has the name: the rest of the old one is read first. */
static void health_replaced(struct vitals *v)
{
	if (v->health_wd >= 0)
		(void)inotify_rm_watch(v->notify, v->health_wd);
	v->health_wd = inotify_add_watch(v->notify, v->health, IN_MODIFY);
	vitals_read_health(v);
	fd_closep(&v->health_fd);
	v->health_at = 0;
}

static void hear_one(struct vitals *v, const struct inotify_event *e, struct vitals_news *news)
{
	if (e->mask & IN_Q_OVERFLOW)
		news->registration = news->health = true;
	else if (e->mask & IN_IGNORED && e->wd == v->folder_wd)
		v->told = false; /* the folder is gone */
	else if (!e->len)
		news->health = true;
	else if (strcmp(e->name, VITAL_DAEMON) == 0)
		news->registration = true;
	else if (strcmp(e->name, VITAL_HEALTH) == 0) {
		health_replaced(v);
		news->health = true;
	}
}

struct vitals_news vitals_hear(struct vitals *v)
{
	_Alignas(struct inotify_event) char buf[4096];
	struct vitals_news news = { 0 };
	ssize_t n;

	while ((n = read(v->notify, buf, sizeof(buf))) > 0)
		for (char *p = buf; p < buf + n;) {
			const struct inotify_event *e = (const struct inotify_event *)(void *)p;

			p += sizeof(*e) + e->len;
			hear_one(v, e, &news);
		}
	return news;
}

/* ---- health.jsonl ---- */

static void take_health(struct vitals *v, const struct health *h)
{
	int64_t status;

	if (v->instance[0] && strcmp(h->instance, v->instance) != 0)
		return;
	switch (h->kind) {
	case HEALTH_STARTED:
	case HEALTH_RESTORED: v->degraded = false; return;
	case HEALTH_DEGRADED: v->degraded = true; break;
	case HEALTH_FAILED: v->failed = true; break;
	case HEALTH_REQUESTED: v->requested = true; return;
	case HEALTH_STOPPED:
		if (str_to_i64(str_from(h->text), &status) && status >= 0 && status < 256)
			v->stopped = (int)status;
		return;
	case HEALTH_COUNT: break;
	}
	snprintf(v->text, sizeof(v->text), "%s", h->text);
}

/* One piece of it; false when there is no whole line left. */
static bool read_lines(struct vitals *v)
{
	char text[CHUNK];
	ssize_t n = pread(v->health_fd, text, sizeof(text), v->health_at);
	str rest = { text, n > 0 ? (size_t)n : 0 }, line;
	struct health h;
	size_t whole = 0;

	for (size_t i = 0; i < rest.n; i++)
		if (text[i] == '\n')
			whole = i + 1;
	if (!whole && rest.n == CHUNK)
		whole = CHUNK; /* nothing of ours is that long */
	rest.n = whole;
	while (str_split(&rest, '\n', &line))
		if (health_read(line, &h))
			take_health(v, &h);
	v->health_at += (int64_t)whole;
	return whole > 0;
}

void vitals_read_health(struct vitals *v)
{
	struct stat st;

	if (v->health_fd < 0)
		v->health_fd = file_open(v->health, O_RDONLY | O_NOFOLLOW, 0);
	if (v->health_fd < 0)
		return;
	if (fstat(v->health_fd, &st) == 0 && st.st_size < v->health_at)
		v->health_at = 0; /* it was emptied */
	while (read_lines(v))
		;
}

void vitals_begin(struct vitals *v, const char *instance, int64_t now_ms)
{
	struct stat st;

	snprintf(v->instance, sizeof(v->instance), "%s", instance);
	v->requested = v->failed = v->degraded = v->beats = false;
	v->stopped = -1;
	v->text[0] = '\0';
	v->beat = (struct heartbeat){ 0 };
	v->begun_ms = v->check_ms = v->beat_ms = v->alive_ms = v->progress_ms = now_ms;
	fd_closep(&v->health_fd);
	/* Of whoever comes next only what is still to be written. */
	v->health_at = !instance[0] && stat(v->health, &st) == 0 ? st.st_size : 0;
}

/* ---- the heartbeat ---- */

/* True when there is a beat of this instance. */
static bool read_beat(struct vitals *v, struct heartbeat *ret)
{
	_cleanup_(fd_closep) int fd = file_open(v->heartbeat, O_RDONLY | O_NOFOLLOW, 0);
	char text[HEARTBEAT_BYTES + 1];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	return n > 0 && heartbeat_read((str){ text, (size_t)n }, ret) &&
			strcmp(ret->instance, v->instance) == 0;
}

/* True when the loop has turned since the last look. */
static bool take_beat(struct vitals *v, int64_t now_ms)
{
	struct heartbeat h;

	if (!read_beat(v, &h) || (v->beats && h.loop <= v->beat.loop))
		return false;
	/* It has turned since the last check; how long after that, nobody knows. */
	v->alive_ms = v->check_ms;
	v->beat_ms = now_ms;
	if (!v->beats || !v->beat.due || !h.due || h.degraded || h.progress != v->beat.progress)
		v->progress_ms = now_ms;
	v->beats = true;
	v->beat = h;
	return true;
}

static void say_for(char *ret, size_t size, const char *what, int64_t ms, const char *more)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	snprintf(ret, size, "%s for %s%s", what, duration_format_short(&a, ms).p, more);
}

enum failure vitals_check(struct vitals *v, int64_t now_ms, int64_t slept_ms, int64_t beat_timeout,
		int64_t stall_timeout, char *ret_text, size_t size)
{
	bool fresh;

	v->beat_ms += slept_ms;
	v->progress_ms += slept_ms;
	fresh = take_beat(v, now_ms);
	v->check_ms = now_ms;
	if (now_ms - v->beat_ms >= beat_timeout) {
		say_for(ret_text, size,
				v->beats ? "its main loop has not turned"
					 : "its main loop has not turned since it registered,",
				now_ms - v->beat_ms, "");
		return FAILURE_HEARTBEAT;
	}
	/* Only a beat can say that nothing has moved: between two of them nobody knows. */
	if (fresh && now_ms - v->progress_ms >= stall_timeout) {
		say_for(ret_text, size, "work is due, but nothing has moved",
				now_ms - v->progress_ms, "");
		return FAILURE_STALL;
	}
	return FAILURE_NONE;
}

int64_t vitals_healthy_ms(struct vitals *v, enum failure f, int64_t now_ms, int64_t beat_timeout)
{
	if (f != FAILURE_HEARTBEAT)
		(void)take_beat(v, now_ms);
	v->check_ms = now_ms;
	if (!v->beats)
		return 0;
	if (f == FAILURE_HEARTBEAT || now_ms - v->beat_ms >= beat_timeout)
		return v->alive_ms - v->begun_ms;
	return now_ms - v->begun_ms;
}

int64_t vitals_due_ms(const struct vitals *v, int64_t now_ms, int64_t beat_timeout,
		int64_t stall_timeout)
{
	int64_t every = MAX(beat_timeout / 2, (int64_t)1), due = now_ms + every;
	/* The first beat is looked for at once, and then less and less often. */
	int64_t first = MIN(every, MAX(now_ms - v->begun_ms, (int64_t)FIRST_MS));
	int64_t stalled = MAX(v->progress_ms + stall_timeout,
			now_ms + MIN(every, (int64_t)STALL_MS));

	if (!v->beats)
		due = now_ms + first;
	else if (v->beat.due && !v->beat.degraded)
		due = MIN(due, stalled);
	return MIN(due, MAX(v->beat_ms + beat_timeout, now_ms + 1));
}
