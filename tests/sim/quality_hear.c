/*
 * What the daemon hears of a run, by the same code: app/watch/observe.c keeps a core/model/silence
 * book of each, and the executor feeds agent/fact/repeats with what agents write that tell nothing
 * of themselves, and agent/fact/calls with what the others call.
 */
#include "tests/test.h"

#include <stdio.h>

#include "base/str.h"
#include "tests/sim/quality_world.h"

enum { LINE_MAX = 32, LINES_MAX = 16 };

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

static str words(struct ear *e, const struct span *s, char buf[LINE_MAX * LINES_MAX])
{
	size_t n = 0;

	if (s->says == SAYS_DOTS)
		return STR(".");
	if (s->says == SAYS_BAR)
		return STR("\r42 %");
	for (int i = 0; i < MIN(MAX(s->lines, 1), (int)LINES_MAX); i++)
		n += (size_t)snprintf(buf + n, LINE_MAX, "line %d of %lld\n", i,
				s->says == SAYS_SAME ? 0LL : (long long)++e->said);
	return (str){ buf, n };
}

static void call(struct ear *e, const struct span *s, ov_time at)
{
	char digest[SHA256_HEX + 1];
	struct fact f = { .kind = FACT_TOOL_STARTED };

	(void)snprintf(digest, sizeof(digest), "%064lld",
			s->says == SAYS_SAME ? 0LL : (long long)++e->said);
	f.digest = str_from(digest);
	f.text = STR("bash: make");
	calls_answered(&e->calls, calls_made(&e->calls, &f), 0, &f, at);
}

/* What it writes, or calls. True when the daemon would put it into what is observed. */
static bool say(struct ear *e, const struct trace *t, ov_time began, ov_time at, bool old)
{
	const struct span *s = trace_at(t, at);
	char buf[LINE_MAX * LINES_MAX];

	if (!t->tells)
		return repeats_bytes(&e->repeats, words(e, s, buf), began + at, old);
	if (s->tool || s->says == SAYS_SAME)
		call(e, s, began + at);
	return true;
}

void ear_begin(struct ear *e, const struct trace *t, ov_time began, ov_time upto, ov_time gap)
{
	*e = (struct ear){ .upto = -1, .repeats.gap = gap };
	for (ov_time at = trace_next_output(t, -1); at <= upto; at = trace_next_output(t, at))
		(void)say(e, t, began + (t->tells ? 0 : upto - at), at, true);
	e->upto = upto;
	silence_hear(&e->book, MAX(upto, (ov_time)0), ACTIVITY_STARTING, STR(""));
	/* How long it had been silent is not known. */
	if (upto >= 0)
		silence_spoil(&e->book);
}

static void observe_same(const struct ear *e, const struct trace *t, struct observation *o)
{
	o->same_output = !t->tells;
	o->same_calls = t->tells ? e->calls.same : e->repeats.count;
	o->same_since = t->tells ? e->calls.same_since : e->repeats.since;
	o->same_at = t->tells ? 0 : e->repeats.last_at;
	o->same_call = str_from(t->tells ? e->calls.same_text : e->repeats.text);
}

void ear_hear(struct ear *e, const struct trace *t, ov_time began, ov_time to,
		struct observation *o)
{
	ov_time at;

	while ((at = trace_next_output(t, e->upto)) <= MIN(to, t->ends_at)) {
		const char *name = trace_at(t, at)->name;

		silence_hear(&e->book, at, trace_doing(t, at), str_from(name ? name : ""));
		if (say(e, t, began, at, false))
			observe_same(e, t, o);
		e->upto = at;
		e->heard = true;
	}
	o->doing = trace_doing(t, to);
}

value *ear_told(struct arena *a, struct ear *e, ov_time at)
{
	if (!e->heard)
		return NULL;
	silence_hear(&e->book, at, ACTIVITY_APART, STR(""));
	return silence_told(a, &e->book);
}

/* Blocks count only when some time has passed since the last one. */
ov_time ear_next(const struct ear *e, const struct trace *t, ov_time began)
{
	ov_time counts = e->repeats.last_at ? e->repeats.last_at + e->repeats.gap - began - 1 : -1;

	return trace_next_same(t, t->tells ? e->upto : MAX(e->upto, counts));
}
