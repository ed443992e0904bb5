/* What the detectors say of a document, as a document. */
#include "base/arena.h"
#include "base/str.h"
#include "core/oversight/history.h"

static value *texts(struct arena *a, const char *const *p, size_t n)
{
	value *v = value_array(a);

	for (size_t i = 0; i < n; i++)
		value_push(a, v, value_cstr(a, p[i]));
	return v;
}

static value *detection_of(struct arena *a, const struct found *f, const struct detection_words *w)
{
	value *v = value_object(a);

	value_put(a, v, "type", value_cstr(a, status_name(&detectors, (int)f->type)));
	value_put(a, v, "severity", value_cstr(a, status_name(&severities, (int)f->severity)));
	value_put(a, v, "message", value_str(a, w->message));
	value_put(a, v, "evidence", w->evidence);
	value_put(a, v, "recommendations", texts(a, w->recommendations, w->recommendations_n));
	value_put(a, v, "fingerprint", value_str(a, w->fingerprint));
	return v;
}

static value *intervention_of(struct arena *a, const struct found *f,
		const struct detection_words *w, enum level level)
{
	value *v = value_object(a);

	value_put(a, v, "level", value_cstr(a, status_name(&levels, (int)level)));
	value_put(a, v, "reason", value_str(a, w->reason));
	value_put(a, v, "requiresApproval", value_bool(a, level >= LEVEL_PAUSE));
	if (level == LEVEL_LOG)
		value_put(a, v, "action", value_cstr(a, "Logged detection for monitoring"));
	if (level == LEVEL_WARN)
		value_put(a, v, "warning", value_str(a, w->guidance));
	if (level == LEVEL_REDIRECT)
		value_put(a, v, "strategyOverride", value_str(a, w->guidance));
	if (level == LEVEL_ABORT)
		value_put(a, v, "abortReason", value_str(a, w->abort_reason));
	value_put(a, v, "type", value_cstr(a, status_name(&detectors, (int)f->type)));
	value_put(a, v, "fingerprint", value_str(a, w->fingerprint));
	return v;
}

/* The health that one detection makes. What is only logged is no reason for concern. */
static enum goal_health health_of(enum severity severity, enum level level)
{
	if (level >= LEVEL_PAUSE)
		return level == LEVEL_ABORT ? HEALTH_ABORTED : HEALTH_PAUSED;
	if (level == LEVEL_LOG)
		return HEALTH_HEALTHY;
	return severity == SEVERITY_CRITICAL ? HEALTH_CRITICAL : HEALTH_WARNING;
}

value *loop_judge(struct arena *a, const struct history_loop *l, const struct oversight *o)
{
	struct detect_context cx = { .history = &l->history,
		.iterations = l->iterations,
		.objective = l->objective };
	value *out = value_object(a), *made = value_array(a), *answers = value_array(a);
	struct found *found = arena_array(a, struct found, DETECTOR_COUNT);
	size_t n = detect(&l->history, &o->t, found);
	enum goal_health health = HEALTH_HEALTHY;

	for (size_t i = 0; i < n; i++) {
		enum level level = detection_level(o, &l->history, &found[i]);
		enum goal_health one = health_of(found[i].severity, level);
		struct detection_words w;

		if (level == LEVEL_NONE)
			continue;
		detection_describe(a, &cx, &found[i], level, &w);
		value_push(a, made, detection_of(a, &found[i], &w));
		value_push(a, answers, intervention_of(a, &found[i], &w, level));
		health = MAX(health, one);
	}
	value_put(a, out, "status", value_cstr(a, status_name(&goal_healths, (int)health)));
	value_put(a, out, "detections", made);
	value_put(a, out, "interventions", answers);
	return out;
}
