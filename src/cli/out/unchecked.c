#include "cli/out/unchecked.h"

#include "base/str.h"
#include "core/config/config.h"
void tell_unchecked(struct out *o, const value *v)
{
	int64_t waits = value_int_at(v, "unchecked_waits"),
		open = value_int_at(value_at(v, "progress"), "leaves") -
			value_int_at(value_at(v, "progress"), "done") -
			value_int_at(value_at(v, "progress"), "cancelled");

	if (!waits && !value_bool_at(v, "unchecked_waits"))
		return;
	if (waits && waits < open)
		out_f(o,
				"%lld of %lld tasks have no check: their finished work will wait "
				"for your review.\n",
				(long long)waits, (long long)open);
	else
		out_f(o, "%s.\n", UNCHECKED_NOTE);
	out_f(o, "Next: %s\n", UNCHECKED_NEXT);
}
