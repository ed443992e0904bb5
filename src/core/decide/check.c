#include "core/decide/check.h"

#include "base/str.h"
#include "core/capacity/accept_queue.h"
#include "core/model/limits.h"
#include "core/state/state.h"

int text_check(str what, str s, size_t max, struct ov_err *err)
{
	if (s.n > max)
		return ov_fail(err, OV_ELIMIT, STR_FMT " has %zu bytes, at most %zu are allowed",
				STR_ARG(what), s.n, max);
	if (str_find_byte(s, '\0') < s.n)
		return ov_fail(err, OV_EINVALID, STR_FMT " contains a NUL byte", STR_ARG(what));
	return 0;
}

static int list_check(const struct op_param *x, const struct texts *list, struct ov_err *err)
{
	size_t max = x->max ? x->max : LIMIT_LIST;
	int r = 0;

	if (list->n > max)
		return ov_fail(err, OV_ELIMIT, "%s has %zu entries, at most %zu are allowed",
				x->name, list->n, max);
	for (size_t i = 0; r == 0 && i < list->n; i++)
		r = text_check(str_from(x->name), list->p[i], LIMIT_NOTE, err);
	return r;
}

int params_check(enum op_id op, const void *params, struct ov_err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < op_rows[op].params_n; i++) {
		const struct op_param *x = &op_rows[op].params[i];
		const struct shape_field *f = x->name ? shape_find(op_shape(op), str_from(x->name))
						      : NULL;
		const void *at = f ? (const char *)params + f->offset : NULL;

		if (at && x->type == SHAPE_TEXT)
			r = text_check(str_from(x->name), *(const str *)at,
					x->max ? x->max : LIMIT_NOTE, err);
		else if (at && x->type == SHAPE_LIST)
			r = list_check(x, at, err);
	}
	return r;
}

int accept_check(const struct node *n, struct ov_err *err)
{
	if (!accept_is_committed(n->assignment))
		return 0;
	ov_fail(err, OV_ESTATE,
			"node " STR_FMT " is being accepted right now; try again when that is over",
			STR_ARG(n->id));
	return ov_next(err, "overseer explain " STR_FMT, STR_ARG(n->key));
}

int leaf_check(const struct node *n, struct ov_err *err)
{
	if (node_is_leaf(n))
		return 0;
	ov_fail(err, OV_ESTATE, "node " STR_FMT " has children: its status follows from theirs",
			STR_ARG(n->id));
	return ov_next(err, "overseer plan show " STR_FMT, STR_ARG(n->goal->id));
}
