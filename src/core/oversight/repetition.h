#pragma once
/*
 * Loops within a run that goes on: its agent makes the same call of a tool again and again and gets
 * the same answer. No iteration tells of them before the run ends, if it ever does; so they are
 * judged by what is observed, once per run. Pure; private to core.
 */
#include "core/model/model.h"
#include "core/model/telemetry.h"
#include "core/oversight/detect.h"
#include "core/policy/policy.h"

struct repetition {
	struct oversight o;
	struct found found;
	enum level level;
};

/* What was made again and again: so many calls of a tool in a row, or blocks of output. */
struct repeated {
	int64_t calls;
	str call;
	bool output;
};

/* True when that is to be answered now. */
bool repetition_judge(const struct policy *p, const struct assignment *as,
		const struct repeated *of, struct repetition *ret);
/*
 * Equal calls change nothing, and go on for so long that they are not a wait for
 * something elsewhere.
 */
bool repetition_calls(const struct policy *p, const struct assignment *as,
		const struct observation *o, ov_time now);
/*
 * Its output repeats itself so often that its tree is to be looked at; and so often that it
 * is judged.
 */
enum repetition_look { REPETITION_WAIT, REPETITION_LOOK, REPETITION_JUDGE };
enum repetition_look repetition_output(const struct policy *p, const struct assignment *as,
		const struct observation *o);
/*
 * The run is over, as its agent found by itself that it went in circles: what that is to be called.
 */
bool repetition_ended(const struct oversight *o, const struct node *n, const struct run *r,
		struct found *ret);
/* What it did again and again. */
str repetition_call(const struct run *r);
/* What the words about it are made of. */
struct detect_context repetition_context(const struct node *n, str call);
