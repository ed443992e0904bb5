/*
 * People in the simulator, and the tape: that what they ask for arrives and comes to something,
 * that they are heard through losses and deaths, that what daemons tell them is judged; and that a
 * life that does not depend on its inputs alone is found out.
 */
#include "tests/test.h"

#include "app/ops/ops.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/command/decide.h"
#include "data/value/json.h"
#include "tests/sim/daemon.h"
#include "tests/sim/person.h"
#include "tests/sim/person_impl.h"
#include "tests/sim/simgit.h"
#include "tests/sim/tape.h"

/* A decision that hangs on something beside state, command, time and entropy (--wrap). */
static unsigned hidden, hidden_from;

int __real_decide(struct decide_ctx *cx, str name, const value *params, value **ret_result,
		struct ov_err *err);
int __wrap_decide(struct decide_ctx *cx, str name, const value *params, value **ret_result,
		struct ov_err *err);

int __wrap_decide(struct decide_ctx *cx, str name, const value *params, value **ret_result,
		struct ov_err *err)
{
	if (hidden_from && ++hidden > hidden_from)
		cx->now += hidden;
	return __real_decide(cx, name, params, ret_result, err);
}

/* What is seen of a run of the simulator. */
struct watch {
	struct sim *s;
	VEC(str) ops; /* that were asked for */
	struct arena arena;
	size_t unheard, refused, promises;
	bool spoil; /* falsify the tape when there is something on it */
	enum tape_spoil what;
	bool spoilt;
};

static void note_op(struct watch *w, str op)
{
	for (size_t i = 0; i < w->ops.n; i++)
		if (str_eq(w->ops.p[i], op))
			return;
	vec_push(&w->ops, arena_str(&w->arena, op));
}

static void watch_line(void *user, ov_time t, str line)
{
	struct watch *w = user;
	str rest = line, word;

	(void)t;
	w->unheard += str_contains(line, STR(" hears nothing of #"));
	w->refused += str_contains(line, STR(" refuses "));
	if (w->spoil && !w->spoilt && t > 10 * OV_MINUTE && w->s->daemons[0] &&
			w->s->daemons[0]->tape)
		w->spoilt = tape_sabotage(w->s->daemons[0]->tape, w->what);
	if (!str_starts(line, STR("human:")) || !str_contains(line, STR(" asks #")))
		return;
	/* NAME asks #N OP PARAMS */
	for (int i = 0; i < 4; i++)
		if (!str_split(&rest, ' ', &word))
			return;
	note_op(w, word);
}

static void watch_run(struct watch *w, struct sim_options o)
{
	o.trace = watch_line;
	o.user = w;
	w->s = sim_new(&o);
	sim_run(w->s);
	w->promises = people_promises(w->s->people, &(const struct promise *){ NULL });
}

static void watch_done(struct watch *w)
{
	sim_free(w->s);
	vec_done(&w->ops);
	arena_done(&w->arena);
}

static const uint32_t NO_FAULTS = UINT32_MAX;

TEST(all_goals_are_given_and_end)
{
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct watch w = { 0 };
		const struct state *st;
		size_t ended = 0;

		watch_run(&w, (struct sim_options){ .seed = seed, .without = NO_FAULTS });
		assert_null(w.s->violated);
		assert_true(people_are_done(w.s->people));
		assert_true(w.promises >= w.s->people->wishes.n);
		st = engine_state(daemon_up(w.s)->engine);
		for (size_t i = 0; i < st->goals.n; i++)
			ended += st->goals.p[i]->standing.n > 0 ||
					(st->goals.p[i]->status != GOAL_ACTIVE &&
							st->goals.p[i]->status != GOAL_PAUSED);
		/* Only a question that nobody answers may keep one; standing ones do not end. */
		if (w.s->over)
			assert_int_equal(ended, st->goals.n);
		watch_done(&w);
	}
}

/*
 * Those of the table that are answered from the state or by a command, as its documentation
 * has them.
 */
static void check_used(const struct watch *all)
{
	static const char *const not_here[] = { "run.log" }; /* there are no files to read */
	struct buf docs = BUF_INIT;
	str rest, line, name = { 0 };
	size_t missing = 0, n = 0;

	op_docs(&docs);
	rest = buf_str(&docs);
	while (str_split(&rest, '\n', &line)) {
		bool used = false;

		if (str_starts(line, STR("## `")))
			name = str_sub(line, 4, line.n - 5);
		if (!str_contains(line, STR("(reads)")) && !str_contains(line, STR("(writes)")))
			continue;
		n++;
		for (size_t i = 0; i < all->ops.n; i++)
			used |= str_eq(all->ops.p[i], name);
		for (size_t i = 0; i < ARRAY_LEN(not_here); i++)
			used |= str_is(name, not_here[i]);
		missing += !used;
		if (!used)
			print_error("nobody asks for " STR_FMT "\n", STR_ARG(name));
	}
	buf_done(&docs);
	assert_true(n > 30);
	assert_int_equal(missing, 0);
}

/* Everything that people may ask a daemon for is asked for, by somebody, some time. */
TEST(every_operation_is_used)
{
	struct watch all = { 0 };

	for (uint64_t seed = 100; seed < 200; seed++) {
		struct watch w = { 0 };

		watch_run(&w, (struct sim_options){ .seed = seed, .without = NO_FAULTS });
		for (size_t i = 0; i < w.ops.n; i++)
			note_op(&all, w.ops.p[i]);
		watch_done(&w);
	}
	check_used(&all);
	vec_done(&all.ops);
	arena_done(&all.arena);
}

/* Answers get lost: whoever hears nothing asks again, and in the end everything is taken. */
TEST(what_is_lost_is_asked_again)
{
	size_t unheard = 0;

	for (uint64_t seed = 200; seed < 230; seed++) {
		struct watch w = { 0 };

		watch_run(&w, (struct sim_options){ .seed = seed });
		assert_true(w.s->violated || people_are_done(w.s->people));
		unheard += w.unheard;
		watch_done(&w);
	}
	assert_true(unheard > 10);
}

TEST(the_checkout_is_left_clean)
{
	for (uint64_t seed = 300; seed < 312; seed++) {
		struct watch w = { 0 };

		watch_run(&w, (struct sim_options){ .seed = seed, .without = NO_FAULTS });
		assert_true(simgit_clean(w.s->git, STR(SIM_REPO)));
		assert_true(str_is(simgit_head(w.s->git, STR(SIM_REPO)), "main"));
		watch_done(&w);
	}
}

/* Each is broken on purpose, and that is seen. */
TEST(what_daemons_tell_is_judged)
{
	static const char *const names[] = { "no_internal_error", "reads_show_saved", "replay" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct watch w = { 0 };

		watch_run(&w,
				(struct sim_options){ .seed = 8,
						.without = NO_FAULTS,
						.sabotage = names[i] });
		assert_non_null(w.s->violated);
		assert_string_equal(w.s->violated, names[i]);
		watch_done(&w);
	}
}

TEST(a_seed_tells_everything)
{
	uint8_t hashes[2][SHA256_LEN];

	for (int i = 0; i < 2; i++) {
		struct watch w = { 0 };

		watch_run(&w, (struct sim_options){ .seed = 77 });
		sim_trace_hash(w.s, hashes[i]);
		watch_done(&w);
	}
	assert_memory_equal(hashes[0], hashes[1], SHA256_LEN);
}

/* ---- the tape ---- */

TEST(a_falsified_tape_is_noticed)
{
	for (int what = TAPE_SPOIL_ANSWER; what <= TAPE_SPOIL_OUTPUT; what++) {
		struct watch w = { .spoil = true, .what = (enum tape_spoil)what };

		/*
		 * Recorded are all lives when the replay is to be broken; the checker waits here.
		 */
		watch_run(&w,
				(struct sim_options){ .seed = 9,
						.without = NO_FAULTS,
						.sabotage = "replay" });
		assert_string_equal(w.s->violated, "replay");
		watch_done(&w);
	}
}

TEST(a_hidden_input_is_noticed)
{
	struct watch w = { 0 };
	uint64_t seed = 0;

	/* A seed whose first life is recorded. */
	do
		seed++;
	while (!tape_wanted(&(struct sim){ .o.seed = seed }, 1));
	hidden = 0;
	watch_run(&w, (struct sim_options){ .seed = seed, .without = NO_FAULTS });
	assert_null(w.s->violated);
	watch_done(&w);

	w = (struct watch){ 0 };
	hidden_from = 5;
	watch_run(&w, (struct sim_options){ .seed = seed, .without = NO_FAULTS });
	hidden_from = 0;
	assert_string_equal(w.s->violated, "replay");
	watch_done(&w);
}

TEST_MAIN
