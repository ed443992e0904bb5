#pragma once
/*
 * Refusals that commands of several rooms share: each says what is wrong, and what to do instead.
 */
#include "base/err.h"
#include "core/model/model.h"
#include "core/op/params.h"
/* 0, or why a text from outside cannot be taken: too long, or with a NUL byte. */
int text_check(str what, str s, size_t max, struct ov_err *err);
/* The same of all texts and lists that an operation was given, as the struct of its row. */
int params_check(enum op_id op, const void *params, struct ov_err *err);
/* 0, or OV_ESTATE: it has children, so that nothing can be done about it itself. */
int leaf_check(const struct node *n, struct ov_err *err);
/* 0, or OV_ESTATE: its change is on the way to the target branch right now. */
int accept_check(const struct node *n, struct ov_err *err);
