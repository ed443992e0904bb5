#include "core/rescue_owner.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "core/model.h"

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

struct rescue_owners {
	struct arena arena;
	struct map by_id; /* struct rescue_owner */
};

struct rescue_owners *rescue_owners_new(uint64_t seed)
{
	struct rescue_owners *o = mem_zalloc(1, sizeof(*o));

	map_init(&o->by_id, seed);
	return o;
}

struct rescue_owners *rescue_owners_free(struct rescue_owners *o)
{
	if (!o)
		return NULL;
	map_done(&o->by_id);
	arena_done(&o->arena);
	mem_free(o);
	return NULL;
}

bool rescue_owners_wants(str kind)
{
	return str_is(kind, "effect.intended") || str_is(kind, "run.created") ||
			str_is(kind, "run.harvested") || str_is(kind, "assignment.created");
}

void rescue_owners_add(struct rescue_owners *s, const struct event *e)
{
	struct arena *a = &s->arena;
	struct rescue_owner *o;
	int kind = -1;
	str id = STR("");

	if (e->kind == EV_EFFECT_INTENDED) {
		id = value_str_at(e->data, "effect");
		kind = status_parse(&effect_kinds, value_str_at(e->data, "kind"));
	} else if (e->kind == EV_RUN_CREATED || e->kind == EV_RUN_HARVESTED) {
		id = e->run;
	} else if (e->kind == EV_ASSIGNMENT_CREATED) {
		id = e->assignment;
	}
	if (!id.n || (e->kind == EV_EFFECT_INTENDED && (kind < 0 || !kinds[kind])))
		return;
	o = arena_new(a, struct rescue_owner);
	*o = (struct rescue_owner){ .goal = arena_str(a, e->goal),
		.node = arena_str(a, e->node),
		.assignment = arena_str(a, e->assignment),
		.run = arena_str(a, e->run),
		.at = e->at };
	if (e->kind == EV_EFFECT_INTENDED)
		o->why = kinds[kind];
	else
		o->why = e->kind == EV_ASSIGNMENT_CREATED
				? "its own commits, before they were made one"
				: "as its run left it";
	map_put(&s->by_id, arena_str(a, id), o);
}

const struct rescue_owner *rescue_owners_find(const struct rescue_owners *o, str id)
{
	/* An accept is named after its assignment, and after reverts with a number: "A_....2". */
	return map_get(&o->by_id, str_sub(id, 0, str_find_byte(id, '.')));
}
