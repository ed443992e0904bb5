#pragma once
/*
 * What became of the work after a detection was answered: whether that helped, did not, or cannot
 * be told, from the iterations that followed. Pure; `aftermath_judge` looks at records alone, the
 * rest turns its verdicts into events.
 */
#include "base/ov.h"
#include "core/decide/emit.h"
#include "core/model/model_oversight.h"
#include "core/policy/oversight_policy.h"

enum {
	AFTERMATH_PATIENCE = 3, /* iterations after which it stays unknown */
	AFTERMATH_LINE = 300,   /* bytes of each */
};

struct aftermath {
	/* The newest of its node, oldest first; those before the detection tell what was found. */
	const struct iteration *const *iterations;
	size_t n;
	const struct thresholds *t;
	bool worse; /* the same was found again since, and more severe */
	/* the node's work is on the target branch; of a whole goal: it is completed */
	bool accepted;
	bool ended; /* nothing further comes */
};

struct verdict {
	enum effectiveness effectiveness; /* EFFECT_OPEN: too early to tell */
	str because;
};

struct verdict aftermath_judge(struct arena *a, const struct detection *d,
		const struct aftermath *m);

/* An iteration of the node is being recorded: its open detections are judged by it. */
void aftermath_review(struct decide_ctx *cx, const struct node *n, const struct iteration *now);
/* Whatever came to an end by the events from `from` on: what is open about it is judged. */
void aftermath_settle(struct decide_ctx *cx, size_t from);
/*
 * What helped, for a handoff: a list of texts, the newest HANDOFF_OVERSIGHT of those about the
 * node, or about the goal as a whole when it is NULL. The events of the batch from `from` on count.
 */
value *aftermath_lines(struct decide_ctx *cx, size_t from, const struct goal *g,
		const struct node *n);
