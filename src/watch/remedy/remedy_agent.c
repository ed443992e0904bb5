/*
 * The agent of a remediation: started with the prompt, its output copied to the log as it comes. Of
 * a very long one the beginning and the end are kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"
#include "sys/proc/proc.h"
#include "watch/remedy/remedy_impl.h"

enum {
	STARTS = 2,
	LOG_BEGIN = 15 << 20,
	LOG_END = 1 << 20,
	PIECES = 64,
	STOP_MS = 5000,
	KILL_AGAIN_MS = 1000,
	WORD_MAX = 128 * 1024 - 1, /* of one word of a command line, by the kernel */
};

enum { OUT, PROC, STOP, WATCHED };

struct agent {
	struct remedy *r;
	struct proc proc;
	struct pollfd p[WATCHED];
	uint64_t kill_at; /* 0: it was not asked to end */
	uint64_t copied;  /* bytes of its output */
	char *end;        /* the last LOG_END of them, as a ring, once the beginning is full */
};

/* ---- its output ---- */

static void keep_end(struct agent *x, str piece)
{
	if (piece.n && !x->end)
		x->end = mem_alloc(LOG_END);
	for (size_t i = 0; i < piece.n; i++)
		x->end[(x->copied + i) % LOG_END] = piece.p[i];
}

static void copy(struct agent *x, str piece)
{
	size_t room = x->copied < LOG_BEGIN ? LOG_BEGIN - (size_t)x->copied : 0;
	str head = str_sub(piece, 0, room), tail = str_sub(piece, head.n, piece.n);

	remedy_write(x->r, head);
	x->copied += head.n;
	keep_end(x, tail);
	x->copied += tail.n;
}

static void take_output(struct agent *x)
{
	char piece[16384];
	ssize_t n = 1;

	/* So much at a time: one that never stops writing must not keep us from ending it. */
	for (int i = 0; i < PIECES && (n = read(x->p[OUT].fd, piece, sizeof(piece))) > 0; i++)
		copy(x, (str){ piece, (size_t)n });
	if (n > 0)
		return;
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		fd_closep(&x->p[OUT].fd);
}

static void write_end(struct agent *x)
{
	uint64_t late = x->copied > LOG_BEGIN ? x->copied - LOG_BEGIN : 0;
	size_t n = (size_t)MIN(late, (uint64_t)LOG_END), at = (size_t)((x->copied - n) % LOG_END),
	       first = MIN(n, LOG_END - at);

	if (late > n)
		remedy_say(x->r, "\n---- %llu bytes are left out here ----\n",
				(unsigned long long)(late - n));
	if (n) {
		remedy_write(x->r, (str){ x->end + at, first });
		remedy_write(x->r, (str){ x->end, n - first });
	}
	mem_free(x->end);
}

/* ---- how it is started ---- */

/* What does not fit into a word is named by its file instead. */
static str prompt_word(struct remedy *r)
{
	str prompt = buf_str(&r->prompt);

	if (prompt.n < WORD_MAX - 4096 || !r->ask->launch->prompt_file)
		return prompt;
	return arena_printf(&r->arena,
			"Your instruction is in the file %s. Read it and do what it says.",
			r->ask->launch->prompt_file);
}

static const char *const *words(struct remedy *r)
{
	const char *const *argv = r->ask->launch->argv;
	const char **list;
	str mark = STR(REMEDY_PROMPT), prompt = prompt_word(r);
	size_t n = 0;

	while (argv[n])
		n++;
	list = arena_array(&r->arena, const char *, n + 1);
	for (size_t i = 0; i < n; i++) {
		str word = str_from(argv[i]);
		size_t at = str_find(word, mark);

		list[i] = at == word.n
				? argv[i]
				: arena_printf(&r->arena, STR_FMT STR_FMT STR_FMT, (int)at, word.p,
						  STR_ARG(prompt),
						  STR_ARG(str_sub(word, at + mark.n, word.n)))
						  .p;
	}
	return list;
}

static const char *const *environment(struct remedy *r)
{
	const char *const *env = r->ask->launch->env;
	char mark[REMEDY_MARK_MAX];
	const char **list;
	size_t n = 0, kept = 0;

	while (env[n])
		n++;
	list = arena_array(&r->arena, const char *, n + 2);
	for (size_t i = 0; i < n; i++)
		if (!str_starts(str_from(env[i]), STR(REMEDY_MARK "=")))
			list[kept++] = env[i];
	remedy_mark(r->ask->dir, r->ask->stamp, mark);
	list[kept] = arena_printf(&r->arena, REMEDY_MARK "=%s", mark).p;
	return list;
}

static int remedy_agent_start(struct agent *x, struct ov_err *err)
{
	const struct remedy_launch *l = x->r->ask->launch;
	struct proc_spec spec = PROC_SPEC_INIT;
	_cleanup_(fd_closep) int in = -1, out = -1;
	int ends[2], got = 0;

	/*
	 * In memory: a pipe would have to be fed, and a file could not be written on a full disk.
	 */
	if (l->prompt_on_stdin)
		got = file_in_memory(buf_str(&x->r->prompt), &in, err);
	if (got == 0 && pipe2(ends, O_CLOEXEC) < 0)
		got = ov_fail_errno(err, errno, "reading from the agent");
	if (got < 0)
		return got;
	out = ends[1];
	x->p[OUT] = (struct pollfd){ ends[0], POLLIN, 0 };
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	spec.argv = words(x->r);
	spec.env = environment(x->r);
	spec.cwd = l->cwd;
	spec.in = in;
	spec.out = spec.err = out;
	spec.new_session = true;
	got = proc_spawn(&spec, &x->proc, err);
	if (got < 0)
		return got;
	x->p[PROC] = (struct pollfd){ x->proc.pidfd, POLLIN, 0 };
	x->p[STOP] = (struct pollfd){ x->r->stop_fd, POLLIN, 0 };
	return 0;
}

/* ---- from its start to its end ---- */

/* The first time it is asked to, with all that it started; then there is no more asking. */
static void end_it(struct agent *x)
{
	struct signalfd_siginfo si;

	(void)!read(x->r->stop_fd, &si, sizeof(si));
	if (!x->kill_at) {
		remedy_say(x->r, "\n---- asked to end ----\n");
		x->kill_at = clock_mono_us() + STOP_MS * 1000;
		(void)kill(-x->proc.pid, SIGTERM);
		(void)kill(-x->proc.pid, SIGCONT);
	} else {
		x->kill_at = clock_mono_us();
	}
	x->r->stopping = true;
}

static int wait_ms(const struct agent *x)
{
	uint64_t now = clock_mono_us();

	if (!x->kill_at)
		return -1;
	return now < x->kill_at ? (int)((x->kill_at - now) / 1000) + 1 : 0;
}

static void attend(struct agent *x)
{
	for (;;) {
		int n = poll(x->p, WATCHED, wait_ms(x));

		if (n > 0 && x->p[OUT].revents)
			take_output(x);
		if (n > 0 && x->p[PROC].revents)
			return;
		if (n > 0 && x->p[STOP].revents)
			end_it(x);
		if (x->kill_at && wait_ms(x) == 0) {
			(void)kill(-x->proc.pid, SIGKILL);
			x->kill_at = clock_mono_us() + KILL_AGAIN_MS * 1000;
		}
	}
}

/* Did it end well? How, into the log; an agent that could not be started has ended, too. */
static bool run_once(struct remedy *r)
{
	struct agent x = { .r = r,
		.proc.pidfd = -1,
		.p = { { .fd = -1 }, { .fd = -1 }, { .fd = -1 } } };
	struct proc_exit end = { .code = -1 };
	struct ov_err err = { 0 };
	size_t left = 0;
	int got = remedy_agent_start(&x, &err);

	if (got == 0) {
		attend(&x);
		got = proc_reap(&x.proc, &end, &err);
	}
	/* Also whoever holds its output open: only what is there is read. */
	(void)remedy_sweep(r->ask->dir, r->ask->stamp, &left, NULL);
	if (x.p[OUT].fd >= 0)
		take_output(&x);
	write_end(&x);
	fd_closep(&x.p[OUT].fd);
	proc_done(&x.proc);
	if (got < 0)
		remedy_say(r, "\n---- %s ----\n", err.msg);
	else if (end.signal)
		remedy_say(r, "\n---- it was ended by signal %d ----\n", end.signal);
	else
		remedy_say(r, "\n---- it exited with status %d ----\n", end.code);
	if (left)
		remedy_say(r, "%zu processes that it left behind were ended\n", left);
	return got == 0 && !end.signal && end.code == 0;
}

enum remedy_status remedy_agent(struct remedy *r)
{
	for (int i = 1; i <= STARTS; i++) {
		bool good;

		remedy_say(r, "\n==== Transcript: %s, in %s%s ====\n", r->ask->launch->argv[0],
				r->ask->launch->cwd, i > 1 ? ", started once more" : "");
		good = run_once(r);
		if (r->stopping)
			return REMEDY_ENDED;
		if (good)
			return REMEDY_OK;
	}
	return REMEDY_FAILED;
}
