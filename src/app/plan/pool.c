#include "app/plan/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/config/command_env.h"
#include "core/state/state.h"
#include "sys/file/file.h"
#include "sys/host/inject.h"
#include "sys/loop/loop.h"
#include "sys/proc/proc.h"

#define POOL_ENV "OVERSEER_POOL"

enum {
	OUTPUT_BYTES = 1024 * 1024, /* of each stream, that are read */
	ERROR_BYTES = 1000,         /* of its last words, for people */
	LOOK_MS = 100,              /* at the lock of a command that another daemon started */
	GRACE_MS = 2000,            /* between asking it to end and ending it */
	MAX_FILES = 100000,
};

/* Standard input is the lock's file: as long as this shell lives, it is held. */
static const char script[] = "sh -c \"$2\" </dev/null >\"$1.out\" 2>\"$1.err\"\n"
			     "printf '%d\\n' \"$?\" >\"$1.tmp\" && mv -f \"$1.tmp\" \"$1.rc\"\n";

static const char *const suffixes[] = { "lock", "out", "err", "tmp", "rc" };

struct pool_question {
	struct pool_spec s; /* its texts are in the arena */
	struct arena arena;
	const char *base; /* of the names of its files */
	pool_done_fn *done;
	void *user;
	struct proc child;
	bool ours; /* the child was started by us, and is not reaped yet */
	bool timed_out;
	struct loop_source *ended, *look, *deadline;
};

static char *file_of(struct arena *a, const char *base, const char *suffix)
{
	return arena_cstr(a, arena_printf(a, "%s.%s", base, suffix));
}

static const char *base_of(struct arena *a, const char *dir, str question)
{
	return arena_printf(a, "%s/pool/" STR_FMT, dir, STR_ARG(question)).p;
}

/* At most OUTPUT_BYTES of it; nothing when it is not there. */
static str read_some(struct arena *a, const char *path)
{
	_cleanup_(fd_closep) int fd = file_open(path, O_RDONLY | O_NOFOLLOW, 0);
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	char part[16384];

	while (fd >= 0 && b.n < OUTPUT_BYTES) {
		ssize_t n = read(fd, part, sizeof(part));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		buf_add(&b, part, (size_t)n);
	}
	return arena_str(a, buf_str(&b));
}

/* The exit status that it recorded; false when there is none. */
static bool read_code(struct arena *a, const char *base, int *ret)
{
	int64_t code;

	if (!str_to_i64(str_trim(read_some(a, file_of(a, base, "rc"))), &code) || code < 0 ||
			code > 255)
		return false;
	*ret = (int)code;
	return true;
}

static void question_free(struct pool_question *q)
{
	loop_source_free(q->ended);
	loop_source_free(q->look);
	loop_source_free(q->deadline);
	if (q->ours)
		proc_done(&q->child);
	arena_done(&q->arena);
	mem_free(q);
}

void pool_leave(struct pool_question *q)
{
	question_free(q);
}

static void finish(struct pool_question *q)
{
	struct arena *a = &q->arena;
	struct pool_end end = { .code = -1 };
	str errors = read_some(a, file_of(a, q->base, "err"));
	size_t killed;

	end.known = read_code(a, q->base, &end.code);
	if (!end.known) {
		/* Of what was cut off nobody else goes on writing. */
		(void)proc_sweep_env(STR(POOL_ENV), q->s.question, &killed, NULL);
		end.known = end.timed_out = q->timed_out;
	}
	end.output = read_some(a, file_of(a, q->base, "out"));
	end.error_lines = str_sub(errors, errors.n > ERROR_BYTES ? errors.n - ERROR_BYTES : 0,
			ERROR_BYTES);
	INJECT("after-pool-answer");
	q->done(q->user, &end, errors);
	question_free(q);
}

static void child_ended(void *user)
{
	struct pool_question *q = user;
	struct proc_exit ignored;

	(void)proc_reap(&q->child, &ignored, NULL);
	finish(q);
}

/* Does the command that somebody else started still run? One whose lock cannot be read does not. */
static void look_again(void *user)
{
	struct pool_question *q = user;
	bool held = false;

	(void)lock_probe(file_of(&q->arena, q->base, "lock"), &held, NULL);
	if (held && !q->timed_out)
		loop_timer_in(q->look, LOOK_MS);
	else
		finish(q);
}

/* It may give back what it was about to give out; then everything of it is ended. */
static void deadline_passed(void *user)
{
	struct pool_question *q = user;

	q->timed_out = true;
	if (q->ours)
		(void)kill(-q->child.pid, SIGTERM);
	loop_timer_in(q->look, q->ours ? GRACE_MS : 0);
}

static const char *const *child_env(struct arena *a, const struct pool_spec *s)
{
	const char *own[] = {
		arena_printf(a, POOL_ENV "=" STR_FMT, STR_ARG(s->question)).p,
		arena_printf(a, "OVERSEER_WORKER=" STR_FMT, STR_ARG(s->worker)).p,
	};

	return env_with(a, s->env, own, ARRAY_LEN(own));
}

static int start(struct pool_question *q, struct ov_err *err)
{
	struct arena *a = &q->arena;
	const char *argv[] = { "sh", "-c", script, "sh", q->base, arena_cstr(a, q->s.command),
		NULL };
	struct proc_spec spec = PROC_SPEC_INIT;
	_cleanup_(fd_closep) int lock = -1;
	int r = lock_take(file_of(a, q->base, "lock"), &lock, err);

	if (r < 0)
		return r;
	spec.argv = argv;
	spec.env = child_env(a, &q->s);
	spec.cwd = q->s.repo;
	spec.in = lock;
	r = proc_spawn(&spec, &q->child, err);
	if (r < 0)
		return r;
	q->ours = true;
	q->ended = loop_pidfd(q->s.loop, q->child.pidfd, child_ended, q);
	INJECT("after-pool-start");
	return 0;
}

int pool_ask(const struct pool_spec *s, pool_done_fn *done, void *user, struct pool_question **ret,
		struct ov_err *err)
{
	struct pool_question *q = mem_zalloc(1, sizeof(*q));
	bool begun;
	int r;

	q->s = *s;
	q->s.question = arena_str(&q->arena, s->question);
	q->s.worker = arena_str(&q->arena, s->worker);
	q->s.command = arena_str(&q->arena, s->command);
	q->base = base_of(&q->arena, s->dir, s->question);
	q->done = done;
	q->user = user;
	q->look = loop_timer(s->loop, look_again, q);
	q->deadline = loop_timer(s->loop, deadline_passed, q);
	r = dir_make(path_join(&q->arena, s->dir, "pool"), 0700, err);
	begun = file_exists(file_of(&q->arena, q->base, "lock"));
	if (r == 0 && !begun)
		r = start(q, err);
	if (r < 0) {
		question_free(q);
		return r;
	}
	if (begun)
		loop_timer_in(q->look, 0);
	/* However the clock was set meanwhile: no longer than from now on. */
	loop_timer_in(q->deadline,
			MIN(MAX(s->asked_at + s->timeout - loop_now(s->loop), 0), s->timeout));
	*ret = q;
	return 0;
}

void pool_forget(const char *dir, str question)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const char *base = base_of(&a, dir, question);

	/* The lock last: as long as it is there, the question was asked. */
	for (size_t i = ARRAY_LEN(suffixes); i-- > 0;)
		(void)file_remove(file_of(&a, base, suffixes[i]), NULL);
}

static bool is_claimed(const struct state *s, str question)
{
	for (size_t i = 0; i < s->goals.n; i++)
		for (size_t k = 0; str_is(s->goals.p[i]->standing, STANDING_AUTO) &&
				k < s->goals.p[i]->nodes.n;
				k++)
			if (str_eq(s->goals.p[i]->nodes.p[k]->claim, question))
				return true;
	return false;
}

/* The next question whose files are there; false when there is none. */
static bool next_question(const str *names, size_t n, size_t *at, str *ret)
{
	for (; *at < n; ++*at)
		if (str_ends(names[*at], STR(".lock"))) {
			*ret = str_sub(names[*at], 0, names[*at].n - (sizeof(".lock") - 1));
			++*at;
			return true;
		}
	return false;
}

int pool_orphans(struct arena *a, const char *dir, const struct state *s, struct pool_orphan **ret,
		size_t *ret_n, struct ov_err *err)
{
	str *names = NULL, question;
	size_t n = 0, found = 0, at = 0;
	struct pool_orphan *list;
	int r = dir_list(a, path_join(a, dir, "pool"), MAX_FILES, &names, &n, err);

	if (r < 0 && r != OV_ENOTFOUND)
		return r;
	list = arena_array(a, struct pool_orphan, n + 1);
	while (next_question(names, n, &at, &question)) {
		const char *base = base_of(a, dir, question);
		struct pool_end end = { .known = true };
		str text;

		if (state_effect(s, question) || is_claimed(s, question) ||
				!read_code(a, base, &end.code))
			continue;
		end.output = read_some(a, file_of(a, base, "out"));
		if (pool_judge(a, &end, &text) == ENDED_TASK)
			list[found++] = (struct pool_orphan){ question, text };
	}
	*ret = list;
	*ret_n = found;
	return 0;
}

void pool_tidy(const char *dir, const struct state *s)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct pool_orphan *orphans;
	str *names = NULL, question;
	size_t n = 0, orphans_n, at = 0;

	if (dir_list(&a, path_join(&a, dir, "pool"), MAX_FILES, &names, &n, NULL) < 0 ||
			pool_orphans(&a, dir, s, &orphans, &orphans_n, NULL) < 0)
		return;
	while (next_question(names, n, &at, &question)) {
		bool orphan = false;

		for (size_t i = 0; i < orphans_n; i++)
			orphan |= str_eq(orphans[i].question, question);
		if (!orphan && !state_effect(s, question))
			pool_forget(dir, question);
	}
}
