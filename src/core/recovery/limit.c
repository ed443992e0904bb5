/*
 * Agents that cannot work for a while: rate limited, or logged out. That is nobody's failure and no
 * stall: the slot is freed, the node keeps its worktree until the limit resets or a person has
 * logged in again, and meanwhile nothing else is given to the same agent. The reasons are rows of
 * core/capacity/lane.h.
 */
#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/capacity/lane.h"
#include "core/decide/ask.h"
#include "core/decide/emit.h"
#include "core/decide/move.h"
#include "core/inbox/inbox.h"
#include "core/life/ladder.h"
#include "core/life/session.h"
#include "core/recovery/recovery.h"
#include "core/text/last_lines.h"
#include "core/work/work.h"

bool end_is_limit(const struct policy *p, const struct assignment *as,
		const struct ev_run_ended *ended)
{
	if (ended->limit.n)
		return true;
	return !ended->lost && !ended->signal &&
			limit_by_exit(p, as->agent, ended->exit_code) != BLOCK_NONE;
}

/* What the end of a run says of its agent. */
struct limit {
	enum block_kind kind;
	int64_t times;     /* in a row */
	ov_time resets_at; /* 0: a person ends it */
	bool guessed;      /* the agent did not say so, or alone: it is tried again then */
	ov_time far_until; /* see struct lane */
	str far_by, far_by_too;
	ov_time probe_at;
	str why;
};

/* The last thing that it said, on one line. */
static str own_words(const struct run *r)
{
	return utf8_truncate(last_line(r->last_lines.n ? r->last_lines : r->message),
			LAST_LINE_BYTES);
}

static void emit_limited(struct decide_ctx *cx, const struct assignment *as, const struct limit *l)
{
	struct ev_agent_limited *e = emit_agent_limited(cx, about_assignment(as));
	enum fact_sign known_by = as->run->known_by;
	str words = own_words(as->run);

	if (known_by == SIGN_NONE)
		known_by = as->run->limit != BLOCK_NONE ? SIGN_STREAM : SIGN_EXIT;
	e->agent = as->agent;
	e->kind = str_from(status_name(&block_kinds, (int)l->kind));
	e->detail = l->why;
	e->times = l->times;
	if (l->resets_at)
		e->resets_at_ms = l->resets_at;
	e->guessed = l->guessed;
	e->known_by = str_from(status_name(&fact_signs, (int)known_by));
	if (known_by == SIGN_EXIT)
		e->exit_code = as->run->exit_code;
	if (words.n)
		e->words = words;
	if (l->far_until) {
		e->far_until_ms = l->far_until;
		e->far_by = l->far_by;
		e->far_by_too = l->far_by_too;
	}
	if (l->probe_at) {
		e->probe_at_ms = l->probe_at;
		e->probe_every_ms = cx->policy->limit_wait_max;
	}
}

static str near_time(struct decide_ctx *cx, ov_time at)
{
	return time_format_near(cx->arena, at, cx->now, cx->policy->utc_offset);
}

/* Whoever said it may be wrong, or lie: a person sees who that was, and can lift it. */
static void tell_of_limit(struct decide_ctx *cx, const struct assignment *as, const struct limit *l)
{
	const struct lane *lane = state_lane(cx->state, as->agent);
	str words = own_words(as->run);

	if (l->kind != BLOCK_RATE_LIMITED || l->resets_at - cx->now <= LIMIT_UNTOLD ||
			(lane && lane_entry(cx->state, lane)))
		return;
	escalate_about(cx, (struct subject){ 0 },
			&(struct escalation_spec){ .ask = ASK_LIMIT,
					.question = arena_printf(cx->arena,
							"agent " STR_FMT
							" is rate limited until " STR_FMT
							". Run " STR_FMT " said so%s" STR_FMT
							"%s. One run tries it every " STR_FMT
							". Answer \"lift\" to use it again now.",
							STR_ARG(as->agent),
							STR_ARG(near_time(cx, l->resets_at)),
							STR_ARG(as->run->id), words.n ? ": \"" : "",
							STR_ARG(words), words.n ? "\"" : "",
							STR_ARG(duration_format_short(cx->arena,
									cx->policy->limit_wait_max))) });
}

static bool asks_for(const struct escalation *x, str agent)
{
	return x->ask == ASK_LOGIN && lane_is_named(x, agent);
}

/*
 * Asked once for the agent, however many of its nodes wait. It is what one run said, which may
 * be wrong.
 */
static void ask_for_login(struct decide_ctx *cx, const struct assignment *as)
{
	const struct run *r = as->run;
	str words = own_words(r), how = STR("said so");

	for (size_t i = 0; i < cx->state->escalations.n; i++)
		if (cx->state->escalations.p[i]->status == ESC_OPEN &&
				asks_for(cx->state->escalations.p[i], as->agent))
			return;
	if (r->limit == BLOCK_NONE)
		how = arena_printf(cx->arena, "said so by its exit status %lld",
				(long long)r->exit_code);
	escalate_about(cx, (struct subject){ 0 },
			&(struct escalation_spec){ .ask = ASK_LOGIN,
					.question = arena_printf(cx->arena,
							"agent " STR_FMT
							" may be logged out: run " STR_FMT
							" of task " STR_FMT " " STR_FMT "%s" STR_FMT
							"%s. If it is, log it in; then say so.",
							STR_ARG(as->agent), STR_ARG(r->id),
							STR_ARG(as->node->id), STR_ARG(how),
							words.n ? ": \"" : "", STR_ARG(words),
							words.n ? "\"" : "") });
}

/* The tasks that a limit of the agent keeps waiting. */
static void unblock_limited(struct decide_ctx *cx, str agent, str reason)
{
	str by = arena_printf(cx->arena, "agent " STR_FMT, STR_ARG(agent));

	for (size_t g = 0; g < cx->state->goals.n; g++)
		for (size_t i = 0; i < cx->state->goals.p[g]->nodes.n; i++) {
			const struct node *n = cx->state->goals.p[g]->nodes.p[i];

			if (node_is_leaf(n) && n->status == NODE_BLOCKED &&
					n->block.kind == BLOCK_RATE_LIMITED &&
					str_eq(n->block.by, by))
				work_unblock(cx, n, reason);
		}
}

void limit_lifted(struct decide_ctx *cx, const struct escalation *x)
{
	const struct lane *l = lane_asked_by(cx->state, x);
	str reason = STR("a person lifted its limit");

	if (!l)
		return;
	lane_clear(cx, l->agent, reason);
	unblock_limited(cx, l->agent, reason);
}

/* The nodes that wait for the agent that an escalation asks to be logged in. */
static void unblock_waiting(struct decide_ctx *cx, const struct escalation *x, str reason)
{
	static const str by = STR("agent ");

	for (size_t g = 0; g < cx->state->goals.n; g++)
		for (size_t i = 0; i < cx->state->goals.p[g]->nodes.n; i++) {
			const struct node *n = cx->state->goals.p[g]->nodes.p[i];

			if (node_is_leaf(n) && n->status == NODE_BLOCKED &&
					n->block.kind == BLOCK_LOGIN &&
					str_starts(n->block.by, by) &&
					asks_for(x, str_sub(n->block.by, by.n, n->block.by.n)))
				work_unblock(cx, n, reason);
		}
}

static void login_is_back(struct decide_ctx *cx, const struct escalation *x, str reason)
{
	for (size_t i = 0; i < cx->state->lanes.n; i++)
		if (cx->state->lanes.p[i]->kind == BLOCK_LOGIN &&
				asks_for(x, cx->state->lanes.p[i]->agent))
			lane_clear(cx, cx->state->lanes.p[i]->agent, reason);
	unblock_waiting(cx, x, reason);
}

void login_answered(struct decide_ctx *cx, const struct escalation *x)
{
	login_is_back(cx, x, STR("a person says that it is logged in"));
}

/* Others wait for a later moment that was said: they need not. */
static void limit_is_over(struct decide_ctx *cx, const struct lane *l, str reason)
{
	const struct escalation *x = l->kind == BLOCK_RATE_LIMITED ? lane_entry(cx->state, l)
								   : NULL;

	lane_clear(cx, l->agent, reason);
	if (x)
		escalation_close(cx, x, ESC_DISMISSED, reason);
	if (l->probe_at)
		unblock_limited(cx, l->agent, reason);
}

/*
 * A run that began after the limit was seen worked; or one that was under way then ended well
 * since, where the limit is but what another one said. What was said with its end may well let
 * a run finish.
 */
static bool disproves(const struct run *r, ov_time claimed_at, bool said_until)
{
	return claimed_at < r->created_at ||
			(!said_until && run_ended_well(r) && claimed_at < r->ended_at);
}

/* It is over, and nobody needs to say so. */
static void works_again(struct decide_ctx *cx, const struct assignment *as)
{
	const struct lane *lane = state_lane(cx->state, as->agent);
	str reason = STR("it works again");

	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->status != ESC_OPEN || !asks_for(x, as->agent) ||
				!disproves(as->run,
						lane && lane->kind == BLOCK_LOGIN ? lane->seen_at
										  : x->opened_at,
						false))
			continue;
		escalation_close(cx, x, ESC_DISMISSED, reason);
		login_is_back(cx, x, reason);
	}
	/* One that failed too often is used again when a person says so. */
	if (lane && lane->kind != BLOCK_FAILING &&
			(lane->since < as->run->created_at ||
					disproves(as->run, lane->seen_at,
							lane->resets_at &&
									(!lane->guessed ||
											lane->far_until))))
		limit_is_over(cx, lane, reason);
}

/* As the agent said it, if it did. */
static str limit_words(const struct run *r, enum block_kind kind)
{
	if (trouble_rules[r->trouble].limit == kind)
		return str_from(trouble_rules[r->trouble].people);
	return str_from(trouble_rules[kind == BLOCK_LOGIN ? TROUBLE_LOGIN : TROUBLE_RATE_LIMITED]
					.people);
}

/*
 * So far ahead it is believed of two assignments; before that, and where it is wrong, a run
 * finds out.
 */
static void limit_far(struct decide_ctx *cx, const struct assignment *as, struct limit *l)
{
	ov_time said = as->run->resets_at;

	if (l->far_until <= cx->now || !l->far_by.n) {
		l->far_until = said;
		l->far_by = as->id;
		l->far_by_too = STR("");
	} else if (!str_eq(l->far_by, as->id) && !l->far_by_too.n) {
		l->far_by_too = as->id;
	}
	l->far_until = MIN(l->far_until, said);
	l->guessed = !l->far_by_too.n;
	l->resets_at = l->guessed ? MIN(said, cx->now + cx->policy->limit_wait_max) : l->far_until;
}

/*
 * How often in a row, and until when. Runs that were under way together meet the same limit: that
 * is one time, and what one of them knows of its end holds for all. Where nobody knows it, the
 * agent is tried again, later each time.
 */
static void limit_measure(struct decide_ctx *cx, const struct assignment *as, struct limit *l)
{
	const struct lane *lane = state_lane(cx->state, as->agent);
	bool same = lane && lane->kind == l->kind && lane->seen_at >= as->run->created_at;
	ov_time said = as->run->resets_at;

	l->times = (lane ? lane->times : 0) + !same;
	if (lane) {
		l->far_until = lane->far_until;
		l->far_by = lane->far_by;
		l->far_by_too = lane->far_by_too;
	}
	if (said > cx->now + RESET_BELIEVED && said <= cx->now + RESET_LATEST) {
		limit_far(cx, as, l);
	} else if (said > cx->now && said <= cx->now + RESET_BELIEVED) {
		l->resets_at = said;
	} else if (same && lane->resets_at > cx->now) {
		l->resets_at = lane->resets_at;
		l->guessed = lane->guessed;
	} else if (!lane_rules[l->kind].person) {
		l->resets_at = cx->now + limit_backoff(cx->policy, l->times);
		l->guessed = true;
	}
	/* Those that only meet it later do not put off the run that tries it. */
	l->probe_at = cx->now + cx->policy->limit_wait_max;
	if (same && lane->probe_at > cx->now)
		l->probe_at = MIN(l->probe_at, lane->probe_at);
	if (l->resets_at <= l->probe_at)
		l->probe_at = 0;
}

/*
 * It began before a person said that the agent is logged in: it only shows how it was before that.
 * A run that began later will show it if it is still so.
 */
static bool is_old_news(struct decide_ctx *cx, const struct assignment *as, enum block_kind kind)
{
	if (!lane_rules[kind].person || state_lane(cx->state, as->agent))
		return false;
	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->status != ESC_OPEN && x->closed_at >= as->run->created_at &&
				asks_for(x, as->agent))
			return true;
	}
	return false;
}

bool run_was_limited(struct decide_ctx *cx, const struct assignment *as)
{
	const struct lane *lane = state_lane(cx->state, as->agent);
	struct limit l = { .kind = run_limit(cx->policy, as->run) };
	bool old;
	str when;

	if (l.kind == BLOCK_NONE) {
		works_again(cx, as);
		return false;
	}
	limit_measure(cx, as, &l);
	old = is_old_news(cx, as, l.kind);
	if (old)
		l.resets_at = cx->now;
	l.why = limit_words(as->run, l.kind);
	if (l.far_until && l.guessed)
		l.why = arena_printf(cx->arena,
				STR_FMT "; it says until " STR_FMT
					", which is believed when another task hears it, too",
				STR_ARG(l.why), STR_ARG(near_time(cx, l.far_until)));
	when = l.kind == BLOCK_LOGIN ? STR("a person logs the agent in")
				     : STR("the limit resets, or the next try finds that it did");
	if (!old && (!lane || lane->kind != BLOCK_FAILING))
		emit_limited(cx, as, &l);
	assignment_keep_worker(cx, as, l.why);
	node_block_as(cx, as->node, l.kind, l.why,
			arena_printf(cx->arena, "agent " STR_FMT, STR_ARG(as->agent)), when,
			l.probe_at ? l.probe_at : l.resets_at);
	if (l.kind == BLOCK_LOGIN && !old)
		ask_for_login(cx, as);
	tell_of_limit(cx, as, &l);
	return true;
}
