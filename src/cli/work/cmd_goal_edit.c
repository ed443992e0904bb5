/* Changing goals: what they say, and how they stand. */
#include "base/str.h"
#include "cli/call/command.h"
#include "cli/out/say.h"

/* May it be made empty? What is a list, or a text that is long enough for a file. */
static value *empty_of(struct cli *c, const struct op_param *p)
{
	if (p->type == SHAPE_LIST || p->type == SHAPE_OBJECTS)
		return value_array(c->arena);
	return p->form == FORM_FILE ? value_cstr(c->arena, "") : NULL;
}

/* --clear: a text becomes empty, a list too. */
static int clear_param(struct cli *c, value *params, str name, struct ov_err *err)
{
	const struct op *op = c->command;
	str all = STR("");

	for (size_t i = 0; i < op->params_n; i++) {
		const struct op_param *p = &op->params[i];

		if (!p->name || !empty_of(c, p))
			continue;
		if (str_is(name, p->name)) {
			value_put(c->arena, params, p->name, empty_of(c, p));
			return 0;
		}
		all = arena_printf(c->arena, STR_FMT "%s%s", STR_ARG(all), all.n ? ", " : "",
				p->name);
	}
	return ov_fail(err, OV_EINVALID, "--clear: \"" STR_FMT "\" is not one of " STR_FMT,
			STR_ARG(name), STR_ARG(all));
}

int cmd_goal_update(struct cli *c, struct ov_err *err)
{
	const value *res, *clear = cli_list(c, "clear");
	value *params;
	bool done;
	int r = cli_params(c, &params, err);

	for (size_t i = 0; r == 0 && i < value_count(clear); i++)
		r = clear_param(c, params, value_item(clear, i)->s, err);
	if (r == 0)
		r = cli_ask(c, params, &res, &done, err);
	if (r != 0 || done)
		return r;
	say(&c->out, res,
			"{goal:id*bold} changed:[{?changed} {changed:list}]\n"
			"Next  overseer goal show {goal:id}\n");
	return 0;
}

/* One step of a goal's life: what it is now, what that means, and what may come next. */
static void tell_step(struct cli *c, const value *res, const char *meaning, const char *next)
{
	say(&c->out, res, "{goal:id*bold} is {status}. ");
	out_f(&c->out, "%s\nNext  overseer %s ", meaning, next);
	say(&c->out, res, "{goal:id}\n");
}

void show_goal_pause(struct cli *c, const value *res)
{
	tell_step(c, res,
			cli_has(c, "now") ? "What ran is being stopped; its work is kept."
					  : "Nothing new starts; what runs is brought to a safe "
					    "end, and not accepted.",
			"goal resume");
}

void show_goal_resume(struct cli *c, const value *res)
{
	tell_step(c, res, "It goes on where it stood.", "goal show");
}

void show_goal_cancel(struct cli *c, const value *res)
{
	tell_step(c, res, "Its open nodes are cancelled; what was done is kept.", "goal archive");
}

void show_goal_reopen(struct cli *c, const value *res)
{
	tell_step(c, res, "Open work goes on; else it waits for a plan or a reopened node.",
			"plan show");
}

void show_goal_archive(struct cli *c, const value *res)
{
	tell_step(c, res, "It no longer shows in status.", "goal show");
}
