/*
 * What an agent did before the case: runs that ended well, of which the core learns how long it is
 * silent. An agent's runs are much alike, since its model, its tools and its repository are the same:
 * four in five are of its own kind, the others of any. Each is heard as the daemon hears it, and tells
 * at its end what it showed; nobody is stalled or asked in them.
 */
#include "tests/test.h"

#include "core/silence.h"
#include "tests/sim/quality.h"
#include "tests/unit/core_fixture.h"

enum { LOOK_EVERY = 60 * OV_SECOND }; /* as in app/observe.c */

enum activity trace_doing(const struct trace *t, ov_time at)
{
	const struct span *s = trace_at(t, at);

	if (trace_output(t, at) < 0)
		return ACTIVITY_STARTING;
	if (!t->tells)
		return ACTIVITY_UNSAID;
	if (s->compacting || s->waiting || s->retrying)
		return ACTIVITY_APART;
	return s->tool ? ACTIVITY_TOOL : ACTIVITY_THINKING;
}

/* In a silence it does what it does at its end: where a tool begins or ends, real agents speak. */
static void begin_silence(struct silence_book *b, const struct trace *t, ov_time from, ov_time to)
{
	const char *name = trace_at(t, MAX(to - 1, from))->name;

	silence_hear(b, from, trace_doing(t, MAX(to - 1, from)), str_from(name ? name : ""));
	/* The daemon looks at the processes of silent ones so often, and compares with the look before. */
	for (ov_time at = from - from % LOOK_EVERY + LOOK_EVERY; at + LOOK_EVERY < to;
			at += LOOK_EVERY)
		if (used_enough(t, at, at + LOOK_EVERY))
			silence_work(b);
}

static void hear(struct silence_book *b, const struct trace *t)
{
	ov_time at = MIN(trace_next_output(t, -1), t->ends_at), next;

	silence_hear(b, 0, ACTIVITY_STARTING, STR(""));
	for (; at < t->ends_at; at = next) {
		next = MIN(trace_next_output(t, at), t->ends_at);
		begin_silence(b, t, at, next);
	}
	silence_hear(b, t->ends_at, ACTIVITY_APART, STR(""));
}

void history_teach(struct fixture *f, const struct test_case *c)
{
	for (size_t i = 0; i < c->history + c->history / STRANGE_EVERY; i++) {
		struct silence_book book = { 0 };
		struct event e = { .kind = EV_SILENCE_LEARNED,
			.at = f->now,
			.actor = STR("overseer") };
		struct trace t;

		history_make(&t, c, i);
		hear(&book, &t);
		e.data = value_object(&f->arena);
		value_put(&f->arena, e.data, "agent", value_cstr(&f->arena, "a"));
		value_put(&f->arena, e.data, "silences", silence_told(&f->arena, &book));
		if (append(f, &e, NULL) < 0)
			fail_msg("what a run taught is refused");
	}
}
