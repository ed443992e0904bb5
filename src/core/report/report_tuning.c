#include "core/report/report_tuning.h"

#include "base/arena.h"
#include "base/str.h"
#include "data/value/json.h"

/* Fewer than these say nothing. */
enum { MANY_LOGGED = 5, OFTEN_STOPPED = 3, SOME = 2 };

static bool only_logged(const struct tuning_facts *f)
{
	return f->logged >= MANY_LOGGED && f->logged == f->all;
}

static bool stopped_for_nothing(const struct tuning_facts *f)
{
	return f->stopped >= OFTEN_STOPPED && f->stopped_successful * 2 >= f->stopped;
}

static bool oscillation_missed(const struct tuning_facts *f)
{
	return f->found[DETECT_STUCK] && !f->found[DETECT_OSCILLATION] && f->returns >= SOME;
}

static bool burn_too_late(const struct tuning_facts *f)
{
	return f->burn_critical >= SOME && f->burn_critical * 2 >= f->found[DETECT_BURN];
}

static bool regressions_false(const struct tuning_facts *f)
{
	int64_t n = f->found[DETECT_REGRESSION];

	return n >= SOME && f->regressions_brief * 2 >= n;
}

static const struct {
	bool (*applies)(const struct tuning_facts *f);
	const char *observation, *likely, *adjust;
	const char *group, *option; /* that is to be changed */
} rules[] = {
	{ only_logged, "many detections, all of them only logged", "the thresholds are too loose",
			"tighten them a little", "stuck", "same_error_count" },
	{ stopped_for_nothing, "often paused or aborted, and the work mostly ended well",
			"the thresholds are too tight", "loosen them a little", "stuck",
			"same_error_count" },
	{ oscillation_missed, "stuck was found, but not that earlier states came back",
			"the threshold of oscillation is too high",
			"lower it (where trees are not known: file_churn_threshold)", "oscillation",
			"undo_redo_cycles" },
	{ burn_too_late, "resource burn was found when it was critical already",
			"the multiplier of its estimate is too high", "lower it", "resource",
			"cost_multiplier" },
	{ regressions_false, "regressions were over with the next iteration",
			"a single drop counts for too much", "let only larger drops count",
			"regression", "coverage_drop_percent" },
};

value *tuning_hints(struct arena *a, const struct tuning_facts *f, const struct oversight *o)
{
	const value *now = oversight_view(a, o);
	value *list = value_array(a);

	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		value *v;
		const value *at = value_at(value_at(now, rules[i].group), rules[i].option);

		if (!rules[i].applies(f))
			continue;
		v = value_object(a);
		value_put(a, v, "observation", value_cstr(a, rules[i].observation));
		value_put(a, v, "likely", value_cstr(a, rules[i].likely));
		value_put(a, v, "adjust", value_cstr(a, rules[i].adjust));
		value_put(a, v, "option",
				value_strf(a, "oversight.%s.%s", rules[i].group, rules[i].option));
		value_put(a, v, "now", at ? value_copy(a, at) : value_null(a));
		value_put(a, v, "command", value_cstr(a, "overseer config reload"));
		value_push(a, list, v);
	}
	return list;
}
