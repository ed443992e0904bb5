#include "core/export/portable_view.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/view/view.h"
#include "data/value/json.h"

/*
 * Names that are more than their snake_case in camelCase. Without a noun: in every record; empty:
 * it is told elsewhere.
 */
static const struct {
	const char *noun, *field, *name;
} names[] = {
	{ NULL, "node_id", "workNodeId" },
	{ "goal", "id", "goalId" },
	{ "goal", "origin_session", "" }, /* these two are members of "origin" */
	{ "goal", "origin_context", "" },
	{ "goal", "repo_context", "repoContextSnapshot" },
	{ "node", "outcome", "expectedOutcome" },
	{ "node", "acceptance", "acceptanceCriteria" },
	{ "node", "deps", "dependsOn" },
	{ "node", "suggested_agent", "suggestedAgentId" },
	{ "node", "effort", "estimatedEffort" },
	{ "node", "risk", "riskLevel" },
	{ "assignment", "id", "assignmentId" },
	{ "assignment", "agent", "agentId" },
	{ "assignment", "idle_after", "idleAfterMs" },
	{ "assignment", "last_activity_at", "lastObservedActivityAt" },
	{ "assignment", "expected_at", "expectedNextUpdateAt" },
	{ "dispatch", "id", "dispatchId" },
	{ "dispatch", "at", "ts" },
	{ "crystallization", "id", "crystallizationId" },
	{ "crystallization", "agent", "agentId" },
};

static str camel(struct arena *a, const char *field)
{
	size_t n = 0;
	char *out = arena_alloc(a, strlen(field) + 1);

	for (const char *p = field; *p; p++) {
		if (*p == '_' && p[1] >= 'a' && p[1] <= 'z')
			out[n++] = (char)(*++p - 'a' + 'A');
		else
			out[n++] = *p;
	}
	return (str){ out, n };
}

static str portable_name(struct arena *a, const char *noun, const char *field)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i].field, field) == 0 &&
				(!names[i].noun || strcmp(names[i].noun, noun) == 0))
			return str_from(names[i].name);
	return camel(a, field);
}

static value *record_view(struct arena *a, const struct record_type *t, const void *record)
{
	const value *v = record_to_value(a, t, record);
	value *out = value_object(a);

	for (size_t i = 0; i < t->n; i++) {
		str name = portable_name(a, t->noun, t->fields[i].name);

		if (name.n)
			value_append_member(a, out, name, v->object.members[i].value);
	}
	return out;
}

static const char *const node_ids[] = {
	[TIER_PHASE] = "phaseId",
	[TIER_TASK] = "taskId",
	[TIER_SUBTASK] = "subtaskId",
};

/* Lists that nobody filled are empty, not absent. */
static void need_list(struct arena *a, value *v, const char *key)
{
	if (value_at(v, key)->kind == V_NULL)
		value_put(a, v, key, value_array(a));
}

/* Why, by whom, and what would change it; null for what is not blocked. */
static value *blocked_reason(struct arena *a, const struct node *n)
{
	value *v = value_object(a);

	if (n->status != NODE_BLOCKED || !node_is_leaf(n))
		return value_null(a);
	value_put(a, v, "kind", value_cstr(a, status_name(&block_kinds, (int)n->block.kind)));
	value_put(a, v, "reason", value_str(a, n->status_reason));
	value_put(a, v, "by", value_str(a, n->block.by));
	value_put(a, v, "unblockWhen", value_str(a, n->block.when));
	value_put(a, v, "until", value_time(a, n->block.until));
	return v;
}

static value *node_view(struct arena *a, const struct node *n)
{
	value *v = record_view(a, &node_record, n);

	for (size_t i = 0; i < v->object.n; i++)
		if (str_is(v->object.members[i].key, "id"))
			v->object.members[i].key = str_from(node_ids[n->def.tier]);
	view_put_place(a, v, n);
	value_put(a, v, "blockedReason", blocked_reason(a, n));
	return v;
}

static bool read_event(struct arena *a, const struct portable_source *src, uint64_t seq,
		enum event_kind kind, struct event *ret)
{
	return seq && src->read(src->user, a, seq, ret) && ret->kind == kind;
}

static value *or_null(struct arena *a, const value *v)
{
	return v ? value_share(v) : value_null(a);
}

static value *text_or_null(struct arena *a, str s)
{
	return s.n ? value_str(a, s) : value_null(a);
}

/* Who made the plan, of what, and what it answered; null where nobody was asked. */
static void put_planner(struct arena *a, const struct portable_source *src, const struct goal *g,
		value *v)
{
	static const struct ev_plan_generated none;
	struct event e;
	bool asked = read_event(a, src, (uint64_t)g->planned_seq, EV_PLAN_GENERATED, &e);
	const struct ev_plan_generated *is = asked ? as_plan_generated(&e) : &none;
	value *planner = asked ? value_object(a) : value_null(a);

	if (asked) {
		value_put(a, planner, "modelRef", value_str(a, is->model_ref));
		value_put(a, planner, "promptTemplateId", value_str(a, is->template_id));
		value_put(a, planner, "promptTemplateHash", value_str(a, is->template_hash));
	}
	value_put(a, v, "planner", planner);
	value_put(a, v, "plannerInputs", or_null(a, is->inputs));
	value_put(a, v, "rawPlannerOutputJson", text_or_null(a, is->raw));
	value_put(a, v, "validationErrors",
			is->attempts ? value_share(is->attempts) : value_array(a));
}

/* What each version changed, and why; the newest LIMIT_KEPT of them. */
static value *revisions(struct arena *a, const struct portable_source *src, const struct goal *g)
{
	static const char *const members[] = { "added", "changed", "removed", "kept" };
	value *list = value_array(a);

	for (size_t i = 0; i < g->plan_seqs.n; i++) {
		const struct ev_plan_applied *is;
		struct event e;
		value *v;

		if (!read_event(a, src, g->plan_seqs.p[i], EV_PLAN_APPLIED, &e))
			continue;
		is = as_plan_applied(&e);
		v = value_object(a);
		value_put(a, v, "version", value_int(a, is->version));
		value_put(a, v, "ts", value_time(a, e.at));
		value_put(a, v, "actor", value_str(a, e.actor));
		value_put(a, v, "source", text_or_null(a, is->source));
		value_put(a, v, "reason", text_or_null(a, is->reason));
		for (size_t k = 0; k < ARRAY_LEN(members); k++)
			value_put(a, v, members[k], or_null(a, value_at(is->summary, members[k])));
		value_push(a, list, v);
	}
	return list;
}

value *portable_goal(struct arena *a, const struct portable_source *src, const struct goal *g)
{
	static const char *const priorities[] = { "", "urgent", "high", "normal", "low",
		"background" };
	value *v = record_view(a, &goal_record, g), *nodes = value_array(a),
	      *origin = value_object(a);
	const value *record = record_to_value(a, &goal_record, g);

	for (size_t i = 0; i < g->nodes.n; i++)
		value_push(a, nodes, node_view(a, g->nodes.p[i]));
	value_put(a, origin, "sourceSessionKey", value_str(a, g->origin_session));
	value_put(a, origin, "originDeliveryContext",
			or_null(a, value_at(record, "origin_context")));
	value_put(a, v, "origin", origin);
	if (g->priority > 0 && g->priority < (int64_t)ARRAY_LEN(priorities))
		value_put(a, v, "priority", value_cstr(a, priorities[g->priority]));
	need_list(a, v, "risks");
	put_planner(a, src, g, v);
	value_put(a, v, "planRevisionHistory", revisions(a, src, g));
	value_put(a, v, "workNodes", nodes);
	return v;
}

/*
 * "sessions_send", "sessions_spawn", "escalate"; the target of the last is an entry of the inbox.
 */
value *portable_dispatch(struct arena *a, const struct dispatch *d)
{
	value *v = record_view(a, &dispatch_record, d), *target = value_object(a),
	      *context = value_object(a);
	bool person = d->mode == MODE_ESCALATE;
	/* To a session that is there: the document knows no third way. */
	const char *mode = status_name(&dispatch_modes,
			(int)(d->mode == MODE_RESUME ? MODE_SEND : d->mode));

	value_put(a, context, "inbox", value_str(a, d->target));
	value_put(a, target, "sessionKey", value_str(a, person ? STR("") : d->target));
	value_put(a, target, "deliveryContext", person ? context : value_null(a));
	value_put(a, v, "target", target);
	value_put(a, v, "mode",
			value_str(a, arena_printf(a, "%s%s", person ? "" : "sessions_", mode)));
	return v;
}

value *portable_assignment(struct arena *a, const struct portable_source *src,
		const struct assignment *as)
{
	value *v = record_view(a, &assignment_record, as), *history = value_array(a);
	const struct dispatch *last = as->dispatches.n ? vec_last(&as->dispatches) : NULL;
	struct event e;
	bool told = last && read_event(a, src, (uint64_t)last->seq, EV_DISPATCH_INTENDED, &e);

	for (size_t i = 0; i < as->dispatches.n; i++)
		value_push(a, history, portable_dispatch(a, as->dispatches.p[i]));
	/* Its session is a run of ours: nothing goes to anybody else's channel. */
	value_put(a, v, "deliveryContext", value_null(a));
	value_put(a, v, "spawnedByKey", value_cstr(a, "overseer"));
	value_put(a, v, "lastInstructionText",
			told ? value_str(a, as_dispatch_intended(&e)->instruction) : value_null(a));
	value_put(a, v, "retryCount", value_int(a, assignment_retries(as)));
	value_put(a, v, "lastRetryAt", value_time(a, assignment_last_retry(as)));
	value_put(a, v, "backoffUntil", value_time(a, assignment_backoff(as)));
	value_put(a, v, "dispatchHistory", history);
	return v;
}

value *portable_handoff(struct arena *a, const struct crystallization *c)
{
	value *v = record_view(a, &crystallization_record, c);

	need_list(a, v, "decisions");
	value_put(a, v, "sessionId", value_str(a, c->run_id));
	return v;
}
