#pragma once
/*
 * What the apply_*.c files share: reading events, and one function per kind of event. Private
 * to core.
 */
#include "base/vec.h"
#include "core/fold/apply.h"
#include "core/model/limits.h"

/* The event is about something that is not there. */
int ev_missing(const struct event *e, const char *noun, str id, struct ov_err *err);
/* Reads from/to of a status event and checks them against the table and the present status. */
struct ev_move {
	int from, to;
	bool override;
};
int ev_move(const struct event *e, const struct status_table *t, str what, int now,
		struct ev_move m, int *ret_to, struct ov_err *err);
/* What ids are made into keys and branch names with. */
bool id_valid(str id);

/* Adds the newest and forgets the oldest beyond LIMIT_KEPT. */
static inline void seqs_keep(struct seqs *s, uint64_t seq)
{
	if (s->n == LIMIT_KEPT)
		vec_remove(s, 0);
	vec_push(s, seq);
}

/*
 * APPLY(run_session) { ... } is the fold of that kind of event: of the state s, the event e, what
 * it holds d (const struct ev_run_session *), and err. Every kind has one.
 */
#define APPLY(type)                                                                \
	int apply_##type(_unused_ struct state *s, _unused_ const struct event *e, \
			_unused_ const struct ev_##type *d, _unused_ struct ov_err *err)
#define EVENT(sym, type, name, help) APPLY(type);
#include "core/event/kinds.def"

/* The event says what is thought of its run's work: an iteration is to be made of it. */
void run_judged(struct state *s, const struct event *e, enum cause cause, str failure);
/* Failures by these are the agent's: others are ours, or nobody's. */
bool cause_is_of_work(enum cause cause);

/* A run of the agent failed on the node; or one went well, or a person trusts the agent again. */
void streak_failed(struct state *s, const struct node *n, const struct event *e, str detail);
void streak_ends(struct state *s, str agent);

/*
 * Before a node's status changes: what `status` says that auto mode has done, and what went wrong.
 */
void auto_count_task(struct state *s, const struct node *n, enum node_status to, str block);
