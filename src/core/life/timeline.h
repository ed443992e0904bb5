#pragma once
/*
 * What happens when with a run that falls silent, and stays so: stalled, asked, asked again, taken
 * over, and a person. One function of the policy; it decides by the very functions by which the
 * tick does (core/life/ladder), so that what people are told is what is done.
 *
 * It assumes that nothing else happens: nobody speaks, looks succeed, effects take no time, and a
 * request that was sent is not confirmed. Plain data, owned by the caller.
 */
#include "base/ov.h"
#include "core/life/ladder.h"

#define MOMENTS(X)                     \
	X(MOMENT_ASK, "ask")           \
	X(MOMENT_MUTE, "mute")         \
	X(MOMENT_STALL, "stall")       \
	X(MOMENT_NUDGE, "nudge")       \
	X(MOMENT_RESEND, "resend")     \
	X(MOMENT_DIAGNOSE, "diagnose") \
	X(MOMENT_REPLAN, "replan")     \
	X(MOMENT_REASSIGN, "reassign") \
	X(MOMENT_PERSON, "person")
#define MOMENT_ENUM(sym, name) sym,
enum moment_kind { MOMENTS(MOMENT_ENUM) MOMENT_KIND_COUNT };
#undef MOMENT_ENUM

struct moment {
	enum moment_kind kind;
	ov_time at;
	int64_t count, most; /* nudges: the first of two */
	int64_t run;         /* 1: the run at hand; a step that ends it begins the next one */
	bool ends_run;
	const char *skipped; /* why the step cannot help, and is left out; NULL: it is taken */
};

/* A stall and a step for each nudge, and for each of the other rungs. */
enum { TIMELINE_MAX = 2 * (20 + 2 * RUNG_COUNT) };

struct timeline {
	struct moment p[TIMELINE_MAX];
	size_t n;
};

/* From where it is told. */
struct timeline_start {
	struct climb climb;
	ov_time idle;      /* the silence after which a run is stalled */
	ov_time stall_at;  /* when it will be; 0: it is */
	bool episode_open; /* its earlier steps count */
	bool diagnose;     /* the planner is asked before it is split or taken over */
	int advised;       /* the rung that it has advised, which comes first; -1: none */
	ov_time now;
};

/* Of any run of this agent, from its last sign of life at 0; whatever the hour. */
struct timeline timeline_of_agent(const struct policy *p, const struct policy_agent *agent);
/*
 * Of the run at hand, from now on; empty when there is none that could stall. One that waits for a
 * person is left as it is: they are asked, and that is all. So is one that lives unheard: they
 * are told.
 */
struct timeline timeline_of_run(struct arena *a, const struct world *w, const struct assignment *as,
		const struct observation *o, ov_time now);

const char *moment_name(enum moment_kind kind);
enum moment_kind moment_of_rung(enum rung rung);
/* For people: what is done, or why it is not. */
str moment_text(struct arena *a, const struct moment *m);
/*
 * [{step, at or after_ms, count, of, run, ends_run, skipped, text}]; absolute: at, else after_ms.
 */
value *timeline_view(struct arena *a, const struct timeline *t, bool absolute);
/* The answer of config.timeline: of one agent, or (NULL) of all; with what was learned of each. */
value *timeline_config_view(struct arena *a, const struct world *w,
		const struct policy_agent *agent);
