/* Trying the channels by which people outside are told. */
#include "cli/call/command.h"
#include "cli/out/say.h"

void show_escalation_test(struct cli *c, const value *res)
{
	out_styled(&c->out, S_GREEN, STR("sent"));
	say(&c->out, res, "  through {channel} ({type})[{?ref}: {ref}]\n");
}
