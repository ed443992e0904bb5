#pragma once
/*
 * Standing goals: those to which tasks are added one by one, instead of by a plan. `auto` holds the
 * tasks of the pool, `manual` what people gave to workers. Such a goal does not end while it
 * stands; when it holds LIMIT_STANDING tasks it stands no longer (goal_stands), so that it ends as
 * others do and can be archived, and the next task begins a new one. A plan is never applied to it.
 */
#include "core/decide/context.h"

struct standing_task {
	str text;   /* what is to be done, LIMIT_TEXT at most: its first line becomes the name */
	str agent;  /* empty: as usual */
	str worker; /* the only one that may do it; empty: any of the goal's kind */
	str claim;  /* the question to the pool that it answers */
	str reason;
};

/* Emits what adds the task, and the goal first where it has to be made. Returns "GOAL/NODE". */
str standing_add(struct decide_ctx *cx, const char *kind, const struct standing_task *task);
