/* `explain daemon`: how it is now, and its story; also while it is down. */
#include "app/ops/explain_impl.h"
#include "app/store/safe_mode.h"
#include "app/vital/acts.h"
#include "app/vital/daemon_story.h"
#include "app/vital/watchdog.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "core/explain/explain_state.h"
#include "core/model/watchdog.h"
#include "sys/file/file.h"
#include "version.h"

enum { FACTS_SHOWN = 50, HEALTH_READ_MAX = 2 * HEALTH_BYTES };

struct telling {
	struct op_ctx *cx;
	struct story story;
	size_t unrecorded;
};

/* What the watchdog did while there was nobody to record it. */
static void take_unrecorded(void *user, const struct act *x)
{
	struct telling *t = user;
	struct arena *a = t->cx->arena;
	struct ev_watch_acted *is;
	struct event *e;

	if (!vigil_is_new(t->cx->state, str_from(x->watch), x->n, x->at))
		return;
	e = arena_new(a, struct event);
	e->kind = EV_WATCH_ACTED;
	e->at = x->at;
	e->is = is = arena_new(a, struct ev_watch_acted);
	is->act = str_from(act_kind_name(x->kind));
	if (x->failure != FAILURE_NONE)
		is->failure = str_from(failure_name(x->failure));
	is->instance = arena_str(a, str_from(x->instance));
	is->text = arena_str(a, str_from(x->text));
	is->at_ms = x->at;
	e->data = event_data(a, e);
	story_take(&t->story, e);
	t->unrecorded++;
}

/* An event that cannot be read any more leaves a gap, and the rest of the story. */
static void tell_daemon(struct telling *t)
{
	const struct seqs *history = &t->cx->state->vigil.history;
	const char *dir = t->cx->daemon->dir;

	for (size_t i = 0; i < history->n; i++) {
		struct event e;

		if (op_read_event(t->cx, history->p[i], &e, NULL) == 0)
			story_take(&t->story, &e);
	}
	acts_read_file(path_join(t->cx->arena, dir, ACTS_OLD), take_unrecorded, t);
	acts_read_file(path_join(t->cx->arena, dir, VITAL_ACTS), take_unrecorded, t);
}

static value *newest(struct arena *a, const value *list)
{
	size_t n = value_count(list), skip = n > FACTS_SHOWN ? n - FACTS_SHOWN : 0;
	value *out = value_array(a);

	for (size_t i = skip; i < n; i++)
		value_push(a, out, value_share(value_item(list, i)));
	return out;
}

/* The last line of a daemon's own; of the one that runs, if one does. */
static bool last_health(struct op_ctx *cx, struct health *ret)
{
	str rest, line;
	struct health h;
	bool found = false;

	if (file_read(cx->arena, path_join(cx->arena, cx->daemon->dir, VITAL_HEALTH),
			    HEALTH_READ_MAX, &rest, NULL) < 0)
		return false;
	while (str_split(&rest, '\n', &line))
		if (health_read(line, &h) &&
				(cx->daemon->read_only ||
						strcmp(h.instance, cx->daemon->instance) == 0)) {
			*ret = h;
			found = true;
		}
	return found;
}

static const char *state_word(const struct op_ctx *cx, const struct health *h)
{
	if (cx->daemon->safe)
		return "safe_mode";
	if (cx->daemon->read_only)
		return "down";
	return h && h->kind == HEALTH_DEGRADED ? "degraded" : "up";
}

static str watch_words(struct arena *a, const value *watch)
{
	str state = value_str_at(watch, "state"), reason = value_str_at(watch, "reason");

	if (!state.n)
		return STR("no watchdog was ever started");
	return arena_printf(a, "watchdog " STR_FMT " (pid %lld)%s" STR_FMT, STR_ARG(state),
			(long long)value_int_at(watch, "pid"), reason.n ? ": " : "",
			STR_ARG(reason));
}

static str now_words(struct op_ctx *cx, const value *watch, size_t failures)
{
	const struct op_daemon *d = cx->daemon;
	str up = d->read_only
			? STR("it is not running; what is known is told from the store and its "
			      "files")
			: arena_printf(cx->arena, "up for " STR_FMT " (pid %d, instance %s)",
					  STR_ARG(duration_format_short(cx->arena,
							  MAX(cx->now - d->started_at,
									  (ov_time)0))),
					  d->pid, d->instance);

	return arena_printf(cx->arena, STR_FMT "; " STR_FMT "; %zu failure%s known", STR_ARG(up),
			STR_ARG(watch_words(cx->arena, watch)), failures, failures == 1 ? "" : "s");
}

static void add_evidence(const struct explain *x, value *evidence, const struct telling *t,
		const struct health *h)
{
	const struct op_daemon *d = t->cx->daemon;

	if (d->safe)
		explain_show(x, evidence, 0, "safe mode: " STR_FMT,
				STR_ARG(value_str_at(safe_mode_view(x->arena, d->safe), "reason")));
	if (d->config_problem)
		explain_show(x, evidence, 0, "no daemon starts with this configuration: %s",
				d->config_problem);
	if (h)
		explain_show(x, evidence, h->at, "last said of its health: %s%s%s",
				health_kind_name(h->kind), h->text[0] ? ", " : "", h->text);
	if (t->unrecorded)
		explain_show(x, evidence, 0,
				"%zu act%s of the watchdog %s not in the log yet: the next daemon "
				"records %s",
				t->unrecorded, t->unrecorded == 1 ? "" : "s",
				t->unrecorded == 1 ? "is" : "are",
				t->unrecorded == 1 ? "it" : "them");
}

static value *next_commands(struct op_ctx *cx, const value *watch)
{
	value *next = value_array(cx->arena);
	str manual = value_str_at(watch, "manual_file");
	bool alive = value_bool_at(watch, "alive");

	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *e = cx->state->escalations.p[i];

		if (e->status == ESC_OPEN && (e->ask == ASK_INTERNAL || e->ask == ASK_DAEMON))
			value_push(cx->arena, next,
					value_strf(cx->arena, "overseer inbox show %lld",
							(long long)e->number));
	}
	if (cx->daemon->safe)
		value_push(cx->arena, next, value_cstr(cx->arena, "overseer doctor"));
	if (cx->daemon->config_problem)
		value_push(cx->arena, next, value_cstr(cx->arena, "overseer config check"));
	if (manual.n)
		value_push(cx->arena, next,
				value_strf(cx->arena, "rm %s/" STR_FMT, cx->daemon->dir,
						STR_ARG(manual)));
	if (!alive)
		value_push(cx->arena, next, value_cstr(cx->arena, "overseer watch"));
	/* A watchdog starts it itself, unless it was stopped by request. */
	if (cx->daemon->read_only && (!alive || str_is(value_str_at(watch, "detail"), "waiting")))
		value_push(cx->arena, next, value_cstr(cx->arena, "overseer up"));
	value_push(cx->arena, next, value_cstr(cx->arena, "overseer events --type watch.acted"));
	/* Nodes may be called like that, too. */
	for (size_t i = 0; i < cx->state->goals.n; i++) {
		str goal = cx->state->goals.p[i]->id;

		if (state_node(cx->state, goal, STR("daemon")))
			value_push(cx->arena, next,
					value_strf(cx->arena, "overseer explain " STR_FMT "/daemon",
							STR_ARG(goal)));
	}
	return next;
}

value *explain_daemon(struct op_ctx *cx)
{
	struct arena *a = cx->arena;
	struct explain x = { a, cx->state, &cx->config->policy, cx->observations, cx->now,
		op_no_capacity(cx) };
	struct telling t = { .cx = cx };
	value *v = value_object(a), *watch = watchdog_view(a, cx->daemon->dir, cx->now), *failures,
	      *evidence = value_array(a);
	struct health h;
	bool said = last_health(cx, &h);
	const char *state = state_word(cx, said ? &h : NULL);

	story_init(&t.story, a);
	tell_daemon(&t);
	failures = story_failures(&t.story);
	value_put(a, v, "id", value_cstr(a, "daemon"));
	value_put(a, v, "noun", value_cstr(a, "daemon"));
	value_put(a, v, "title", value_cstr(a, "overseerd " OV_VERSION));
	value_put(a, v, "status", value_cstr(a, state));
	value_put(a, v, "state", value_cstr(a, state));
	value_put(a, v, "since",
			value_time(a,
					cx->daemon->read_only ? t.story.last_at
							      : cx->daemon->started_at));
	value_put(a, v, "now", value_str(a, now_words(cx, watch, value_count(failures))));
	add_evidence(&x, evidence, &t, said ? &h : NULL);
	value_put(a, v, "evidence", evidence);
	value_put(a, v, "next", next_commands(cx, watch));
	explain_conclude(&x, v, value_str_at(v, "now"), STR(""));
	value_put(a, v, "watch", watch);
	value_put(a, v, "failures", newest(a, failures));
	value_put(a, v, "facts", newest(a, t.story.facts));
	story_done(&t.story);
	return v;
}
