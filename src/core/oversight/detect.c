#include "core/oversight/detect.h"

/* How far back each looks, and how much it must see. Of stuck: as configured. */
enum {
	OSCILLATION_WINDOW = 6,
	OSCILLATION_LEAST = 4,
	DEVIATION_WINDOW = 3,
	DEVIATION_LEAST = 2,
	REGRESSION_WINDOW = 5,
	REGRESSION_LEAST = 2,
	NEARLY_COMPLETE_CENTI = 9000,
};

/* The newest samples of a history. */
struct window {
	const struct sample *const *p;
	size_t n, from; /* from: index of the first in the history */
};

static struct window newest(const struct history *h, int64_t n)
{
	size_t from = h->n > (size_t)n ? h->n - (size_t)n : 0;

	return (struct window){ h->samples + from, h->n - from, from };
}

/* The gain of completion over the window, and over how many steps; false: it is not known. */
static bool window_gain(const struct window *w, int64_t *ret_gain, int64_t *ret_steps)
{
	size_t first = 0, last = w->n;

	while (first < w->n && !w->p[first]->has_completion)
		first++;
	while (last > first && !w->p[last - 1]->has_completion)
		last--;
	if (last < first + 2)
		return false;
	*ret_gain = w->p[last - 1]->completion_centi - w->p[first]->completion_centi;
	*ret_steps = (int64_t)(last - 1 - first);
	return true;
}

static bool gains(const struct window *w, const struct thresholds *t)
{
	int64_t gain, steps;

	return window_gain(w, &gain, &steps) && gain >= t->min_gain_centi * steps;
}

/* Fewer tests fail than did at the beginning. */
static bool fewer_fail(const struct window *w)
{
	size_t first = 0;

	while (first < w->n && !w->p[first]->failing)
		first++;
	return first < w->n && w->p[w->n - 1]->failing &&
			w->p[w->n - 1]->failing < w->p[first]->failing;
}

/* What does not change while an agent is stuck. */
typedef uint64_t key_of(const struct sample *s);

static uint64_t error_key(const struct sample *s)
{
	return s->error;
}

static uint64_t unchanged_key(const struct sample *s)
{
	uint64_t mixed = s->tree ^ (s->tool * 0x9e3779b97f4a7c15u);

	return s->tree && s->tool ? (mixed ? mixed : 1) : 0;
}

static int64_t count_key(const struct window *w, key_of *of, uint64_t key, size_t *ret_last)
{
	int64_t n = 0;

	for (size_t i = 0; i < w->n; i++)
		if (of(w->p[i]) == key) {
			n++;
			*ret_last = w->from + i;
		}
	return n;
}

/* The most frequent; of equals the newest. Nothing when the newest sample has none: it goes on. */
static int64_t most_frequent(const struct window *w, key_of *of, uint64_t *ret_key, size_t *ret_at)
{
	int64_t most = 0;

	if (w->n == 0 || !of(w->p[w->n - 1]))
		return 0;
	for (size_t i = w->n; i-- > 0;) {
		uint64_t key = of(w->p[i]);
		size_t at = w->from + i;
		int64_t n = key ? count_key(w, of, key, &at) : 0;

		if (n > most) {
			most = n;
			*ret_key = key;
			*ret_at = at;
		}
	}
	return most;
}

static bool stuck_by(const struct history *h, const struct thresholds *t, key_of *of,
		struct found *f)
{
	int64_t narrow = MAX(t->no_progress_iterations, t->same_error_count), gain, steps, all;
	struct window w = newest(h, narrow), wide = newest(h, MAX(narrow, t->critical_error_count));
	uint64_t key = 0;
	size_t at = 0;
	int64_t n = most_frequent(&w, of, &key, &at);

	if (n < t->same_error_count || gains(&w, t) || fewer_fail(&w))
		return false;
	all = count_key(&wide, of, key, &at);
	*f = (struct found){ .type = DETECT_STUCK,
		.severity = all >= t->critical_error_count ? SEVERITY_CRITICAL : SEVERITY_HIGH,
		.count = all >= t->critical_error_count ? all : n,
		.unchanged = of == unchanged_key,
		.key = key,
		.at = at };
	f->has_ratio = window_gain(&w, &gain, &steps);
	f->ratio = f->has_ratio ? gain / steps : 0;
	return true;
}

static bool detect_stuck(const struct history *h, const struct thresholds *t, struct found *f)
{
	return stuck_by(h, t, error_key, f) || stuck_by(h, t, unchanged_key, f);
}

/*
 * Back at a tree that was there before, with another one in between. Iterations that change nothing
 * are one. The key is that of the whole cycle, wherever in it one is.
 */
static bool tree_again(const struct window *w, size_t i, uint64_t *ret_key)
{
	uint64_t tree = w->p[i]->tree, least = tree;
	bool left = false;

	for (size_t k = i; tree && k-- > 0;) {
		uint64_t before = w->p[k]->tree;

		if (before == tree && left)
			*ret_key = least;
		if (before == tree)
			return left;
		left |= before != 0;
		least = before ? MIN(least, before) : least;
	}
	return false;
}

/* Both are sorted. */
static size_t shared(const struct sample *a, const struct sample *b)
{
	size_t n = 0;

	for (size_t i = 0, k = 0; i < a->files_n && k < b->files_n;) {
		if (a->files[i] == b->files[k])
			n++;
		if (a->files[i] < b->files[k])
			i++;
		else if (a->files[i] > b->files[k])
			k++;
		else
			i++, k++;
	}
	return n;
}

/* The files of two iterations before are touched again, and were not in between. */
static bool files_again(const struct window *w, size_t i, int64_t churn_milli)
{
	const struct sample *was = w->p[i - 2], *between = w->p[i - 1], *is = w->p[i];
	size_t bound = was->files_n * (size_t)churn_milli;

	if (was->tree && between->tree && is->tree)
		return false;
	return was->files_n && between->files_n && shared(was, is) * 1000 >= bound &&
			shared(was, between) * 1000 < bound;
}

static bool detect_oscillation(const struct history *h, const struct thresholds *t, struct found *f)
{
	struct window w = newest(h, MAX(OSCILLATION_WINDOW, t->undo_redo_cycles + 2));
	bool onward = gains(&w, t);
	int64_t cycles = 0;
	uint64_t key = 1;
	size_t at = 0;

	if (w.n < OSCILLATION_LEAST)
		return false;
	for (size_t i = 2; i < w.n; i++) {
		/* Files alone are weak evidence: not against progress. */
		if (!tree_again(&w, i, &key) &&
				(onward || !files_again(&w, i, t->file_churn_milli)))
			continue;
		cycles++;
		at = w.from + i;
	}
	if (cycles < t->undo_redo_cycles)
		return false;
	*f = (struct found){ .type = DETECT_OSCILLATION,
		.severity = SEVERITY_HIGH,
		.count = cycles,
		.key = key,
		.at = at };
	return true;
}

static bool deviates(const struct sample *s, const struct thresholds *t)
{
	return s->has_similarity && s->similarity_milli < t->objective_similarity_milli;
}

static bool creeps(const struct sample *s, const struct thresholds *t)
{
	return s->has_scope &&
			s->outside * 1000 >= MAX(s->inside, (int64_t)1) * t->scope_creep_milli;
}

/*
 * Where this went wrong for the last time, as the number of an iteration: two good ones in a row
 * end an episode. 0: before what is kept.
 */
static uint64_t episode(const struct history *h, const struct thresholds *t,
		bool (*bad)(const struct sample *, const struct thresholds *))
{
	struct window w = newest(h, LIMIT_ITERATIONS);
	uint64_t start = 0;
	size_t good = 0;

	for (size_t i = w.n; i-- > 0 && good < 2;) {
		bool is_bad = bad(w.p[i], t);

		good = is_bad ? 0 : good + 1;
		start = is_bad ? (uint64_t)w.p[i]->number : start;
	}
	return good < 2 ? 0 : start;
}

static bool detect_deviation(const struct history *h, const struct thresholds *t, struct found *f)
{
	struct window w = newest(h, DEVIATION_WINDOW);
	int64_t known = 0, sum = 0, n = 0;
	size_t at = 0;

	for (size_t i = 0; i < w.n; i++) {
		if (!w.p[i]->has_similarity)
			continue;
		known++;
		sum += w.p[i]->similarity_milli;
		if (deviates(w.p[i], t)) {
			n++;
			at = w.from + i;
		}
	}
	if (n < DEVIATION_LEAST)
		return false;
	*f = (struct found){ .type = DETECT_DEVIATION,
		.severity = SEVERITY_MEDIUM,
		.count = n,
		.ratio = sum / known,
		.has_ratio = true,
		.key = episode(h, t, deviates),
		.at = at };
	return true;
}

static bool detect_creep(const struct history *h, const struct thresholds *t, struct found *f)
{
	struct window w = newest(h, DEVIATION_WINDOW);
	int64_t n = 0, inside = 0, outside = 0;

	for (size_t i = 0; i < w.n; i++) {
		n += w.p[i]->has_scope;
		inside += w.p[i]->inside;
		outside += w.p[i]->outside;
	}
	if (n < DEVIATION_LEAST || !w.p[w.n - 1]->outside ||
			outside * 1000 < MAX(inside, (int64_t)1) * t->scope_creep_milli)
		return false;
	*f = (struct found){ .type = DETECT_SCOPE_CREEP,
		.severity = SEVERITY_MEDIUM,
		.count = n,
		.ratio = outside * 1000 / MAX(inside, (int64_t)1),
		.has_ratio = true,
		.key = episode(h, t, creeps),
		.inside = inside,
		.outside = outside,
		.at = h->n - 1 };
	return true;
}

/* Thousandths of the estimate. */
static int64_t burnt(const struct consumption *c)
{
	int64_t whole, rest;

	if (c->estimate <= 0 || c->used <= 0)
		return 0;
	whole = c->used / c->estimate;
	if (whole > INT64_MAX / 2000)
		return INT64_MAX;
	rest = c->used % c->estimate;
	return whole * 1000 +
			(rest > INT64_MAX / 1000 ? rest / (c->estimate / 1000)
						 : rest * 1000 / c->estimate);
}

static bool detect_burn(const struct history *h, const struct thresholds *t, struct found *f)
{
	const struct {
		enum resource resource;
		const struct consumption *c;
		int64_t bound;
	} rows[] = { { RES_ITERATIONS, &h->iterations, t->iteration_milli },
		{ RES_COST_MICROUSD, &h->cost_microusd, t->cost_milli },
		{ RES_WALL_MS, &h->wall_ms, t->wall_milli } };
	int64_t largest = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t ratio = burnt(rows[i].c);

		if (ratio < rows[i].bound || ratio <= largest)
			continue;
		largest = ratio;
		*f = (struct found){ .type = DETECT_BURN,
			.severity = ratio >= t->burn_critical_milli ? SEVERITY_CRITICAL
								    : SEVERITY_HIGH,
			.ratio = ratio,
			.has_ratio = true,
			.resource = rows[i].resource,
			.key = rows[i].resource,
			.at = h->n ? h->n - 1 : 0 };
	}
	return largest > 0;
}

static void add_event(struct found *f, const struct window *w, size_t i, bool coverage,
		int64_t from, int64_t to)
{
	f->events[f->events_n++] = (struct found_event){ .iteration = w->p[i]->number,
		.coverage = coverage,
		.from = from,
		.to = to };
	f->key = (uint64_t)w->p[i]->number;
	f->at = w->from + i;
}

/* In the order of their iterations; tests before coverage. Returns the newest that is known. */
static void find_events(const struct window *w, const struct thresholds *t, struct found *f,
		enum tests_state *ret_tests, int64_t *ret_coverage)
{
	enum tests_state tests = TESTS_UNKNOWN;
	int64_t peak = -1;

	*ret_coverage = -1;
	for (size_t i = 0; i < w->n; i++) {
		const struct sample *s = w->p[i];

		if (t->test_pass_to_fail && tests == TESTS_PASSING && s->tests == TESTS_FAILING)
			add_event(f, w, i, false, 0, 0);
		tests = s->tests == TESTS_UNKNOWN ? tests : s->tests;
		if (!s->has_coverage)
			continue;
		/* A drop in small steps is a drop. */
		if (peak - s->coverage_centi >= t->coverage_drop_centi) {
			add_event(f, w, i, true, peak, s->coverage_centi);
			peak = s->coverage_centi;
		}
		peak = MAX(peak, s->coverage_centi);
		*ret_coverage = s->coverage_centi;
	}
	*ret_tests = tests;
}

static bool detect_regression(const struct history *h, const struct thresholds *t, struct found *f)
{
	struct window w = newest(h, REGRESSION_WINDOW);
	enum tests_state tests;
	int64_t coverage, standing = 0;

	if (w.n < REGRESSION_LEAST)
		return false;
	f->events_n = 0;
	find_events(&w, t, f, &tests, &coverage);
	if (!f->events_n)
		return false;
	for (size_t i = 0; i < f->events_n; i++) {
		struct found_event *e = &f->events[i];

		e->recovered = e->coverage ? e->from - coverage < t->coverage_drop_centi
					   : tests == TESTS_PASSING;
		standing += !e->recovered;
	}
	f->type = DETECT_REGRESSION;
	f->count = (int64_t)f->events_n;
	f->ratio = f->inside = f->outside = 0;
	f->has_ratio = f->unchanged = false;
	f->resource = RES_ITERATIONS;
	f->severity = !standing           ? SEVERITY_LOW
			: f->events_n < 2 ? SEVERITY_HIGH
					  : SEVERITY_CRITICAL;
	return true;
}

size_t detect(const struct history *h, const struct thresholds *t, struct found ret[DETECTOR_COUNT])
{
	static bool (*const all[DETECTOR_COUNT])(const struct history *, const struct thresholds *,
			struct found *) = {
		[DETECT_STUCK] = detect_stuck,
		[DETECT_OSCILLATION] = detect_oscillation,
		[DETECT_DEVIATION] = detect_deviation,
		[DETECT_SCOPE_CREEP] = detect_creep,
		[DETECT_BURN] = detect_burn,
		[DETECT_REGRESSION] = detect_regression,
	};
	size_t n = 0;

	for (size_t i = 0; i < DETECTOR_COUNT; i++)
		n += all[i](h, t, &ret[n]);
	return n;
}

enum level detection_level(const struct oversight *o, const struct history *h,
		const struct found *f)
{
	enum level level = o->levels[f->type][f->severity];

	if (f->type == DETECT_BURN && level == LEVEL_ABORT &&
			h->completion_centi >= NEARLY_COMPLETE_CENTI)
		return LEVEL_PAUSE;
	return level;
}
