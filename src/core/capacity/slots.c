#include "core/capacity/slots.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/capacity/accept_queue.h"
#include "core/capacity/lane.h"

/* "N for WHAT". */
static const char *const words[WAITING_COUNT] = {
	[WAITING_FILES] = "your uncommitted files",
	[WAITING_CHECKOUT] = "your checkout",
	[WAITING_REVIEW] = "review",
	[WAITING_QUESTION] = "your answer",
	[WAITING_TURN] = "the accept queue",
	[WAITING_BACKOFF] = "the next attempt",
	[WAITING_GOAL] = "a paused goal",
	[WAITING_AGENT] = "their agent",
};

struct slots slots_init(const struct state *s, const struct policy *p, ov_time now)
{
	return (struct slots){ .s = s, .p = p, .now = now };
}

/* A wait that began in the future was set by a clock that was wrong: it is over. */
static bool backs_off(const struct slots *sl, const struct assignment *as)
{
	return as->not_before > sl->now && as->updated_at <= sl->now && as->stage != STAGE_STOP;
}

static bool queue_waits(struct slots *sl)
{
	const struct assignment *holder;

	if (sl->queue_looked_at)
		return sl->queue_waits;
	sl->queue_looked_at = true;
	holder = accept_holder(sl->s, sl->p);
	sl->queue_waits = holder && !holder->effect &&
			(backs_off(sl, holder) || accept_question(sl->s, holder));
	return sl->queue_waits;
}

static enum waiting accepting_waits(struct slots *sl, const struct assignment *as)
{
	if (as->stage == STAGE_REVIEW)
		return WAITING_REVIEW;
	if (as->waiting != WAITING_NONE)
		return as->waiting;
	if (accept_question(sl->s, as))
		return WAITING_QUESTION;
	if (!accept_is_committed(as) && as->node->goal->status != GOAL_ACTIVE)
		return WAITING_GOAL;
	if (backs_off(sl, as))
		return WAITING_BACKOFF;
	return accept_waits(as) && queue_waits(sl) ? WAITING_TURN : WAITING_NONE;
}

/* It has begun, and its next run cannot: its agent is given no work. */
static bool agent_waits(const struct slots *sl, const struct assignment *as)
{
	return as->stage == STAGE_START && as->attempt &&
			lane_is_shut(state_lane(sl->s, as->agent), sl->now);
}

/* Its node is blocked, and not about to be unblocked. */
static bool node_waits_on(const struct slots *sl, const struct assignment *as)
{
	return as->stage == STAGE_WAITING &&
			(!as->node->block.until || as->node->block.until > sl->now);
}

bool assignment_may_yield(const struct slots *sl, const struct assignment *as)
{
	return as->node && !as->effect && (node_waits_on(sl, as) || agent_waits(sl, as));
}

enum waiting assignment_waiting(struct slots *sl, const struct assignment *as)
{
	if (as->effect || as->stage == STAGE_NONE || as->stage == STAGE_RUNNING || !as->node)
		return WAITING_NONE;
	if (stage_is_good(as->stage))
		return accepting_waits(sl, as);
	if (node_waits_on(sl, as))
		return as->node->block.kind == BLOCK_QUESTION ? WAITING_QUESTION : WAITING_AGENT;
	if (backs_off(sl, as))
		return WAITING_BACKOFF;
	return agent_waits(sl, as) ? WAITING_AGENT : WAITING_NONE;
}

/* A task may wait for its agent's login when another run's word is about its quota. */
static str agent_text(struct arena *a, const struct slots *sl, const struct assignment *as)
{
	const struct lane *l = state_lane(sl->s, as->agent);

	return lane_is_shut(l, sl->now) ? lane_text(a, l, sl->now, sl->p->utc_offset) : as->reason;
}

str waiting_text(struct arena *a, struct slots *sl, const struct assignment *as)
{
	switch (assignment_waiting(sl, as)) {
	case WAITING_NONE:
	case WAITING_COUNT: break;
	case WAITING_REVIEW:
		return arena_printf(a, "waits for your review: overseer worker review " STR_FMT,
				STR_ARG(as->worker));
	case WAITING_TURN: return STR("nothing is accepted until what is before it is settled");
	case WAITING_GOAL: return STR("its goal is paused");
	case WAITING_FILES:
	case WAITING_CHECKOUT:
	case WAITING_QUESTION:
	case WAITING_BACKOFF: return as->reason;
	case WAITING_AGENT: return agent_text(a, sl, as);
	}
	return STR("");
}

bool assignment_starts(const struct assignment *as)
{
	return !as->effect &&
			(as->stage == STAGE_WORKSPACE || as->stage == STAGE_START ||
					as->stage == STAGE_WAITING);
}

void slots_add(struct slots *sl, const struct assignment *as)
{
	struct slot_count *n = &sl->of[as->slot];
	enum waiting waiting;

	if (as->stage == STAGE_NONE)
		return;
	waiting = assignment_waiting(sl, as);
	n->kinds[waiting]++;
	n->yields += assignment_may_yield(sl, as);
	if (waiting != WAITING_NONE)
		n->waiting++;
	else if (assignment_starts(as))
		n->starts++;
	else
		n->busy++;
}

void slots_count(struct slots *sl)
{
	list_each (it, &sl->s->live)
		slots_add(sl, list_entry(it, struct assignment, link));
}

/* There may be more workers than that: the configuration can be changed. */
size_t slots_max(const struct state *s, const struct policy *p, enum worker_kind kind)
{
	switch (kind) {
	case WORKER_POOL: return (size_t)p->workers_max;
	case WORKER_AUTO: return (size_t)s->automatic.concurrency;
	case WORKER_MANUAL:
	case WORKER_KIND_COUNT: break;
	}
	return SIZE_MAX;
}

bool slots_crowded(const struct state *s, const struct policy *p, enum worker_kind kind,
		size_t waiting, size_t all)
{
	size_t most = (size_t)p->workers_max_waiting;

	return kind != WORKER_MANUAL &&
			(waiting >= most || all >= MAX(most, slots_max(s, p, kind)));
}

bool slots_held(const struct slots *sl, enum worker_kind kind)
{
	const struct slot_count *n = &sl->of[kind];
	size_t busy = n->busy + n->starts, waiting = n->waiting - n->yields;

	return busy < slots_max(sl->s, sl->p, kind) &&
			slots_crowded(sl->s, sl->p, kind, waiting, busy + waiting);
}

str slots_text(struct arena *a, const struct slots *sl, enum worker_kind kind)
{
	const struct slot_count *n = &sl->of[kind];
	str parts = STR("");

	if (!slots_held(sl, kind))
		return parts;
	for (int w = WAITING_NONE + 1; w < WAITING_COUNT; w++)
		if (n->kinds[w])
			parts = arena_printf(a, STR_FMT "%s%zu for %s", STR_ARG(parts),
					parts.n ? ", " : "", n->kinds[w], words[w]);
	if (n->busy + n->starts)
		parts = arena_printf(a, STR_FMT "), %zu %s under way", STR_ARG(parts),
				n->busy + n->starts, n->busy + n->starts == 1 ? "is" : "are");
	return arena_printf(a,
			"%zu task%s (" STR_FMT "%s; nothing new is started: workers.max_waiting",
			n->waiting, n->waiting == 1 ? " waits" : "s wait", STR_ARG(parts),
			n->busy + n->starts ? "" : ")");
}
