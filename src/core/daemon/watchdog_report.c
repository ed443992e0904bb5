/* What watchdogs did, as they wrote it down: an event for each act, once. */
#include "base/err.h"
#include "base/str.h"
#include "core/daemon/daemon.h"
#include "core/decide/emit.h"
#include "core/model/watchdog.h"
#include "data/message/vital.h"

/* By what was decided just now, which the state does not know yet. */
static bool is_emitted(const struct decide_ctx *cx, size_t from, str watch, int64_t n)
{
	for (size_t i = cx->out->n; i-- > from;) {
		const struct event *e = cx->out->p[i];

		if (e->kind == EV_WATCH_ACTED && str_eq(as_watch_acted(e)->watch, watch))
			return as_watch_acted(e)->n >= n;
	}
	return false;
}

static bool is_act(str name)
{
	for (int k = 0; k < ACT_COUNT; k++)
		if (str_is(name, act_kind_name((enum act_kind)k)))
			return true;
	return false;
}

static void emit_act(struct decide_ctx *cx, const struct pt_act *act)
{
	struct ev_watch_acted *e = emit_watch_acted(cx, (struct subject){ 0 });
	enum failure failure = FAILURE_NONE;

	e->n = act->n;
	e->act = act->act;
	if (failure_from_name(act->failure, &failure) && failure != FAILURE_NONE)
		e->failure = str_from(failure_name(failure));
	e->watch = act->watch;
	e->instance = act->instance;
	e->text = act->text;
	e->at_ms = act->at_ms;
}

int decide_watch_report(struct decide_ctx *cx, const struct msg_watch_report *p,
		value **ret_result _unused_, struct ov_err *err)
{
	const struct pt_act *acts;
	size_t n = value_count(p->acts), from = cx->out->n;

	if (n > LIMIT_ACTS)
		return ov_fail(err, OV_ELIMIT, "%zu acts at once, at most %d are allowed", n,
				LIMIT_ACTS);
	acts = parts_from(cx->arena, PART_act, p->acts);
	for (size_t i = 0; i < n; i++) {
		const struct pt_act *x = &acts[i];

		if (x->watch.n != VITAL_INSTANCE || x->n <= 0 || !is_act(x->act))
			return ov_fail(err, OV_EINVALID, "act %zu is none of a watchdog's", i + 1);
		if (vigil_is_new(cx->state, x->watch, x->n, x->at_ms) &&
				!is_emitted(cx, from, x->watch, x->n))
			emit_act(cx, x);
	}
	return 0;
}
