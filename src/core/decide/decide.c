#include "core/decide/decide.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "core/capacity/budget.h"
#include "core/decide/emit.h"
#include "core/flow/auto.h"
#include "core/flow/upkeep.h"
#include "core/inbox/notices.h"
#include "core/intervene/aftermath.h"
#include "core/model/limits.h"
#include "core/policy/quiet_hours.h"
#include "core/text/redact.h"
#include "core/worker/worker.h"
#include "data/id/ulid.h"

struct subject about_goal(const struct goal *g)
{
	return (struct subject){ .goal = g->id };
}

struct subject about_node(const struct node *n)
{
	return (struct subject){ .goal = n->goal->id, .node = n->id };
}

struct subject about_assignment(const struct assignment *as)
{
	return (struct subject){ as->goal_id, as->node_id, as->id, as->run_id };
}

/*
 * Everything in an event is copied into the arena: the state that it was read from changes as soon
 * as the first event of the batch is applied.
 */
struct event *emit(struct decide_ctx *cx, enum event_kind kind, struct subject s)
{
	struct event *e = arena_new(cx->arena, struct event);

	e->kind = kind;
	e->at = cx->now;
	e->actor = arena_str(cx->arena, cx->actor);
	e->goal = arena_str(cx->arena, s.goal);
	e->node = arena_str(cx->arena, s.node);
	e->assignment = arena_str(cx->arena, s.assignment);
	e->run = arena_str(cx->arena, s.run);
	e->data = value_object(cx->arena);
	vec_push(cx->out, e);
	return e;
}

/* Outcomes quote the output of programs: what is not text would not come back from the log as it was. */
void ev_str(struct decide_ctx *cx, struct event *e, const char *key, str s)
{
	str text = utf8_valid(s) ? arena_str(cx->arena, s) : utf8_clean(cx->arena, s);

	value_put(cx->arena, e->data, key, value_str(cx->arena, text));
}

/* Secrets go before the text is cut: half of one is not recognised any more. */
void ev_note(struct decide_ctx *cx, struct event *e, const char *key, str s)
{
	ev_str(cx, e, key, utf8_truncate(redact(cx->arena, s), LIMIT_NOTE));
}

void ev_cstr(struct decide_ctx *cx, struct event *e, const char *key, const char *s)
{
	ev_str(cx, e, key, str_from(s));
}

void ev_int(struct decide_ctx *cx, struct event *e, const char *key, int64_t i)
{
	value_put(cx->arena, e->data, key, value_int(cx->arena, i));
}

void ev_flag(struct decide_ctx *cx, struct event *e, const char *key, bool b)
{
	if (b)
		value_put(cx->arena, e->data, key, value_bool(cx->arena, true));
}

/* Adds to the number that the first n bytes are. */
static void count_up(uint8_t *bytes, size_t n, unsigned carry)
{
	for (size_t i = n; carry && i-- > 0; carry >>= 8) {
		carry += bytes[i];
		bytes[i] = (uint8_t)carry;
	}
}

/*
 * As ULIDs of one moment count: the ids of one decision sort in the order in which they were made.
 * They differ in their last characters, of which nonces are made, and within the 16 that people are
 * shown (10 of time, 30 bits of randomness), so that what is shown can be typed. Without its first
 * bit the sum does not overflow.
 */
str make_id(struct decide_ctx *cx, const char *prefix)
{
	uint8_t entropy[ULID_ENTROPY];
	size_t n = strlen(prefix);
	char *id = arena_alloc(cx->arena, n + ULID_LEN + 1);
	unsigned made = cx->ids_made++;

	memcpy(entropy, cx->entropy, sizeof(entropy));
	entropy[0] &= 0x7f;
	count_up(entropy, sizeof(entropy), made);
	count_up(entropy, 4, made << 2);
	memcpy(id, prefix, n + 1);
	ulid_format(cx->now, entropy, id + n);
	return (str){ id, n + ULID_LEN };
}

static struct event *emit_move(struct decide_ctx *cx, enum event_kind kind, struct subject s,
		const struct status_table *t, int from, int to, str reason)
{
	struct event *e = emit(cx, kind, s);

	ev_cstr(cx, e, "from", status_name(t, from));
	ev_cstr(cx, e, "to", status_name(t, to));
	ev_note(cx, e, "reason", reason);
	return e;
}

struct event *node_to(struct decide_ctx *cx, const struct node *n, enum node_status to, str reason)
{
	struct event *e;

	if (n->status == to)
		return NULL;
	e = emit_move(cx, EV_NODE_STATUS, about_node(n), &node_statuses, (int)n->status, (int)to,
			reason);
	/* What is finished is stalled no more, and what a person let go on begins anew. */
	if (to == NODE_DONE || to == NODE_CANCELLED || n->status == NODE_BLOCKED)
		episode_close(cx, n, reason);
	return e;
}

void node_block_as(struct decide_ctx *cx, const struct node *n, enum block_kind kind, str reason,
		str by, str unblock_when, ov_time until)
{
	struct event *e;

	if (n->status == NODE_BLOCKED)
		return;
	e = emit_move(cx, EV_NODE_STATUS, about_node(n), &node_statuses, (int)n->status,
			NODE_BLOCKED, reason);
	ev_cstr(cx, e, "block", status_name(&block_kinds, (int)kind));
	ev_str(cx, e, "blocked_by", by);
	ev_str(cx, e, "unblock_when", unblock_when);
	if (until)
		ev_int(cx, e, "blocked_until_ms", until);
}

void node_blocked_by(struct decide_ctx *cx, const struct node *n, str by)
{
	struct event *e = emit_move(cx, EV_NODE_STATUS, about_node(n), &node_statuses, NODE_BLOCKED,
			NODE_BLOCKED, n->status_reason);

	ev_cstr(cx, e, "block", status_name(&block_kinds, (int)n->block));
	ev_str(cx, e, "blocked_by", by);
	ev_str(cx, e, "unblock_when", n->unblock_when);
	if (n->blocked_until)
		ev_int(cx, e, "blocked_until_ms", n->blocked_until);
}

void worker_to(struct decide_ctx *cx, const struct worker *w, enum worker_status to, str reason)
{
	struct event *e;

	/* One in error stays so, whatever its task does, until it is let go of or reset. */
	if (!w || w->status == to ||
			(w->status == WORKER_ERROR && to != WORKER_IDLE && to != WORKER_OFFLINE))
		return;
	e = emit_move(cx, EV_WORKER_STATUS, (struct subject){ 0 }, &worker_statuses, (int)w->status,
			(int)to, reason);
	ev_str(cx, e, "worker", w->name);
}

/* Who ends its run, and why: afterwards nothing but the signal would be left of it. */
static void put_ends_run(struct decide_ctx *cx, struct event *e, const struct assignment *as,
		str reason)
{
	bool stalled = as->node && as->node->episode_open && as->node->episode_reason.n;

	if (!as->run || as->run->status == RUN_ENDED || as->run->ended_by.n)
		return;
	ev_note(cx, e, "ends_run",
			arena_printf(cx->arena, STR_FMT ": " STR_FMT "%s" STR_FMT,
					STR_ARG(cx->actor),
					STR_ARG(stalled ? as->node->episode_reason : STR("")),
					stalled ? "; " : "", STR_ARG(reason)));
}

void assignment_move(struct decide_ctx *cx, const struct assignment *as, enum as_status to,
		enum stage stage, str reason)
{
	struct event *e = emit_move(cx, EV_ASSIGNMENT_MOVED, about_assignment(as), &as_statuses,
			(int)as->status, (int)to, reason);

	ev_cstr(cx, e, "stage", status_name(&stages, (int)stage));
	if (stage == STAGE_STOP)
		put_ends_run(cx, e, as, reason);
}

struct event *effect_intend(struct decide_ctx *cx, enum effect_kind kind, str id, struct subject s)
{
	struct event *e = emit(cx, EV_EFFECT_INTENDED, s);

	ev_str(cx, e, "effect", id);
	ev_cstr(cx, e, "kind", status_name(&effect_kinds, (int)kind));
	return e;
}

/* Several may be opened by one batch; the state knows only those that were applied. */
static int64_t escalation_number(const struct decide_ctx *cx)
{
	for (size_t i = cx->out->n; i-- > 0;)
		if (cx->out->p[i]->kind == EV_ESCALATION_OPENED)
			return value_int_at(cx->out->p[i]->data, "escalation") + 1;
	return cx->state->next_escalation;
}

int64_t escalate_about(struct decide_ctx *cx, struct subject s, const struct escalation_spec *x)
{
	int64_t number = x->fingerprint.n ? escalation_again(cx, s, x) : 0;
	struct event *e;
	value *options = x->options ? value_array(cx->arena) : NULL;
	ov_time quiet = quiet_until(cx->policy, cx->now);

	if (number)
		return number;
	number = escalation_number(cx);
	e = emit(cx, EV_ESCALATION_OPENED, s);
	ev_int(cx, e, "escalation", number);
	ev_cstr(cx, e, "kind", x->kind);
	ev_note(cx, e, "question", x->question);
	for (size_t i = 0; options && x->options[i]; i++)
		value_push(cx->arena, options, value_cstr(cx->arena, x->options[i]));
	if (options)
		value_put(cx->arena, e->data, "options", options);
	if (x->default_answer.n && x->expires_at) {
		ev_note(cx, e, "default_answer", x->default_answer);
		ev_int(cx, e, "expires_at_ms", x->expires_at);
	}
	if (quiet)
		ev_int(cx, e, "notify_at_ms", quiet);
	if (x->episode)
		ev_int(cx, e, "episode", x->episode);
	if (x->detection.n)
		ev_str(cx, e, "detection", x->detection);
	if (x->fingerprint.n)
		ev_str(cx, e, "fingerprint", x->fingerprint);
	alarm_opened(cx, s, number, x);
	return number;
}

void escalate(struct decide_ctx *cx, const struct node *n, const char *kind, str question)
{
	escalate_about(cx, about_node(n),
			&(struct escalation_spec){ .kind = kind, .question = question });
}

/* By an event of this very batch, which the state does not know yet. */
bool escalation_is_closing(const struct decide_ctx *cx, int64_t number)
{
	for (size_t i = 0; i < cx->out->n; i++)
		if (cx->out->p[i]->kind == EV_ESCALATION_CLOSED &&
				value_int_at(cx->out->p[i]->data, "escalation") == number)
			return true;
	return false;
}

void escalation_close(struct decide_ctx *cx, const struct escalation *x, enum esc_status status,
		str answer)
{
	struct event *e;

	if (escalation_is_closing(cx, x->number))
		return;
	e = emit(cx, EV_ESCALATION_CLOSED,
			(struct subject){ .goal = x->goal_id,
					.node = x->node_id,
					.assignment = x->assignment_id });
	ev_int(cx, e, "escalation", x->number);
	ev_cstr(cx, e, "status", status_name(&esc_statuses, (int)status));
	ev_note(cx, e, "answer", answer);
}

void close_escalations(struct decide_ctx *cx, const struct node *n, enum esc_status status,
		str answer)
{
	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->status == ESC_OPEN && str_eq(x->goal_id, n->goal->id) &&
				str_eq(x->node_id, n->id))
			escalation_close(cx, x, status, answer);
	}
}

void events_seal(struct decide_ctx *cx, size_t from)
{
	for (size_t i = from; i < cx->out->n; i++) {
		struct event *e = cx->out->p[i];

		e->data = redact_value(cx->arena, e->data);
		event_fill(cx->arena, e);
	}
}

static const struct command commands[] = {
	{ "goal.create", decide_goal_create },
	{ "goal.update", decide_goal_update },
	{ "goal.pause", decide_goal_pause },
	{ "goal.resume", decide_goal_resume },
	{ "goal.cancel", decide_goal_cancel },
	{ "goal.reopen", decide_goal_reopen },
	{ "goal.archive", decide_goal_archive },
	{ "plan.apply", decide_plan_apply },
	{ "planner.health", decide_planner_health },
	{ "work.update", decide_work_update },
	{ "work.cancel", decide_work_cancel },
	{ "work.reopen", decide_work_reopen },
	{ "work.reassign", decide_work_reassign },
	{ "work.rerun", decide_work_rerun },
	{ "work.nudge", decide_work_nudge },
	{ "work.scope", decide_work_scope },
	{ "run.stop", decide_run_stop },
	{ "queue.retry", decide_queue_retry },
	{ "queue.drop", decide_queue_drop },
	{ "worker.add", decide_worker_add },
	{ "worker.start", decide_worker_start },
	{ "worker.message", decide_worker_message },
	{ "worker.review", decide_worker_review },
	{ "worker.accept", decide_worker_accept },
	{ "worker.reject", decide_worker_reject },
	{ "worker.rebase", decide_worker_rebase },
	{ "worker.pick", decide_worker_pick },
	{ "worker.reset", decide_worker_reset },
	{ "worker.nuke", decide_worker_nuke },
	{ "inbox.answer", decide_inbox_answer },
	{ "inbox.approve", decide_inbox_approve },
	{ "inbox.deny", decide_inbox_deny },
	{ "inbox.snooze", decide_inbox_snooze },
	{ "inbox.dismiss", decide_inbox_dismiss },
	{ "notice.retry", decide_notice_retry },
	{ "effect.end", decide_effect_end },
	{ "run.session", decide_run_session },
	{ "run.frozen", decide_run_frozen },
	{ "run.end", decide_run_end },
	{ "run.report", decide_run_report },
	{ "dispatch.ack", decide_dispatch_ack },
	{ "radar.report", decide_radar_report },
	{ "checkout.report", decide_checkout_report },
	{ "target.report", decide_target_report },
	{ "patrol.report", decide_patrol_report },
	{ "daemon.start", decide_daemon_start },
	{ "daemon.stop", decide_daemon_stop },
	{ "daemon.fail", decide_daemon_fail },
	{ "daemon.clock", decide_daemon_clock },
	{ "daemon.contradicted", decide_daemon_contradicted },
	{ "watch.report", decide_watch_report },
	{ "auto.start", decide_auto_start },
	{ "auto.stop", decide_auto_stop },
};

const struct command *command_find(str name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (str_is(name, commands[i].name))
			return &commands[i];
	return NULL;
}

int decide(struct decide_ctx *cx, str name, const value *params, value **ret_result,
		struct ov_err *err)
{
	const struct command *c = command_find(name);
	size_t before = cx->out->n;
	value *result = NULL;
	int r;

	assert(c);
	r = c->fn(cx, params, &result, err);
	if (r < 0) {
		cx->out->n = before;
		return r;
	}
	auto_recount(cx, before);
	aftermath_settle(cx, before);
	handoffs_write(cx, before);
	events_seal(cx, before);
	*ret_result = result ? result : value_object(cx->arena);
	return 0;
}
