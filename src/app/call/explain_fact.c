#include "app/call/explain_fact.h"

value *explain_fact(struct arena *a, int64_t seq, ov_time at, const char *type, str text,
		bool minor)
{
	value *f = value_object(a);

	value_put(a, f, "seq", value_int(a, seq));
	value_put(a, f, "at", value_time(a, at));
	value_put(a, f, "type", value_cstr(a, type));
	value_put(a, f, "text", value_str(a, text));
	value_put(a, f, "minor", value_bool(a, minor));
	return f;
}
