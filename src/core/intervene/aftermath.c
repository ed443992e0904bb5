#include "core/intervene/aftermath.h"

#include "base/arena.h"
#include "base/str.h"

struct judging {
	struct arena *arena;
	const struct detection *d;
	const struct aftermath *m;
	const struct iteration *found; /* the one at which it was found; NULL: not known any more */
	size_t after;                  /* index of the first that came later */
	size_t later;                  /* how many did */
};

/* The answer so far; what is said of it names the iteration that shows it. */
static struct verdict says(const struct judging *j, enum effectiveness e, size_t i,
		const char *what)
{
	return (struct verdict){ e,
		arena_printf(j->arena, "iteration %lld %s", (long long)j->m->iterations[i]->number,
				what) };
}

static const struct verdict open_verdict = { EFFECT_OPEN, { NULL, 0 } };

static size_t window_from(const struct judging *j, int64_t width)
{
	return j->after > (size_t)width ? j->after - (size_t)width : 0;
}

/*
 * The error that came most often in the window, the newest of equals; absent when none came twice.
 */
static str repeated_error(const struct judging *j)
{
	size_t from = window_from(j, j->m->t->no_progress_iterations), most = 1;
	str error = STR("");

	for (size_t i = j->after; i-- > from;) {
		str s = j->m->iterations[i]->signature;
		size_t n = 0;

		for (size_t k = from; s.n && k < j->after; k++)
			n += str_eq(j->m->iterations[k]->signature, s);
		if (n > most) {
			most = n;
			error = s;
		}
	}
	return error;
}

static bool has_completion(const struct iteration *it)
{
	return it->completion_source != COMPLETION_UNKNOWN;
}

/* Percentage points since it was found; false when either is not known. */
static bool gain_until(const struct judging *j, size_t i, int64_t *ret)
{
	const struct iteration *now = j->m->iterations[i];

	if (!j->found || !has_completion(j->found) || !has_completion(now))
		return false;
	*ret = now->completion_centi - j->found->completion_centi;
	return true;
}

static bool gained(const struct judging *j, size_t i)
{
	int64_t gain;

	return gain_until(j, i, &gain) && gain >= j->m->t->min_gain_centi;
}

static struct verdict judge_unchanged(const struct judging *j)
{
	for (size_t i = j->after; j->found && j->found->tree.n && i < j->m->n; i++) {
		str tree = j->m->iterations[i]->tree;

		if (str_eq(tree, j->found->tree))
			return says(j, EFFECT_UNHELPFUL, i, "left everything as it was again");
		if (tree.n)
			return says(j, EFFECT_HELPFUL, i, "changed something again");
	}
	return open_verdict;
}

static struct verdict judge_stuck(const struct judging *j)
{
	str error = repeated_error(j);

	if (!error.n)
		return judge_unchanged(j);
	for (size_t i = j->after; i < j->m->n; i++) {
		const struct iteration *it = j->m->iterations[i];

		if (str_eq(it->signature, error))
			return says(j, EFFECT_UNHELPFUL, i, "has the same error again");
		if (it->tests == TESTS_PASSING)
			return says(j, EFFECT_HELPFUL, i, "passes its tests");
		if (!it->failed)
			return says(j, EFFECT_HELPFUL, i, "came without the error");
		if (gained(j, i))
			return says(j, EFFECT_HELPFUL, i, "came further");
	}
	if (j->later >= AFTERMATH_PATIENCE)
		return says(j, EFFECT_HELPFUL, j->m->n - 1,
				"is the third in a row without the error");
	return open_verdict;
}

static bool tree_seen(const struct judging *j, size_t before, str tree)
{
	for (size_t i = 0; i < before; i++)
		if (str_eq(j->m->iterations[i]->tree, tree))
			return true;
	return false;
}

static struct verdict judge_oscillation(const struct judging *j)
{
	size_t fresh = 0;

	for (size_t i = j->after; i < j->m->n; i++) {
		str tree = j->m->iterations[i]->tree;

		if (!tree.n)
			continue;
		if (tree_seen(j, j->after, tree))
			return says(j, EFFECT_UNHELPFUL, i, "went back to what was there before");
		fresh += !tree_seen(j, i, tree);
		if (fresh == 2)
			return says(j, EFFECT_HELPFUL, i, "is the second that left something new");
	}
	return open_verdict;
}

/* -1: it does not say; 0: still out of range; 1: in range. */
typedef int in_range_fn(const struct judging *j, const struct iteration *it);

static int similar_enough(const struct judging *j, const struct iteration *it)
{
	if (!it->has_similarity)
		return -1;
	return it->similarity_milli >= j->m->t->objective_similarity_milli;
}

static int in_scope(const struct judging *j, const struct iteration *it)
{
	if (!it->inside && !it->outside)
		return -1;
	return it->outside * 1000 < j->m->t->scope_creep_milli * (it->inside ? it->inside : 1);
}

static struct verdict judge_range(const struct judging *j, in_range_fn *in_range, const char *back,
		const char *still)
{
	size_t out = 0;

	for (size_t i = j->after; i < j->m->n; i++) {
		int in = in_range(j, j->m->iterations[i]);

		if (in > 0)
			return says(j, EFFECT_HELPFUL, i, back);
		out += in == 0;
		if (out == AFTERMATH_PATIENCE)
			return says(j, EFFECT_UNHELPFUL, i, still);
	}
	return open_verdict;
}

static struct verdict judge_burn(const struct judging *j)
{
	size_t last = j->m->n - 1;
	int64_t gain;

	if (j->later < AFTERMATH_PATIENCE || !gain_until(j, last, &gain))
		return open_verdict;
	if (gain >= j->m->t->min_gain_centi * (int64_t)j->later)
		return says(j, EFFECT_HELPFUL, last, "shows that it comes further again");
	return says(j, EFFECT_UNHELPFUL, last, "is the third that brought next to nothing");
}

/* The best coverage of the window in which it was found; -1: none is known. */
static int64_t coverage_before(const struct judging *j)
{
	int64_t best = -1;

	for (size_t i = window_from(j, j->m->t->no_progress_iterations); i < j->after; i++)
		if (j->m->iterations[i]->coverage_format.n)
			best = MAX(best, j->m->iterations[i]->coverage_centi);
	return best;
}

static struct verdict judge_regression(const struct judging *j)
{
	bool failing = j->found && j->found->tests == TESTS_FAILING;
	bool dropped = j->found && j->found->coverage_format.n;
	int64_t best = coverage_before(j), lost = j->m->t->coverage_drop_centi;

	dropped = dropped && best - j->found->coverage_centi >= lost;
	for (size_t i = j->after; i < j->m->n; i++) {
		const struct iteration *it = j->m->iterations[i];
		bool covered = it->coverage_format.n > 0;

		if (covered && dropped && j->found->coverage_centi - it->coverage_centi >= lost)
			return says(j, EFFECT_UNHELPFUL, i, "lost still more coverage");
		if (!failing && it->tests == TESTS_FAILING)
			return says(j, EFFECT_UNHELPFUL, i, "fails its tests again");
		if (failing && it->tests == TESTS_PASSING)
			return says(j, EFFECT_HELPFUL, i, "passes its tests again");
		if (!failing && covered && dropped && best - it->coverage_centi < lost)
			return says(j, EFFECT_HELPFUL, i, "has its coverage back");
	}
	return open_verdict;
}

static struct verdict judge_kind(const struct judging *j)
{
	switch (j->d->type) {
	case DETECT_STUCK: return judge_stuck(j);
	case DETECT_OSCILLATION: return judge_oscillation(j);
	case DETECT_DEVIATION:
		return judge_range(j, similar_enough, "is about the objective again",
				"is the third that is still about something else");
	case DETECT_SCOPE_CREEP:
		return judge_range(j, in_scope, "stays within its scope again",
				"is the third that is still outside of its scope");
	case DETECT_BURN: return judge_burn(j);
	case DETECT_REGRESSION: return judge_regression(j);
	case DETECTOR_COUNT: break;
	}
	return open_verdict;
}

struct verdict aftermath_judge(struct arena *a, const struct detection *d,
		const struct aftermath *m)
{
	struct judging j = { .arena = a, .d = d, .m = m };
	struct verdict v = open_verdict;
	bool untold = false;

	while (j.after < m->n && m->iterations[j.after]->number <= d->iteration)
		j.after++;
	/* What it was found in while it went on was not told of it before it ended. */
	if (j.after < m->n && d->run_id.n && str_eq(m->iterations[j.after]->run_id, d->run_id)) {
		j.after++;
		untold = j.after == m->n;
	}
	j.later = m->n - j.after;
	if (j.after && (untold || m->iterations[j.after - 1]->number == d->iteration))
		j.found = m->iterations[j.after - 1];
	if (m->accepted && untold)
		return (struct verdict){ EFFECT_UNKNOWN,
			STR("the run ended well before it could be told") };
	if (m->accepted)
		return (struct verdict){ EFFECT_HELPFUL,
			d->node_id.n ? STR("the work was accepted after it")
				     : STR("the goal was completed after it") };
	if (m->worse)
		return (struct verdict){ EFFECT_UNHELPFUL,
			STR("the same was found again, and worse") };
	if (j.later)
		v = judge_kind(&j);
	if (v.effectiveness != EFFECT_OPEN)
		return v;
	if (m->ended)
		return (struct verdict){ EFFECT_UNKNOWN, STR("it ended before anything showed") };
	if (j.later >= AFTERMATH_PATIENCE)
		return (struct verdict){ EFFECT_UNKNOWN,
			STR("three further iterations do not tell") };
	return v;
}
