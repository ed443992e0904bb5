#pragma once
/*
 * The store as a document that other programs of its kind understand: goals, assignments,
 * crystallizations and dispatches under their ids, in camelCase, and every event. The events are
 * all that counts; the rest is a view of the state, made from the tables of the records, so that a
 * field that is new there is new here too.
 */
#include "base/ov.h"
#include "core/event/event.h"
#include "core/state/state.h"

enum { PORTABLE_VERSION = 1 };

/* "goals", "assignments", "crystallizations", "dispatchIndex": in this order. */
enum { PORTABLE_SECTIONS = 4 };
extern const char *const portable_sections[PORTABLE_SECTIONS];

/* One object of a section; v is valid during the call. 0, or an error that ends the walk. */
typedef int portable_emit_fn(void *user, int section, str key, const value *v, struct ov_err *err);
/*
 * Where events are read that a view needs (instructions, what a planner answered, versions of a
 * plan). False: it is not there, and what it would tell is null.
 */
struct portable_source {
	bool (*read)(void *user, struct arena *a, uint64_t seq, struct event *ret);
	void *user;
};
int portable_walk(const struct state *s, const struct portable_source *source,
		portable_emit_fn *emit, void *user, struct ov_err *err);

/* {"seq", "ts", "type", "actor", "goalId", "workNodeId", "assignmentId", "runId", "data"} */
value *portable_event(struct arena *a, const struct event *e);
/* Back; texts are borrowed from v. The data is not checked: see event_decode. */
int portable_event_read(const value *v, struct event *ret, struct ov_err *err);
