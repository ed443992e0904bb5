/* Running a command: most are one call, whose answer is shown. */
#include <stdio.h>

#include "cli/call/command.h"
#include "version.h"

#define COMMAND_OWN(sym) [OP_##sym] = { .run = cmd_##sym },
#define COMMAND_SHOWN(sym) [OP_##sym] = { .show = show_##sym },
#define OP(sym, needs, who, shown, ...) COMMAND_##shown(sym)
static const struct {
	int (*run)(struct cli *c, struct ov_err *err);
	void (*show)(struct cli *c, const value *answer);
} commands[OP_COUNT] = {
#include "core/op/rows.def"
};

int cli_ask(struct cli *c, const value *params, const value **ret, bool *ret_done,
		struct ov_err *err)
{
	const struct op *cmd = c->command;

	return cli_call(c, cmd->variant ? cmd->variant : op_id(cmd), params, ret, ret_done, err);
}

int command_run(struct cli *c, struct ov_err *err)
{
	enum op_id id = op_id(c->command);
	const value *answer;
	value *params;
	bool done;
	int r;

	if (c->command->wait_ms && !cli_has(c, "timeout"))
		c->timeout_ms = c->client.timeout_ms = c->command->wait_ms;
	if (commands[id].run)
		return commands[id].run(c, err);
	r = cli_params(c, &params, err);
	if (r == 0)
		r = cli_ask(c, params, &answer, &done, err);
	if (r == 0 && !done)
		commands[id].show(c, answer);
	return r;
}

int cli_store(struct cli *c, struct ov_err *err)
{
	return c->client.dir ? 0 : store_find(c->arena, c->dir, &c->client.dir, err);
}

static void note_read_only(struct cli *c)
{
	if (c->json)
		fputs("{\"note\":\"the daemon is not running; this is the state as stored\"}\n",
				stderr);
	else
		fputs("overseer: the daemon is not running; this is the state as stored\n", stderr);
}

int cli_call(struct cli *c, enum op_id op, const value *params, const value **ret, bool *ret_done,
		struct ov_err *err)
{
	int r = cli_store(c, err);
	bool noted = c->client.read_only;

	if (r == 0)
		r = client_call(&c->client, op, params, ret, err);
	if (r < 0)
		return r;
	if (c->client.read_only && !noted)
		note_read_only(c);
	*ret_done = c->json;
	if (c->json) {
		out_json(&c->out, *ret);
	}
	return r;
}

int cmd_version(struct cli *c, struct ov_err *err _unused_)
{
	out_f(&c->out, c->json ? "{\"version\":\"%s\"}\n" : "overseer %s\n", OV_VERSION);
	return 0;
}
