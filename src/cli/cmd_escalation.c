/* Trying the channels by which people outside are told. */
#include "base/str.h"
#include "cli/command.h"

int cmd_escalation_test(struct cli *c, struct ov_err *err)
{
	struct out *o = &c->out;
	value *params = value_object(c->arena);
	const value *res;
	bool done;
	int r;

	/* As long as the longest attempt that can be configured. */
	if (!cli_has(c, "timeout"))
		c->timeout_ms = c->client.timeout_ms = 15 * OV_MINUTE;
	value_put(c->arena, params, "channel", value_str(c->arena, c->args[0]));
	cli_param(c, params, "level", "level");
	r = cli_call(c, CALL_CHILD, "escalation.test", params, &res, &done, err);
	if (r < 0 || done)
		return r;
	out_styled(o, S_GREEN, STR("sent"));
	out_f(o, "  through ");
	out_text(o, value_str_at(res, "channel"));
	out_f(o, " (");
	out_text(o, value_str_at(res, "type"));
	out_f(o, ")");
	if (value_str_at(res, "ref").n) {
		out_f(o, ": ");
		out_text(o, value_str_at(res, "ref"));
	}
	out_f(o, "\n");
	return 0;
}
