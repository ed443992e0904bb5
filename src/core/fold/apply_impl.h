#pragma once
/* What the apply_*.c files share: reading events, and one function per kind of event. Private to core. */
#include "base/vec.h"
#include "core/fold/apply.h"
#include "core/model/limits.h"

str ev_text(const struct event *e, const char *key);
int64_t ev_num(const struct event *e, const char *key);
/* The event is about something that is not there. */
int ev_missing(const struct event *e, const char *noun, str id, struct ov_err *err);
/* Reads from/to of a status event and checks them against the table and the present status. */
int ev_move(const struct event *e, const struct status_table *t, str what, int now, int *ret_to,
		struct ov_err *err);
/* What ids are made into keys and branch names with. */
bool id_valid(str id);

/* Adds the newest and forgets the oldest beyond LIMIT_KEPT. */
static inline void seqs_keep(struct seqs *s, uint64_t seq)
{
	if (s->n == LIMIT_KEPT)
		vec_remove(s, 0);
	vec_push(s, seq);
}

typedef int apply_fn(struct state *s, const struct event *e, struct ov_err *err);

apply_fn apply_plan_applied, apply_run_created, apply_run_started, apply_run_session,
		apply_run_ended, apply_run_harvested, apply_run_continued, apply_run_verified,
		apply_worker_created, apply_worker_status, apply_workspace_ready,
		apply_effect_intended, apply_effect_ended, apply_dispatch_intended,
		apply_dispatch_result, apply_crystallized, apply_escalation_opened,
		apply_escalation_reminded, apply_escalation_closed, apply_agent_limited,
		apply_agent_cleared, apply_outage_suspected, apply_outage_over, apply_clock_moved,
		apply_machine_slept, apply_node_reported, apply_node_wanted, apply_node_scoped,
		apply_node_answered, apply_episode_opened, apply_episode_rung, apply_episode_closed,
		apply_episode_advised, apply_assignment_activity, apply_node_added,
		apply_node_reverted, apply_worker_wanted, apply_worker_removed, apply_patrol_found,
		apply_target_moved, apply_auto_started, apply_auto_stopped, apply_auto_pool,
		apply_auto_paused, apply_auto_resumed, apply_conflict_predicted,
		apply_conflict_cleared, apply_watch_acted, apply_iteration_recorded,
		apply_detection_made, apply_intervention_applied, apply_detection_judged,
		apply_oversight_renewed, apply_goal_health, apply_run_frozen,
		apply_escalation_snoozed, apply_escalation_raised, apply_notice_opened,
		apply_notice_tried, apply_notice_withdrawn, apply_notice_retried,
		apply_silence_learned;

/* The event says what is thought of its run's work: an iteration is to be made of it. */
void run_judged(struct state *s, const struct event *e, enum cause cause, str failure);
/* Failures by these are the agent's: others are ours, or nobody's. */
bool cause_is_of_work(enum cause cause);

/* A run of the agent failed on the node; or one went well, or a person trusts the agent again. */
void streak_failed(struct state *s, const struct node *n, const struct event *e);
void streak_ends(struct state *s, str agent);

/* Before a node's status changes: what `status` says that auto mode has done, and what went wrong. */
void auto_count_task(struct state *s, const struct node *n, enum node_status to, str block);
