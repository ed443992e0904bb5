#include "app/vital/beat.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/log/log.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "data/value/json.h"
#include "sys/file/file.h"
#include "sys/loop/loop.h"
#include "sys/proc/proc.h"

enum { EVERY_MS = 5000 };

struct beat {
	struct beat_options o;
	struct arena strings;
	const char *path, *watch_path;
	struct buf line;
	int fd;    /* of the heartbeat; -1: not yet, or not any more */
	bool told; /* that it cannot be written */
	struct loop_source *timer, *folder, *end;
	struct identity watch; /* whom we beat for; pid 0: nobody */
	struct proc watching;
	ov_time patience; /* that one's own: it may have been started with other options */
};

/* ---- the file ---- */

/* Somebody may have removed it, or put another one in its place. */
static bool is_gone(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 || st.st_nlink == 0;
}

static int open_file(struct beat *b, struct ov_err *err)
{
	struct stat st;
	int fd;

	if (b->fd >= 0 && !is_gone(b->fd))
		return 0;
	fd = file_open(b->path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
	if (fd < 0 || fstat(fd, &st) < 0)
		return ov_fail_errno(err, errno, "%s", b->path);
	/* Its place on the disk; where that cannot be had, the first beat tells. */
	(void)posix_fallocate(fd, 0, HEARTBEAT_BYTES);
	if (st.st_size > HEARTBEAT_BYTES)
		(void)!ftruncate(fd, HEARTBEAT_BYTES);
	fd_closep(&b->fd);
	b->fd = fd;
	return 0;
}

static int write_beat(struct beat *b, struct ov_err *err)
{
	struct heartbeat h = { .loop = loop_iterations(b->o.loop), .at = loop_now(b->o.loop) };
	ssize_t n;
	int r = open_file(b, err);

	if (r < 0)
		return r;
	memcpy(h.instance, b->o.instance, VITAL_INSTANCE);
	b->o.sign(b->o.user, &h);
	b->line.n = 0;
	heartbeat_write(&h, &b->line);
	n = pwrite(b->fd, b->line.p, b->line.n, 0);
	if (n != HEARTBEAT_BYTES)
		return ov_fail_errno(err, n < 0 ? errno : ENOSPC, "%s", b->path);
	return 0;
}

/* ---- when ---- */

static ov_time period(const struct beat *b)
{
	ov_time every = EVERY_MS;

	if (b->watch.pid)
		every = MIN(every, MIN(b->o.timeout, b->patience) / 3);
	if (b->o.manager->watchdog)
		every = MIN(every, b->o.manager->watchdog / 3);
	return MAX(every, (ov_time)1);
}

static void beat(void *user)
{
	struct beat *b = user;
	struct ov_err err = { 0 };
	bool failed = write_beat(b, &err) < 0;

	if (failed && !b->told)
		log_warn("the heartbeat was not written: %s", err.msg);
	b->told = failed;
	if (b->o.manager->watchdog)
		notify_alive(b->o.manager);
	loop_timer_in(b->timer, period(b));
}

/* From now on as somebody wants it. */
static void set_pace(struct beat *b)
{
	if (b->watch.pid || b->o.manager->watchdog)
		beat(b);
	else
		loop_timer_off(b->timer);
}

/* ---- for whom ---- */

static void let_go(struct beat *b)
{
	b->end = loop_source_free(b->end);
	if (b->watch.pid)
		proc_done(&b->watching);
	b->watch = (struct identity){ 0 };
}

static void watchdog_ended(void *user)
{
	struct beat *b = user;

	log_info("the watchdog (pid %d) is gone", b->watch.pid);
	let_go(b);
	set_pace(b);
}

/* Whom watch.json names, if that process lives. */
static bool find_watchdog(struct beat *b, struct identity *ret, ov_time *ret_patience,
		struct proc *ret_proc)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	char boot[37];
	value *v;
	str text;

	if (file_read(&a, b->watch_path, VITAL_FILE_MAX, &text, NULL) < 0 ||
			json_parse(&a, text, NULL, &v, NULL) < 0 || !identity_read(v, ret))
		return false;
	*ret_patience = value_int_at(v, "heartbeat_timeout_ms");
	if (*ret_patience <= 0)
		*ret_patience = b->o.timeout;
	proc_boot_id(boot);
	return strcmp(boot, ret->boot_id) == 0 &&
			proc_open(ret->pid, ret->start_time, ret_proc, NULL) == 0;
}

static void beat_look(struct beat *b)
{
	struct identity found;
	struct proc p;
	ov_time patience;

	if (!find_watchdog(b, &found, &patience, &p))
		return; /* one that we know lives until its process ends, whatever the file says */
	if (b->watch.pid && identity_eq(&found, &b->watch)) {
		proc_done(&p);
		return;
	}
	let_go(b);
	b->watch = found;
	b->watching = p;
	b->patience = patience;
	b->end = loop_pidfd(b->o.loop, p.pidfd, watchdog_ended, b);
	log_info("a watchdog looks after this daemon: pid %d", found.pid);
	set_pace(b);
}

static void folder_changed(void *user, uint32_t mask, const char *name)
{
	if (mask & IN_Q_OVERFLOW || (name && strcmp(name, VITAL_WATCH) == 0))
		beat_look(user);
}

/* ---- life ---- */

static void watch_folder(struct beat *b)
{
	_cleanup_(fd_closep) int fd = open(b->o.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct ov_err err = { 0 };

	if (fd < 0)
		ov_fail_errno(&err, errno, "%s", b->o.dir);
	if (fd < 0 ||
			loop_watch(b->o.loop, fd, IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR,
					folder_changed, b, &b->folder, &err) < 0)
		log_warn("a watchdog that starts from now on is not noticed: %s", err.msg);
}

struct beat *beat_new(const struct beat_options *o)
{
	struct beat *b = mem_zalloc(1, sizeof(*b));

	b->o = *o;
	b->fd = -1;
	b->path = path_join(&b->strings, o->dir, VITAL_HEARTBEAT);
	b->watch_path = path_join(&b->strings, o->dir, VITAL_WATCH);
	b->timer = loop_timer(o->loop, beat, b);
	watch_folder(b);
	set_pace(b);
	beat_look(b);
	return b;
}

struct beat *beat_free(struct beat *b)
{
	if (!b)
		return NULL;
	let_go(b);
	loop_source_free(b->timer);
	loop_source_free(b->folder);
	fd_closep(&b->fd);
	buf_done(&b->line);
	arena_done(&b->strings);
	mem_free(b);
	return NULL;
}

void beat_set_timeout(struct beat *b, ov_time timeout)
{
	b->o.timeout = timeout;
	set_pace(b);
}
