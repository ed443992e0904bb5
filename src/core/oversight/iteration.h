#pragma once
/*
 * An iteration made of a judged run: what went wrong, what it touched, what our check said of it,
 * what it used, and how near its own words are to the task. Only what was seen, or is labelled as
 * said by the agent. Pure.
 */
#include "base/ov.h"
#include "core/model/model.h"
#include "core/state/state.h"

/* Texts are borrowed from the state or live in the arena; it is not to be given to record_done. */
void iteration_make(struct arena *a, const struct state *s, const struct node *n,
		const struct run *r, struct iteration *ret);
/* Does the file lie beneath one of the paths? "src" holds "src/a.c", but not "src2/a.c". */
bool path_in_scope(const struct strs *scope, str file);
