#pragma once
/*
 * Why an agent is given no work for a while, as one table: a row for each reason, by the kind of
 * block of the tasks that wait for it. What ends such a wait, what people read, and what it means
 * for a task that waits follow from the row. Pure; the lanes themselves are in the state.
 */
#include "core/policy/policy.h"
#include "core/state/state.h"

struct lane_rule {
	const char *state; /* of the agent, for people; NULL: tasks blocked so wait for no agent */
	bool person;       /* a person ends it, who is asked in the inbox; otherwise time does */
	const char *ends;  /* when it is over, where no time is known */
	/* the kind of entry that asks the person: "agent NAME ..."; ASK_OTHER: none */
	enum ask ask;
};
extern const struct lane_rule lane_rules[BLOCK_KIND_COUNT];

/* The task waits for its agent, and continues when that is free again: it is not stuck. */
bool block_is_lane(enum block_kind kind);
/* What a run that ended says of its agent, in its own words or by its exit status. */
enum block_kind run_limit(const struct policy *p, const struct run *r);
enum block_kind limit_by_exit(const struct policy *p, str agent, int64_t exit_code);
/* A reset further ahead is believed when runs of two assignments said so. */
#define RESET_BELIEVED OV_DAY
/* Of a longer wait a person is told, who can lift it. */
#define LIMIT_UNTOLD (12 * OV_HOUR)
/* What an agent says of a later reset than this cannot be meant: it is tried again before that. */
#define RESET_LATEST (40 * OV_DAY)

/*
 * It is given no work now; what was limited until a time that has passed is not, nor is one that a
 * single run is to try (lane_probe_due: who starts runs lets one through).
 */
bool lane_is_shut(const struct lane *l, ov_time now);
bool lane_probe_due(const struct lane *l, ov_time now);
/* When it changes by itself: it is tried, or its limit ends; 0: a person ends it. */
ov_time lane_next(const struct lane *l);
/* "agent claude is rate limited until 14:05: it is out of quota", in local time. */
str lane_text(struct arena *a, const struct lane *l, ov_time now, ov_time utc_offset);
/* How it is known: "its output (run R_1): "quota exceeded""; empty: not recorded. */
str lane_how(struct arena *a, const struct lane *l);
/* The entry is about this agent: "agent NAME ...". */
bool lane_is_named(const struct escalation *x, str agent);
/* The lane that the entry is about, or NULL. */
const struct lane *lane_asked_by(const struct state *s, const struct escalation *x);
/* The open entry that asks a person about the lane, or NULL. */
const struct escalation *lane_entry(const struct state *s, const struct lane *l);
/*
 * A task of an ordinary goal that was given up after a run of the agent failed, and that no person
 * has taken on.
 */
bool failed_by(const struct node *n, str agent);
/* When the failures in a row of the agent began. */
ov_time failing_since(const struct state *s, str agent);
/* The open entry is about a task that was given up because of these failures. */
bool failing_absorbs(const struct state *s, str agent, const struct escalation *x);
/* The lane that keeps a blocked task waiting, or NULL: it waits for something else. */
const struct lane *lane_blocking(const struct state *s, const struct node *n);
/* Tasks that wait for the agent: blocked by it, or queued for it. */
size_t lane_waiting(const struct state *s, const struct policy *p, str agent);
/* The agent for a node: its own wish, else its role's agent, else the default; may be empty. */
str node_wants(const struct policy *p, const struct node *n);
