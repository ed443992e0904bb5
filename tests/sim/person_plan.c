/* Plans of every shape that a plan may have, and what people make of one that is there already. */
#include "base/arena.h"
#include "base/str.h"
#include "tests/sim/person_impl.h"

enum { NODES_MAX = 128 };

/* A plan in the making: tasks one after the other, whatever phase they are in. */
struct draft {
	struct people *p;
	struct arena *a;
	str ids[NODES_MAX]; /* of tasks so far, in order */
	size_t n;
	size_t slots; /* for tasks that are left */
};

static size_t below(struct draft *d, size_t n)
{
	return sim_below(d->p->s, RNG_PERSON, n);
}

static bool odds(struct draft *d, unsigned per_mille)
{
	return sim_odds(d->p->s, RNG_PERSON, per_mille);
}

static value *texts(struct arena *a, str one)
{
	value *list = value_array(a);

	if (one.n)
		value_push(a, list, value_str(a, one));
	return list;
}

/* ---- who waits for whom: indexes of tasks before this one ---- */

static void shape_chain(struct draft *d, value *deps)
{
	if (d->n)
		value_push(d->a, deps, value_str(d->a, d->ids[d->n - 1]));
}

static void shape_fan(struct draft *d, value *deps)
{
	if (d->n)
		value_push(d->a, deps, value_str(d->a, d->ids[0]));
}

static void shape_diamond(struct draft *d, value *deps)
{
	size_t at = d->n % 4;

	if (d->n == 0)
		return;
	if (at == 1 || at == 2) {
		value_push(d->a, deps, value_str(d->a, d->ids[d->n - at]));
	} else {
		value_push(d->a, deps, value_str(d->a, d->ids[d->n - 1]));
		if (d->n > 1)
			value_push(d->a, deps, value_str(d->a, d->ids[d->n - 2]));
	}
}

static void shape_loose(struct draft *d, value *deps)
{
	(void)d, (void)deps;
}

static void shape_any(struct draft *d, value *deps)
{
	size_t want = d->n ? below(d, 3) : 0, from = 0;

	for (size_t i = 0; i < want && from < d->n; i++) {
		from += below(d, d->n - from);
		value_push(d->a, deps, value_str(d->a, d->ids[from++]));
	}
}

typedef void shape_fn(struct draft *d, value *deps);
static shape_fn *const shapes[] = { shape_chain, shape_fan, shape_diamond, shape_loose, shape_any };

/* ---- nodes ---- */

/* What a task may say beyond its name: who, how urgent, how it is checked. */
static void embellish(struct draft *d, value *task)
{
	static const char *const risks[] = { "low", "med", "high" };
	const struct policy *policy = &d->p->s->config->policy;

	/* The first agent has the pool's tasks: the others share these. */
	if (d->p->s->o.night) {
		value_put(d->a, task, "suggestedAgent",
				value_str(d->a,
						policy->agents[1 + below(d, policy->agents_n - 1)]
								.name));
		return;
	}
	if (odds(d, 200) && policy->agents_n)
		value_put(d->a, task, "suggestedAgent",
				value_str(d->a, policy->agents[below(d, policy->agents_n)].name));
	if (odds(d, 100) && policy->roles_n)
		value_put(d->a, task, "role",
				value_str(d->a, policy->roles[below(d, policy->roles_n)].name));
	if (odds(d, 15))
		value_put(d->a, task, "suggestedAgent", value_cstr(d->a, "nobody"));
	if (odds(d, 200))
		value_put(d->a, task, "risk", value_cstr(d->a, risks[below(d, 3)]));
	if (odds(d, 200))
		value_put(d->a, task, "checkCommand", value_cstr(d->a, "make check"));
}

static value *node_draw(struct draft *d, str id, bool leaf)
{
	value *v = value_object(d->a);

	value_put(d->a, v, "id", value_str(d->a, id));
	value_put(d->a, v, "name", value_strf(d->a, "piece " STR_FMT, STR_ARG(id)));
	value_put(d->a, v, "objective", value_strf(d->a, "make " STR_FMT, STR_ARG(id)));
	value_put(d->a, v, "acceptance", texts(d->a, STR("it is there")));
	if (leaf)
		embellish(d, v);
	return v;
}

static void add_subtasks(struct draft *d, value *task, str id, size_t n)
{
	value *list = value_array(d->a);

	for (size_t i = 0; i < n; i++) {
		str own = arena_printf(d->a, STR_FMT ".%zu", STR_ARG(id), i + 1);
		value *sub = node_draw(d, own, true), *deps = value_array(d->a);

		if (i && odds(d, 400)) {
			value_push(d->a, deps, value_strf(d->a, STR_FMT ".%zu", STR_ARG(id), i));
			value_put(d->a, sub, "deps", deps);
		}
		value_push(d->a, list, sub);
	}
	value_put(d->a, task, "subtasks", list);
}

/* Returns how many leaves it has. */
static size_t add_task(struct draft *d, value *tasks, shape_fn *shape, size_t left)
{
	const struct plan_limits *limits = &d->p->s->config->policy.plan;
	str id = arena_printf(d->a, "T%zu", d->n + 1);
	value *deps = value_array(d->a), *task;
	size_t subs = 0;

	if (left > 2 && limits->max_subtasks > 1 && (left > d->slots || odds(d, 200)))
		subs = 2 + below(d, MIN(left - 2, (size_t)limits->max_subtasks - 1));
	task = node_draw(d, id, subs == 0);
	shape(d, deps);
	if (value_count(deps))
		value_put(d->a, task, "deps", deps);
	if (subs)
		add_subtasks(d, task, id, subs);
	if (subs && odds(d, 200))
		value_put(d->a, task, "sequential", value_bool(d->a, true));
	value_push(d->a, tasks, task);
	d->ids[d->n++] = id;
	return MAX(subs, (size_t)1);
}

value *plan_draw(struct people *p, struct arena *a, size_t nodes)
{
	const struct plan_limits *limits = &p->s->config->policy.plan;
	struct draft d = { .p = p, .a = a };
	shape_fn *shape = p->s->o.night ? shape_loose
					: shapes[sim_below(p->s, RNG_PERSON, ARRAY_LEN(shapes))];
	size_t left = MAX(MIN(nodes, (size_t)NODES_MAX), (size_t)1);
	value *doc = value_object(a), *phases = value_array(a);

	for (size_t i = 0; i < (size_t)limits->max_phases && left; i++) {
		value *phase = value_object(a), *tasks = value_array(a);
		size_t want = 1 + below(&d, (size_t)limits->max_tasks);

		/* What later phases have no room for. */
		d.slots = (size_t)(limits->max_phases - (int64_t)i) * (size_t)limits->max_tasks;
		if (left + (size_t)limits->max_tasks > d.slots)
			want = (size_t)limits->max_tasks;
		for (size_t k = 0; k < want && left; k++) {
			size_t leaves = add_task(&d, tasks, shape, left);

			left -= MIN(left, leaves);
		}
		value_put(a, phase, "id", value_strf(a, "P%zu", i + 1));
		value_put(a, phase, "name", value_strf(a, "phase %zu", i + 1));
		if (i && below(&d, 3) == 0)
			value_put(a, phase, "deps", texts(a, arena_printf(a, "P%zu", i)));
		if (odds(&d, 150))
			value_put(a, phase, "sequential", value_bool(a, true));
		value_put(a, phase, "tasks", tasks);
		value_push(a, phases, phase);
	}
	if (odds(&d, 150))
		value_put(a, doc, "sequential", value_bool(a, true));
	value_put(a, doc, "phases", phases);
	return doc;
}

/* ---- changes ---- */

static void remove_item(value *list, size_t at)
{
	memmove(list->array.items + at, list->array.items + at + 1,
			(list->array.n - at - 1) * sizeof(*list->array.items));
	list->array.n--;
}

void plan_alter(struct people *p, struct arena *a, value *doc)
{
	struct draft d = { .p = p, .a = a };
	value *phases = (value *)value_at(doc, "phases"), *tasks, *task;
	str id = arena_printf(a, "X%llu", (unsigned long long)++p->notes);
	size_t n = value_count(phases);

	if (n == 0) {
		value *fresh = plan_draw(p, a, 3);

		value_put(a, doc, "phases", (value *)value_at(fresh, "phases"));
		return;
	}
	if (odds(&d, 100))
		value_put(a, doc, "sequential", value_bool(a, !value_bool_at(doc, "sequential")));
	tasks = (value *)value_at(value_item(phases, below(&d, n)), "tasks");
	n = value_count(tasks);
	/* To drop what others wait for, or the last one, is refused, which is an answer too. */
	if (n && odds(&d, 300))
		remove_item(tasks, below(&d, n));
	n = value_count(tasks);
	if (n && odds(&d, 300)) {
		task = tasks->array.items[below(&d, n)];
		value_put(a, task, "name", value_strf(a, "other " STR_FMT, STR_ARG(id)));
	}
	if (n && odds(&d, 200)) {
		task = tasks->array.items[below(&d, n)];
		if (!value_count(value_at(task, "subtasks")))
			add_subtasks(&d, task, value_str_at(task, "id"), 2);
	}
	if (odds(&d, 700)) {
		task = node_draw(&d, id, true);
		if (n && odds(&d, 500)) {
			str dep = value_str_at(value_item(tasks, below(&d, n)), "id");

			value_put(a, task, "deps", texts(a, dep));
		}
		value_push(a, tasks, task);
	}
}
