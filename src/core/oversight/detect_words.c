/* What was found, in words: for people, for the agent, and as evidence. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/duration.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/oversight/detect.h"
#include "data/id/sha256.h"

enum {
	SHOWN_ITERATIONS = 3, /* in evidence */
	SHOWN_FILES = 20,     /* of each */
	SHOWN_BLOCKERS = 5,
	SHOWN_ERROR = 500,  /* bytes of what was said */
	QUOTED_ERROR = 160, /* of it to the agent */
};

static const char *const stuck_advice[] = { "Change approach or strategy",
	"Break task into smaller sub-tasks", "Request human intervention",
	"Review and address root cause" };
static const char *const oscillation_advice[] = { "Commit to one approach instead of alternating",
	"Review feedback quality - may be conflicting", "Pause and assess which approach is better",
	"Request human decision on direction" };
static const char *const deviation_advice[] = { "Review original objective and criteria",
	"Realign current work with stated goals", "Confirm scope with human if uncertain",
	"Document any necessary scope changes" };
static const char *const burn_early_advice[] = { "Consider aborting if little progress made",
	"Analyze why estimates were incorrect", "Break remaining work into smaller tasks",
	"Request human decision on continuation" };
static const char *const burn_late_advice[] = { "Increase iteration budget if task is viable",
	"Analyze why estimates were incorrect", "Break remaining work into smaller tasks",
	"Request human decision on continuation" };
static const char *const regression_advice[] = { "Stop making changes that break tests",
	"Fix tests instead of deleting or disabling them", "Review anti-laziness rules",
	"Restore previous working state if needed" };

#define ADVICE(list) list, ARRAY_LEN(list)
static const struct {
	const char *reason; /* what the intervention is for */
	const char *const *advice;
	size_t advice_n;
	const char *guidance; /* the last words of a warning */
} kinds[DETECTOR_COUNT] = {
	[DETECT_STUCK] = { "Loop stuck", ADVICE(stuck_advice),
			"You are making the same error repeatedly. Stop and try a different "
			"approach." },
	[DETECT_OSCILLATION] = { "Approaches alternate", ADVICE(oscillation_advice),
			"You are going back and forth. Decide for one approach and stay with it." },
	[DETECT_DEVIATION] = { "Work deviates from the objective", ADVICE(deviation_advice),
			"Your recent work does not serve the objective. Return to it." },
	[DETECT_SCOPE_CREEP] = { "Work leaves its scope", ADVICE(deviation_advice),
			"You are changing files that are not part of this task. Stay within its "
			"scope." },
	[DETECT_BURN] = { "Resource budget exceeded", ADVICE(burn_early_advice),
			"You have used far more than was expected. Finish what is needed, and "
			"nothing else." },
	[DETECT_REGRESSION] = { "Critical test regression", ADVICE(regression_advice),
			"What worked before is broken. Repair it before anything else." },
};

static const char *const consequences[LEVEL_COUNT] = {
	[LEVEL_NONE] = "ignored",
	[LEVEL_LOG] = "logged for monitoring",
	[LEVEL_WARN] = "warning the agent",
	[LEVEL_REDIRECT] = "forcing strategy change",
	[LEVEL_PAUSE] = "human decision required",
	[LEVEL_ABORT] = "aborting to prevent further damage",
};

static value *decimal(struct arena *a, int64_t n, int64_t scale)
{
	return n % scale ? value_real(a, (double)n / (double)scale) : value_int(a, n / scale);
}

/* One line that is fit to be quoted. */
static str one_line(struct arena *a, str s, size_t max)
{
	str cut = utf8_clean(a, utf8_truncate(str_trim(s), max));
	char *line = arena_cstr(a, cut);

	for (char *p = line; *p; p++)
		if (*p == '\n' || *p == '\t' || *p == '\r')
			*p = ' ';
	return (str){ line, cut.n };
}

static str shown_error(struct arena *a, const struct iteration *it, size_t max)
{
	return one_line(a, it->error.n ? it->error : it->failure_class, max);
}

static value *first_strs(struct arena *a, const struct strs *list, size_t max)
{
	value *v = value_array(a);

	for (size_t i = 0; i < MIN(list->n, max); i++)
		value_push(a, v, value_str(a, list->p[i]));
	return v;
}

static bool has_str(const value *array, str s)
{
	for (size_t i = 0; i < array->array.n; i++)
		if (str_eq(array->array.items[i]->s, s))
			return true;
	return false;
}

static value *recent_blockers(struct arena *a, const struct detect_context *cx)
{
	value *v = value_array(a);

	for (size_t i = cx->history->n; i-- > 0 && v->array.n < SHOWN_BLOCKERS;) {
		const struct strs *all = &cx->iterations[i]->blockers;

		for (size_t k = 0; k < all->n && v->array.n < SHOWN_BLOCKERS; k++)
			if (!has_str(v, all->p[k]))
				value_push(a, v, value_str(a, one_line(a, all->p[k], SHOWN_ERROR)));
	}
	return v;
}

static value *stuck_evidence(struct arena *a, const struct detect_context *cx,
		const struct found *f)
{
	const struct iteration *it = f->in_run ? NULL : cx->iterations[f->at];
	value *v = value_object(a), *blockers = recent_blockers(a, cx);

	if (!it || f->unchanged)
		value_put(a, v, f->output ? "repeatedOutput" : "repeatedToolCall",
				value_str(a, one_line(a, it ? it->tool : cx->call, SHOWN_ERROR)));
	else
		value_put(a, v, "repeatedError", value_str(a, shown_error(a, it, SHOWN_ERROR)));
	if (it && f->unchanged)
		value_put(a, v, "treeHash", value_str(a, it->tree));
	value_put(a, v, "occurrences", value_int(a, f->count));
	if (f->has_ratio)
		value_put(a, v, "avgProgressRate", decimal(a, f->ratio, 100));
	if (blockers->array.n)
		value_put(a, v, "recentBlockers", blockers);
	return v;
}

static value *oscillation_evidence(struct arena *a, const struct detect_context *cx,
		const struct found *f)
{
	value *v = value_object(a), *changes = value_array(a);
	size_t from = f->at >= SHOWN_ITERATIONS - 1 ? f->at - (SHOWN_ITERATIONS - 1) : 0;

	value_put(a, v, "undoRedoCycles", value_int(a, f->count));
	for (size_t i = from; i <= f->at; i++)
		value_push(a, changes, first_strs(a, &cx->iterations[i]->files, SHOWN_FILES));
	value_put(a, v, "recentFileChanges", changes);
	if (cx->iterations[f->at]->tree.n)
		value_put(a, v, "treeHash", value_str(a, cx->iterations[f->at]->tree));
	return v;
}

static value *deviation_evidence(struct arena *a, const struct detect_context *cx,
		const struct found *f)
{
	const struct history *h = cx->history;
	value *v = value_object(a), *examples = value_array(a);

	value_put(a, v, "originalObjective", value_str(a, one_line(a, cx->objective, SHOWN_ERROR)));
	for (size_t i = h->n - MIN(h->n, (size_t)SHOWN_ITERATIONS); i < h->n; i++) {
		value *x = value_object(a);

		if (!h->samples[i]->has_similarity)
			continue;
		value_put(a, x, "iteration", value_int(a, h->samples[i]->number));
		value_put(a, x, "similarity", decimal(a, h->samples[i]->similarity_milli, 1000));
		value_put(a, x, "artifacts", first_strs(a, &cx->iterations[i]->files, SHOWN_FILES));
		value_push(a, examples, x);
	}
	value_put(a, v, "deviationExamples", examples);
	value_put(a, v, "averageSimilarity", decimal(a, f->ratio, 1000));
	return v;
}

static value *creep_evidence(struct arena *a, const struct detect_context *cx,
		const struct found *f)
{
	value *v = value_object(a);

	value_put(a, v, "filesInScope", value_int(a, f->inside));
	value_put(a, v, "filesOutsideScope", value_int(a, f->outside));
	value_put(a, v, "scopeCreepRatio", decimal(a, f->ratio, 1000));
	value_put(a, v, "recentFiles", first_strs(a, &cx->iterations[f->at]->files, SHOWN_FILES));
	return v;
}

static void put_use(struct arena *a, value *v, const struct consumption *c, int64_t scale,
		const char *estimated, const char *actual, const char *ratio)
{
	if (c->estimate <= 0)
		return;
	value_put(a, v, estimated, decimal(a, c->estimate, scale));
	value_put(a, v, actual, decimal(a, c->used, scale));
	value_put(a, v, ratio,
			value_real(a,
					(double)(int64_t)((double)c->used / (double)c->estimate *
									100 +
							0.5) /
							100));
}

static value *burn_evidence(struct arena *a, const struct detect_context *cx,
		const struct found *f _unused_)
{
	const struct history *h = cx->history;
	value *v = value_object(a);

	put_use(a, v, &h->iterations, 1, "estimatedIterations", "actualIterations",
			"iterationRatio");
	put_use(a, v, &h->cost_microusd, 1000000, "estimatedCostUsd", "actualCostUsd", "costRatio");
	put_use(a, v, &h->wall_ms, 1, "estimatedDurationMs", "actualDurationMs", "durationRatio");
	if (h->completion_centi < 0)
		return v;
	value_put(a, v, "completionPercent", decimal(a, h->completion_centi, 100));
	if (h->iterations.used > 0)
		value_put(a, v, "efficiency",
				decimal(a, h->completion_centi / h->iterations.used, 100));
	return v;
}

static str points(struct arena *a, int64_t centi)
{
	return centi % 10             ? arena_printf(a, "%lld.%02lld", (long long)(centi / 100),
							(long long)(centi % 100))
			: centi % 100 ? arena_printf(a, "%lld.%lld", (long long)(centi / 100),
							(long long)(centi % 100 / 10))
				      : arena_printf(a, "%lld", (long long)(centi / 100));
}

static value *regression_evidence(struct arena *a, const struct detect_context *cx _unused_,
		const struct found *f)
{
	value *v = value_object(a), *all = value_array(a);

	for (size_t i = 0; i < f->events_n; i++) {
		const struct found_event *e = &f->events[i];
		value *x = value_object(a);

		value_put(a, x, "iteration", value_int(a, e->iteration));
		value_put(a, x, "message",
				e->coverage ? value_strf(a, "Coverage dropped " STR_FMT "%%",
							      STR_ARG(points(a, e->from - e->to)))
					    : value_cstr(a, "Tests went from passing to failing"));
		if (e->coverage) {
			value_put(a, x, "from", decimal(a, e->from, 100));
			value_put(a, x, "to", decimal(a, e->to, 100));
		}
		if (e->recovered)
			value_put(a, x, "recovered", value_bool(a, true));
		value_push(a, all, x);
	}
	value_put(a, v, "regressions", all);
	return v;
}

static value *evidence(struct arena *a, const struct detect_context *cx, const struct found *f)
{
	static value *(*const of[DETECTOR_COUNT])(struct arena *, const struct detect_context *,
			const struct found *) = {
		[DETECT_STUCK] = stuck_evidence,
		[DETECT_OSCILLATION] = oscillation_evidence,
		[DETECT_DEVIATION] = deviation_evidence,
		[DETECT_SCOPE_CREEP] = creep_evidence,
		[DETECT_BURN] = burn_evidence,
		[DETECT_REGRESSION] = regression_evidence,
	};

	return of[f->type](a, cx, f);
}

static str burn_message(struct arena *a, const struct history *h, const struct found *f)
{
	long long percent = (f->ratio + 5) / 10;

	switch (f->resource) {
	case RES_COST_MICROUSD:
		return arena_printf(a, "Resource burn: Used $%.2f/$%.2f (%lld%% of budget)",
				(double)h->cost_microusd.used / 1e6,
				(double)h->cost_microusd.estimate / 1e6, percent);
	case RES_WALL_MS:
		return arena_printf(a,
				"Resource burn: Used " STR_FMT "/" STR_FMT
				" of time (%lld%% of budget)",
				STR_ARG(duration_format_short(a, h->wall_ms.used)),
				STR_ARG(duration_format_short(a, h->wall_ms.estimate)), percent);
	default:
		return arena_printf(a,
				"Resource burn: Used %lld/%lld iterations (%lld%% of budget)",
				(long long)h->iterations.used, (long long)h->iterations.estimate,
				percent);
	}
}

static str stuck_message(struct arena *a, const struct found *f)
{
	long long n = f->count;

	if (f->output)
		return arena_printf(a, "Loop stuck: Same output repeated %lld times in one run", n);
	if (f->in_run)
		return arena_printf(a, "Loop stuck: Same tool call repeated %lld times in one run",
				n);
	if (f->unchanged)
		return arena_printf(a,
				"Loop stuck: Same tool call repeated and nothing changed in %lld "
				"iterations",
				n);
	return arena_printf(a, "Loop stuck: Same error repeated %lld times with minimal progress",
			n);
}

static str message(struct arena *a, const struct detect_context *cx, const struct found *f)
{
	long long n = f->count;

	switch (f->type) {
	case DETECT_STUCK: return stuck_message(a, f);
	case DETECT_OSCILLATION:
		return arena_printf(a, "Oscillation detected: %lld undo/redo cycle%s", n,
				n == 1 ? "" : "s");
	case DETECT_DEVIATION:
		return arena_printf(a,
				"Objective deviation: %lld recent iterations drifted from the "
				"objective (similarity " STR_FMT "%%)",
				n, STR_ARG(points(a, f->ratio * 10)));
	case DETECT_SCOPE_CREEP:
		return arena_printf(a,
				"Scope creep: %lld files touched outside of the scope, %lld inside",
				(long long)f->outside, (long long)f->inside);
	case DETECT_BURN: return burn_message(a, cx->history, f);
	case DETECT_REGRESSION:
		return arena_printf(a, "Regression detected: %lld quality regression%s%s", n,
				n == 1 ? "" : "s",
				f->severity == SEVERITY_LOW ? ", recovered since" : "");
	case DETECTOR_COUNT: break;
	}
	return STR("");
}

static str warning(struct arena *a, const struct found *f, const struct detection_words *w)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	buf_addf(&text, "OVERSEER WARNING: " STR_FMT "\n\nRecommended actions:\n",
			STR_ARG(w->message));
	for (size_t i = 0; i < w->recommendations_n; i++)
		buf_addf(&text, "%zu. %s\n", i + 1, w->recommendations[i]);
	buf_addf(&text, "\n%s",
			f->output ? "You are writing the same again and again, and nothing "
				    "changes. Stop and try a different approach."
					: f->unchanged || f->in_run
					? "You are making the same call again and again, and "
					  "nothing changes. Stop and try a different approach."
					: kinds[f->type].guidance);
	return arena_str(a, buf_str(&text));
}

static str stuck_override(struct arena *a, const struct detect_context *cx, const struct found *f)
{
	const struct iteration *it = f->in_run ? NULL : cx->iterations[f->at];
	bool call = f->in_run || f->unchanged;
	str what = call ? one_line(a, it ? it->tool : cx->call, QUOTED_ERROR)
			: shown_error(a, it, QUOTED_ERROR);

	return arena_printf(a,
			"OVERRIDE: Change approach immediately.\n"
			"The current method is not working. You have %s \"" STR_FMT
			"\" %lld times%s.\n"
			"Try a completely different solution strategy.",
			f->output              ? "written"
					: call ? "called"
					       : "hit",
			STR_ARG(what), (long long)f->count,
			f->output                   ? " and changed nothing"
					: f->in_run ? " in a row, with the same answer each time"
					: call      ? " and changed nothing"
						    : "");
}

static str override(struct arena *a, const struct detect_context *cx, const struct found *f)
{
	str objective = one_line(a, cx->objective, SHOWN_ERROR);

	switch (f->type) {
	case DETECT_STUCK: return stuck_override(a, cx, f);
	case DETECT_OSCILLATION:
		return STR("OVERRIDE: Stop alternating between approaches.\n"
			   "Analyze which approach is better and commit to it.\n"
			   "No more back-and-forth changes.");
	case DETECT_DEVIATION:
		return arena_printf(a,
				"OVERRIDE: Return to original objective.\n"
				"Original objective: \"" STR_FMT "\".\n"
				"All work must align with this goal.",
				STR_ARG(objective));
	case DETECT_SCOPE_CREEP:
		return arena_printf(a,
				"OVERRIDE: Stay within the scope of this task.\n"
				"Original objective: \"" STR_FMT "\".\n"
				"Take back changes to files that it does not need.",
				STR_ARG(objective));
	case DETECT_BURN:
		return STR("OVERRIDE: Finish with what you have.\n"
			   "Far more was used than was expected. Do the smallest change that "
			   "completes the task.\n"
			   "Say so if it cannot be completed.");
	case DETECT_REGRESSION:
		return STR("OVERRIDE: Repair what was broken before anything else.\n"
			   "Tests passed, or coverage was higher, before your recent changes.\n"
			   "Do not delete, disable or weaken tests.");
	case DETECTOR_COUNT: break;
	}
	return STR("");
}

static str abort_reason(struct arena *a, const struct found *f, str otherwise)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	if (f->type != DETECT_REGRESSION)
		return otherwise;
	for (size_t i = 0; i < f->events_n; i++) {
		const struct found_event *e = &f->events[i];

		buf_adds(&text, i ? STR(", ") : STR(""));
		if (e->coverage)
			buf_addf(&text, "%s dropped " STR_FMT "%%", i ? "coverage" : "Coverage",
					STR_ARG(points(a, e->from - e->to)));
		else
			buf_addf(&text, "%s passing → failing", i ? "tests" : "Tests");
	}
	return arena_str(a, buf_str(&text));
}

static const char *subject_of(const struct found *f)
{
	if (f->type != DETECT_REGRESSION)
		return kinds[f->type].reason;
	for (size_t i = 0; i < f->events_n; i++)
		if (!f->events[i].coverage)
			return f->severity == SEVERITY_CRITICAL ? kinds[f->type].reason
								: "Test regression";
	return "Coverage regression";
}

str detection_fingerprint(struct arena *a, const struct detect_context *cx, const struct found *f)
{
	return sha256_hex(a,
			arena_printf(a, "%s\n" STR_FMT "\n%lld\n%016llx",
					status_name(&detectors, f->type), STR_ARG(cx->subject),
					(long long)cx->round, (unsigned long long)f->key));
}

void detection_describe(struct arena *a, const struct detect_context *cx, const struct found *f,
		enum level level, struct detection_words *ret)
{
	bool late = f->type == DETECT_BURN && cx->history->completion_centi >= 5000;

	*ret = (struct detection_words){
		.message = message(a, cx, f),
		.evidence = evidence(a, cx, f),
		.recommendations = late ? burn_late_advice : kinds[f->type].advice,
		.recommendations_n = late ? ARRAY_LEN(burn_late_advice) : kinds[f->type].advice_n,
		.fingerprint = detection_fingerprint(a, cx, f),
		.reason = arena_printf(a, "%s - %s", subject_of(f), consequences[level]),
	};
	if (level == LEVEL_WARN)
		ret->guidance = warning(a, f, ret);
	else if (level == LEVEL_REDIRECT)
		ret->guidance = override(a, cx, f);
	else if (level == LEVEL_ABORT)
		ret->abort_reason = abort_reason(a, f, ret->message);
}
