#include "core/explain/explain.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/duration.h"
#include "base/str.h"
#include "core/capacity/accept_queue.h"
#include "core/capacity/lane.h"
#include "core/view/view.h"

/*
 * One template per kind of event: {name} stands for a member of the data, {goal}, {node}, {run},
 * {actor} for the envelope. A part in [brackets] is left out when a member in it is absent or
 * empty; {?name} and {!name} print nothing and ask that a member is there, or not there (false and
 * 0 are not there).
 */
static const char *const templates[EVENT_KIND_COUNT] = {
	[EV_DAEMON_STARTED] = "daemon {version} started (instance {instance})",
	[EV_DAEMON_STOPPED] = "daemon stopped: {reason}",
	[EV_DAEMON_FAILED] = "the daemon cannot go on ({cause}): {text}",
	[EV_WATCH_ACTED] = "watchdog[ ({failure})]: [{text}][{!text}{act}]",
	[EV_CLOCK_MOVED] = "the machine's clock jumped by {by_ms} ms",
	[EV_MACHINE_SLEPT] = "the machine slept for {for_ms} ms",
	[EV_GOAL_CREATED] = "{actor} created the goal \"{title}\"",
	[EV_GOAL_UPDATED] = "{actor} changed the goal: {reason}",
	[EV_SILENCE_LEARNED] = "how long {agent} is silent was learned from run {run}",
	[EV_GOAL_SPENT] = "used on a {on}",
	[EV_GOAL_BUDGET] = "budget {level}: {resource} at {used} of {limit}",
	[EV_GOAL_STATUS] = "goal {from} -> {to}: {reason}",
	[EV_PLAN_APPLIED] = "{actor} applied plan version {version}[ ({source})][: {reason}]",
	[EV_PLAN_GENERATED] = "{model_ref} answered ({purpose}), template {template_id}",
	[EV_NODE_STATUS] = ("{from} -> {to}[{?override}, by {actor} past the ordinary rules]: "
			    "{reason}[; unblocked when: {unblock_when}]"),
	[EV_NODE_FAILED] = "failed ({cause}, {count}x): {detail}",
	[EV_NODE_ACCEPTED] = ("accepted: commit {commit} is on {target}[, checked by: "
			      "{checked_by}][, the agent's own commits "
			      "are kept in {rescue_ref}]"),
	[EV_NODE_REPORTED] = "the agent reports[: {status}][, which is not taken: {error}]",
	[EV_NODE_WANTED] = "{actor} wants it done by {agent}: {reason}",
	[EV_NODE_SCOPED] = "{actor} took tools away from it: {reason}",
	[EV_NODE_ANSWERED] = "answer to #{escalation}, for whoever works on it: {answer}",
	[EV_EPISODE_OPENED] = "stalled, episode {episode}: {reason}",
	[EV_EPISODE_RUNG] =
			("episode {episode}: {rung} {count} [{?skipped}skipped: ][{!skipped}taken: "
			 "]{reason}"),
	[EV_EPISODE_ADVISED] = "episode {episode}: a model was asked, and gave advice",
	[EV_EPISODE_CLOSED] = "episode {episode} is over: {reason}",
	[EV_CRYSTALLIZED] = "a handoff was written",
	[EV_ASSIGNMENT_CREATED] =
			"assigned to {agent} in {worker}, epoch {epoch}; because: {reason}",
	[EV_ASSIGNMENT_MOVED] = "assignment {from} -> {to}, next: {stage}; {reason}",
	[EV_ASSIGNMENT_ACTIVITY] = "sign of life: {sign}",
	[EV_DISPATCH_INTENDED] = "dispatch {dispatch} intended: {purpose}, {mode} to {target}",
	[EV_DISPATCH_RESULT] = "dispatch {dispatch}: {result}[, {notes}]",
	[EV_RUN_CREATED] = ("dispatch {dispatch} intended: run {run}, attempt {attempt}[{?resume}, "
			    "which resumes session {session}]"),
	[EV_RUN_STARTED] = "run {run} started",
	[EV_RUN_SESSION] = "run {run} is ready: session {session}[, model {model}]",
	[EV_RUN_ENDED] = ("run {run} [{?lost}was lost][{!lost}ended: ][{!lost}{?signal}signal "
			  "{signal}][{!lost}{!signal}exit status {exit_code}][, {verdict}][ "
			  "({trouble})][, {message}][, denied: {denied}][{?session_forgotten}; its "
			  "session is not "
			  "gone on with]"),
	[EV_RUN_HARVESTED] =
			("kept: {commits} commit(s), {files_changed} file(s) changed[{?leftovers}, "
			 "uncommitted work was committed for it][, as it was: {rescue_ref}][; not "
			 "part "
			 "of the work: {detail}]"),
	[EV_RUN_CONTINUED] = ("the work continues, no attempt is used up: {reason}[{?changed}; it "
			      "changed something]"),
	[EV_RUN_VERIFIED] = "verification {verdict}: {detail}",
	[EV_WORKER_CREATED] = "worker {worker} made",
	[EV_NODE_ADDED] = "added[ for {worker}]: {reason}",
	[EV_NODE_REVERTED] = "commit {commit} was taken back by {by}: {reason}",
	[EV_WORKER_WANTED] = ("worker {worker}: [{actor} wants a {wanted}; ]{reason}[, its work is "
			      "kept in {rescue_ref}]"),
	[EV_WORKER_REMOVED] =
			"worker {worker} removed: {reason}[, its work is kept in {rescue_ref}]",
	[EV_PATROL_FOUND] = "found[ at {worker}]: {finding}, {detail}; repair {count}: {repair}",
	[EV_TARGET_MOVED] = ("branch {target} is at {to}[, was at {from}] ({how})[, see "
			     "#{escalation}]"),
	[EV_AUTO_STARTED] = "auto mode on, {concurrency} workers",
	[EV_AUTO_STOPPED] = "auto mode [{?failed}failed][{!failed}off]: {reason}",
	[EV_AUTO_POOL] = "the pool answered: {answer}[, {detail}]",
	[EV_AUTO_PAUSED] = "auto mode paused ({cause}), waits for #{escalation}: {reason}",
	[EV_AUTO_RESUMED] = "auto mode resumed: {reason}",
	[EV_CONFLICT_PREDICTED] = "would conflict: {a} with [{b}][{!b}the target branch]",
	[EV_CONFLICT_CLEARED] =
			"would no longer conflict: {a} with [{b}][{!b}the target branch]: {reason}",
	[EV_WORKER_STATUS] = "worker {worker} {from} -> {to}: {reason}",
	[EV_WORKSPACE_READY] = ("worktree of {worker} ready at {base}[, what was there is kept in "
				"{rescue_ref}]"),
	[EV_EFFECT_INTENDED] = "{kind} intended ({effect})",
	[EV_EFFECT_ENDED] = "{kind}: {outcome}[, {detail}]",
	[EV_ESCALATION_OPENED] = "#{escalation} a person is needed ({kind}): {question}",
	[EV_ESCALATION_REMINDED] = "#{escalation} reminder {count}",
	[EV_AGENT_LIMITED] = "agent {agent} has to wait ({kind}, {times}x): {detail}",
	[EV_AGENT_CLEARED] = "agent {agent} can be used again: {reason}",
	[EV_OUTAGE_SUSPECTED] =
			("{silent} of {live} runs fell silent at once: taken for an outage of "
			 "ours, none is touched"),
	[EV_OUTAGE_OVER] = "the outage is over: {reason}",
	[EV_ESCALATION_CLOSED] = "#{escalation} {status}: {answer}",
	[EV_ESCALATION_SNOOZED] = "{actor} wants to be asked about #{escalation} later: {reason}",
	[EV_ESCALATION_RAISED] = "#{escalation} again: {reason}",
	[EV_ITERATION_RECORDED] = ("iteration {iteration.number}[{?iteration.failed} failed "
				   "({iteration.failure_class})][: {iteration.error}]"),
	[EV_DETECTION_MADE] = "{detection.type} ({detection.severity}): {detection.message}",
	[EV_INTERVENTION_APPLIED] = "{level}: {did}[; #{escalation} asks a person]",
	[EV_DETECTION_JUDGED] = "what was detected: the answer was {effectiveness}, {because}",
	[EV_OVERSIGHT_RENEWED] = "detectors look at what comes from here on: {reason}",
	[EV_GOAL_HEALTH] = "health {from} -> {to}: {reason}",
	[EV_RUN_FROZEN] = "its processes [{?frozen}are held][{!frozen}go on]: {reason}",
	[EV_NOTICE_OPENED] = ("{notice.channel} is to tell a person ({notice.urgency}): "
			      "{notice.subject}"),
	[EV_NOTICE_TRIED] =
			"the notice to {channel} is {status} after attempt {attempts}[: {error}]",
	[EV_NOTICE_WITHDRAWN] = "the notice to {channel} is withdrawn: {reason}",
	[EV_NOTICE_RETRIED] = "{actor} wants the notice to {channel} tried again: {reason}",
};

static str envelope(const struct event *e, str key)
{
	const struct {
		const char *name;
		str value;
	} fields[] = { { "actor", e->actor }, { "goal", e->goal }, { "node", e->node },
		{ "run", e->run } };

	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (str_is(key, fields[i].name))
			return fields[i].value;
	return (str){ 0 };
}

/* A member, or with a dot a member of a member. */
static const value *find(const struct event *e, str key)
{
	size_t dot = str_find_byte(key, '.');
	const value *v = value_get(e->data, str_sub(key, 0, dot));

	return dot == key.n ? v : value_get(v, str_sub(key, dot + 1, key.n));
}

/* The text of a member; commits are cut to what people read. */
static str lookup(struct arena *a, const struct event *e, str key)
{
	const value *v = find(e, key);
	bool commit = str_is(key, "commit") || str_is(key, "base");

	if (!v)
		return envelope(e, key);
	if (v->kind == V_INT)
		return arena_printf(a, "%lld", (long long)v->i);
	return v->kind == V_STR ? str_sub(v->s, 0, commit ? 12 : v->s.n) : (str){ 0 };
}

static bool is_there(const struct event *e, str key)
{
	const value *v = find(e, key);

	return value_bool_or(v, false) || value_int_or(v, 0) || value_str_or(v, STR("")).n;
}

/*
 * Appends the expansion of text without brackets; false when something that it asks for is not so.
 */
static bool expand(struct arena *a, const struct event *e, str t, struct buf *out)
{
	bool whole = true;

	while (t.n) {
		size_t open = str_find_byte(t, '{'), close = str_find_byte(t, '}');
		str name = str_sub(t, open + 1, close - open - 1);

		buf_adds(out, str_sub(t, 0, open));
		if (open == t.n)
			break;
		if (name.p[0] == '?' || name.p[0] == '!') {
			whole &= is_there(e, str_sub(name, 1, name.n)) == (name.p[0] == '?');
		} else {
			str found = lookup(a, e, name);

			whole &= found.n > 0;
			buf_adds(out, found);
		}
		t = str_sub(t, close + 1, t.n);
	}
	return whole;
}

str explain_event(struct arena *a, const struct event *e)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	str t = str_from(templates[e->kind]);

	while (t.n) {
		size_t open = str_find_byte(t, '['), close = str_find_byte(t, ']'), before;

		(void)expand(a, e, str_sub(t, 0, open), &out);
		if (open == t.n)
			break;
		before = out.n;
		if (!expand(a, e, str_sub(t, open + 1, close - open - 1), &out))
			out.n = before;
		t = str_sub(t, close + 1, t.n);
	}
	return arena_str(a, buf_str(&out));
}

static str waiting_deps(struct arena *a, const struct state *s, const struct node *n)
{
	str out = STR("");

	for (const struct node *at = n; at; at = at->parent) {
		if (at->before && !node_is_final(at->before))
			out = arena_printf(a, STR_FMT "%s%s " STR_FMT " (sequential)", STR_ARG(out),
					out.n ? ", " : "",
					status_name(&node_tiers, (int)at->before->def.tier),
					STR_ARG(at->before->id));
		for (size_t i = 0; i < at->def.deps.n; i++) {
			const struct node *d = state_node(s, n->goal->id, at->def.deps.p[i]);

			if (d && !node_is_final(d))
				out = arena_printf(a, STR_FMT "%s" STR_FMT " (%s)", STR_ARG(out),
						out.n ? ", " : "", STR_ARG(d->id),
						status_name(&node_statuses, (int)d->status));
		}
	}
	return out;
}

/* What the accept queue does about it; empty where it does not speak for itself. */
static str accept_now(struct arena *a, const struct state *s, const struct assignment *as)
{
	const struct escalation *x = accept_question(s, as);

	if (x)
		return arena_printf(a, STR_FMT "; answer #%lld", STR_ARG(as->reason),
				(long long)x->number);
	if (as->stage == STAGE_REVIEW)
		return arena_printf(a, STR_FMT ": overseer worker review " STR_FMT,
				STR_ARG(as->reason), STR_ARG(as->worker));
	if (as->stage == STAGE_REBASE && !as->effect)
		return STR("its work is good, and waits for its turn to be accepted");
	return STR("");
}

static str assignment_now(struct arena *a, const struct state *s, const struct assignment *as,
		ov_time now)
{
	const char *stage = status_name(&stages, (int)as->stage);
	str accept;

	/* Tried again at times, but what it waits for are the files. */
	if (as->waiting != WAITING_NONE && !as->effect)
		return as->reason;
	if (as->not_before > now)
		return arena_printf(a, "waits " STR_FMT " before the next step (%s): " STR_FMT,
				STR_ARG(duration_format_short(a, as->not_before - now)), stage,
				STR_ARG(as->reason));
	if (as->stage == STAGE_RUNNING)
		return arena_printf(a,
				STR_FMT " works on it in " STR_FMT " (run " STR_FMT
					", attempt %lld%s" STR_FMT ")",
				STR_ARG(as->agent), STR_ARG(as->worker), STR_ARG(as->run_id),
				(long long)as->attempt,
				as->run && as->run->resumed ? ", resumed session " : "",
				STR_ARG(as->run && as->run->resumed ? as->run->session : STR("")));
	if (as->stage == STAGE_START && !as->effect && lane_is_shut(state_lane(s, as->agent), now))
		return arena_printf(a, "waits in " STR_FMT ": agent " STR_FMT " is %s",
				STR_ARG(as->worker), STR_ARG(as->agent),
				lane_rules[state_lane(s, as->agent)->kind].state);
	accept = accept_now(a, s, as);
	if (accept.n)
		return accept;
	return arena_printf(a, "next step: %s, %s", stage,
			as->effect ? "under way" : "about to begin");
}

str explain_now(struct arena *a, const struct state *s, const struct node *n, ov_time now)
{
	if (n->status == NODE_BLOCKED)
		return arena_printf(a,
				"blocked by " STR_FMT ": " STR_FMT "; unblocked when: " STR_FMT,
				STR_ARG(n->block.by), STR_ARG(n->status_reason),
				STR_ARG(n->block.when));
	if (n->status == NODE_DONE && n->work.commit.n)
		return arena_printf(a, "finished; its change is commit " STR_FMT,
				STR_ARG(n->work.commit));
	if (node_is_final(n))
		return arena_printf(a, "finished: " STR_FMT, STR_ARG(n->status_reason));
	if (!node_is_leaf(n))
		return arena_printf(a, "%zu parts; its status follows from theirs", n->children.n);
	if (n->goal->status != GOAL_ACTIVE)
		return arena_printf(a, "its goal is %s", goal_word(n->goal));
	if (n->assignment && n->assignment->stage != STAGE_NONE)
		return assignment_now(a, s, n->assignment, now);
	if (!node_is_ready(s, n))
		return arena_printf(a, "waits for " STR_FMT, STR_ARG(waiting_deps(a, s, n)));
	if (n->goal->budget_level == BUDGET_SPENT)
		return STR("ready; the goal's budget is spent, nothing new is started");
	return STR("ready; waits for a free worker");
}
