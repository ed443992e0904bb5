#include "core/intervene/oversee.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "core/capacity/budget.h"
#include "core/intervene/aftermath.h"
#include "core/model/limits.h"
#include "core/oversight/detect.h"
#include "core/oversight/iteration.h"
#include "core/oversight/repetition.h"
#include "data/value/json.h"

/* One run under review. */
struct review {
	const struct goal *g;
	const struct node *n;
	const struct run *r;
	struct iteration now;
	struct oversight o;
	const struct iteration *iterations[LIMIT_ITERATIONS]; /* this one included, oldest first */
	const struct sample *samples[LIMIT_ITERATIONS];
	struct history h;
	struct found found[DETECTOR_COUNT];
	size_t found_n;
};

static struct subject about_run(const struct run *r)
{
	return (struct subject){ r->goal_id, r->node_id, r->assignment_id, r->id };
}

/* Of a goal with a single leaf its own; otherwise what the configuration expects of a node. */
static int64_t expected_iterations(const struct policy *p, const struct goal *g)
{
	int64_t own = g->estimate[RES_ITERATIONS];

	return own && g->leaves == 1 ? own : p->estimate[RES_ITERATIONS];
}

static struct consumption consumed(const struct goal *g, enum resource res, int64_t estimate)
{
	return (struct consumption){ .used = g->spent[res] - g->round_spent[res],
		.estimate = estimate };
}

/* What is looked at: the newest iterations since a person had a say, this one last. */
static void review_history(const struct policy *p, struct review *x)
{
	size_t n = 0, from = 0;

	for (size_t i = 0; i < x->n->iterations.n; i++)
		from += x->n->iterations.p[i]->number <= x->n->watch.round_from;
	from = MAX(from,
			x->n->iterations.n - MIN(x->n->iterations.n, (size_t)LIMIT_ITERATIONS - 1));
	for (size_t i = from; i < x->n->iterations.n; i++)
		if (x->n->iterations.p[i]->number < x->now.number)
			x->iterations[n++] = x->n->iterations.p[i];
	x->iterations[n++] = &x->now;
	x->h = (struct history){
		.samples = x->samples,
		.n = n,
		.iterations = { x->now.number - x->n->watch.round_from,
				expected_iterations(p, x->g) },
		.cost_microusd = consumed(x->g, RES_COST_MICROUSD,
				budget_estimate(p, x->g, RES_COST_MICROUSD)),
		/*
		 * Time does no harm by itself: what goals take as a rule says nothing of a
		 * large one.
		 */
		.wall_ms = consumed(x->g, RES_WALL_MS, x->g->estimate[RES_WALL_MS]),
		.completion_centi = -1,
	};
	for (size_t i = 0; i < n; i++) {
		x->samples[i] = &x->iterations[i]->sample;
		if (x->samples[i]->has_completion)
			x->h.completion_centi = x->samples[i]->completion_centi;
	}
}

static bool is_goal_wide(const struct found *f)
{
	return f->type == DETECT_BURN && f->resource != RES_ITERATIONS;
}

/*
 * Work that passed its check late, or after many attempts, is none that anybody has to stop: what
 * the loop took is recorded, and it is over.
 */
static enum level level_of(const struct review *x, const struct found *f)
{
	enum level level = detection_level(&x->o, &x->h, f);
	bool of_loop = f->type == DETECT_STUCK || f->type == DETECT_OSCILLATION ||
			(f->type == DETECT_BURN && !is_goal_wide(f));

	return of_loop && !x->now.failed ? MIN(level, LEVEL_LOG) : level;
}

/* The same at this severity or a higher one was answered before, or is by this batch. */
static bool is_answered(const struct decide_ctx *cx, const struct goal *g, str fingerprint,
		enum severity severity)
{
	for (size_t i = g->detections.n; i-- > 0;)
		if (g->detections.p[i]->severity >= severity &&
				str_eq(g->detections.p[i]->fingerprint, fingerprint))
			return true;
	for (size_t i = 0; i < cx->out->n; i++) {
		const value *d = cx->out->p[i]->kind == EV_DETECTION_MADE
				? as_detection_made(cx->out->p[i])->detection
				: NULL;

		if (d && str_eq(value_str_at(d, "fingerprint"), fingerprint) &&
				status_parse(&severities, value_str_at(d, "severity")) >=
						(int)severity)
			return true;
	}
	return false;
}

static str evidence_text(struct arena *a, const value *evidence)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	json_write_canonical(&b, evidence);
	return arena_str(a, buf_str(&b));
}

str detection_emit(struct decide_ctx *cx, struct subject about, const struct found *f,
		const struct detection_words *w, int64_t iteration, int64_t round)
{
	struct detection d = { .id = make_id(cx, "F_"),
		.type = f->type,
		.severity = f->severity,
		.message = w->message,
		.evidence = evidence_text(cx->arena, w->evidence),
		.fingerprint = w->fingerprint,
		.iteration = iteration,
		.round = round };
	struct ev_detection_made *e;

	d.recommendations.p = arena_array(cx->arena, str, w->recommendations_n + 1);
	while (d.recommendations.n < w->recommendations_n) {
		size_t i = d.recommendations.n++;

		d.recommendations.p[i] = str_from(w->recommendations[i]);
	}
	e = emit_detection_made(cx, about);
	e->detection = record_pack(cx->arena, &detection_record, &d);
	return d.id;
}

static void answer(struct decide_ctx *cx, const struct review *x, const struct found *f)
{
	bool wide = is_goal_wide(f);
	enum level level = level_of(x, f);
	struct detect_context context = { .history = &x->h,
		.iterations = x->iterations,
		.objective = x->n->def.objective.n ? x->n->def.objective : x->n->def.name,
		.call = f->in_run ? repetition_call(x->r) : STR(""),
		.subject = wide ? x->g->id : x->n->key,
		.round = wide ? x->g->round : x->n->watch.round };
	struct subject about = about_run(x->r);
	struct detection_words w;
	str id;

	detection_describe(cx->arena, &context, f, level, &w);
	if (is_answered(cx, x->g, w.fingerprint, f->severity))
		return;
	if (wide)
		about.node = about.assignment = STR("");
	id = detection_emit(cx, about, f, &w, x->now.number, context.round);
	intervene(cx,
			&(struct intervention){ .detection = id,
					.about = about_run(x->r),
					.goal = x->g,
					/*
					 * Of the pool's tasks this one is held: the others go on.
					 */
					.node = wide && !x->g->automatic ? NULL : x->n,
					.type = f->type,
					.severity = f->severity,
					.level = level,
					.fingerprint = w.fingerprint,
					.message = w.message,
					.reason = w.reason,
					.quote = value_str_at(w.evidence,
							f->in_run ? "repeatedToolCall"
								  : "repeatedError"),
					.text = w.guidance,
					.pause = x->o.pause });
}

/* The mildest first, but of those that stop the work the strongest. */
static void answer_all(struct decide_ctx *cx, const struct review *x)
{
	static const enum level order[] = { LEVEL_LOG, LEVEL_WARN, LEVEL_REDIRECT, LEVEL_ABORT,
		LEVEL_PAUSE };

	for (size_t k = 0; k < ARRAY_LEN(order); k++)
		for (size_t i = 0; i < x->found_n; i++)
			if (level_of(x, &x->found[i]) == order[k])
				answer(cx, x, &x->found[i]);
}

static enum severity worst_found(const struct review *x)
{
	enum severity worst = SEVERITY_NONE;

	for (size_t i = 0; i < x->found_n; i++)
		if (level_of(x, &x->found[i]) != LEVEL_NONE)
			worst = MAX(worst, x->found[i].severity);
	return worst;
}

static void record(struct decide_ctx *cx, const struct review *x)
{
	struct ev_iteration_recorded *e = emit_iteration_recorded(cx, about_run(x->r));
	enum severity alarm = worst_found(x);

	e->iteration = record_pack(cx->arena, &iteration_record, &x->now);
	if (alarm != SEVERITY_NONE)
		e->alarm = str_from(status_name(&severities, (int)alarm));
}

static void review_loop(struct review *x)
{
	struct found f;

	for (size_t i = 0; i < x->found_n; i++)
		if (x->found[i].type == DETECT_STUCK)
			return;
	if (repetition_ended(&x->o, x->n, x->r, &f))
		x->found[x->found_n++] = f;
}

static bool is_over(const struct review *x)
{
	return node_is_final(x->n) || (x->g->status != GOAL_ACTIVE && x->g->status != GOAL_PAUSED);
}

void tick_review(struct decide_ctx *cx, const struct decision *d)
{
	struct review x = { .g = d->goal, .n = d->node, .r = d->run };

	/*
	 * What another run of the goal led to comes first; this one has its turn in the next round.
	 */
	if (goal_is_stopping(cx, x.g))
		return;
	iteration_make(cx->arena, cx->state, x.n, x.r, &x.now);
	sample_prepare(&x.now);
	oversight_for(cx->policy, x.g, x.n, &x.o);
	review_history(cx->policy, &x);
	if (!is_over(&x)) {
		x.found_n = detect(&x.h, &x.o.t, x.found);
		review_loop(&x);
	}
	record(cx, &x);
	aftermath_review(cx, x.n, &x.now);
	answer_all(cx, &x);
	mem_free((void *)x.now.sample.files);
}

void tick_health(struct decide_ctx *cx, const struct decision *d)
{
	struct ev_goal_health *e = emit_goal_health(cx, about_goal(d->goal));

	e->from = d->goal->health;
	e->to = goal_health_due(d->goal);
	e->reason = d->why;
}
