#include "core/export/rescue_owner.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "core/model/model.h"

/* What an effect found in the way, by its kind. */
static const char *const kinds[EFFECT_KIND_COUNT] = {
	[FX_WORKSPACE] = "what was in the worktree before its next use",
	[FX_RUN_STOP] = "work in progress, before its run was stopped",
	[FX_CHECK] = "what the check command left",
	[FX_ACCEPT] = "what was in the worktree when it was accepted",
	[FX_REBASE] = "its commits, before they were rebased",
	[FX_GATE] = "what the command before the accept left",
	[FX_WORKER] = "what was in the worktree before it was reset or removed",
};

/* An assignment, with its newest run. */
struct rescue_work {
	str id, goal, node, worker, run, base;
};

/* A worker's worktree: whose work is in it. */
struct place {
	const struct rescue_work *work;
	str clearing; /* the effect that empties it, or "" */
};

struct rescue_owners {
	struct arena arena;
	struct map by_id;  /* struct rescue_owner */
	struct map works;  /* struct work, by the assignment's id */
	struct map places; /* struct place, by the worker's name */
	struct map runs;   /* str: the newest run of a node, by goal and node */
	struct map heads;  /* struct rescue_owner: who made a commit, by its name */
};

struct rescue_owners *rescue_owners_new(uint64_t seed)
{
	struct rescue_owners *o = mem_zalloc(1, sizeof(*o));

	map_init(&o->by_id, seed);
	map_init(&o->works, seed);
	map_init(&o->places, seed);
	map_init(&o->runs, seed);
	map_init(&o->heads, seed);
	return o;
}

struct rescue_owners *rescue_owners_free(struct rescue_owners *o)
{
	if (!o)
		return NULL;
	map_done(&o->by_id);
	map_done(&o->works);
	map_done(&o->places);
	map_done(&o->runs);
	map_done(&o->heads);
	arena_done(&o->arena);
	mem_free(o);
	return NULL;
}

/* ---- the fold ---- */

static struct place *place_of(struct rescue_owners *o, str worker)
{
	struct place *p = map_get(&o->places, worker);

	if (!p) {
		p = arena_new(&o->arena, struct place);
		map_put(&o->places, arena_str(&o->arena, worker), p);
	}
	return p;
}

/* Work that nothing is known of is nobody's. */
static void own_in(struct rescue_owners *o, struct map *in, str id, const struct rescue_work *w,
		const char *why, ov_time at)
{
	struct rescue_owner *x = arena_new(&o->arena, struct rescue_owner);

	*x = (struct rescue_owner){ .why = why, .at = at };
	if (w) {
		x->goal = w->goal;
		x->node = w->node;
		x->assignment = w->id;
		x->run = w->run;
		x->base = w->base;
	}
	map_put(in, arena_str(&o->arena, id), x);
}

static void own(struct rescue_owners *o, str id, const struct rescue_work *w, const char *why,
		ov_time at)
{
	own_in(o, &o->by_id, id, w, why, at);
}

static str *run_of_node(struct rescue_owners *o, const struct event *e)
{
	str key = arena_printf(&o->arena, STR_FMT "/" STR_FMT, STR_ARG(e->goal), STR_ARG(e->node)),
	    *run = map_get(&o->runs, key);

	if (!run) {
		run = arena_new(&o->arena, str);
		map_put(&o->runs, key, run);
	}
	return run;
}

/* It begins with what the last run of its node left. */
static void on_assignment(struct rescue_owners *o, const struct event *e)
{
	const struct ev_assignment_created *d = as_assignment_created(e);
	struct arena *a = &o->arena;
	struct rescue_work *w = arena_new(a, struct rescue_work);

	*w = (struct rescue_work){ .id = arena_str(a, e->assignment),
		.goal = arena_str(a, e->goal),
		.node = arena_str(a, e->node),
		.worker = arena_str(a, d->worker),
		.run = *run_of_node(o, e) };
	map_put(&o->works, w->id, w);
	own(o, w->id, w, "its own commits, before they were made one", e->at);
}

/* The worktree is this assignment's from now on. */
static void on_workspace(struct rescue_owners *o, const struct event *e)
{
	const struct ev_workspace_ready *d = as_workspace_ready(e);
	struct rescue_work *w = map_get(&o->works, e->assignment);

	if (!w)
		return;
	w->base = arena_str(&o->arena, d->base);
	*place_of(o, w->worker) = (struct place){ .work = w };
}

/* Its accept, whenever that comes, is of what its newest run left. */
static void on_run(struct rescue_owners *o, const struct event *e)
{
	const struct ev_run_harvested *d = e->kind == EV_RUN_HARVESTED ? as_run_harvested(e) : NULL;
	struct rescue_work *w = map_get(&o->works, e->assignment);

	if (!w)
		return;
	if (!str_eq(w->run, e->run))
		*run_of_node(o, e) = w->run = arena_str(&o->arena, e->run);
	own(o, w->run, w, "as its run left it", e->at);
	/* A later run that adds nothing leaves the same commit: the first one made it. */
	if (d && d->commits && !map_get(&o->heads, d->head))
		own_in(o, &o->heads, d->head, w, "as its run left it", e->at);
	own(o, w->id, w, "its own commits, before they were made one", e->at);
}

/*
 * A step finds the work of its own assignment in the worktree. But what a worktree is made ready
 * for comes next: what is found there is the work of the one before.
 */
static void on_effect(struct rescue_owners *o, const struct event *e)
{
	const struct ev_effect_intended *d = as_effect_intended(e);
	int kind = status_parse(&effect_kinds, d->kind);
	const struct rescue_work *w = map_get(&o->works, e->assignment);
	str id = d->effect, worker = d->worker, purpose = d->purpose;

	if (!id.n || kind < 0 || !kinds[kind])
		return;
	if (!worker.n && w)
		worker = w->worker;
	if (kind == FX_WORKSPACE || kind == FX_WORKER)
		w = place_of(o, worker)->work;
	own(o, id, w, kinds[kind], e->at);
	if (kind == FX_WORKER && (str_is(purpose, "reset") || str_is(purpose, "nuke")))
		place_of(o, worker)->clearing = arena_str(&o->arena, id);
}

static void on_effect_end(struct rescue_owners *o, const struct event *e)
{
	const struct ev_effect_ended *d = as_effect_ended(e);
	str id = d->effect, worker;
	void *p;

	if (!str_is(d->kind, status_name(&effect_kinds, FX_WORKER)) || !str_is(d->outcome, "ok"))
		return;
	for (size_t i = 0; map_next(&o->places, &i, &worker, &p);) {
		struct place *x = p;

		if (str_eq(x->clearing, id))
			*x = (struct place){ 0 };
	}
}

typedef void add_fn(struct rescue_owners *o, const struct event *e);

static add_fn *const adders[EVENT_KIND_COUNT] = {
	[EV_ASSIGNMENT_CREATED] = on_assignment,
	[EV_WORKSPACE_READY] = on_workspace,
	[EV_RUN_CREATED] = on_run,
	[EV_RUN_HARVESTED] = on_run,
	[EV_EFFECT_INTENDED] = on_effect,
	[EV_EFFECT_ENDED] = on_effect_end,
};

bool rescue_owners_wants(str kind)
{
	for (int i = 0; i < EVENT_KIND_COUNT; i++)
		if (adders[i] && str_is(kind, event_name((enum event_kind)i)))
			return true;
	return false;
}

void rescue_owners_add(struct rescue_owners *o, const struct event *e)
{
	if (adders[e->kind])
		adders[e->kind](o, e);
}

bool rescue_owners_find(const struct rescue_owners *o, str id, str commit, struct rescue_owner *ret)
{
	/* An accept is named after its assignment, and after reverts with a number: "A_....2". */
	const struct rescue_owner *named = map_get(&o->by_id,
						  str_sub(id, 0, str_find_byte(id, '.'))),
				  *made = map_get(&o->heads, commit);

	if (!named && !made)
		return false;
	/*
	 * Where the commit itself says who made it, that counts: a worktree may be half ready
	 * for another.
	 */
	*ret = made ? *made : *named;
	if (named) {
		ret->why = named->why;
		ret->at = named->at;
	}
	return true;
}
