/* How well the detectors do: how often each spoke, how it was answered, and whether that helped. */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/report/report.h"
#include "core/report/report_doc.h"
#include "core/report/report_tuning.h"

/* A node, or a goal as a whole, as far as detections of it need it. */
struct subject_note {
	int64_t iteration; /* the newest */
	str trees[LIMIT_ITERATIONS];
	size_t trees_n;
};

struct found_note {
	str id, about;
	enum detector type;
	enum severity severity;
	enum level level;
	enum effectiveness verdict;
	bool false_positive, brief, succeeded;
	int64_t iteration;
};

struct report_detectors {
	struct arena arena;
	str goal;
	struct map subjects, by_id;
	VEC(struct found_note *) found;
	int64_t iterations, returns;
};

struct report_detectors *report_detectors_new(str goal)
{
	struct report_detectors *r = mem_zalloc(1, sizeof(*r));

	r->goal = arena_str(&r->arena, goal);
	map_init(&r->subjects, 0);
	map_init(&r->by_id, 0);
	return r;
}

struct report_detectors *report_detectors_free(struct report_detectors *r)
{
	if (!r)
		return NULL;
	map_done(&r->subjects);
	map_done(&r->by_id);
	vec_done(&r->found);
	arena_done(&r->arena);
	mem_free(r);
	return NULL;
}

static str about(struct report_detectors *r, const struct event *e)
{
	return arena_printf(&r->arena, STR_FMT "%s" STR_FMT, STR_ARG(e->goal), e->node.n ? "/" : "",
			STR_ARG(e->node));
}

static struct subject_note *subject_of(struct report_detectors *r, const struct event *e)
{
	str key = about(r, e);
	struct subject_note *n = map_get(&r->subjects, key);

	if (!n) {
		n = arena_new(&r->arena, struct subject_note);
		map_put(&r->subjects, key, n);
	}
	return n;
}

/* A tree that was there before, and not only just before, is work that came back. */
static void note_tree(struct report_detectors *r, struct subject_note *n, str tree)
{
	if (!tree.n || (n->trees_n && str_eq(n->trees[n->trees_n - 1], tree)))
		return;
	for (size_t i = 0; i < n->trees_n; i++)
		if (str_eq(n->trees[i], tree)) {
			r->returns++;
			break;
		}
	if (n->trees_n == LIMIT_ITERATIONS)
		memmove(n->trees, n->trees + 1, (--n->trees_n) * sizeof(*n->trees));
	n->trees[n->trees_n++] = arena_str(&r->arena, tree);
}

static void on_iteration(struct report_detectors *r, const struct event *e)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const struct report_iteration *it = shape_fill(&a, report_iteration_shape(),
			as_iteration_recorded(e)->iteration);
	struct subject_note *n = subject_of(r, e);

	r->iterations += it->number > n->iteration;
	n->iteration = it->number;
	note_tree(r, n, it->tree);
}

static void on_detection(struct report_detectors *r, const struct event *e)
{
	const struct report_detection *d = shape_fill(&r->arena, report_detection_shape(),
			as_detection_made(e)->detection);
	struct found_note *f = arena_new(&r->arena, struct found_note);
	int type = status_parse(&detectors, d->type),
	    severity = status_parse(&severities, d->severity);

	if (type < 0 || severity < 0)
		return;
	*f = (struct found_note){ .id = arena_str(&r->arena, d->id),
		.about = about(r, e),
		.type = (enum detector)type,
		.severity = (enum severity)severity,
		.iteration = d->iteration };
	vec_push(&r->found, f);
	map_put(&r->by_id, f->id, f);
}

static void on_intervention(struct report_detectors *r, const struct event *e)
{
	const struct ev_intervention_applied *d = as_intervention_applied(e);
	struct found_note *f = map_get(&r->by_id, d->detection);

	if (f)
		f->level = d->level;
}

static void on_judged(struct report_detectors *r, const struct event *e)
{
	const struct ev_detection_judged *d = as_detection_judged(e);
	struct found_note *f = map_get(&r->by_id, d->detection);

	if (!f)
		return;
	f->verdict = d->effectiveness;
	f->false_positive = d->false_positive;
	f->brief = d->effectiveness == EFFECT_HELPFUL &&
			subject_of(r, e)->iteration == f->iteration + 1;
}

/* What was stopped came to a good end all the same. */
static void on_success(struct report_detectors *r, const struct event *e)
{
	str key = about(r, e);

	if (e->kind == EV_GOAL_STATUS && as_goal_status(e)->to != GOAL_COMPLETED)
		return;
	for (size_t i = 0; i < r->found.n; i++)
		if (str_eq(r->found.p[i]->about, key))
			r->found.p[i]->succeeded = true;
}

typedef void add_fn(struct report_detectors *r, const struct event *e);

static add_fn *const adders[EVENT_KIND_COUNT] = {
	[EV_ITERATION_RECORDED] = on_iteration,
	[EV_DETECTION_MADE] = on_detection,
	[EV_INTERVENTION_APPLIED] = on_intervention,
	[EV_DETECTION_JUDGED] = on_judged,
	[EV_NODE_ACCEPTED] = on_success,
	[EV_GOAL_STATUS] = on_success,
};

bool report_detectors_wants(str kind)
{
	for (int i = 0; i < EVENT_KIND_COUNT; i++)
		if (adders[i] && str_is(kind, event_name((enum event_kind)i)))
			return true;
	return false;
}

void report_detectors_add(struct report_detectors *r, const struct event *e)
{
	if (adders[e->kind] && (!r->goal.n || str_eq(e->goal, r->goal)))
		adders[e->kind](r, e);
}

/* ---- the document ---- */

/* Of one detector, or of all of them: -1. */
static struct report_figures figures_of(const struct report_detectors *r, int type)
{
	struct report_figures f = { 0 };
	int64_t verdicts[EFFECTIVENESS_COUNT] = { 0 }, told;

	for (size_t i = 0; i < r->found.n; i++) {
		const struct found_note *x = r->found.p[i];

		if (type >= 0 && (int)x->type != type)
			continue;
		f.detections++;
		verdicts[x->verdict]++;
		f.false_positives += x->false_positive;
		f.levels[x->level]++;
	}
	f.open = verdicts[EFFECT_OPEN];
	f.helpful = verdicts[EFFECT_HELPFUL];
	f.unhelpful = verdicts[EFFECT_UNHELPFUL];
	f.unknown = verdicts[EFFECT_UNKNOWN];
	told = f.helpful + f.unhelpful;
	if (told)
		MAYBE_SET(&f, precision_milli, f.helpful * 1000 / told);
	if (type >= 0)
		f.type = str_from(status_name(&detectors, type));
	return f;
}

static struct tuning_facts facts_of(const struct report_detectors *r)
{
	struct tuning_facts f = { .returns = r->returns };

	for (size_t i = 0; i < r->found.n; i++) {
		const struct found_note *x = r->found.p[i];
		bool stopped = x->level >= LEVEL_PAUSE;

		f.found[x->type]++;
		f.logged += x->level <= LEVEL_LOG;
		f.stopped += stopped;
		f.stopped_successful += stopped && x->succeeded;
		f.burn_critical += x->type == DETECT_BURN && x->severity == SEVERITY_CRITICAL;
		f.regressions_brief += x->type == DETECT_REGRESSION &&
				(x->brief || x->false_positive);
	}
	f.all = (int64_t)r->found.n;
	return f;
}

value *report_detectors_view(struct arena *a, const struct report_detectors *r,
		const struct oversight *o)
{
	struct tuning_facts facts = facts_of(r);
	struct report_figures rows[DETECTOR_COUNT];
	struct report_detectors_doc d = { .iterations = r->iterations,
		.detectors = { rows, DETECTOR_COUNT },
		.total = figures_of(r, -1),
		.hints = tuning_hints(a, &facts, o) };

	for (int i = 0; i < DETECTOR_COUNT; i++)
		rows[i] = figures_of(r, i);
	return shape_data(a, report_detectors_doc_shape(), &d);
}
