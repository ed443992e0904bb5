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

static void emit_act(struct decide_ctx *cx, const value *act)
{
	struct ev_watch_acted *e = emit_watch_acted(cx, (struct subject){ 0 });
	enum failure failure = FAILURE_NONE;

	e->n = value_int_at(act, "n");
	e->act = value_str_at(act, "act");
	if (failure_from_name(value_str_at(act, "failure"), &failure) && failure != FAILURE_NONE)
		e->failure = str_from(failure_name(failure));
	e->watch = value_str_at(act, "watch");
	if (value_str_at(act, "instance").n)
		e->instance = value_str_at(act, "instance");
	e->text = value_str_at(act, "text");
	e->at_ms = value_int_at(act, "at_ms");
}

int decide_watch_report(struct decide_ctx *cx, const value *params, value **ret_result _unused_,
		struct ov_err *err)
{
	const value *acts = value_at(params, "acts");
	size_t from = cx->out->n;

	if (value_count(acts) > LIMIT_ACTS)
		return ov_fail(err, OV_ELIMIT, "%zu acts at once, at most %d are allowed",
				value_count(acts), LIMIT_ACTS);
	for (size_t i = 0; i < value_count(acts); i++) {
		const value *act = value_item(acts, i);
		str watch = value_str_at(act, "watch");
		int64_t n = value_int_at(act, "n");

		if (watch.n != VITAL_INSTANCE || n <= 0 || !is_act(value_str_at(act, "act")))
			return ov_fail(err, OV_EINVALID, "act %zu is none of a watchdog's", i + 1);
		if (vigil_is_new(cx->state, watch, n, value_int_at(act, "at_ms")) &&
				!is_emitted(cx, from, watch, n))
			emit_act(cx, act);
	}
	return 0;
}
