#pragma once
/*
 * What each operation takes, as a struct: pr_goal_pause of "goal.pause", with a member per
 * parameter of its row and has_NAME, which tells whether it was given. Filled once, after the
 * check, for whoever carries it out.
 */
#include "core/op/op.h"

/* The formatter would take the halves of a struct for whole statements. */
/* clang-format off */
#define OP(sym, needs, who, shown, n, text, ...) struct pr_##sym { __VA_ARGS__ };
#define P(name, type, help, ...) type(MAYBE, name, help)
#include "core/shape/members.def"
#include "core/op/fields.def"
#include "core/op/rows.def"
#include "core/op/end.def"
#include "core/shape/end.def"
/* clang-format on */

/* The struct, in the arena, of parameters that were checked; texts are borrowed from them. */
const void *op_fill(struct arena *a, enum op_id id, const value *params);
/* The other way: as they are sent. OP_ASK(a, goal_show, .goal = id). */
value *op_value(struct arena *a, enum op_id id, const void *params);
#define OP_ASK(a, sym, ...) op_value(a, OP_##sym, &(const struct pr_##sym){ __VA_ARGS__ })
/* Its shape. */
const struct shape *op_shape(enum op_id id);
