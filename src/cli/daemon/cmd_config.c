#include <stdlib.h>

#include "base/str.h"
#include "cli/call/input.h"
#include "cli/out/say.h"
#include "core/config/config.h"
#include "data/value/json.h"
#include "sys/file/file.h"

enum { CONFIG_MAX = 1024 * 1024 };

void show_config_show(struct cli *c, const value *res)
{
	const value *options;
	struct out *o = &c->out;
	size_t shown = 0;

	out_styled(o, S_DIM, value_str_at(res, "file"));
	out_f(o, "\n");
	options = value_at(res, "options");
	for (size_t i = 0; options && options->kind == V_OBJECT && i < options->object.n; i++) {
		const struct member *m = &options->object.members[i];
		bool set = value_bool_at(m->value, "set");

		if (!set && !cli_has(c, "effective"))
			continue;
		cell(o, set ? S_BOLD : S_PLAIN, m->key);
		cell_f(o, S_PLAIN, "= " STR_FMT,
				STR_ARG(json_text(c->arena, value_at(m->value, "value"))));
		cell(o, S_DIM, set ? STR("(set)") : STR(""));
		row_end(o);
		shown++;
	}
	table_end(o, "");
	if (shown == 0)
		out_f(o, "Every option has its default.  Next: overseer config show --effective\n");
}

static value *problem_list(struct cli *c, const struct ov_err *e)
{
	value *list = value_array(c->arena);
	str rest = arena_str(c->arena, str_from(e->msg)), line;

	while (str_split(&rest, '\n', &line))
		if (str_trim(line).n)
			value_push(c->arena, list, value_str(c->arena, str_trim(line)));
	return list;
}

/* A name relative to the worktree is known only when there is one. */
static void note_programs(struct cli *c, const struct config *config, value *notes)
{
	struct arena *a = c->arena;

	for (size_t i = 0; i < config->agents_n; i++) {
		const struct config_agent *agent = &config->agents[i];
		str path = config_agent_path(agent, str_from(getenv("PATH")));
		const char *name = arena_cstr(a, agent->command[0]);

		if ((strchr(name, '/') && name[0] != '/') ||
				file_program(a, arena_cstr(a, path), name))
			continue;
		value_push(a, notes,
				value_strf(a, "warning: " STR_FMT "\nNext: " STR_FMT,
						STR_ARG(config_program_missing(a, agent)),
						STR_ARG(config_program_next(a, agent))));
	}
}

static value *note_list(struct cli *c, const struct config *config)
{
	value *list = value_array(c->arena);
	str nobody = config ? policy_no_default(c->arena, &config->policy) : STR("");

	for (size_t i = 0; config && i < config->obsolete_n; i++)
		value_push(c->arena, list,
				value_str(c->arena, arena_str(c->arena, config->obsolete[i])));
	if (nobody.n)
		value_push(c->arena, list,
				value_strf(c->arena,
						"warning: " STR_FMT "; a task that names no agent "
						"cannot start\nNext: " NO_AGENT_NEXT,
						STR_ARG(nobody)));
	if (config)
		note_programs(c, config, list);
	return list;
}

static void tell_check(struct cli *c, str path, const value *problems, const value *notes,
		size_t agents)
{
	struct out *o = &c->out;
	size_t n = value_count(problems);

	if (c->json) {
		value *v = value_object(c->arena);

		value_put(c->arena, v, "file", value_str(c->arena, path));
		value_put(c->arena, v, "ok", value_bool(c->arena, n == 0));
		value_put(c->arena, v, "problems", value_share(problems));
		value_put(c->arena, v, "notes", value_share(notes));
		out_json(o, v);
		return;
	}
	out_text(o, path);
	if (n == 0)
		out_f(o, ": %s, %zu agent%s\n", value_count(notes) ? "valid" : "good", agents,
				agents == 1 ? "" : "s");
	else
		out_f(o, ": %zu problem%s\n", n, n == 1 ? "" : "s");
	for (size_t i = 0; i < n; i++)
		out_lines(o, "  ", value_str_or(value_item(problems, i), STR("")));
	for (size_t i = 0; i < value_count(notes); i++)
		out_lines(o, "  ", value_str_or(value_item(notes, i), STR("")));
}

int cmd_config_check(struct cli *c, struct ov_err *err)
{
	struct config *config = NULL;
	struct ov_err found = { 0 };
	str path = c->args[0], toml;
	int r;

	if (c->args_n == 0) {
		r = cli_store(c, err);
		if (r < 0)
			return r;
		path = str_from(path_join(c->arena, c->client.dir, "config.toml"));
	}
	r = input_read(c, path, CONFIG_MAX, &toml, err);
	if (r < 0)
		return r;
	r = config_parse(toml, &config, &found);
	tell_check(c, path, problem_list(c, &found), note_list(c, r < 0 ? NULL : config),
			r < 0 ? 0 : config->agents_n);
	if (r == 0)
		config_free(config);
	return r < 0 ? ov_code_info(OV_EINVALID)->exit_status : 0;
}

void show_config_reload(struct cli *c, const value *res _unused_)
{
	out_f(&c->out, "The daemon uses the configuration as it is now.\n");
}

static const struct column decision_columns[] = {
	{ "[{node}|{goal:id}]", .style = S_BOLD },
	{ "{decision}", .style = S_CYAN },
	{ .text = "{agent}" },
	{ .text = "{worker}" },
	{ "{why}", .style = S_DIM },
};

void show_tick_now(struct cli *c, const value *res)
{
	const value *list = value_at(res, "decisions");
	struct out *o = &c->out;

	out_f(o, "%zu decision%s%s", value_count(list), value_count(list) == 1 ? "" : "s",
			cli_has(c, "dry-run") ? ", none of them carried out" : "");
	say(o, res, "[{?wake_at}; looks again {wake_at:until}]\n");
	say_table(o, list, decision_columns, "  ");
}
