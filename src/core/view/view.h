#pragma once
/*
 * State as values for the API, the command line and the dashboard: the stored record and what
 * follows from it. Shapes are stable: members are only ever added.
 */
#include "base/ov.h"
#include "core/event/event.h"
#include "core/policy/policy.h"
#include "core/state/state.h"
#include "core/state/usage.h"
#include "core/tick/reconcile.h"

/* Done of all tasks that are not cancelled, in hundredths of a percent: what everybody shows. */
int64_t progress_centi(int64_t done, int64_t counted) _pure_;
int64_t goal_progress_centi(const struct goal *g) _pure_;
value *view_goal(struct arena *a, const struct state *s, const struct goal *g);
value *view_goal_brief(struct arena *a, const struct goal *g);
value *view_node(struct arena *a, const struct state *s, const struct node *n);
value *view_node_brief(struct arena *a, const struct node *n);
/* Its "path" from the phase down, and what it "blocks". */
void view_put_place(struct arena *a, value *v, const struct node *n);
/* Runs after the first one, when the last of them was sent, and until when nothing is done. */
int64_t assignment_retries(const struct assignment *as) _pure_;
ov_time assignment_last_retry(const struct assignment *as) _pure_;
ov_time assignment_backoff(const struct assignment *as) _pure_;
/* Is it stalled now? Its episode may go on while a new run is at work, or a person is asked. */
bool node_is_stalled(const struct node *n) _pure_;
/* The goal with its nodes as a tree, and apart from it those that replans removed. */
value *view_plan(struct arena *a, const struct state *s, const struct goal *g);
value *view_run(struct arena *a, const struct run *r, ov_time now);
value *view_worker(struct arena *a, const struct state *s, const struct worker *w);
/* How auto mode stands, with the number of its workers. */
value *view_auto(struct arena *a, const struct world *w, ov_time now);
/* The same in the shape of auto.get; observations as in struct telemetry. */
value *view_auto_whole(struct arena *a, const struct world *w, const struct map *observations,
		ov_time now);
/* Why auto mode draws no task and starts none: it is paused, or its budget is spent; else empty. */
str auto_waits(struct arena *a, const struct world *w, ov_time now);
/*
 * A notice, with when and why it goes next, and whether nobody was told though somebody should be.
 */
/*
 * The newest of a node, oldest first; what was found in a goal (n: about this node), newest first.
 */
value *view_iterations(struct arena *a, const struct node *n);
value *view_detections(struct arena *a, const struct goal *g, const struct node *n);
value *view_notice(struct arena *a, const struct world *w, const struct notice *x, ov_time now);
/*
 * Those that wait or are lost, newest first, of one goal or (empty) of all; with `all` every
 * one kept.
 */
value *view_notices(struct arena *a, const struct world *w, str goal, bool all, ov_time now);
/* Those about an entry of the inbox, oldest first; and all that are lost, newest first. */
value *view_notices_about(struct arena *a, const struct world *w, int64_t escalation, ov_time now);
value *view_notices_lost(struct arena *a, const struct world *w, ov_time now);
/* What needs a person now; with what was put off; and with what is over. */
enum inbox_part { INBOX_DUE, INBOX_OPEN, INBOX_ALL };
/* What needs a person, ranked, of one goal or (empty) of all. */
value *view_inbox(struct arena *a, const struct state *s, str goal, ov_time now,
		enum inbox_part part);
/* How many more were put off. */
int64_t view_inbox_later(const struct state *s, str goal, ov_time now);
value *view_escalation(struct arena *a, const struct state *s, const struct escalation *x,
		ov_time now);
/* What waits to be accepted or begun, in order, and why; no_capacity as in struct telemetry. */
value *view_queue(struct arena *a, const struct state *s, const struct policy *p, str no_capacity,
		ov_time now);
/*
 * Why an agent is given no work, since when, until when, how that is known; null: it is given work.
 */
value *view_lane(struct arena *a, const struct world *w, const struct lane *l, ov_time now);
/* Of all agents that are given none now. */
value *view_lanes(struct arena *a, const struct world *w, ov_time now);
/*
 * The last lines of the task's newest run, where that failed; empty: it did not, or wrote nothing.
 */
str node_last_lines(const struct state *s, const struct node *n);
/* Blocked tasks of open goals that no entry asks about; ret_more: how many are left out. */
enum { BLOCKED_SHOWN = 100 };
value *view_blocked(struct arena *a, const struct state *s, ov_time now, int64_t *ret_more);
/* A loop that was seen in a run of the assignment, and whose answer is not judged yet. */
struct loop_seen {
	const struct detection *found;
	str repeated;
	int64_t times;
	bool live; /* in the run that is under way: it goes on in it */
	str text;  /* what was repeated, and which order was given */
};
bool loop_seen(struct arena *a, const struct state *s, const struct assignment *as,
		struct loop_seen *ret);
value *view_loops(struct arena *a, const struct state *s);
/* Everything that `overseer status` shows of the state; no_capacity as in struct telemetry. */
value *view_status(struct arena *a, const struct world *w, str no_capacity, ov_time now);

/*
 * {"rows": [{"key", "title", "runs", "live_runs", "wall_ms", "tokens", "tokens_input", ...,
 * "cost_microusd", "live": {...}, "unpriced_runs", "untold_runs"}], "total": {...},
 * "unpriced_models": [...]}. The figures hold those of runs under way, which "live" tells apart.
 * The dearest first; days in their order.
 */
value *usage_view(struct arena *a, const struct state *s, const struct usage_query *q);
