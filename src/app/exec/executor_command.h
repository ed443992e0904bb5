#pragma once
/* Checks, and the commands before and after an accept, as effects. Private to the executor. */
#include "app/exec/executor_impl.h"

void perform_check(struct task *t, const struct assignment *as);
void perform_gate(struct task *t, const struct assignment *as);
void perform_post(struct task *t, const struct assignment *as);
