#include "agent/table/hook_scope.h"

#include "agent/table/formats.h"
#include "base/err.h"
#include "data/value/json.h"

int hook_scope_read(struct arena *a, str text, const struct agent_format **ret_format,
		struct tool_scope *ret, struct ov_err *err)
{
	static const struct json_limits limits = { .max_bytes = HOOK_FILE_MAX };
	static const char *const keys[] = { "format", "allow", "deny" };
	const struct agent_format *f;
	struct tool_scope s;
	value *v;
	int r = json_parse(a, text, &limits, &v, err);

	if (r < 0)
		return r;
	f = format_find(value_str_at(v, "format"));
	if (!f)
		return ov_fail(err, OV_EINVALID, "a scope names no format of an agent");
	r = value_only_keys(v, STR(""), keys, ARRAY_LEN(keys), err);
	if (r == 0)
		r = tool_scope_read(a, v, &s, err);
	if (r < 0)
		return r;
	*ret_format = f;
	*ret = s;
	return 0;
}
