#pragma once
/*
 * Where the target branch is, and who moved it. What the executor finds out comes as the command
 * target.report; here is decided whether a person has to hear of it. Private to core.
 */
#include "core/decide/emit.h"

/* A step of ours left the target branch there: nobody need ask who it was. */
void target_left(struct decide_ctx *cx, const struct out_git *git);
/* The open entry about a move that is neither ours nor the user's; 0: there is none. */
int64_t target_dispute(const struct decide_ctx *cx);
/* What work that waits for the checkout is told while there is one. */
str target_dispute_words(struct decide_ctx *cx, int64_t entry);
DECIDES_MESSAGE(target_report);
