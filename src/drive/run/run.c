#include "drive/run/run_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "drive/run/run_link.h"
#include "drive/run/run_lost.h"
#include "drive/run/run_record.h"
#include "shim/proto.h"
#include "sys/file/file.h"
#include "sys/host/inject.h"
#include "sys/loop/follow.h"
#include "sys/loop/loop.h"
#include "sys/proc/proc.h"
#include "sys/proc/proc_usage.h"

enum {
	RETRY_MS = 10, /* the lock is held, but its owner has not yet written who it is */
	RETRY_MAX_MS = 1000,
	READ_TRIES = 10, /* of an exit record, in about five seconds */
	COMPLAINT_MAX = 1024,
	EXIT_MAX = 64 * 1024,
	LAST_WORDS = 64 *
			1024, /* of each file, read in one turn of the loop when the run is over */
};

static void run_look(void *user);
static void look_later(struct run_handle *r);

/* ---- life cycle ---- */

static void forget_shim(struct run_handle *r)
{
	r->watch = loop_source_free(r->watch);
	if (r->shim.pidfd >= 0)
		proc_done(&r->shim);
	r->shim.pidfd = -1;
}

static void close_complaints(struct run_handle *r)
{
	r->complaining = loop_source_free(r->complaining);
	fd_closep(&r->complaints);
}

static void run_free(struct run_handle *r)
{
	run_link_close(r->link);
	forget_shim(r);
	close_complaints(r);
	loop_source_free(r->timer);
	follow_close(r->output_follow);
	follow_close(r->errors_follow);
	buf_done(&r->complaint);
	arena_done(&r->strings);
	arena_done(&r->end_arena);
	mem_free(r);
}

void run_close(struct run_handle *r)
{
	if (!r)
		return;
	if (r->busy)
		r->closed = true;
	else
		run_free(r);
}

static void hand_out(struct run_handle *r, void (*to)(void *user, str bytes, uint64_t at),
		str bytes, uint64_t at)
{
	if (r->closed)
		return;
	r->busy++;
	to(r->user, bytes, at);
	r->busy--;
	if (r->closed && !r->busy)
		run_free(r);
}

static void on_output(void *user, str bytes, uint64_t at)
{
	struct run_handle *r = user;

	hand_out(r, r->ops.output, bytes, at);
}

static void on_errors(void *user, str bytes, uint64_t at)
{
	struct run_handle *r = user;

	hand_out(r, r->ops.errors, bytes, at);
}

/* A follower needs its file, which a shim that died early may not have made. */
static int follow_file(struct run_handle *r, const char *path, uint64_t offset, follow_fn *fn,
		struct follow **ret, struct ov_err *err)
{
	_cleanup_(fd_closep) int fd = file_open(path, O_WRONLY | O_CREAT, 0600);

	if (fd < 0)
		return ov_fail_errno(err, errno, "%s", path);
	return follow_open(r->loop, path, offset, fn, r, ret, err);
}

static int follow_files(struct run_handle *r, uint64_t offset, struct ov_err *err)
{
	int code = follow_file(r, r->output, offset, on_output, &r->output_follow, err);

	if (code == 0 && r->ops.errors)
		code = follow_file(r, r->errors, 0, on_errors, &r->errors_follow, err);
	return code;
}

static struct run_handle *run_new(struct loop *l, const char *dir, const char *id,
		const struct run_ops *ops, void *user)
{
	struct run_handle *r = mem_zalloc(1, sizeof(*r));

	r->loop = l;
	r->ops = *ops;
	r->user = user;
	r->strings = ARENA_SMALL;
	r->dir = arena_cstr(&r->strings, str_from(dir));
	r->id = arena_cstr(&r->strings, str_from(id));
	r->lock = path_join(&r->strings, dir, RUN_LOCK);
	r->started = path_join(&r->strings, dir, RUN_STARTED);
	r->output = path_join(&r->strings, dir, RUN_OUTPUT);
	r->errors = path_join(&r->strings, dir, RUN_ERRORS);
	r->exit_record = path_join(&r->strings, dir, RUN_EXIT);
	r->shim = (struct proc){ .pid = 0, .pidfd = -1 };
	r->complaints = -1;
	r->complaint = BUF_INIT;
	r->retry_ms = RETRY_MS;
	r->timer = loop_timer(l, run_look, r);
	r->link = run_link_new(l, r->dir);
	return r;
}

/* ---- how it ended ---- */

/* OV_EIO when the record is there but could not be read this time. */
static int find_end(struct run_handle *r, struct arena *a, struct run_end *ret)
{
	struct ov_err err = { 0 };
	str text;
	int code;

	*ret = (struct run_end){ .exit_code = -1, .ended_at = loop_now(r->loop) };
	code = file_read(a, r->exit_record, EXIT_MAX, &text, &err);
	if (code == OV_EIO && r->read_tries++ < READ_TRIES)
		return code;
	if (code == 0)
		code = run_record_parse(a, text, r->id, ret, &err);
	if (code == 0)
		return 0;
	ret->ended_at = loop_now(r->loop);
	if (code != OV_ENOTFOUND)
		run_lost(a, r->dir, r->id,
				arena_printf(a, "the exit record cannot be read: %s", err.msg).p,
				ret);
	else if (!r->never && file_exists(r->started))
		run_lost(a, r->dir, r->id, "the run's shim ended without an exit record", ret);
	else if (r->complaint.n)
		ret->message = str_trim(buf_str(&r->complaint));
	else
		ret->message = STR("the run's shim ended before it started the agent");
	return 0;
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 || st.st_size < 0 ? 0 : (uint64_t)st.st_size;
}

/*
 * A slice of the last words; false when there is more. What cannot be read is said with the end.
 * Who got away from a lost run may still write: only what was there at its end is waited for.
 */
static bool hear_rest(struct run_handle *r, struct follow *f, uint64_t size)
{
	struct ov_err err = { 0 };
	int code = f && !r->closed && follow_offset(f) < size ? follow_drain(f, LAST_WORDS, &err)
							      : 0;

	if (code == OV_ELIMIT)
		return r->closed || follow_offset(f) >= size;
	if (code < 0)
		r->end.message = arena_printf(&r->end_arena, STR_FMT "%s%s",
				STR_ARG(r->end.message), r->end.message.n ? "; " : "", err.msg);
	return true;
}

/* The run is over, one way or another: deliver the last words, then tell how it ended. */
static void conclude(struct run_handle *r)
{
	assert(!r->over);
	forget_shim(r);
	close_complaints(r);
	r->concluding = true;
	if (!r->end_known && find_end(r, &r->end_arena, &r->end) < 0) {
		arena_done(&r->end_arena);
		look_later(r);
		return;
	}
	if (!r->end_known) {
		r->end_known = true;
		r->output_size = size_of(r->output);
		r->errors_size = size_of(r->errors);
	}
	r->busy++;
	if (!hear_rest(r, r->output_follow, r->output_size) ||
			!hear_rest(r, r->errors_follow, r->errors_size)) {
		loop_timer_in(r->timer, 0);
	} else {
		r->over = true;
		if (!r->closed)
			r->ops.ended(r->user, &r->end);
	}
	r->busy--;
	if (r->closed)
		run_free(r);
}

/* ---- finding the shim ---- */

static void read_complaints(struct run_handle *r)
{
	char piece[COMPLAINT_MAX];
	ssize_t n;

	while (r->complaints >= 0 && (n = read(r->complaints, piece, sizeof(piece))) != 0) {
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			break;
		buf_add(&r->complaint, piece, MIN((size_t)n, COMPLAINT_MAX - r->complaint.n));
	}
	close_complaints(r);
}

/* The end of its stderr: the shim listens and the agent is on its way. */
static void on_complaint(void *user, int fd _unused_, unsigned events _unused_)
{
	struct run_handle *r = user;

	read_complaints(r);
	if (r->complaints >= 0)
		return;
	run_link_ready(r->link);
	if (r->stop_wanted)
		proc_signal(&r->shim, SIGTERM, NULL);
}

static void on_shim_end(void *user)
{
	struct run_handle *r = user;
	struct proc_exit status = { .code = -1 };

	/* Of a previous daemon it is not ours to reap; then init has done it. */
	if (proc_reap(&r->shim, &status, NULL) < 0)
		status.code = -1;
	read_complaints(r);
	forget_shim(r);
	if (r->child && (status.code == RUN_STATUS_OWNED || status.code == RUN_STATUS_STARTED)) {
		r->child = false;
		run_look(r);
	} else {
		conclude(r);
	}
}

static void watch_shim(struct run_handle *r)
{
	r->watch = loop_pidfd(r->loop, r->shim.pidfd, on_shim_end, r);
	if (r->stop_wanted)
		proc_signal(&r->shim, SIGTERM, NULL);
}

/* By what the owner wrote into its lock. It wrote after it listened, so it can be talked to. */
static bool find_owner(struct run_handle *r)
{
	struct arena a = ARENA_INIT;
	uint64_t pid = 0, start = 0;
	str text, part;
	bool found = false;

	if (file_read(&a, r->lock, 64, &text, NULL) == 0) {
		text = str_trim(text);
		if (str_split(&text, ' ', &part) && str_to_u64(part, &pid) && pid <= INT32_MAX &&
				str_to_u64(str_trim(text), &start))
			found = proc_open((int)pid, start, &r->shim, NULL) == 0;
	}
	arena_done(&a);
	return found;
}

/* Somebody started a shim for it, which has not come as far as its lock. */
static bool is_beginning(const struct run_handle *r)
{
	return r->begun_at && !file_exists(r->started) && proc_start_time(r->begun) == r->begun_at;
}

static void look_later(struct run_handle *r)
{
	loop_timer_in(r->timer, r->retry_ms);
	r->retry_ms = MIN(r->retry_ms * 2, (int64_t)RETRY_MAX_MS);
}

/*
 * Finds out from the folder how things stand. OV_ENOTFOUND: no agent was started here and none
 * will be. Otherwise the shim is watched, or the timer is set: at once for a run that is over, so
 * that its end is told from the loop; later for another look at a shim that is just starting.
 * The lock comes first: as long as it is held the run lives, whatever else lies in the folder.
 */
static int attach(struct run_handle *r, struct ov_err *err)
{
	bool held;
	int code = lock_probe(r->lock, &held, err);

	if (code < 0)
		return code;
	if (held && find_owner(r)) {
		watch_shim(r);
		run_link_ready(r->link);
	} else if (held || is_beginning(r)) {
		look_later(r);
	} else if (file_exists(r->exit_record) || file_exists(r->started)) {
		r->concluding = true;
		loop_timer_in(r->timer, 0);
	} else {
		return ov_fail(err, OV_ENOTFOUND, "run %s: nothing was started in %s", r->id,
				r->dir);
	}
	return 0;
}

static void run_look(void *user)
{
	struct run_handle *r = user;
	int code = r->concluding ? OV_ENOTFOUND : attach(r, NULL);

	if (code == OV_ENOTFOUND)
		conclude(r);
	else if (code < 0) /* not knowing is not an end */
		look_later(r);
}

/* ---- the interface ---- */

int run_adopt(struct loop *l, const char *dir, const char *id, uint64_t offset,
		const struct run_ops *ops, void *user, struct run_handle **ret, struct ov_err *err)
{
	struct run_handle *r = run_new(l, dir, id, ops, user);
	int code = attach(r, err);

	if (code == 0)
		code = follow_files(r, offset, err);
	if (code < 0) {
		run_free(r);
		return code;
	}
	*ret = r;
	return 0;
}

static int spawn_shim(struct run_handle *r, const struct run_spec *spec, struct ov_err *err)
{
	struct proc_spec p = PROC_SPEC_INIT;
	int fds[2], code;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return ov_fail_errno(err, errno, "pipe for the shim");
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	p.argv = run_argv(&r->strings, spec);
	p.env = spec->env;
	p.err = fds[1];
	p.new_session = true;
	code = proc_spawn(&p, &r->shim, err);
	close(fds[1]);
	if (code < 0) {
		r->shim.pidfd = -1;
		close(fds[0]);
		return ov_wrap(err, code, "cannot start the shim %s", spec->shim);
	}
	r->child = true;
	r->complaints = fds[0];
	r->complaining = loop_io(r->loop, r->complaints, LOOP_READ, on_complaint, r);
	watch_shim(r);
	return 0;
}

static int run_prepare(struct run_handle *r, const struct run_spec *spec, struct ov_err *err)
{
	const char *prompt = path_join(&r->strings, r->dir, RUN_PROMPT);

	if (!spec->input.p)
		return file_remove(prompt, err);
	return file_write_atomic(prompt, spec->input, 0600, err);
}

int run_start(struct loop *l, const struct run_spec *spec, uint64_t offset,
		const struct run_ops *ops, void *user, struct run_handle **ret, struct ov_err *err)
{
	struct run_handle *r;
	int code;

	if (!spec->cwd || spec->cwd[0] != '/')
		return ov_fail(err, OV_EINVALID,
				"run %s: the working folder %s is not an absolute path", spec->id,
				spec->cwd ? spec->cwd : "(none)");
	code = dir_make(spec->dir, 0700, err);
	if (code < 0)
		return ov_wrap(err, code, "run %s", spec->id);
	code = run_adopt(l, spec->dir, spec->id, offset, ops, user, ret, err);
	if (code != OV_ENOTFOUND)
		return code;
	r = run_new(l, spec->dir, spec->id, ops, user);
	code = run_prepare(r, spec, err);
	if (code == 0)
		code = follow_files(r, offset, err);
	INJECT("run-prepared");
	r->awaited = code == 0 && spec->terminal;
	if (code == 0 && !spec->terminal)
		code = spawn_shim(r, spec, err);
	if (code < 0) {
		run_free(r);
		return ov_wrap(err, code, "run %s", spec->id);
	}
	*ret = r;
	return 0;
}

bool run_is_awaited(const struct run_handle *r)
{
	return r->awaited;
}

void run_began(struct run_handle *r, int pid)
{
	assert(r->awaited);
	r->awaited = false;
	r->begun = pid;
	r->begun_at = proc_start_time(pid);
	loop_timer_in(r->timer, 0);
}

/*
 * Whoever was asked may still be about to start it, unheard: the mark of a start keeps the shim
 * from that. Where the shim has been first, the run is as alive as any.
 */
void run_never_began(struct run_handle *r, const char *why)
{
	assert(r->awaited);
	r->awaited = false;
	buf_clear(&r->complaint);
	buf_adds(&r->complaint, str_from(why));
	r->never = file_create_atomic(r->started, STR("0\n"), 0600, NULL) == 0;
	loop_timer_in(r->timer, 0);
}

ov_time run_written(const struct run_handle *r, uint64_t *ret_bytes)
{
	struct stat st;

	*ret_bytes = 0;
	if (stat(r->output, &st) < 0 || st.st_size <= 0)
		return 0;
	*ret_bytes = (uint64_t)st.st_size;
	return (ov_time)st.st_mtim.tv_sec * OV_SECOND + st.st_mtim.tv_nsec / 1000000;
}

int run_usage(const struct run_handle *r, const struct proc_table *t, uint64_t since_boot_us,
		struct proc_usage *ret, struct ov_err *err)
{
	if (r->shim.pidfd < 0)
		return ov_fail(err, OV_ENOTFOUND, "the processes of run %s are not known", r->id);
	return proc_table_usage(t, &r->shim, since_boot_us, ret, err);
}

int run_shim(const struct run_handle *r)
{
	if (r->shim.pidfd >= 0)
		return r->shim.pid;
	return is_beginning(r) ? r->begun : 0;
}
