/* What the daemon has to say about itself. */
#include "base/arena.h"
#include "base/str.h"
#include "core/decide_impl.h"

int decide_daemon_start(struct decide_ctx *cx, const value *params, value **ret_result,
		struct ov_err *err)
{
	struct event *e = emit(cx, EV_DAEMON_STARTED, (struct subject){ 0 });

	(void)ret_result, (void)err;
	ev_str(cx, e, "instance", value_str_at(params, "instance"));
	ev_str(cx, e, "version", value_str_at(params, "version"));
	if (value_str_at(params, "target").n)
		ev_str(cx, e, "target", value_str_at(params, "target"));
	return 0;
}

int decide_daemon_stop(struct decide_ctx *cx, const value *params, value **ret_result,
		struct ov_err *err)
{
	struct event *e = emit(cx, EV_DAEMON_STOPPED, (struct subject){ 0 });

	(void)ret_result, (void)err;
	ev_str(cx, e, "instance", value_str_at(params, "instance"));
	ev_str(cx, e, "reason", value_str_at(params, "reason"));
	return 0;
}

static bool was_told(const struct decide_ctx *cx, struct subject s, str question)
{
	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (str_is(x->kind, "internal") && str_eq(x->goal_id, s.goal) &&
				str_eq(x->node_id, s.node) && str_starts(x->question, question))
			return true;
	}
	return false;
}

/* A bug of ours: what is about one thing must not hold up the others, and a person hears of it once. */
int decide_daemon_contradicted(struct decide_ctx *cx, const value *params, value **ret_result,
		struct ov_err *err)
{
	const struct goal *g = state_goal(cx->state, value_str_at(params, "goal"));
	const struct node *n = g ? state_node(cx->state, g->id, value_str_at(params, "node"))
				 : NULL;
	struct subject s = n ? about_node(n) : g ? about_goal(g) : (struct subject){ 0 };
	str question = arena_printf(cx->arena,
			"\"" STR_FMT "\" contradicts what is known, and was not done",
			STR_ARG(value_str_at(params, "what")));

	(void)ret_result, (void)err;
	if (was_told(cx, s, question))
		return 0;
	question = arena_printf(cx->arena,
			STR_FMT ": " STR_FMT
				". This is a bug of Overseer. Everything else goes on; this is "
				"tried again when something changes about it, or in an hour",
			STR_ARG(question), STR_ARG(value_str_at(params, "detail")));
	escalate_about(cx, s,
			&(struct escalation_spec){ .kind = "internal", .question = question });
	return 0;
}
