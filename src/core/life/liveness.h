#pragma once
/*
 * Is an assignment's run alive? A function of what the log says and what was observed. Strong signs
 * (output, CPU or IO, a tool in flight) and weak ones (a changed tree, a report) all count; each
 * moves the moment by which the next one is due. What could not be read is unknown, never dead.
 *
 * Output comes by itself. Process and tree are looked at only twice per silence: half-way, for
 * something to compare with, and when it has lasted too long. Agents that say nothing of themselves
 * are also looked at each time their silence has doubled, so that is known what it is spent on.
 */
#include "base/ov.h"
#include "core/model/telemetry.h"
#include "core/policy/policy.h"
#include "core/state/state.h"
#include "core/state/world.h"

enum verdict {
	VERDICT_ALIVE,   /* or not silent for long enough */
	VERDICT_LOOK,    /* somebody has to look before this can be told */
	VERDICT_UNKNOWN, /* silent, and neither process nor tree can be read */
	VERDICT_SILENT,
};

struct liveness {
	enum verdict verdict;
	ov_time activity_at; /* the last sign of life */
	enum life_sign sign;
	ov_time due_at;   /* the next one is expected until then; OV_TIME_MAX: never */
	ov_time check_at; /* when to judge again; OV_TIME_MAX: when something happens */
	bool anew;        /* the clock was put back: what was seen before says nothing */
	int quiet;        /* independent signals that are known to be quiet */
};

/* Of a run that is under way. o may be NULL: nothing is known yet. */
struct liveness liveness_judge(const struct policy *p, const struct assignment *as,
		const struct observation *o, ov_time now);
/*
 * When it is looked at for what its silence is spent on, though it may well live; OV_TIME_MAX: not.
 */
ov_time liveness_probe(const struct assignment *as, const struct observation *o, ov_time now);
/*
 * Of a run that lives: does it show anything of its work? A tool that hangs is in flight, and an
 * agent that runs in circles uses its processor; only output, changes and reports tell them from
 * one that works. The look half-way is for the tree alone.
 */
struct voice {
	ov_time heard_at; /* the last output, change or report */
	bool mute;        /* that is too long ago */
	ov_time due_at;   /* when it is; OV_TIME_MAX: never, or a person was told already */
	bool look;        /* somebody has to look before this can be told */
	ov_time check_at;
};

struct voice voice_judge(const struct policy *p, const struct assignment *as,
		const struct observation *o, ov_time now);
/* Its output is the same again and again, for so long that it shows nothing of its work. */
bool says_the_same(const struct observation *o);
/*
 * It lives however long it shows nothing: it never stalls, and only a person is told
 * (struct voice).
 */
bool lives_unheard(const struct observation *o, ov_time now);
/* The clock was set by that much: what was seen is as long ago as before. */
void observation_clock_moved(struct observation *o, ov_time by);
/* The newest sign of life that was observed; 0: none. */
ov_time sign_seen_at(const struct observation *o);
/* Is this a sign that the work goes forward, not only that something moves? */
bool life_is_progress(enum life_sign sign);
/* What each signal said, for people: an array of texts. */
value *liveness_evidence(struct arena *a, const struct observation *o, const struct liveness *l,
		ov_time now);
