#include "app/vital/daemon_story.h"

#include "app/call/explain_fact.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "core/explain/explain.h"
#include "data/message/vital.h"

void story_init(struct story *s, struct arena *a)
{
	*s = (struct story){ .arena = a, .facts = value_array(a) };
}

void story_done(struct story *s)
{
	vec_done(&s->failures);
}

/* What the watchdog wrote down has a time of its own. */
static ov_time moment_of(const struct event *e)
{
	return e->kind == EV_WATCH_ACTED ? as_watch_acted(e)->at_ms : e->at;
}

static void fail(struct story *s, value *fact, const struct event *e, str instance, str cause,
		str text)
{
	struct arena *a = s->arena;
	struct story_failure f = { .fact = fact,
		.view = value_object(a),
		.at = moment_of(e),
		.instance = instance };

	value_put(a, f.view, "seq", value_int(a, (int64_t)e->seq));
	value_put(a, f.view, "at", value_time(a, f.at));
	value_put(a, f.view, "cause", value_str(a, cause));
	value_put(a, f.view, "text", value_str(a, text));
	value_put(a, f.view, "done", value_array(a));
	vec_push(&s->failures, f);
}

/* It belongs to the newest failure, while that lasts. */
static void note_done(struct story *s, const struct event *e)
{
	struct arena *a = s->arena;
	value *done, *v;

	if (s->settling == s->failures.n)
		return;
	done = value_edit_at(s->failures.p[s->failures.n - 1].view, "done");
	v = value_object(a);
	value_put(a, v, "at", value_time(a, moment_of(e)));
	value_put(a, v, "text", value_str(a, explain_event(a, e)));
	value_push(a, done, v);
}

static void recover(struct story *s, ov_time at)
{
	for (size_t i = s->settling; i < s->failures.n; i++)
		s->failures.p[i].recovered_at = MAX(at, s->failures.p[i].at);
	s->open = s->failures.n;
}

/* Whoever watches it says when it is really healthy; without that its start has to do. */
static void take_start(struct story *s, const struct event *e, value *fact)
{
	str instance = as_daemon_started(e)->instance;

	if (s->up.n && s->open == s->failures.n) {
		s->settling = s->failures.n;
		fail(s, fact, e, instance, STR("vanished"),
				STR("the daemon before it ended without a word, and nobody saw "
				    "it"));
	}
	recover(s, e->at);
	note_done(s, e);
	s->up = instance;
}

/* The daemon may have said itself why it ends: then the watchdog saw the same. */
static bool is_same(const struct story *s, str instance)
{
	return s->open < s->failures.n && instance.n &&
			str_eq(s->failures.p[s->failures.n - 1].instance, instance);
}

static void take_act(struct story *s, const struct event *e, value *fact)
{
	const struct ev_watch_acted *is = as_watch_acted(e);

	if (str_is(is->act, act_kind_name(ACT_FAILED)) && !is_same(s, is->instance)) {
		if (s->open == s->failures.n)
			s->settling = s->failures.n;
		fail(s, fact, e, is->instance, is->failure, is->text);
		s->up = STR("");
	} else if (str_is(is->act, act_kind_name(ACT_HEALTHY))) {
		recover(s, moment_of(e));
		s->settling = s->failures.n;
	} else {
		note_done(s, e);
	}
}

static void take_failed(struct story *s, const struct event *e, value *fact)
{
	const struct ev_daemon_failed *is = as_daemon_failed(e);

	if (s->open == s->failures.n)
		s->settling = s->failures.n;
	fail(s, fact, e, is->instance, is->cause, is->text);
	s->up = STR("");
}

void story_take(struct story *s, const struct event *e)
{
	value *fact = explain_fact(s->arena, (int64_t)e->seq, moment_of(e), event_name(e->kind),
			explain_event(s->arena, e), false);

	value_push(s->arena, s->facts, fact);
	s->last_at = moment_of(e);
	switch (e->kind) {
	case EV_DAEMON_STARTED: take_start(s, e, fact); break;
	case EV_DAEMON_STOPPED: s->up = STR(""); break;
	case EV_DAEMON_FAILED: take_failed(s, e, fact); break;
	case EV_WATCH_ACTED: take_act(s, e, fact); break;
	default: break;
	}
}

static str outcome(struct arena *a, const struct story_failure *f)
{
	if (str_is(value_str_at(f->view, "cause"), "vanished"))
		return STR("the one before it had ended without a word");
	if (!f->recovered_at)
		return STR("it has not been up again since");
	return arena_printf(a, "healthy again after " STR_FMT,
			STR_ARG(duration_format_short(a, f->recovered_at - f->at)));
}

value *story_failures(struct story *s)
{
	struct arena *a = s->arena;
	value *list = value_array(a);

	for (size_t i = 0; i < s->failures.n; i++) {
		struct story_failure *f = &s->failures.p[i];

		value_put(a, f->view, "recovered_at", value_time(a, f->recovered_at));
		value_put(a, f->view, "recovery_ms",
				f->recovered_at ? value_int(a, f->recovered_at - f->at)
						: value_null(a));
		value_put(a, f->fact, "text",
				value_strf(a, STR_FMT "; " STR_FMT,
						STR_ARG(value_str_at(f->fact, "text")),
						STR_ARG(outcome(a, f))));
		value_push(a, list, f->view);
	}
	return list;
}
