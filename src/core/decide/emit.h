#pragma once
/* How whoever decides makes events: one of a kind, about a subject, whose struct is then filled. */
#include "core/decide/context.h"
#include "core/outcome/outcome.h"

enum { PRIORITY_NORMAL = 3 };

struct subject {
	str goal, node, assignment, run;
};

struct subject about_goal(const struct goal *g);
struct subject about_node(const struct node *n);
struct subject about_assignment(const struct assignment *as); /* with its newest run */

/*
 * emit_run_session(cx, s) and so on: an event of that kind, whose struct is to be filled. It may
 * borrow whatever lives until the decision is made; events_seal makes copies.
 * emitted_run_session(cx, i): the i-th event of the batch, for what else is to be said in it.
 */
void *emit_as(struct decide_ctx *cx, enum event_kind kind, struct subject s);
#define EVENT(sym, type, name, help)                                                         \
	static inline struct ev_##type *emit_##type(struct decide_ctx *cx, struct subject s) \
	{                                                                                    \
		return emit_as(cx, sym, s);                                                  \
	}                                                                                    \
	static inline struct ev_##type *emitted_##type(struct decide_ctx *cx, size_t i)      \
	{                                                                                    \
		assert(cx->out->p[i]->kind == (sym));                                        \
		return cx->out->p[i]->is;                                                    \
	}
#include "core/event/kinds.def"

/* The last step of every decision: takes secrets out of the events from `from` on. */
void events_seal(struct decide_ctx *cx, size_t from);
/* The node's own command, else the repository's; empty: there is nothing to check. */
str check_command(const struct decide_ctx *cx, const struct node *n);
/* A new id: prefix and a ULID from now and the context's entropy. */
str make_id(struct decide_ctx *cx, const char *prefix);
