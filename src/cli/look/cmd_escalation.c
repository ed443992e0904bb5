/* Trying the channels by which people outside are told. */
#include "base/str.h"
#include "cli/call/command.h"

void show_escalation_test(struct cli *c, const value *res)
{
	struct out *o = &c->out;

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
}
