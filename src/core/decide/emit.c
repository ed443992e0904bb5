#include "core/decide/emit.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "core/model/limits.h"
#include "core/text/redact.h"
#include "data/id/ulid.h"

struct subject about_goal(const struct goal *g)
{
	return (struct subject){ .goal = g->id };
}

struct subject about_node(const struct node *n)
{
	return (struct subject){ .goal = n->goal->id, .node = n->id };
}

struct subject about_assignment(const struct assignment *as)
{
	return (struct subject){ as->goal_id, as->node_id, as->id, as->run_id };
}

/*
 * Everything in an event is copied into the arena: the state that it was read from changes as soon
 * as the first event of the batch is applied.
 */
void *emit_as(struct decide_ctx *cx, enum event_kind kind, struct subject s)
{
	struct event *e = arena_new(cx->arena, struct event);

	e->kind = kind;
	e->at = cx->now;
	e->actor = arena_str(cx->arena, cx->actor);
	e->goal = arena_str(cx->arena, s.goal);
	e->node = arena_str(cx->arena, s.node);
	e->assignment = arena_str(cx->arena, s.assignment);
	e->run = arena_str(cx->arena, s.run);
	e->is = arena_zalloc(cx->arena, event_shape(kind).size);
	vec_push(cx->out, e);
	return e->is;
}

/* Adds to the number that the first n bytes are. */
static void count_up(uint8_t *bytes, size_t n, unsigned carry)
{
	for (size_t i = n; carry && i-- > 0; carry >>= 8) {
		carry += bytes[i];
		bytes[i] = (uint8_t)carry;
	}
}

/*
 * As ULIDs of one moment count: the ids of one decision sort in the order in which they were made.
 * They differ in their last characters, of which nonces are made, and within the 16 that people are
 * shown (10 of time, 30 bits of randomness), so that what is shown can be typed. Without its first
 * bit the sum does not overflow.
 */
str make_id(struct decide_ctx *cx, const char *prefix)
{
	uint8_t entropy[ULID_ENTROPY];
	size_t n = strlen(prefix);
	char *id = arena_alloc(cx->arena, n + ULID_LEN + 1);
	unsigned made = cx->ids_made++;

	memcpy(entropy, cx->entropy, sizeof(entropy));
	entropy[0] &= 0x7f;
	count_up(entropy, sizeof(entropy), made);
	count_up(entropy, 4, made << 2);
	memcpy(id, prefix, n + 1);
	ulid_format(cx->now, entropy, id + n);
	return (str){ id, n + ULID_LEN };
}

void events_seal(struct decide_ctx *cx, size_t from)
{
	for (size_t i = from; i < cx->out->n; i++) {
		struct event *e = cx->out->p[i];

		e->data = redact_value(cx->arena, event_data(cx->arena, e));
		event_fill(cx->arena, e);
	}
}

str check_command(const struct decide_ctx *cx, const struct node *n)
{
	return n->def.check_command.n ? n->def.check_command : cx->policy->check_command;
}
