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
		const value *data = cx->out->p[i]->data;

		if (str_eq(value_str_at(data, "watch"), watch))
			return value_int_at(data, "n") >= n;
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
	struct event *e = emit(cx, EV_WATCH_ACTED, (struct subject){ 0 });
	enum failure failure = FAILURE_NONE;

	ev_int(cx, e, "n", value_int_at(act, "n"));
	ev_str(cx, e, "act", value_str_at(act, "act"));
	if (failure_from_name(value_str_at(act, "failure"), &failure) && failure != FAILURE_NONE)
		ev_cstr(cx, e, "failure", failure_name(failure));
	ev_str(cx, e, "watch", value_str_at(act, "watch"));
	if (value_str_at(act, "instance").n)
		ev_str(cx, e, "instance", value_str_at(act, "instance"));
	ev_note(cx, e, "text", value_str_at(act, "text"));
	ev_int(cx, e, "at_ms", value_int_at(act, "at_ms"));
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
