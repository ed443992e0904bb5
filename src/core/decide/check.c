#include "core/decide/check.h"

#include "base/str.h"
#include "core/capacity/accept_queue.h"
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

int accept_check(const struct node *n, struct ov_err *err)
{
	if (!accept_is_committed(n->assignment))
		return 0;
	ov_fail(err, OV_ESTATE,
			"node " STR_FMT " is being accepted right now; try again when that is over",
			STR_ARG(n->id));
	ov_next(err, "overseer explain " STR_FMT, STR_ARG(n->key));
	return OV_ESTATE;
}

int leaf_check(const struct node *n, struct ov_err *err)
{
	if (node_is_leaf(n))
		return 0;
	ov_fail(err, OV_ESTATE, "node " STR_FMT " has children: its status follows from theirs",
			STR_ARG(n->id));
	ov_next(err, "overseer plan show " STR_FMT, STR_ARG(n->goal->id));
	return OV_ESTATE;
}
