/*
 * The log as facts: which events a scenario speaks of, by which word, and which it must not
 * leave out.
 */
#include "tests/test.h"

#include <stdio.h>

#include "base/duration.h"
#include "tests/scenario/scn.h"

static const struct fact_rule {
	enum event_kind kind;
	const char *key, *equals; /* only events whose data say so; NULL: all others of the kind */
	const char *word;
	bool must;
	const char *tags[3]; /* fields of the data, after the node */
	const char *text, *until;
	const char *help;
} fact_rules[] = {
	{ EV_GOAL_STATUS, NULL, NULL, "goal", true, { "to" }, "reason", NULL,
			"the goal changed its status" },
	{ EV_GOAL_BUDGET, NULL, NULL, "budget", true, { "level", "resource" }, NULL, NULL,
			"the goal came near its budget (warned), spent it, or got a new one "
			"(fine)" },
	{ EV_PLAN_APPLIED, "version", "1", "planned", false, { "version" }, NULL, NULL,
			"the first plan" },
	{ EV_PLAN_APPLIED, NULL, NULL, "plan", true, { "version", "source" }, "reason", NULL,
			"a later plan" },
	{ EV_NODE_STATUS, "to", "done", "done", true, { 0 }, "reason", NULL, "the node is done" },
	{ EV_NODE_STATUS, "to", "blocked", "blocked", true, { "block" }, "reason",
			"blocked_until_ms", "the node waits for somebody or something" },
	{ EV_NODE_STATUS, "to", "cancelled", "cancelled", true, { 0 }, "reason", NULL,
			"the node is no longer wanted" },
	{ EV_NODE_STATUS, "to", "todo", "todo", false, { 0 }, "reason", NULL,
			"it waits for its dependencies again" },
	{ EV_NODE_STATUS, "to", "queued", "queued", false, { 0 }, "reason", NULL,
			"it may be worked on" },
	{ EV_NODE_FAILED, NULL, NULL, "failed", true, { "cause", "count" }, "detail", NULL,
			"a step failed: cause, and how often" },
	{ EV_NODE_ACCEPTED, NULL, NULL, "accepted", false, { 0 }, NULL, NULL,
			"its work is on the target branch" },
	{ EV_NODE_REPORTED, NULL, NULL, "reported", false, { "status" }, NULL, NULL,
			"the agent's report was taken" },
	{ EV_NODE_SCOPED, NULL, NULL, "narrowed", true, { 0 }, "reason", NULL,
			"a person took tools away from it" },
	{ EV_NODE_ANSWERED, NULL, NULL, "answered", false, { "escalation" }, "answer", NULL,
			"the node goes on with a person's answer" },
	{ EV_EPISODE_OPENED, NULL, NULL, "stalled", true, { "episode" }, "reason", NULL,
			"an episode begins" },
	{ EV_EPISODE_RUNG, "skipped", "true", "skip", false, { "rung" }, "reason", NULL,
			"a rung of the ladder was left out" },
	{ EV_EPISODE_RUNG, "rung", "nudge", "nudge", true, { "count" }, "reason",
			"backoff_until_ms", "the agent is asked for a sign of life" },
	{ EV_EPISODE_RUNG, "rung", "resend", "resend", true, { "count" }, "reason",
			"backoff_until_ms", "the same instruction once more" },
	{ EV_EPISODE_RUNG, "rung", "replan", "replan", true, { "count" }, "reason",
			"backoff_until_ms", "the planner is asked to split the node" },
	{ EV_EPISODE_RUNG, "rung", "reassign", "reassign", true, { "count" }, "reason",
			"backoff_until_ms", "somebody else takes it over" },
	{ EV_EPISODE_RUNG, "rung", "escalate", "escalate", true, { "count" }, "reason",
			"backoff_until_ms", "the ladder ends at a person" },
	{ EV_EPISODE_CLOSED, NULL, NULL, "recovered", true, { "episode" }, "reason", NULL,
			"the episode is over" },
	{ EV_ASSIGNMENT_CREATED, NULL, NULL, "assign", false, { "agent", "worker", "epoch" },
			"reason", NULL, "a node was bound to an agent and a worker" },
	{ EV_ASSIGNMENT_MOVED, "from>to", "stalled>active", "active", true, { 0 }, "reason", NULL,
			"a stalled run shows signs of life" },
	{ EV_ASSIGNMENT_ACTIVITY, NULL, NULL, "sign", false, { "sign" }, NULL, "due_at_ms",
			"a sign of life; until: the next is due" },
	{ EV_DISPATCH_INTENDED, "mode", "send", "send", false, { "purpose" }, "instruction", NULL,
			"an instruction to a running agent" },
	{ EV_DISPATCH_INTENDED, NULL, NULL, "dispatch", false, { "purpose" }, "instruction", NULL,
			"an instruction for a new run" },
	{ EV_DISPATCH_RESULT, NULL, NULL, "delivery", false, { "result" }, "notes", NULL,
			"what became of an instruction" },
	{ EV_RUN_CREATED, "resume", "true", "resume", true, { "attempt" }, "session", NULL,
			"a run is started that goes on with a session: which, which attempt" },
	{ EV_RUN_CREATED, NULL, NULL, "start", true, { "agent", "worker", "attempt" }, NULL, NULL,
			"a run is started: agent, worker, which attempt" },
	{ EV_RUN_ENDED, NULL, NULL, "ended", false, { "exit_code", "signal" }, "message", NULL,
			"a run ended" },
	{ EV_RUN_CONTINUED, NULL, NULL, "continued", true, { "trouble" }, "reason", NULL,
			"a run could not finish, which is no failure" },
	{ EV_RUN_VERIFIED, NULL, NULL, "verified", false, { "verdict" }, "detail", NULL,
			"our own check" },
	{ EV_WORKER_WANTED, "wanted", "", "reset", true, { "worker" }, "reason", NULL,
			"a worker has a clean worktree again" },
	{ EV_WORKER_REMOVED, NULL, NULL, "removed", true, { "worker" }, "reason", NULL,
			"a worker is gone, and its worktree" },
	{ EV_CRYSTALLIZED, NULL, NULL, "handoff", false, { 0 }, NULL, NULL,
			"a handoff was written" },
	{ EV_EFFECT_INTENDED, "kind", "run_stop", "stop", true, { 0 }, NULL, NULL,
			"a run is told to stop" },
	{ EV_EFFECT_INTENDED, "kind", "plan", "planner", true, { "purpose" }, NULL, NULL,
			"the planner is asked" },
	{ EV_EFFECT_INTENDED, NULL, NULL, "step", false, { "kind" }, NULL, NULL,
			"a step of the pipeline begins" },
	{ EV_ESCALATION_OPENED, NULL, NULL, "ask", true, { "escalation", "kind" }, "question",
			"notify_at_ms", "a person is asked; until: not disturbed before" },
	{ EV_ESCALATION_REMINDED, NULL, NULL, "remind", true, { "escalation", "count" }, NULL, NULL,
			"a person is reminded" },
	{ EV_ESCALATION_CLOSED, NULL, NULL, "closed", true, { "escalation", "status" }, "answer",
			NULL, "a question is answered, expired or dismissed" },
	{ EV_AGENT_LIMITED, NULL, NULL, "limited", true, { "agent", "kind" }, "detail",
			"resets_at_ms", "an agent's lane waits" },
	{ EV_AGENT_CLEARED, NULL, NULL, "cleared", true, { "agent" }, "reason", NULL,
			"the agent can be used again" },
	{ EV_OUTAGE_SUSPECTED, NULL, NULL, "outage", true, { "silent", "live" }, NULL, NULL,
			"so many are silent that the fault is ours" },
	{ EV_OUTAGE_OVER, NULL, NULL, "outage_over", true, { 0 }, "reason", NULL,
			"not so many are silent any more" },
	{ EVENT_KIND_COUNT, NULL, NULL, "refused", true, { 0 }, NULL, NULL,
			"what a person wanted was refused" },
};

static str field_text(struct scn *s, const value *data, const char *key)
{
	const value *v = value_at(data, key);

	if (strcmp(key, "from>to") == 0)
		return arena_printf(&s->f.arena, STR_FMT ">" STR_FMT,
				STR_ARG(value_str_at(data, "from")),
				STR_ARG(value_str_at(data, "to")));
	if (!v)
		return (str){ 0 };
	if (v->kind == V_BOOL)
		return v->b ? STR("true") : STR("false");
	return v->kind == V_INT ? arena_printf(&s->f.arena, "%lld", (long long)v->i)
				: value_str_or(v, (str){ 0 });
}

void scn_fact_tag(struct scn_fact *f, str tag)
{
	if (tag.n && f->tags_n < SCN_TAGS)
		f->tags[f->tags_n++] = tag;
}

static bool is_ignored(const struct scn *s, const char *word)
{
	for (size_t i = 0; i < s->ignored.n; i++)
		if (str_is(s->ignored.p[i].s, word))
			return true;
	return false;
}

struct scn_fact *scn_fact_add(struct scn *s, const char *word, bool must)
{
	struct scn_fact f = { .at = s->at, .word = word, .must = must && !is_ignored(s, word) };

	vec_push(&s->facts, f);
	return &vec_last(&s->facts);
}

static str goal_name(const struct scn *s, str id)
{
	for (size_t i = 0; i < s->goals.n; i++)
		if (str_eq(s->goals.p[i].id, id))
			return s->goals.p[i].name;
	return (str){ 0 };
}

static void event_to_fact(struct scn *s, const struct event *e, const struct fact_rule *r)
{
	struct scn_fact *f = scn_fact_add(s, r->word, r->must);

	scn_fact_tag(f, e->node);
	for (size_t i = 0; i < ARRAY_LEN(r->tags) && r->tags[i]; i++)
		scn_fact_tag(f, field_text(s, e->data, r->tags[i]));
	scn_fact_tag(f, goal_name(s, e->goal));
	if (r->text)
		f->text = field_text(s, e->data, r->text);
	if (r->until && value_int_at(e->data, r->until))
		f->until = value_int_at(e->data, r->until) - s->base - s->skew;
	buf_addf(&s->trace, "      %s " STR_FMT "\n", f->must ? "*" : " ",
			STR_ARG(scn_fact_text(&s->f.arena, f)));
}

static const struct fact_rule *rule_for(struct scn *s, const struct event *e)
{
	for (size_t i = 0; i < ARRAY_LEN(fact_rules); i++) {
		const struct fact_rule *r = &fact_rules[i];

		if (r->kind == e->kind &&
				(!r->key || str_is(field_text(s, e->data, r->key), r->equals)))
			return r;
	}
	return NULL;
}

void facts_take(struct scn *s)
{
	for (; s->log_seen < s->f.log.n; s->log_seen++) {
		const struct event *e = s->f.log.p[s->log_seen];
		const struct fact_rule *r = rule_for(s, e);

		if (r)
			event_to_fact(s, e, r);
	}
}

bool fact_known(str word)
{
	for (size_t i = 0; i < ARRAY_LEN(fact_rules); i++)
		if (str_is(word, fact_rules[i].word))
			return true;
	return false;
}

static str clock_text(struct arena *a, ov_time at)
{
	return arena_printf(a, "%02lld:%02lld:%02lld", (long long)(at / OV_HOUR),
			(long long)(at / OV_MINUTE % 60), (long long)(at / OV_SECOND % 60));
}

str scn_fact_text(struct arena *a, const struct scn_fact *f)
{
	str text = arena_printf(a, STR_FMT " %s", STR_ARG(clock_text(a, f->at)), f->word);

	for (size_t i = 0; i < f->tags_n; i++)
		text = arena_printf(a, STR_FMT " " STR_FMT, STR_ARG(text), STR_ARG(f->tags[i]));
	if (f->until)
		text = arena_printf(a, STR_FMT " until " STR_FMT, STR_ARG(text),
				STR_ARG(clock_text(a, f->until)));
	if (f->text.n)
		text = arena_printf(a, STR_FMT " \"" STR_FMT "\"", STR_ARG(text),
				STR_ARG(str_sub(f->text, 0,
						MIN(str_find_byte(f->text, '\n'), (size_t)160))));
	return text;
}

void facts_unexpected(struct scn *s, ov_time before)
{
	for (size_t i = 0; i < s->facts.n; i++) {
		const struct scn_fact *f = &s->facts.p[i];

		if (f->must && !f->matched && f->at < before)
			scn_fail(s, "nobody expected: " STR_FMT,
					STR_ARG(scn_fact_text(&s->f.arena, f)));
	}
}

void facts_words(void)
{
	printf("Facts to expect, after a time (those with * must not be left out):\n");
	for (size_t i = 0; i < ARRAY_LEN(fact_rules); i++)
		printf("  expect %-12s %c %s\n", fact_rules[i].word, fact_rules[i].must ? '*' : ' ',
				fact_rules[i].help);
}
