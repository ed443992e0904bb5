/* What each kind of event holds: the fields of its data. */
#include "core/event/event_impl.h"

static const struct event_field daemon_started[] = {
	TEXT("instance", "identity of the daemon's process"),
	TEXT("version", "version of the program"),
	TEXT_OPT("target", "the branch that accepted work goes to"),
	TEXT_OPT("boot", "the machine's boot: the next two are compared within one only"),
	NUM_OPT("clock_set_ms", "what the clock is ahead of the time since boot"),
	NUM_OPT("clock_slept_ms", "how much of that time the machine slept"),
};
static const struct event_field daemon_stopped[] = {
	TEXT("instance", "identity of the daemon's process"),
	TEXT("reason", "why it stopped"),
};
static const struct event_field daemon_failed[] = {
	TEXT("instance", "identity of the daemon's process"),
	TEXT("cause", "auto, store or another word"),
	TEXT("text", "what happened"),
	NUM("exit_status", "that it ends with"),
	TEXT_OPT("worker", "for whom it happened"),
	TEXT_OPT("command", "that failed"),
	TEXT_OPT("output", "the last that it wrote"),
};
static const struct event_field watch_acted[] = {
	NUM("n", "its number: with the watchdog's instance, what it is known by"),
	TEXT("act", "watching, started, adopted, healthy, failed, terminated, remediating ..."),
	TEXT_OPT("failure", "of failed: died, unregistered, heartbeat, health, identity or stall"),
	TEXT("watch", "identity of the watchdog's process"),
	TEXT_OPT("instance", "of the daemon that it is about"),
	TEXT("text", "for people"),
	NUM("at_ms", "when it was; the event itself says when it was recorded"),
};
static const struct event_field clock_moved[] = {
	NUM("by_ms", "forwards; below 0: backwards"),
};
static const struct event_field machine_slept[] = {
	NUM("for_ms", "how long"),
};
static const struct event_field goal_created[] = {
	TEXT("title", "one line"),
	TEXT_OPT("problem_statement", "what is to be solved"),
	LIST_OPT("success_criteria", "what must be observable at the end"),
	LIST_OPT("non_goals", "what is not asked for"),
	LIST_OPT("constraints", "what must be kept"),
	LIST_OPT("assumptions", "what was taken for granted"),
	LIST_OPT("stakeholders", "who else cares"),
	OBJECTS_OPT("risks", "what may go wrong: risk, impact, mitigation"),
	LIST_OPT("tags", "for finding it again"),
	TEXT_OPT("owner", "who answers for it; the actor when absent"),
	TEXT_OPT("origin_session", "session that asked for it"),
	OBJECT_OPT("origin_context", "how to reach who asked: channel, to, thread, account"),
	TEXT_OPT("repo_context", "what was assumed about the repository"),
	OBJECT_OPT("estimate", "what it is expected to use, by resource"),
	OBJECT_OPT("budget", "what it may use, by resource; -1: unlimited"),
	OBJECT_OPT("oversight", "thresholds and levels of its own"),
	NUM("priority", "1 urgent, 2 high, 3 normal, 4 low, 5 background"),
	TEXT_OPT("standing", "auto or manual: tasks are added to it one by one"),
};
static const struct event_field goal_updated[] = {
	TEXT_OPT("title", "one line"),
	TEXT_OPT("problem_statement", "what is to be solved"),
	LIST_OPT("success_criteria", "what must be observable at the end"),
	LIST_OPT("non_goals", "what is not asked for"),
	LIST_OPT("constraints", "what must be kept"),
	LIST_OPT("assumptions", "what was taken for granted"),
	LIST_OPT("stakeholders", "who else cares"),
	OBJECTS_OPT("risks", "what may go wrong: risk, impact, mitigation"),
	LIST_OPT("tags", "for finding it again"),
	TEXT_OPT("owner", "who answers for it"),
	TEXT_OPT("repo_context", "what was assumed about the repository"),
	NUM_OPT("priority", "1 urgent, 2 high, 3 normal, 4 low, 5 background"),
	OBJECT_OPT("estimate", "what it is expected to use, by resource"),
	OBJECT_OPT("budget", "what it may use, by resource; -1: unlimited"),
	OBJECT_OPT("oversight", "thresholds and levels of its own"),
	TEXT("reason", "why"),
};
static const struct event_field goal_spent[] = {
	{ "amounts", V_OBJECT, true, "by resource: iterations, wall_ms, tokens, cost_microusd",
			V_NULL },
	TEXT("on", "what it was used for: run, plan"),
	NUM_OPT("day", "the local day, counted from 1970-01-01"),
	TEXT_OPT("agent", "that used it"),
	TEXT_OPT("model", "as the agent calls it"),
	NUM_OPT("tokens_input", "of the tokens: not cached"),
	NUM_OPT("tokens_output", "of the tokens: written by the model"),
	NUM_OPT("tokens_cache_read", "of the tokens"),
	NUM_OPT("tokens_cache_write", "of the tokens"),
	TEXT_OPT("cost_source",
			"where the cost comes from: agent or prices; none: it is not known"),
	TEXT_OPT("unknown",
			"tokens or cost: some of what the agent told cannot be true; it was more "
			"than this"),
};
static const struct event_field goal_budget[] = {
	TEXT("level", "fine, warned or spent"),
	TEXT("resource", "the one that is nearest to its budget"),
	NUM("used", "so far"),
	NUM("limit", "its budget"),
};
static const struct event_field goal_status[] = {
	TEXT("from", "status before"),
	TEXT("to", "status now"),
	TEXT("reason", "why"),
	TEXT_OPT("health", "when it is not the one that goes with the status"),
	FLAG_OPT("override", "by a person, past the ordinary rules"),
	FLAG_OPT("freezes", "its runs are held meanwhile"),
};
static const struct event_field plan_applied[] = {
	NUM("version", "1 for the first plan, growing by one"),
	TEXT_OPT("source", "file, planner, fallback or replan"),
	TEXT_OPT("reason", "why it was changed"),
	OBJECT_OPT("summary", "ids of the nodes added, changed, removed; kept: how many"),
	{ "plan", V_OBJECT, true,
			"the effective document: what was given, and the finished nodes that it "
			"left out",
			V_NULL },
};
static const struct event_field plan_generated[] = {
	TEXT("purpose", "create, split or diagnose"),
	TEXT("model_ref", "provider and model, or the command"),
	TEXT("template_id", "of the prompt"),
	TEXT("template_hash", "SHA-256 of the prompt's template"),
	OBJECT_OPT("inputs", "what was put into the template, bounded"),
	TEXT_OPT("raw", "the accepted answer"),
	OBJECTS_OPT("attempts", "each with its validation errors"),
	NUM_OPT("tokens_in", "used by the prompts"),
	NUM_OPT("tokens_out", "used by the answers"),
};
static const struct event_field node_status[] = {
	TEXT("from", "status before"),
	TEXT("to", "status now"),
	TEXT("reason", "why"),
	TEXT_OPT("block",
			"kind of block: person, paused, failed, stalled, question, credential ..."),
	NUM_OPT("blocked_until_ms", "the moment at which it unblocks itself"),
	TEXT_OPT("blocked_by", "who or what blocks it"),
	TEXT_OPT("unblock_when", "what would unblock it"),
	FLAG_OPT("override", "by a person, past the ordinary rules"),
	FLAG_OPT("words", "the reason is what a person tells the agent that continues it"),
	FLAG_OPT("recount", "auto mode counts failures in a row from 0 again"),
};
static const struct event_field node_failed[] = {
	TEXT("cause", "which step failed"),
	NUM("count", "how often by this cause, this time included"),
	TEXT("detail", "what was seen"),
};
static const struct event_field node_accepted[] = {
	TEXT("commit", "the commit on the target branch"),
	TEXT("target", "the branch"),
	TEXT_OPT("rescue_ref", "ref that keeps the agent's own commits, before they were made one"),
	TEXT_OPT("checked_by", "check, pre_accept, review (a person) or nothing"),
};
static const struct event_field node_reported[] = {
	TEXT("identity", "of the report; applied once"),
	NUM("offset", "in the run's output, after the report"),
	{ "update", V_OBJECT, true, "what was reported", V_NULL },
	TEXT("status", "as reported: in_progress, blocked, done; empty: not said"),
	FLAG_OPT("progress", "it says something that was not known"),
	TEXT_OPT("error", "what is wrong with it; then it changes nothing"),
};
static const struct event_field node_wanted[] = {
	TEXT("agent", "or empty: as usual"),
	TEXT("reason", "why"),
};
static const struct event_field node_answered[] = {
	NUM("escalation", "that was answered"),
	TEXT("answer", "for whoever works on the node next"),
};
static const struct event_field node_scoped[] = {
	OBJECT_OPT("tools", "all that people took away so far: allow, deny"),
	TEXT("reason", "why"),
};
static const struct event_field node_added[] = {
	TEXT("tier", "phase or task"),
	TEXT_OPT("parent", "the node that it is a part of"),
	{ "definition", V_OBJECT, true, "as in a plan", V_NULL },
	TEXT_OPT("worker", "the only one that may do it"),
	TEXT_OPT("claim", "the question to the pool that it answers"),
	TEXT("reason", "where it comes from"),
};
static const struct event_field node_reverted[] = {
	TEXT("commit", "that was taken back"),
	TEXT("by", "the commit that did so"),
	TEXT("reason", "why"),
	TEXT_OPT("handover", "the commit that the next assignment begins with"),
	TEXT_OPT("feedback", "what the next assignment must know"),
};
static const struct event_field episode_opened[] = {
	NUM("episode", "first, second ... of the node"),
	TEXT("reason", "what was seen, or not seen"),
	LIST_OPT("evidence", "each signal, and what it said"),
};
static const struct event_field episode_rung[] = {
	NUM("episode", "number"),
	TEXT("rung", "nudge, resend, replan, reassign, escalate"),
	NUM("count", "how often in this episode, this time included"),
	FLAG_OPT("skipped", "it could not help here"),
	TEXT("reason", "why this rung, or why not"),
	NUM_OPT("backoff_until_ms", "the next rung comes no earlier"),
	TEXT_OPT("instruction_hash", "of what was sent, without its nonce"),
};
static const struct event_field episode_advised[] = {
	NUM("episode", "number"),
	{ "action", V_OBJECT, true, "type (a rung), and message, or question and options", V_NULL },
};
static const struct event_field episode_closed[] = {
	NUM("episode", "number"),
	TEXT("reason", "progress, or what else ended it"),
};
static const struct event_field crystallized[] = {
	{ "crystallization", V_OBJECT, true, "the handoff", V_NULL },
};
static const struct event_field assignment_activity[] = {
	NUM("at_ms", "when it was seen"),
	TEXT("sign", "stream, process, tree, progress ..."),
	NUM("due_at_ms", "the next sign is expected until then"),
};
static const struct event_field dispatch_intended[] = {
	TEXT("dispatch", "id: the idempotency key"),
	TEXT("mode", "spawn, resume, send or escalate"),
	TEXT("purpose", "start, retry, resume, nudge, message, answer, rerun or escalate"),
	TEXT("target", "session key, or number of the escalation"),
	TEXT("instruction", "the whole text"),
	TEXT("instruction_hash", "SHA-256 of it, without the nonce"),
	TEXT_OPT("nonce", "that an answer repeats"),
	TEXT_OPT("session", "the agent's own id of the session: gone on with, or chosen by us"),
	FLAG_OPT("resume", "that session goes on; otherwise a new one begins"),
	TEXT_OPT("say",
			"a person's words in it: the next run is given them if this one does not "
			"take them"),
};
static const struct event_field dispatch_result[] = {
	TEXT("dispatch", "id"),
	TEXT("result", "pending (sent again), accepted, ok, timeout or error"),
	FLAG_OPT("taken", "a person's words in it are with an agent: no other run is given them"),
	TEXT_OPT("notes", "for people"),
};
static const struct event_field assignment_created[] = {
	TEXT("agent", "configured agent"),
	TEXT("worker", "worker slot"),
	TEXT("branch", "branch of the worktree"),
	TEXT_OPT("session_key", "agent:AGENT:ASSIGNMENT"),
	TEXT_OPT("recovery_policy", "first rung after the nudges"),
	OBJECT_OPT("tools", "its tool scope: allow, deny; without it, all tools"),
	NUM("epoch", "grows with each assignment of the node"),
	TEXT("reason", "why this node, this agent, now"),
	FLAG_OPT("session_taken",
			"it goes on with the session of the one before, which had to wait"),
};
static const struct event_field assignment_moved[] = {
	TEXT("from", "status before"),
	TEXT("to", "status now"),
	TEXT("stage", "what it waits for next"),
	TEXT("reason", "why"),
	NUM_OPT("not_before_ms", "the stage waits until this moment"),
	TEXT_OPT("feedback", "what the next run must know"),
	FLAG_OPT("stopping", "its run is ended by us, which is no failure"),
	TEXT_OPT("purpose", "of the next run, where it is not simply the next: nudge or message"),
	TEXT_OPT("candidate", "the commit that is to become the target branch"),
	TEXT_OPT("waiting", "files or checkout: what in the user's checkout it waits for"),
	NUM_OPT("waiting_since_ms", "since when it does"),
	TEXT_OPT("base", "the head of the target branch that it was rebased onto"),
	FLAG_OPT("session_kept", "the next assignment of the node can go on with its session"),
	FLAG_OPT("anew", "failures of its node are counted anew"),
	TEXT_OPT("ends_run", "its run is ended: who does that, and why"),
};
static const struct event_field run_created[] = {
	TEXT("dispatch", "idempotency key of the start"),
	TEXT("agent", "configured agent"),
	TEXT("worker", "worker slot"),
	NUM("attempt", "first, second ... run of the assignment"),
	NUM("epoch", "of the assignment"),
	TEXT("instruction_hash", "SHA-256 of the instruction"),
	TEXT_OPT("session", "the agent's own id of the session: gone on with, or chosen by us"),
	FLAG_OPT("resume", "that session goes on; otherwise a new one begins"),
	OBJECT_OPT("tools", "its tool scope: allow, deny; without it, all tools"),
};
static const struct event_field run_session[] = {
	TEXT("session", "the agent's own id of it"),
	TEXT_OPT("model", "that it works with"),
};
static const struct event_field run_ended[] = {
	FLAG_OPT("lost", "nobody knows how the agent ended"),
	FLAG_OPT("keeps_repairs",
			"the number of repairs of its worktree is kept, even if it ended well"),
	NUM("exit_code", "or -1"),
	NUM("signal", "that ended it, or 0"),
	NUM_OPT("output_bytes", "kept output"),
	NUM_OPT("dropped_bytes", "output beyond the bound, left out of the middle"),
	NUM_OPT("swept", "descendants that outlived the agent and were ended"),
	TEXT_OPT("containment", "what held its processes together: cgroup, or the sweep alone"),
	TEXT_OPT("sandbox", "what it ran in: fence, bwrap or none"),
	NUM_OPT("ended_at_ms", "when the agent ended"),
	NUM_OPT("ran_ms", "how long it ran, by a clock that is never set"),
	TEXT_OPT("verdict", "ok or failed, by what it said; without it the exit status tells"),
	TEXT_OPT("trouble", "why it could not do its work, as far as it said"),
	NUM_OPT("turns", "that it took"),
	NUM_OPT("tool_calls", "that it made"),
	NUM_OPT("tokens", "that it used, where it says so"),
	NUM_OPT("tokens_input", "of these: read, and not from a cache"),
	NUM_OPT("tokens_output", "of these: written"),
	NUM_OPT("tokens_cache_read", "of these: read from a cache"),
	NUM_OPT("tokens_cache_write", "of these: put into a cache"),
	NUM_OPT("cost_microusd", "that it cost"),
	TEXT_OPT("cost_source", "who says so: agent, or prices of the configuration"),
	TEXT_OPT("unknown",
			"tokens or cost: some of what the agent told cannot be true; it was more "
			"than this"),
	OBJECT_OPT("session_usage", "what its session has used so far, all runs of it together"),
	FLAG_OPT("session_forgotten", "the session cannot go on: the next run begins a new one"),
	TEXT_OPT("denied", "tools that it wanted and was denied, with how often"),
	TEXT_OPT("tool", "the call of a tool that it repeated most, for people"),
	TEXT_OPT("tool_digest", "of that call, to know it again"),
	NUM_OPT("tool_repeats", "how often"),
	TEXT_OPT("limit", "what kept the agent from working: rate_limited or login"),
	NUM_OPT("resets_at_ms", "when that limit resets, where the agent says so"),
	TEXT_OPT("known_by", "how its trouble is known: stream, errors, hook, transcript"),
	TEXT_OPT("last_lines", "of a run that failed: the last lines that its agent wrote"),
	TEXT_OPT("message", "why it could not be started, or what is known"),
};
static const struct event_field run_harvested[] = {
	TEXT("head", "head of the branch"),
	TEXT("tree", "its tree"),
	NUM("commits", "since the base"),
	NUM("files_changed", "since the base"),
	LIST_OPT("files", "paths changed since the base, the first of them"),
	LIST_OPT("commit_ids", "commits since the base, the newest of them"),
	LIST_OPT("touched", "of the paths: those that this run changed"),
	NUM_OPT("lines_added", "since the base, binary files aside"),
	NUM_OPT("lines_removed", "since the base, binary files aside"),
	FLAG_OPT("leftovers", "the agent left work uncommitted; it was kept"),
	LIST_OPT("leftover_files", "paths in the work that its agents left uncommitted, the first"),
	TEXT_OPT("rescue_ref", "ref that keeps the state as the agent left it"),
	TEXT_OPT("detail", "what else was found, such as a repository that is no part of the work"),
	TEXT_OPT("last_lines",
			"of a run that ended well but changed nothing: what its agent wrote last"),
};
static const struct event_field run_continued[] = {
	TEXT("trouble", "why it could not finish"),
	TEXT("reason", "the same, for people"),
	FLAG_OPT("changed", "it changed its work: that is an iteration"),
};
static const struct event_field run_verified[] = {
	TEXT("verdict", "passed, failed, skipped, or refused before any check"),
	TEXT("detail", "what was checked and seen"),
	TEXT_OPT("tests", "passing or failing, where the command tells"),
	TEXT_OPT("tests_format", "by what: tap, junit, pytest ...; exit: its status alone"),
	NUM_OPT("tests_passed", "tests"),
	NUM_OPT("tests_failed", "tests"),
	NUM_OPT("tests_skipped", "tests"),
	LIST_OPT("failing_tests", "names of the first of them"),
	TEXT_OPT("coverage_format", "lcov or cobertura"),
	NUM_OPT("coverage_centi", "covered lines, in hundredths of a percent"),
};
static const struct event_field worker_created[] = {
	TEXT("worker", "name"),
	TEXT("path", "its worktree, relative to the store's folder"),
	FLAG_OPT("pool", "made on demand for ordinary goals"),
	TEXT_OPT("kind", "manual or auto, where it is not of the pool"),
	FLAG_OPT("excluded", "ordinary goals leave it alone"),
	TEXT_OPT("agent", "who works in it unless said otherwise"),
};
static const struct event_field worker_wanted[] = {
	TEXT("worker", "name"),
	TEXT("wanted", "reset or nuke; empty: no longer"),
	TEXT("reason", "why"),
	TEXT_OPT("rescue_ref", "ref that keeps what was in its worktree"),
};
static const struct event_field worker_removed[] = {
	TEXT("worker", "name"),
	TEXT("reason", "why"),
	TEXT_OPT("rescue_ref", "ref that keeps what was in its worktree"),
};
static const struct event_field patrol_found[] = {
	TEXT("finding", "what is amiss"),
	TEXT_OPT("worker", "where"),
	TEXT("detail", "what was seen"),
	TEXT("repair", "what is done about it; none: a person has to"),
	NUM("count", "how often since the worker last got on, this time included"),
};
static const struct event_field target_moved[] = {
	TEXT("target", "the branch"),
	TEXT_OPT("from", "the commit where it was; absent: it was not known"),
	TEXT("to", "the commit where it is"),
	TEXT("how", "found, ours, person, remote, back, unrecorded or unknown"),
	LIST_OPT("commits", "what is new there, newest first"),
	LIST_OPT("runs", "runs that were active since the branch was last seen"),
	NUM_OPT("lost", "commits that are no longer there"),
	NUM_OPT("escalation", "the inbox entry about it"),
};
static const struct event_field auto_started[] = {
	TEXT("instance", "of the daemon"),
	NUM("concurrency", "workers at most"),
	FLAG_OPT("recount", "by a person: failures in a row are counted from 0 again"),
};
static const struct event_field auto_stopped[] = {
	TEXT("reason", "why"),
	FLAG_OPT("failed", "it could not go on"),
	FLAG_OPT("interrupted",
			"its daemon ended, or one was started without it: no person did it"),
};
static const struct event_field auto_pool[] = {
	TEXT("effect", "the question"),
	TEXT("answer", "task, none, failed, uncertain, repeated or refused"),
	TEXT("detail", "for people"),
	NUM("exit_code", "of the command; -1: it had none"),
	TEXT_OPT("trouble", "of a failure: how the command ended, and the last line of its output"),
	NUM_OPT("ask_at_ms", "the next question comes no earlier"),
	NUM_OPT("escalation", "the open entry about this task: it is counted there"),
};
static const struct event_field auto_paused[] = {
	TEXT("cause", "failures, pool or accept"),
	TEXT("reason", "for people"),
	NUM("escalation", "the entry whose answer ends it"),
};
static const struct event_field auto_resumed[] = {
	TEXT("reason", "why"),
	FLAG_OPT("recount", "failures in a row are counted from 0 again, whatever the cause was"),
};
static const struct event_field conflict_predicted[] = {
	TEXT("a", "assignment"),
	TEXT("b", "assignment; empty: the target branch"),
	LIST_OPT("files", "in conflict, the first of them"),
};
static const struct event_field conflict_cleared[] = {
	TEXT("a", "assignment"),
	TEXT("b", "assignment; empty: the target branch"),
	TEXT("reason", "why"),
};
static const struct event_field worker_status[] = {
	TEXT("worker", "name"),
	TEXT("from", "status before"),
	TEXT("to", "status now"),
	TEXT("reason", "why"),
};
static const struct event_field workspace_ready[] = {
	TEXT("worker", "name"),
	TEXT("base", "commit that the work starts from"),
	TEXT_OPT("rescue_ref", "ref that keeps what was there before"),
};
static const struct event_field effect_intended[] = {
	TEXT("effect", "id; the dispatch id for run_start"),
	TEXT("kind", "what will be done"),
	TEXT_OPT("dispatch", "that is sent"),
	TEXT_OPT("purpose",
			"of a plan: create, split, diagnose; of a worker: what is done to it; of "
			"the pool: the daemon that asks"),
	TEXT_OPT("worker", "that it is about, or for whom the pool is asked"),
	TEXT_OPT("reason", "why a person wants it"),
	TEXT_OPT("evidence_hash", "of what a diagnosis is about"),
};
static const struct event_field effect_ended[] = {
	TEXT("effect", "id"),
	TEXT("kind", "what was done"),
	TEXT("outcome", "ok, or what else came of it"),
	TEXT_OPT("detail", "for people"),
};
static const struct event_field escalation_opened[] = {
	NUM("escalation", "its number"),
	TEXT("kind", "why a person is needed"),
	TEXT("question", "what is asked"),
	LIST_OPT("options", "answers to choose from"),
	TEXT_OPT("default_answer", "given by itself when nobody answers"),
	NUM_OPT("expires_at_ms", "when that happens"),
	NUM_OPT("notify_at_ms", "nobody is disturbed before this"),
	NUM_OPT("episode", "of the stall that it is about"),
	TEXT_OPT("detection", "of oversight, that it is about"),
	TEXT_OPT("fingerprint", "by which the same evidence is known again"),
};
static const struct event_field escalation_reminded[] = {
	NUM("escalation", "its number"),
	NUM("count", "of reminders, this one included"),
};
static const struct event_field escalation_closed[] = {
	NUM("escalation", "its number"),
	TEXT("status", "answered, expired or dismissed"),
	TEXT("answer", "or why it is closed"),
	TEXT_OPT("reason", "of the answer"),
};
static const struct event_field agent_limited[] = {
	TEXT("agent", "configured agent"),
	TEXT("kind", "rate_limited or login"),
	TEXT("detail", "what it said"),
	NUM("times", "in a row"),
	NUM_OPT("resets_at_ms", "when it can be used again, where known"),
	FLAG_OPT("guessed", "nobody said when it can be used again: it is tried then"),
	TEXT_OPT("known_by", "stream, errors, hook, transcript or exit_code of the run"),
	NUM_OPT("exit_code", "of the run, where known by it"),
	TEXT_OPT("words", "of the agent itself"),
	NUM_OPT("far_until_ms", "a reset more than a day ahead that was said"),
	TEXT_OPT("far_by", "the assignment that said it first"),
	TEXT_OPT("far_by_too", "another one that said so, too: now it is believed"),
	NUM_OPT("probe_at_ms", "when one run is let through to see whether it is still so"),
	NUM_OPT("probe_every_ms", "and after which time another one"),
};
static const struct event_field agent_cleared[] = {
	TEXT("agent", "configured agent"),
	TEXT("reason", "why"),
};
static const struct event_field outage_suspected[] = {
	NUM("silent", "runs without a sign of life"),
	NUM("live", "of so many"),
};
static const struct event_field silence_learned[] = {
	TEXT("agent", "whose run it was"),
	TEXT_OPT("model", "that it worked with"),
	{ "silences", V_ARRAY, true,
			"its longest: activity, tool, and counts by the seconds within which they "
			"ended",
			V_OBJECT },
};
static const struct event_field outage_over[] = {
	TEXT("reason", "what was seen"),
	NUM_OPT("ignore_until_ms", "a person said that it is none: until then none is suspected"),
};

const struct event_fields event_fields[EVENT_KIND_COUNT] = {
	[EV_DAEMON_STARTED] = FIELDS(daemon_started),
	[EV_DAEMON_STOPPED] = FIELDS(daemon_stopped),
	[EV_DAEMON_FAILED] = FIELDS(daemon_failed),
	[EV_WATCH_ACTED] = FIELDS(watch_acted),
	[EV_CLOCK_MOVED] = FIELDS(clock_moved),
	[EV_MACHINE_SLEPT] = FIELDS(machine_slept),
	[EV_GOAL_CREATED] = FIELDS(goal_created),
	[EV_GOAL_UPDATED] = FIELDS(goal_updated),
	[EV_GOAL_SPENT] = FIELDS(goal_spent),
	[EV_GOAL_BUDGET] = FIELDS(goal_budget),
	[EV_GOAL_STATUS] = FIELDS(goal_status),
	[EV_PLAN_APPLIED] = FIELDS(plan_applied),
	[EV_PLAN_GENERATED] = FIELDS(plan_generated),
	[EV_NODE_STATUS] = FIELDS(node_status),
	[EV_NODE_FAILED] = FIELDS(node_failed),
	[EV_NODE_ACCEPTED] = FIELDS(node_accepted),
	[EV_NODE_REPORTED] = FIELDS(node_reported),
	[EV_NODE_WANTED] = FIELDS(node_wanted),
	[EV_NODE_ANSWERED] = FIELDS(node_answered),
	[EV_NODE_SCOPED] = FIELDS(node_scoped),
	[EV_EPISODE_OPENED] = FIELDS(episode_opened),
	[EV_EPISODE_RUNG] = FIELDS(episode_rung),
	[EV_EPISODE_ADVISED] = FIELDS(episode_advised),
	[EV_EPISODE_CLOSED] = FIELDS(episode_closed),
	[EV_CRYSTALLIZED] = FIELDS(crystallized),
	[EV_ASSIGNMENT_CREATED] = FIELDS(assignment_created),
	[EV_ASSIGNMENT_MOVED] = FIELDS(assignment_moved),
	[EV_ASSIGNMENT_ACTIVITY] = FIELDS(assignment_activity),
	[EV_DISPATCH_INTENDED] = FIELDS(dispatch_intended),
	[EV_DISPATCH_RESULT] = FIELDS(dispatch_result),
	[EV_RUN_CREATED] = FIELDS(run_created),
	[EV_RUN_STARTED] = NO_FIELDS,
	[EV_RUN_SESSION] = FIELDS(run_session),
	[EV_RUN_ENDED] = FIELDS(run_ended),
	[EV_RUN_HARVESTED] = FIELDS(run_harvested),
	[EV_RUN_CONTINUED] = FIELDS(run_continued),
	[EV_RUN_VERIFIED] = FIELDS(run_verified),
	[EV_WORKER_CREATED] = FIELDS(worker_created),
	[EV_NODE_ADDED] = FIELDS(node_added),
	[EV_NODE_REVERTED] = FIELDS(node_reverted),
	[EV_WORKER_WANTED] = FIELDS(worker_wanted),
	[EV_WORKER_REMOVED] = FIELDS(worker_removed),
	[EV_PATROL_FOUND] = FIELDS(patrol_found),
	[EV_TARGET_MOVED] = FIELDS(target_moved),
	[EV_AUTO_STARTED] = FIELDS(auto_started),
	[EV_AUTO_STOPPED] = FIELDS(auto_stopped),
	[EV_AUTO_POOL] = FIELDS(auto_pool),
	[EV_AUTO_PAUSED] = FIELDS(auto_paused),
	[EV_AUTO_RESUMED] = FIELDS(auto_resumed),
	[EV_CONFLICT_PREDICTED] = FIELDS(conflict_predicted),
	[EV_CONFLICT_CLEARED] = FIELDS(conflict_cleared),
	[EV_WORKER_STATUS] = FIELDS(worker_status),
	[EV_WORKSPACE_READY] = FIELDS(workspace_ready),
	[EV_EFFECT_INTENDED] = FIELDS(effect_intended),
	[EV_EFFECT_ENDED] = FIELDS(effect_ended),
	[EV_ESCALATION_OPENED] = FIELDS(escalation_opened),
	[EV_ESCALATION_REMINDED] = FIELDS(escalation_reminded),
	[EV_ESCALATION_CLOSED] = FIELDS(escalation_closed),
	[EV_AGENT_LIMITED] = FIELDS(agent_limited),
	[EV_AGENT_CLEARED] = FIELDS(agent_cleared),
	[EV_SILENCE_LEARNED] = FIELDS(silence_learned),
	[EV_OUTAGE_SUSPECTED] = FIELDS(outage_suspected),
	[EV_OUTAGE_OVER] = FIELDS(outage_over),
};
