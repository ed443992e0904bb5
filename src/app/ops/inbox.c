/* Reading operations about what waits: for a person, for its turn, for a worker. */
#include "core/inbox/inbox.h"
#include "app/ops/explain_impl.h"
#include "app/store/safe_mode.h"
#include "app/vital/watchdog.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/capacity/accept_queue.h"
#include "core/view/view.h"

#define WITH_CHECK "accept|" REVIEW_CHECK "|reject: WHY"

enum { FACTS_SHOWN = 12 };

/* Nothing found the work good that waits for review, and something could; or NULL. */
static const struct assignment *unchecked_work(struct op_ctx *cx, const struct escalation *x)
{
	const struct assignment *as = state_assignment(cx->state, x->assignment_id);

	if (x->status != ESC_OPEN || x->ask != ASK_REVIEW || !as || !as->node ||
			as->stage != STAGE_REVIEW || !as->run ||
			as->run->verification == VERIFY_PASSED ||
			!policy_checks(&cx->config->policy, as->node))
		return NULL;
	return as;
}

static bool has_check(const struct op_ctx *cx, const struct assignment *as)
{
	return as->node->def.check_command.n || cx->config->policy.check_command.n;
}

/* "check" is an answer as soon as there is a command for it: after the entry was made, too. */
static void offer_check(struct op_ctx *cx, const struct escalation *x, value *v)
{
	const struct assignment *as = x ? unchecked_work(cx, x) : NULL;
	const value *before = value_at(v, "commands");
	value *commands = value_array(cx->arena);

	if (!as || !has_check(cx, as))
		return;
	for (size_t i = 0; i < value_count(before); i++)
		value_push(cx->arena, commands,
				i ? value_share(value_item(before, i))
				  : value_strf(cx->arena, "overseer inbox answer %lld " WITH_CHECK,
						    (long long)x->number));
	value_put(cx->arena, v, "answers", value_cstr(cx->arena, WITH_CHECK));
	value_put(cx->arena, v, "commands", commands);
}

int op_inbox_list(struct op_ctx *cx, const struct pr_inbox_list *p, value **ret, struct ov_err *err)
{
	value *list, *found, *watch = NULL;
	struct goal *g = NULL;
	str goal;
	int r = 0;

	if (p->goal.n)
		r = state_find_goal(cx->state, p->goal, &g, err);
	if (r < 0)
		return r;
	goal = g ? g->id : STR("");
	list = value_array(cx->arena);
	if (cx->daemon->safe)
		value_push(cx->arena, list, safe_mode_need(cx->arena, cx->daemon->safe));
	if (!g)
		watch = watchdog_need(cx->arena, cx->daemon->dir, cx->now);
	if (watch)
		value_push(cx->arena, list, watch);
	found = view_inbox(cx->arena, cx->state, goal, cx->now, p->all ? INBOX_ALL : INBOX_DUE);
	for (size_t i = 0; i < value_count(found); i++) {
		value *v = value_edit_item(found, i);

		offer_check(cx, state_escalation(cx->state, value_int_at(v, "number")), v);
		value_push(cx->arena, list, v);
	}
	*ret = value_object(cx->arena);
	value_put(cx->arena, *ret, "inbox", list);
	value_put(cx->arena, *ret, "snoozed",
			value_int(cx->arena, view_inbox_later(cx->state, goal, cx->now)));
	return 0;
}

/* What led to the question: the newest facts about what it is about, and how that stands now. */
static int put_evidence(struct op_ctx *cx, const struct escalation *x, value *v, struct ov_err *err)
{
	value *facts = value_array(cx->arena), *told = NULL;
	struct pr_explain_get about = { 0 };
	const value *all;
	size_t n, major = 0;
	int r;

	if (!x->goal_id.n)
		return 0;
	about.id = x->node_id.n ? arena_printf(cx->arena, STR_FMT "/" STR_FMT, STR_ARG(x->goal_id),
						  STR_ARG(x->node_id))
				: x->goal_id;
	r = op_explain_get(cx, &about, &told, err);
	if (r < 0)
		return r;
	all = value_at(told, "facts");
	n = value_count(all);
	for (size_t i = 0; i < n; i++)
		major += explain_matters(value_item(all, i));
	for (size_t i = 0; i < n; i++)
		if (explain_matters(value_item(all, i)) && major-- <= FACTS_SHOWN)
			value_push(cx->arena, facts, value_share(value_item(all, i)));
	value_put(cx->arena, v, "facts", facts);
	value_put(cx->arena, v, "now", value_share(value_at(told, "now")));
	return 0;
}

/* The command that is configured now did not say yet that it is good. */
static void put_check_now(struct op_ctx *cx, const struct escalation *x, value *v)
{
	const struct assignment *as = unchecked_work(cx, x);
	struct arena *a = cx->arena;

	if (!as)
		return;
	if (has_check(cx, as))
		value_put(a, v, "check_now",
				value_strf(a,
						"a check is configured now; to run it on this "
						"work: overseer inbox answer %lld " REVIEW_CHECK,
						(long long)x->number));
	else
		value_put(a, v, "check_now",
				value_cstr(a,
						"accept.pre_accept_command is configured now: "
						"after the "
						"answer \"accept\" it runs before the work is "
						"merged"));
}

int op_inbox_show(struct op_ctx *cx, const struct pr_inbox_show *p, value **ret, struct ov_err *err)
{
	int64_t number = p->number;
	const struct escalation *x = state_escalation(cx->state, number);
	struct world w = { cx->state, &cx->config->policy };
	value *v;
	int r;

	if (!x) {
		ov_fail(err, OV_ENOTFOUND, "there is no #%lld in the inbox", (long long)number);
		return ov_next(err, "overseer inbox list --all");
	}
	v = view_escalation(cx->arena, cx->state, x, cx->now);
	value_put(cx->arena, v, "notices", view_notices_about(cx->arena, &w, number, cx->now));
	put_check_now(cx, x, v);
	offer_check(cx, x, v);
	r = put_evidence(cx, x, v, err);
	if (r == 0)
		*ret = v;
	return r;
}

int op_queue_list(struct op_ctx *cx, const struct pr_queue_list *p, value **ret, struct ov_err *err)
{
	(void)p, (void)err;
	*ret = view_queue(cx->arena, cx->state, &cx->config->policy, op_no_capacity(cx), cx->now);
	return 0;
}
