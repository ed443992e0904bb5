#include "drive/run.h"

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
#include "drive/run_link.h"
#include "drive/run_lost.h"
#include "drive/run_record.h"
#include "shim/proto.h"
#include "sys/file.h"
#include "sys/follow.h"
#include "sys/inject.h"
#include "sys/loop.h"
#include "sys/proc.h"
#include "sys/proc_usage.h"

enum {
	RETRY_MS = 10, /* the lock is held, but its owner has not yet written who it is */
	RETRY_MAX_MS = 1000,
	READ_TRIES = 10, /* of an exit record, in about five seconds */
	COMPLAINT_MAX = 1024,
	EXIT_MAX = 64 * 1024,
};

struct run_handle {
	struct loop *loop;
	struct run_ops ops;
	void *user;
	struct arena strings;
	const char *dir, *id;
	const char *lock, *started, *output, *errors, *exit_record; /* paths */

	struct follow *output_follow,
			*errors_follow; /* errors: NULL when nobody wants them apart */
	struct proc shim;               /* pidfd -1: not known (yet) */
	struct loop_source *watch;
	struct loop_source *timer; /* another look at the folder, or the end of the run */
	int64_t retry_ms;
	int read_tries;
	bool child;        /* of ours, so its status says why it ended */
	bool awaited;      /* somebody else is to start it */
	int begun;         /* the process that somebody started for it, and */
	uint64_t begun_at; /* when it was: so that no other is taken for it; or 0 */
	bool never;        /* nothing was started, nor will be */

	int complaints; /* the shim's stderr: closed when the agent is up */
	struct loop_source *complaining;
	struct buf complaint;

	struct run_link *link;
	bool stop_wanted, concluding, over;
	unsigned busy; /* calls into the owner that return here */
	bool closed;   /* by the owner, during one of them */
};

static void look(void *user);
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
	_cleanup_(fd_closep)
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

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
	r->timer = loop_timer(l, look, r);
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

/* The run is over, one way or another: deliver the last words, then tell how it ended. */
static void conclude(struct run_handle *r)
{
	struct arena a = ARENA_INIT;
	struct ov_err err = { 0 };
	struct run_end end;

	assert(!r->over);
	forget_shim(r);
	close_complaints(r);
	r->concluding = true;
	if (find_end(r, &a, &end) < 0) {
		look_later(r);
		arena_done(&a);
		return;
	}
	r->busy++;
	if (follow_drain(r->output_follow, SIZE_MAX, &err) < 0 ||
			(r->errors_follow && !r->closed &&
					follow_drain(r->errors_follow, SIZE_MAX, &err) < 0))
		end.message = arena_printf(&a, STR_FMT "%s%s", STR_ARG(end.message),
				end.message.n ? "; " : "", err.msg);
	r->over = true;
	if (!r->closed)
		r->ops.ended(r->user, &end);
	r->busy--;
	arena_done(&a);
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
		look(r);
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

static void look(void *user)
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

static int prepare(struct run_handle *r, const struct run_spec *spec, struct ov_err *err)
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
	code = prepare(r, spec, err);
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
 * Whoever was asked may still be about to start it, unheard: the mark of a start keeps the shim from
 * that. Where the shim has been first, the run is as alive as any.
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

static int check_live(const struct run_handle *r, struct ov_err *err)
{
	if (r->over || r->concluding)
		return ov_fail(err, OV_ESTATE, "run %s has ended", r->id);
	return 0;
}

int run_send(struct run_handle *r, str bytes, struct ov_err *err)
{
	struct buf whole = BUF_INIT;
	int code = check_live(r, err);
	size_t n = 0;

	if (code < 0)
		return code;
	for (size_t at = 0; at < bytes.n; at += RUN_SEND_MAX) {
		str piece = str_sub(bytes, at, RUN_SEND_MAX);

		buf_addf(&whole, "send %zu\n", piece.n);
		buf_adds(&whole, piece);
		n++;
	}
	code = run_link_request(r->link, buf_str(&whole), n, NULL, NULL, err);
	buf_done(&whole);
	return code;
}

int run_deliver(struct run_handle *r, str id, str bytes, run_delivered_fn *done, void *user,
		struct ov_err *err)
{
	struct buf whole = BUF_INIT;
	int code = check_live(r, err);

	if (code < 0)
		return code;
	assert(id.n > 0 && id.n <= RUN_ID_MAX && str_find_byte(id, ' ') == id.n);
	if (bytes.n > RUN_SEND_MAX)
		return ov_fail(err, OV_ELIMIT,
				"run %s: a message of %zu bytes is longer than the %d that an "
				"agent's input takes",
				r->id, bytes.n, RUN_SEND_MAX);
	buf_addf(&whole, "deliver %zu " STR_FMT "\n", bytes.n, STR_ARG(id));
	buf_adds(&whole, bytes);
	code = run_link_request(r->link, buf_str(&whole), 1, done, user, err);
	buf_done(&whole);
	return code;
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

int run_usage(const struct run_handle *r, const struct proc_table *t, struct proc_usage *ret,
		struct ov_err *err)
{
	if (r->shim.pidfd < 0)
		return ov_fail(err, OV_ENOTFOUND, "the processes of run %s are not known", r->id);
	return proc_table_usage(t, &r->shim, ret, err);
}

int run_shim(const struct run_handle *r)
{
	if (r->shim.pidfd >= 0)
		return r->shim.pid;
	return is_beginning(r) ? r->begun : 0;
}

int run_close_input(struct run_handle *r, struct ov_err *err)
{
	int code = check_live(r, err);

	return code < 0 ? code
			: run_link_request(r->link, STR("close-input\n"), 1, NULL, NULL, err);
}

int run_signal(struct run_handle *r, int signo, struct ov_err *err)
{
	int code = check_live(r, err);
	char line[RUN_LINE_MAX];

	snprintf(line, sizeof(line), "signal %d\n", signo);
	return code < 0 ? code : run_link_request(r->link, str_from(line), 1, NULL, NULL, err);
}

int run_interrupt(struct run_handle *r, struct ov_err *err)
{
	int code = check_live(r, err);

	return code < 0 ? code : run_link_request(r->link, STR("interrupt\n"), 1, NULL, NULL, err);
}

int run_freeze(struct run_handle *r, bool frozen, run_delivered_fn *done, void *user,
		struct ov_err *err)
{
	int code = check_live(r, err);

	return code < 0 ? code
			: run_link_request(r->link, frozen ? STR("freeze\n") : STR("thaw\n"), 1,
					  done, user, err);
}

/* Not by the socket: SIGTERM means stop to the shim, and needs nothing of it but its life. */
int run_stop(struct run_handle *r, struct ov_err *err)
{
	int code = check_live(r, err);

	if (code < 0)
		return code;
	r->stop_wanted = true;
	/* Until it is up, it would die of the signal instead of minding it. */
	if (r->shim.pidfd < 0 || r->complaints >= 0)
		return 0;
	code = proc_signal(&r->shim, SIGTERM, err);
	return code == OV_ENOTFOUND ? 0 : code;
}
