#include "core/model/transition.h"

#include "agent/fact/fact.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define NAME(sym, name) [sym] = name,
static const char *const node_names[] = { NODE_STATUSES(NAME) };
static const char *const as_names[] = { AS_STATUSES(NAME) };
static const char *const goal_names[] = { GOAL_STATUSES(NAME) };
static const char *const worker_names[] = { WORKER_STATUSES(NAME) };
static const char *const health_names[] = { GOAL_HEALTHS(NAME) };
static const char *const run_names[] = { RUN_STATUSES(NAME) };
static const char *const verification_names[] = { VERIFICATIONS(NAME) };
static const char *const esc_names[] = { ESCALATION_STATUSES(NAME) };
static const char *const tier_names[] = { NODE_TIERS(NAME) };
static const char *const stage_names[] = { STAGES(NAME) };
static const char *const cause_names[] = { CAUSES(NAME) };
static const char *const mode_names[] = { DISPATCH_MODES(NAME) };
static const char *const result_names[] = { DISPATCH_RESULTS(NAME) };
static const char *const rung_names[] = { RUNGS(NAME) };
static const char *const life_names[] = { LIFE_SIGNS(NAME) };
static const char *const block_names[] = { BLOCK_KINDS(NAME) };
static const char *const resource_names[] = { RESOURCES(NAME) };
static const char *const budget_names[] = { BUDGET_LEVELS(NAME) };
static const char *const trouble_names[] = { TROUBLES(NAME) };
static const char *const sign_names[] = { FACT_SIGNS(NAME) };
static const char *const detector_names[] = { DETECTORS(NAME) };
static const char *const severity_names[] = { SEVERITIES(NAME) };
static const char *const level_names[] = { LEVELS(NAME) };
static const char *const effectiveness_names[] = { EFFECTIVENESS(NAME) };
static const char *const urgency_names[] = { URGENCIES(NAME) };
static const char *const notice_names[] = { NOTICE_STATUSES(NAME) };
static const char *const channel_names[] = { CHANNEL_TYPES(NAME) };
static const char *const tests_names[] = { TESTS(NAME) };
static const char *const task_end_names[] = { TASK_ENDS(NAME) };
static const char *const completion_names[] = { COMPLETION_SOURCES(NAME) };
static const char *const say_names[] = { SAYS(NAME) };
#undef NAME
static const char *const ask_names[] = {
	[ASK_OTHER] = "",
#define ASK(sym, word, ...) [sym] = word,
#define ASK_TOO(sym, ...)
#define ASK_PLAIN(sym, word) [sym] = word,
#include "core/model/asks.def"
};

#define B(s) (1u << (s))

static const uint32_t node_allowed[NODE_STATUS_COUNT] = {
	[NODE_TODO] = B(NODE_QUEUED) | B(NODE_BLOCKED) | B(NODE_CANCELLED),
	[NODE_QUEUED] = B(NODE_IN_PROGRESS) | B(NODE_TODO) | B(NODE_BLOCKED) | B(NODE_CANCELLED),
	[NODE_IN_PROGRESS] = B(NODE_DONE) | B(NODE_QUEUED) | B(NODE_BLOCKED) | B(NODE_CANCELLED),
	[NODE_BLOCKED] = B(NODE_TODO) | B(NODE_QUEUED) | B(NODE_IN_PROGRESS) | B(NODE_CANCELLED),
};

static const uint32_t node_override[NODE_STATUS_COUNT] = {
	[NODE_TODO] = B(NODE_DONE),
	[NODE_QUEUED] = B(NODE_DONE),
	[NODE_IN_PROGRESS] = B(NODE_DONE),
	[NODE_BLOCKED] = B(NODE_DONE),
	[NODE_DONE] = B(NODE_QUEUED),
};

static const uint32_t as_allowed[AS_STATUS_COUNT] = {
	[AS_QUEUED] = B(AS_DISPATCHED) | B(AS_BLOCKED) | B(AS_CANCELLED),
	[AS_DISPATCHED] = B(AS_ACTIVE) | B(AS_STALLED) | B(AS_QUEUED) | B(AS_BLOCKED) | B(AS_DONE) |
			B(AS_CANCELLED),
	[AS_ACTIVE] = B(AS_STALLED) | B(AS_BLOCKED) | B(AS_DONE) | B(AS_CANCELLED) | B(AS_QUEUED),
	[AS_STALLED] = B(AS_ACTIVE) | B(AS_DISPATCHED) | B(AS_QUEUED) | B(AS_BLOCKED) | B(AS_DONE) |
			B(AS_CANCELLED),
	[AS_BLOCKED] = B(AS_QUEUED) | B(AS_DISPATCHED) | B(AS_ACTIVE) | B(AS_DONE) |
			B(AS_CANCELLED),
};

static const uint32_t goal_allowed[GOAL_STATUS_COUNT] = {
	[GOAL_ACTIVE] = B(GOAL_PAUSED) | B(GOAL_COMPLETED) | B(GOAL_CANCELLED),
	[GOAL_PAUSED] = B(GOAL_ACTIVE) | B(GOAL_COMPLETED) | B(GOAL_CANCELLED),
	[GOAL_COMPLETED] = B(GOAL_ARCHIVED),
	[GOAL_CANCELLED] = B(GOAL_ARCHIVED),
};

static const uint32_t goal_override[GOAL_STATUS_COUNT] = {
	[GOAL_COMPLETED] = B(GOAL_ACTIVE),
};

#define ALWAYS (B(WORKER_ERROR) | B(WORKER_OFFLINE))
static const uint32_t worker_allowed[WORKER_STATUS_COUNT] = {
	[WORKER_OFFLINE] = B(WORKER_IDLE) | B(WORKER_ERROR),
	[WORKER_IDLE] = ALWAYS | B(WORKER_WORKING),
	[WORKER_WORKING] = ALWAYS | B(WORKER_NEEDS_REVIEW) | B(WORKER_NO_CHANGES) |
			B(WORKER_REBASING) | B(WORKER_IDLE),
	[WORKER_NEEDS_REVIEW] = ALWAYS | B(WORKER_REVIEWING) | B(WORKER_REBASING) |
			B(WORKER_REJECTED) | B(WORKER_NO_CHANGES) | B(WORKER_IDLE),
	[WORKER_REVIEWING] = ALWAYS | B(WORKER_NEEDS_REVIEW) | B(WORKER_REJECTED) |
			B(WORKER_REBASING) | B(WORKER_IDLE),
	[WORKER_REJECTED] = ALWAYS | B(WORKER_WORKING) | B(WORKER_NEEDS_REVIEW) | B(WORKER_IDLE),
	[WORKER_REBASING] = ALWAYS | B(WORKER_NEEDS_REVIEW) | B(WORKER_WORKING) |
			B(WORKER_NO_CHANGES) | B(WORKER_IDLE),
	[WORKER_NO_CHANGES] = ALWAYS | B(WORKER_IDLE) | B(WORKER_WORKING),
	[WORKER_ERROR] = B(WORKER_IDLE) | B(WORKER_OFFLINE),
};

static const uint32_t run_allowed[RUN_STATUS_COUNT] = {
	[RUN_STARTING] = B(RUN_RUNNING) | B(RUN_ENDED),
	[RUN_RUNNING] = B(RUN_ENDED),
};

static const uint32_t esc_allowed[ESC_STATUS_COUNT] = {
	[ESC_OPEN] = B(ESC_ANSWERED) | B(ESC_EXPIRED) | B(ESC_DISMISSED),
};

/* A resend of an unacknowledged dispatch makes it pending once more. */
static const uint32_t result_allowed[DISPATCH_RESULT_COUNT] = {
	[RESULT_PENDING] = B(RESULT_ACCEPTED) | B(RESULT_OK) | B(RESULT_TIMEOUT) | B(RESULT_ERROR),
	[RESULT_ACCEPTED] = B(RESULT_OK) | B(RESULT_TIMEOUT) | B(RESULT_ERROR) | B(RESULT_PENDING),
	[RESULT_TIMEOUT] = B(RESULT_OK) | B(RESULT_PENDING),
	[RESULT_ERROR] = B(RESULT_OK) | B(RESULT_PENDING),
};

/*
 * One that failed was tried often enough, and stays failed; unless a person wants it tried again.
 */
static const uint32_t notice_allowed[NOTICE_STATUS_COUNT] = {
	[NOTICE_WAITING] = B(NOTICE_SENT) | B(NOTICE_FAILED) | B(NOTICE_WITHDRAWN),
};

static const uint32_t notice_override[NOTICE_STATUS_COUNT] = {
	[NOTICE_FAILED] = B(NOTICE_WAITING),
};

#define TABLE(noun, names, allowed, over) \
	((struct status_table){ noun, names, ARRAY_LEN(names), allowed, over })
const struct status_table node_statuses = TABLE("node", node_names, node_allowed, node_override);
const struct status_table as_statuses = TABLE("assignment", as_names, as_allowed, NULL);
const struct status_table goal_statuses = TABLE("goal", goal_names, goal_allowed, goal_override);
const struct status_table worker_statuses = TABLE("worker", worker_names, worker_allowed, NULL);
const struct status_table goal_healths = TABLE("health", health_names, NULL, NULL);
const struct status_table run_statuses = TABLE("run", run_names, run_allowed, NULL);
const struct status_table verifications = TABLE("verification", verification_names, NULL, NULL);
const struct status_table esc_statuses = TABLE("escalation", esc_names, esc_allowed, NULL);
const struct status_table node_tiers = TABLE("tier", tier_names, NULL, NULL);
const struct status_table stages = TABLE("stage", stage_names, NULL, NULL);
const struct status_table causes = TABLE("cause", cause_names, NULL, NULL);
const struct status_table dispatch_modes = TABLE("mode", mode_names, NULL, NULL);
const struct status_table dispatch_results = TABLE("dispatch", result_names, result_allowed, NULL);
const struct status_table rungs = TABLE("rung", rung_names, NULL, NULL);
const struct status_table life_signs = TABLE("sign of life", life_names, NULL, NULL);
const struct status_table block_kinds = TABLE("block", block_names, NULL, NULL);
const struct status_table resources = TABLE("resource", resource_names, NULL, NULL);
const struct status_table troubles = TABLE("trouble", trouble_names, NULL, NULL);
const struct status_table fact_signs = TABLE("sign", sign_names, NULL, NULL);
const struct status_table budget_levels = TABLE("budget level", budget_names, NULL, NULL);
const struct status_table detectors = TABLE("detector", detector_names, NULL, NULL);
const struct status_table severities = TABLE("severity", severity_names, NULL, NULL);
const struct status_table levels = TABLE("level", level_names, NULL, NULL);
const struct status_table effectivenesses = TABLE("effectiveness", effectiveness_names, NULL, NULL);
const struct status_table urgencies = TABLE("urgency", urgency_names, NULL, NULL);
const struct status_table notice_statuses = TABLE("notice", notice_names, notice_allowed,
		notice_override);
const struct status_table channel_types = TABLE("channel type", channel_names, NULL, NULL);
const struct status_table tests_states = TABLE("tests", tests_names, NULL, NULL);
const struct status_table task_ends = TABLE("end of a task", task_end_names, NULL, NULL);
const struct status_table completion_sources = TABLE("completion", completion_names, NULL, NULL);
const struct status_table say_words = TABLE("answer", say_names, NULL, NULL);
const struct status_table ask_kinds = TABLE("question", ask_names, NULL, NULL);

const char *status_name(const struct status_table *t, int status)
{
	assert(status >= 0 && status < t->n);
	return t->names[status];
}

int status_parse(const struct status_table *t, str name)
{
	for (int i = 0; i < t->n; i++)
		if (str_is(name, t->names[i]))
			return i;
	return -1;
}

static uint32_t legal(const struct status_table *t, int from, bool override_given)
{
	uint32_t bits = t->allowed ? t->allowed[from] : 0;

	if (override_given && t->by_override)
		bits |= t->by_override[from];
	return bits;
}

bool status_may(const struct status_table *t, int from, int to, bool override_given)
{
	assert(from >= 0 && from < t->n && to >= 0 && to < t->n);
	return legal(t, from, override_given) & B(to);
}

int status_check(const struct status_table *t, str what, int from, int to, bool override_given,
		struct ov_err *err)
{
	_cleanup_(buf_done) struct buf names = BUF_INIT;
	uint32_t bits = legal(t, from, override_given);

	if (status_may(t, from, to, override_given))
		return 0;
	for (int i = 0; i < t->n; i++)
		if (bits & B(i))
			buf_addf(&names, "%s%s", names.n ? ", " : "", t->names[i]);
	return ov_fail(err, OV_ESTATE,
			"%s " STR_FMT " is %s and cannot become %s; from %s it can become: %s",
			t->noun, STR_ARG(what), t->names[from], t->names[to], t->names[from],
			names.n ? buf_cstr(&names) : "nothing, it is final");
}
