/*
 * The daemon's side of one run in a place of its own: what was heard of it, and a loop that is
 * turned until a condition holds.
 */
#pragma once

#include "base/err.h"
#include "drive/run/run.h"
#include "sys/loop/loop.h"
#include "tests/shim/place.h"

struct seen {
	struct buf out, errors;
	uint64_t from;
	bool may_gap;
	uint64_t missing; /* bytes that were skipped */
	int ends, pieces;
	struct run_end end;
	char message[512];
	struct run_handle *run;
	bool close_on_output, close_on_end;
};

static inline void on_output(void *user, str bytes, uint64_t at)
{
	struct seen *s = user;

	assert_int_equal(s->ends, 0); /* never after the end */
	if (s->may_gap && at > s->from + s->out.n + s->missing)
		s->missing = at - s->from - s->out.n;
	assert_int_equal(at, s->from + s->out.n + s->missing);
	buf_adds(&s->out, bytes);
	s->pieces++;
	if (s->close_on_output) {
		run_close(s->run);
		s->run = NULL;
	}
}

static inline void on_errors(void *user, str bytes, uint64_t at)
{
	struct seen *s = user;

	assert_int_equal(s->ends, 0);
	assert_int_equal(at, s->errors.n);
	buf_adds(&s->errors, bytes);
}

static inline void on_ended(void *user, const struct run_end *end)
{
	struct seen *s = user;

	s->ends++;
	s->end = *end;
	snprintf(s->message, sizeof(s->message), STR_FMT, STR_ARG(end->message));
	if (s->close_on_end) {
		run_close(s->run);
		s->run = NULL;
	}
}

static const struct run_ops ops = { .output = on_output, .errors = on_errors, .ended = on_ended };

struct world {
	struct place p;
	struct loop *loop;
	const char *env[4];
	struct run_spec spec;
	const char *argv[4];
	struct ov_err err;
};

static inline void world_init(struct world *w, const char *script)
{
	memset(w, 0, sizeof(*w));
	place_init(&w->p);
	assert_int_equal(loop_new(&w->loop, NULL), 0);
	w->env[0] = "PATH=/usr/local/bin:/usr/bin:/bin";
	w->env[1] = arena_printf(&w->p.a, "W=%s", w->p.root).p;
	w->argv[0] = "sh";
	w->argv[1] = "-c";
	w->argv[2] = script;
	w->spec = (struct run_spec){
		.shim = shim_path(),
		.dir = w->p.dir,
		/*
		 * The sweep looks for the id in the whole system, so it has to be this test's own.
		 */
		.id = arena_printf(&w->p.a, "run_%s", w->p.root + 5).p,
		.argv = w->argv,
		.env = w->env,
		.cwd = w->p.root,
		.input = STR(""),
		.max_output_bytes = 1 << 20,
		.stop_grace_ms = 20000,
	};
}

static inline void world_done(struct world *w)
{
	loop_free(w->loop);
	place_done(&w->p);
}

static inline void start(struct world *w, struct seen *s)
{
	if (run_start(w->loop, &w->spec, s->from, &ops, s, &s->run, &w->err) < 0)
		fail_msg("run_start: %s", w->err.msg);
}

static inline int adopt(struct world *w, struct seen *s)
{
	return run_adopt(w->loop, w->spec.dir, w->spec.id, s->from, &ops, s, &s->run, &w->err);
}

/* Turns the loop until the condition holds, for at most a minute. */
#define STEP_UNTIL(w, condition)                                                \
	do {                                                                    \
		int64_t _end = now_ms() + 60000;                                \
		while (!(condition)) {                                          \
			if (now_ms() > _end)                                    \
				fail_msg("waited in vain for: %s", #condition); \
			loop_step((w)->loop, 50000);                            \
		}                                                               \
	} while (0)

static inline void finish(struct world *w, struct seen *s)
{
	STEP_UNTIL(w, s->ends > 0);
	assert_int_equal(s->ends, 1);
	run_close(s->run);
	s->run = NULL;
}

static inline void seen_done(struct seen *s)
{
	buf_done(&s->out);
	buf_done(&s->errors);
}

static inline pid_t shim_pid(struct world *w)
{
	int64_t pid = 0;
	str text, part;

	WAIT_FOR(slurp(&w->p, run_path(&w->p, RUN_LOCK)).n > 0);
	text = str_trim(slurp(&w->p, run_path(&w->p, RUN_LOCK)));
	assert_true(str_split(&text, ' ', &part) && str_to_i64(part, &pid));
	return (pid_t)pid;
}

#define assert_out(s, literal) assert_string_equal(buf_cstr(&(s)->out), literal)
