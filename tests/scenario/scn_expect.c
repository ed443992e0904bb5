/* What a scenario expects: facts since the last line with another time, and how things stand. */
#include "tests/test.h"

#include "base/duration.h"
#include "core/policy/scope.h"
#include "core/prompt/prompt.h"
#include "tests/scenario/scn.h"

/* Words that only make a sentence of it. */
static bool is_filler(str word)
{
	static const char *const fillers[] = { "with", "on", "to", "by", "of", "in", "as", "the",
		"attempt", "again", "from", "for", "is" };

	for (size_t i = 0; i < ARRAY_LEN(fillers); i++)
		if (str_is(word, fillers[i]))
			return true;
	return false;
}

/* A misspelt name would make every "expect no" true. */
static bool is_known(const struct scn *s, str word)
{
	static const struct status_table *const tables[] = { &troubles, &node_statuses,
		&as_statuses, &goal_statuses, &esc_statuses, &dispatch_results, &rungs, &life_signs,
		&block_kinds, &resources, &budget_levels, &causes, &effect_kinds, &verifications };
	static const char *const others[] = { "nudge", "start", "retry", "answer", "rerun", "split",
		"diagnose", "create", "file", "planner", "fallback", "replan", "stalled",
		"question", "run_stop", "stop", "overdue", "mute", "permission", "outage", "budget",
		"agent_limited", "waiting", "no_changes" };
	int64_t number;

	if (given_knows(s, word) || str_to_i64(word, &number) || str_starts(word, STR("pool-")))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		if (status_parse(tables[i], word) >= 0)
			return true;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (str_is(word, others[i]))
			return true;
	return false;
}

struct wanted {
	str word;
	struct tok toks[16];
	size_t n;
	ov_time until;
	bool has_until;
};

static struct wanted wanted_from(struct scn *s, const struct tok *toks, size_t n)
{
	struct wanted w = { .word = toks[0].s };

	if (!fact_known(w.word))
		scn_fail(s, "\"" STR_FMT "\" is nothing that can be expected", STR_ARG(w.word));
	for (size_t i = 1; i < n; i++) {
		if (!toks[i].quoted && str_is(toks[i].s, "until")) {
			w.has_until = i + 1 < n && time_of_day(toks[i + 1].s, &w.until);
			if (!w.has_until)
				scn_fail(s, "\"until\" needs a time");
			i++;
			continue;
		}
		if (!toks[i].quoted && is_filler(toks[i].s))
			continue;
		if (!toks[i].quoted && !is_known(s, toks[i].s))
			scn_fail(s, "\"" STR_FMT "\" is not known", STR_ARG(toks[i].s));
		if (w.n < ARRAY_LEN(w.toks))
			w.toks[w.n++] = toks[i];
	}
	return w;
}

static bool fact_fits(const struct scn_fact *f, const struct wanted *w)
{
	if (!str_is(w->word, f->word) || (w->has_until && w->until != f->until))
		return false;
	for (size_t i = 0; i < w->n; i++) {
		bool found = w->toks[i].quoted && str_contains(f->text, w->toks[i].s);

		for (size_t t = 0; !w->toks[i].quoted && t < f->tags_n; t++)
			found |= str_eq(f->tags[t], w->toks[i].s);
		if (!found)
			return false;
	}
	return true;
}

static void expect_fact(struct scn *s, const struct tok *toks, size_t n)
{
	struct wanted w = wanted_from(s, toks, n);

	for (size_t i = 0; i < s->facts.n; i++) {
		struct scn_fact *f = &s->facts.p[i];
		bool now = s->by ? f->at > s->before_at : f->at == s->line_at;

		if (!f->matched && now && fact_fits(f, &w)) {
			f->matched = true;
			return;
		}
	}
	scn_fail(s, "this did not happen: " STR_FMT, STR_ARG(w.word));
}

static void expect_no_fact(struct scn *s, const struct tok *toks, size_t n)
{
	struct wanted w = wanted_from(s, toks, n);

	for (size_t i = 0; i < s->facts.n; i++) {
		const struct scn_fact *f = &s->facts.p[i];

		if ((f->at > s->before_at || f->at == s->line_at) && fact_fits(f, &w))
			scn_fail(s, "this happened: " STR_FMT,
					STR_ARG(scn_fact_text(&s->f.arena, f)));
	}
}

static void expect_nothing(struct scn *s, const struct args *a)
{
	(void)a;
	facts_unexpected(s, OV_TIME_MAX);
}

static void expect_same(struct scn *s, const char *what, str is, str wanted)
{
	if (!str_eq(is, wanted))
		scn_fail(s, "%s is " STR_FMT ", not " STR_FMT, what, STR_ARG(is), STR_ARG(wanted));
}

static void expect_number(struct scn *s, const char *what, int64_t is, str wanted)
{
	expect_same(s, what, arena_printf(&s->f.arena, "%lld", (long long)is), wanted);
}

static void expect_moment(struct scn *s, const char *what, ov_time moment, str wanted)
{
	ov_time from_start = moment - s->base - s->skew, want;

	if (moment == 0 || moment == OV_TIME_MAX) {
		expect_same(s, what, STR("never"), wanted);
		return;
	}
	if (!time_of_day(wanted, &want) || want != from_start)
		scn_fail(s, "%s is %02lld:%02lld:%02lld.%03lld, not " STR_FMT, what,
				(long long)(from_start / OV_HOUR),
				(long long)(from_start / OV_MINUTE % 60),
				(long long)(from_start / OV_SECOND % 60),
				(long long)(from_start % OV_SECOND), STR_ARG(wanted));
}

static void expect_status(struct scn *s, const struct args *a)
{
	const struct node *n = scn_node(s, a->v[0].s);

	expect_same(s, "its status", str_from(status_name(&node_statuses, (int)n->status)),
			a->v[1].s);
}

static void expect_goal_is(struct scn *s, const struct args *a)
{
	for (size_t i = 0; i < s->goals.n; i++)
		if (str_eq(s->goals.p[i].name, a->v[0].s)) {
			const struct goal *g = state_goal(s->f.state, s->goals.p[i].id);

			expect_same(s, "its status",
					str_from(status_name(&goal_statuses, (int)g->status)),
					a->v[1].s);
			return;
		}
	scn_fail(s, "no goal has this name");
}

static void expect_assignment(struct scn *s, const struct args *a)
{
	const struct assignment *as = scn_node(s, a->v[0].s)->assignment;

	expect_same(s, "its assignment",
			as ? str_from(status_name(&as_statuses, (int)as->status)) : STR("none"),
			a->v[1].s);
}

static void expect_inbox(struct scn *s, const struct args *a)
{
	int64_t open = 0;

	for (size_t i = 0; i < s->f.state->escalations.n; i++)
		open += s->f.state->escalations.p[i]->status == ESC_OPEN;
	expect_number(s, "the number of open questions", open, a->v[0].s);
}

static void expect_wake(struct scn *s, const struct args *a)
{
	expect_moment(s, "the next wake-up", s->f.wake_at, a->v[0].s);
}

static void expect_backoff(struct scn *s, const struct args *a)
{
	expect_moment(s, "its backoff", scn_node(s, a->v[0].s)->stall.backoff_until, a->v[1].s);
}

static void expect_due(struct scn *s, const struct args *a)
{
	const struct assignment *as = scn_node(s, a->v[0].s)->assignment;

	expect_moment(s, "its due date", as ? as->expected_at : 0, a->v[1].s);
}

static void expect_epoch(struct scn *s, const struct args *a)
{
	expect_number(s, "its epoch", scn_node(s, a->v[0].s)->work.epoch, a->v[1].s);
}

/* "read,edit", "all", "all-Bash": what is allowed, then what is denied. */
static void expect_tools(struct scn *s, const struct args *a)
{
	const struct assignment *as = scn_node(s, a->v[0].s)->assignment;
	struct tool_scope scope;
	str text = STR("");

	if (!as || !as->run)
		scn_fail(s, "it has no run");
	assert_int_equal(scope_parse(&s->f.arena, as->run->tools, &scope, NULL), 0);
	for (size_t i = 0; i < scope.allow_n; i++)
		text = arena_printf(&s->f.arena, STR_FMT "%s" STR_FMT, STR_ARG(text), i ? "," : "",
				STR_ARG(scope.allow[i]));
	text = scope.allow ? text : STR("all");
	for (size_t i = 0; i < scope.deny_n; i++)
		text = arena_printf(&s->f.arena, STR_FMT "-" STR_FMT, STR_ARG(text),
				STR_ARG(scope.deny[i]));
	expect_same(s, "what its run may use", text, a->v[1].s);
}

static void expect_worker(struct scn *s, const struct args *a)
{
	const struct worker *w = state_worker(s->f.state, a->v[0].s);

	expect_same(s, "the worker",
			w ? str_from(status_name(&worker_statuses, (int)w->status)) : STR("none"),
			a->v[1].s);
}

static void expect_workers(struct scn *s, const struct args *a)
{
	expect_number(s, "the number of workers", (int64_t)s->f.state->workers.n, a->v[0].s);
}

static void expect_failures(struct scn *s, const struct args *a)
{
	int cause = status_parse(&causes, a->v[1].s);

	if (cause < 0)
		scn_fail(s, "there is no such cause");
	expect_number(s, "the number of failures", scn_node(s, a->v[0].s)->work.failures[cause],
			a->v[2].s);
}

static void expect_effect(struct scn *s, const struct args *a)
{
	const struct assignment *as = scn_node(s, a->v[0].s)->assignment;

	expect_same(s, "its step",
			as && as->effect ? str_from(status_name(&effect_kinds,
							   (int)as->effect->kind))
					 : STR("none"),
			a->v[1].s);
}

static void expect_prompt(struct scn *s, const struct args *a)
{
	const struct assignment *as = scn_node(s, a->v[0].s)->assignment;
	bool wanted = str_is(a->v[1].s, "says");
	str prompt;

	if (!as)
		scn_fail(s, "nobody is assigned to it");
	prompt = prompt_build(&s->f.arena, as);
	if (str_contains(prompt, a->v[2].s) != wanted)
		scn_fail(s, "the instruction is:\n" STR_FMT "\n", STR_ARG(prompt));
}

const struct rule expect_rules[] = {
	{ "nothing", expect_nothing, "nothing else has happened so far" },
	{ "status NODE NAME", expect_status,
			"todo, queued, in_progress, blocked, done, cancelled" },
	{ "goal NAME is NAME", expect_goal_is, "active, paused, completed, cancelled" },
	{ "assignment NODE NAME", expect_assignment,
			"none, queued, dispatched, active, stalled, blocked" },
	{ "inbox NUM", expect_inbox, "so many questions are open" },
	{ "wake NAME", expect_wake, "when the next tick is due: a time, or never" },
	{ "backoff NODE until NAME", expect_backoff, "the next rung comes no earlier" },
	{ "due NODE NAME", expect_due, "a sign of life is expected until then" },
	{ "epoch NODE NUM", expect_epoch, "of its newest assignment" },
	{ "tools NODE NAME", expect_tools, "what its run may use: read,edit or all-Bash" },
	{ "worker NAME NAME", expect_worker, "idle, working, rebasing" },
	{ "workers NUM", expect_workers, "so many were made" },
	{ "failures NODE NAME NUM", expect_failures, "counted by this cause" },
	{ "running step of NODE NAME", expect_effect, "the step under way, or none" },
	{ "instruction of NODE says|omits TEXT", expect_prompt, "what a run is told" },
};
const size_t expect_rules_n = ARRAY_LEN(expect_rules);

/* One clause: "no FACT", a rule about how things stand, or a fact. */
static void expect_clause(struct scn *s, const struct tok *toks, size_t n)
{
	const struct rule *r;
	struct args args;

	if (n == 0)
		scn_fail(s, "what is expected?");
	s->expectations++;
	if (str_is(toks[0].s, "no") && n > 1) {
		expect_no_fact(s, toks + 1, n - 1);
		return;
	}
	r = rule_match(expect_rules, expect_rules_n, toks, n, &args);
	if (r)
		r->fn(s, &args);
	else
		expect_fact(s, toks, n);
}

void expect_line(struct scn *s, const struct tok *toks, size_t n)
{
	size_t from = 0;

	for (size_t i = 0; i <= n; i++)
		if (i == n || (!toks[i].quoted && str_is(toks[i].s, ";"))) {
			expect_clause(s, toks + from, i - from);
			from = i + 1;
		}
}
