#pragma once
/* The steps of git on the way to the target branch, as effects. Private to the executor. */
#include "app/exec/executor_impl.h"

void perform_rebase(struct task *t, const struct assignment *as);
void perform_accept(struct task *t, const struct assignment *as);
void perform_revert(struct task *t, const struct assignment *as);
