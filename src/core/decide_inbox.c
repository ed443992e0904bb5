/*
 * Answers of people to escalations, and what each does: a node goes on with the answer, is done or
 * is cancelled by it; a run that waits for it is told; what is only a notice is acknowledged.
 */
#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "core/decide_impl.h"
#include "core/limits.h"

/* An answer on its way. */
struct answer {
	const struct escalation *x;
	const struct goal *g;
	const struct node *n; /* NULL: it is about the goal, or about none */
	str text;
	bool option; /* it is one of those that were offered */
};

static struct subject about_escalation(const struct escalation *x)
{
	return (struct subject){ .goal = x->goal_id,
		.node = x->node_id,
		.assignment = x->assignment_id };
}

static void emit_closed(struct decide_ctx *cx, const struct escalation *x, enum esc_status as,
		str text)
{
	struct event *e = emit(cx, EV_ESCALATION_CLOSED, about_escalation(x));

	ev_int(cx, e, "escalation", x->number);
	ev_cstr(cx, e, "status", status_name(&esc_statuses, (int)as));
	ev_note(cx, e, "answer", text);
}

/* The node goes on: a new run is told what was answered, or the one that waits for it. */
static void go_on(struct decide_ctx *cx, const struct answer *a, str text)
{
	struct event *e;

	if (text.n) {
		e = emit(cx, EV_NODE_ANSWERED, about_node(a->n));
		ev_int(cx, e, "escalation", a->x->number);
		ev_note(cx, e, "answer", text);
	}
	if (a->n->status == NODE_BLOCKED)
		work_unblock(cx, a->n,
				arena_printf(cx->arena, "#%lld was answered: " STR_FMT,
						(long long)a->x->number, STR_ARG(a->text)));
}

static void answer_node(struct decide_ctx *cx, const struct answer *a)
{
	str reason = arena_printf(cx->arena, "answer to #%lld: " STR_FMT, (long long)a->x->number,
			STR_ARG(a->text));

	if (node_is_final(a->n) || !node_is_leaf(a->n))
		return;
	if (str_is(a->text, "done"))
		work_done(cx, a->n, reason);
	else if (str_is(a->text, "cancel") && accept_check(a->n, NULL) == 0)
		work_cancel(cx, a->n, reason);
	else
		go_on(cx, a, str_is(a->text, "retry") ? STR("") : a->text);
}

/* An agent's own words are never commands to us, even when a person chooses them. */
static void answer_question(struct decide_ctx *cx, const struct answer *a)
{
	if (!a->option)
		answer_node(cx, a);
	else if (!node_is_final(a->n) && node_is_leaf(a->n))
		go_on(cx, a, a->text);
}

static int check_node(const struct answer *a, struct ov_err *err)
{
	return str_is(a->text, "cancel") && !a->option ? accept_check(a->n, err) : 0;
}

static void acknowledge(struct decide_ctx *cx, const struct answer *a)
{
	(void)cx, (void)a;
}

static void answer_login(struct decide_ctx *cx, const struct answer *a)
{
	if (a->option)
		login_answered(cx, a->x);
}

static void answer_outage(struct decide_ctx *cx, const struct answer *a)
{
	if (a->option)
		outage_denied(cx);
}

/* By kind of escalation; a kind that is not here goes by whether it is about a node. */
static const struct rule {
	const char *kind;
	bool node;                                                /* only when it is about a node */
	int (*check)(const struct answer *a, struct ov_err *err); /* may refuse; NULL: never */
	void (*answer)(struct decide_ctx *cx, const struct answer *a);
} rules[] = {
	{ "question", true, check_node, answer_question },
	{ "login", false, NULL, answer_login },
	{ "outage", false, NULL, answer_outage },
}, node_rule = { "", true, check_node, answer_node },
  goal_rule = { "", false, NULL, acknowledge };

static const struct rule *rule_for(const struct answer *a)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (str_is(a->x->kind, rules[i].kind) && (a->n || !rules[i].node))
			return &rules[i];
	return a->n ? &node_rule : &goal_rule;
}

static struct answer answer_of(const struct decide_ctx *cx, const struct escalation *x, str text)
{
	struct answer a = { .x = x, .text = text };

	a.g = x->goal_id.n ? state_goal(cx->state, x->goal_id) : NULL;
	a.n = x->node_id.n ? state_node(cx->state, x->goal_id, x->node_id) : NULL;
	for (size_t i = 0; i < x->options.n; i++)
		a.option |= str_eq(x->options.p[i], text);
	return a;
}

void escalation_answer(struct decide_ctx *cx, const struct escalation *x, str answer,
		enum esc_status as)
{
	struct answer a = answer_of(cx, x, answer);

	emit_closed(cx, x, as, answer);
	rule_for(&a)->answer(cx, &a);
}

static str option_names(struct decide_ctx *cx, const struct escalation *x)
{
	str names = STR("");

	for (size_t i = 0; i < x->options.n; i++)
		names = arena_printf(cx->arena, STR_FMT "%s" STR_FMT, STR_ARG(names),
				names.n ? ", " : "", STR_ARG(x->options.p[i]));
	return names;
}

/* An option by any prefix that fits only one; what fits none is an answer of its own. */
static int resolve(struct decide_ctx *cx, const struct escalation *x, str *text, struct ov_err *err)
{
	str found = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < x->options.n; i++) {
		if (str_eq(x->options.p[i], *text))
			return 0;
		if (!str_starts(x->options.p[i], *text))
			continue;
		found = x->options.p[i];
		count++;
	}
	if (count > 1)
		return ov_fail(err, OV_EINVALID,
				"\"" STR_FMT "\" fits %zu of the answers; they are: " STR_FMT,
				STR_ARG(*text), count, STR_ARG(option_names(cx, x)));
	if (count == 1)
		*text = found;
	return 0;
}

static int read_escalation(struct decide_ctx *cx, const value *params,
		const struct escalation **ret, struct ov_err *err)
{
	int64_t number = value_int_at(params, "number");
	const struct escalation *x = state_escalation(cx->state, number);

	if (!x) {
		ov_fail(err, OV_ENOTFOUND, "there is no #%lld in the inbox", (long long)number);
		ov_next(err, "overseer inbox");
		return OV_ENOTFOUND;
	}
	if (x->status != ESC_OPEN) {
		ov_fail(err, OV_ESTATE,
				"#%lld is %s already, by " STR_FMT " at " STR_FMT ": " STR_FMT,
				(long long)number, status_name(&esc_statuses, (int)x->status),
				STR_ARG(x->answered_by),
				STR_ARG(time_format(cx->arena, x->closed_at)), STR_ARG(x->answer));
		ov_next(err, "overseer inbox show %lld", (long long)number);
		return OV_ESTATE;
	}
	*ret = x;
	return 0;
}

/* What came of it, for the one who asked: read from the events of the batch. */
static value *result_of(struct decide_ctx *cx, const struct escalation *x, size_t before)
{
	struct arena *a = cx->arena;
	value *v = value_object(a);

	value_put(a, v, "escalation", value_int(a, x->number));
	value_put(a, v, "goal", value_str(a, arena_str(a, x->goal_id)));
	value_put(a, v, "node", value_str(a, arena_str(a, x->node_id)));
	for (size_t i = before; i < cx->out->n; i++) {
		const struct event *e = cx->out->p[i];

		if (e->kind == EV_ESCALATION_CLOSED &&
				value_int_at(e->data, "escalation") == x->number) {
			value_put(a, v, "status", value_str(a, value_str_at(e->data, "status")));
			value_put(a, v, "answer", value_str(a, value_str_at(e->data, "answer")));
		} else if (e->kind == EV_NODE_STATUS) {
			value_put(a, v, "node_status", value_str(a, value_str_at(e->data, "to")));
		} else if (e->kind == EV_GOAL_STATUS) {
			value_put(a, v, "goal_status", value_str(a, value_str_at(e->data, "to")));
		} else if (e->kind == EV_DISPATCH_INTENDED) {
			value_put(a, v, "dispatch",
					value_str(a, value_str_at(e->data, "dispatch")));
		}
	}
	return v;
}

int decide_inbox_answer(struct decide_ctx *cx, const value *params, value **ret_result,
		struct ov_err *err)
{
	str text = str_trim(value_str_at(params, "answer"));
	const struct escalation *x;
	size_t before = cx->out->n;
	struct answer a;
	int r = read_escalation(cx, params, &x, err);

	if (r == 0)
		r = text_check(STR("answer"), text, LIMIT_NOTE, err);
	if (r == 0 && text.n == 0)
		r = ov_fail(err, OV_EINVALID, "an answer needs a text");
	if (r == 0)
		r = resolve(cx, x, &text, err);
	if (r < 0)
		return r;
	a = answer_of(cx, x, text);
	if (rule_for(&a)->check)
		r = rule_for(&a)->check(&a, err);
	if (r < 0)
		return r;
	escalation_answer(cx, x, text, ESC_ANSWERED);
	*ret_result = result_of(cx, x, before);
	return 0;
}

/* Nothing is done about it; who said so is the one whom a blocked node waits for. */
int decide_inbox_dismiss(struct decide_ctx *cx, const value *params, value **ret_result,
		struct ov_err *err)
{
	str reason = str_trim(value_str_at(params, "reason"));
	const struct escalation *x;
	size_t before = cx->out->n;
	struct answer a;
	int r = read_escalation(cx, params, &x, err);

	if (r == 0)
		r = text_check(STR("reason"), reason, LIMIT_NOTE, err);
	if (r < 0)
		return r;
	emit_closed(cx, x, ESC_DISMISSED, reason.n ? reason : STR("dismissed"));
	a = answer_of(cx, x, STR(""));
	if (a.n && a.n->status == NODE_BLOCKED && node_is_leaf(a.n))
		node_blocked_by(cx, a.n, cx->actor);
	*ret_result = result_of(cx, x, before);
	return 0;
}
