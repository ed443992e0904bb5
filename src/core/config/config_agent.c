/* What the format of an agent asks for: the rest of [agents.NAME] is checked against its row. */
#include "agent/fact/said_limit.h"
#include "agent/table/formats.h"
#include "base/buf.h"
#include "base/str.h"
#include "core/config/config_impl.h"

static str key_of(struct config_reader *r, str path, const char *key)
{
	return arena_printf(&r->c->arena, STR_FMT ".%s", STR_ARG(path), key);
}

static void check_mode(struct config_reader *r, str path, const struct config_agent *agent,
		const struct agent_format *f)
{
	_cleanup_(buf_done) struct buf all = BUF_INIT;

	if (agent->permission_mode.n == 0)
		return;
	for (size_t i = 0; f->permission_modes[i]; i++) {
		if (str_is(agent->permission_mode, f->permission_modes[i]))
			return;
		buf_addf(&all, "%s\"%s\"", i ? ", " : "", f->permission_modes[i]);
	}
	config_problem(r, key_of(r, path, "permission_mode"), "\"" STR_FMT "\" is not one of: %s",
			STR_ARG(agent->permission_mode), buf_cstr(&all));
}

/* What only an agent that we know can be told. */
static void check_raw(struct config_reader *r, str path, const value *doc)
{
	static const char *const keys[] = { "model", "permission_mode", "max_turns" };

	if (!value_at(doc, "command"))
		config_problem(r, key_of(r, path, "command"), "is missing");
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (value_at(doc, keys[i]))
			config_problem(r, key_of(r, path, keys[i]),
					"an agent of format \"raw\" gets it as a word of its "
					"command");
}

static void check_known(struct config_reader *r, str path, const struct config_agent *agent,
		const struct agent_format *f, const value *doc)
{
	if (value_str_at(doc, "command").n)
		config_problem(r, key_of(r, path, "command"),
				"write a list of words, such as [\"%s\"]: options are appended to "
				"it",
				f->program);
	if (agent->input != INPUT_NONE)
		config_problem(r, key_of(r, path, "input"),
				"%s reads nothing more while it runs; leave it out", f->title);
	if (agent->max_turns && !f->limits_turns)
		config_problem(r, key_of(r, path, "max_turns"),
				"%s has no such option; leave it out", f->title);
	check_mode(r, path, agent, f);
}

static bool tag_valid(str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
				    (c && strchr("_-.+#", c))))
			return false;
	}
	return s.n > 0;
}

static void check_card(struct config_reader *r, str path, const struct config_agent *agent)
{
	for (size_t i = 0; i < agent->capabilities_n; i++)
		if (!tag_valid(agent->capabilities[i]))
			config_problem(r,
					arena_printf(&r->c->arena, STR_FMT ".capabilities[%zu]",
							STR_ARG(path), i),
					"a tag has characters of a-z, 0-9 and \"_-.+#\"");
}

static void check_patterns(struct config_reader *r, str path, const char *key, const str *patterns,
		size_t n)
{
	if (n > SAID_PATTERNS_MAX)
		config_problem(r, key_of(r, path, key), "at most %d patterns", SAID_PATTERNS_MAX);
	for (size_t i = 0; i < n; i++) {
		const char *problem = said_pattern_problem(patterns[i]);

		if (problem)
			config_problem(r,
					arena_printf(&r->c->arena, STR_FMT ".%s[%zu]",
							STR_ARG(path), key, i),
					"%s", problem);
	}
}

/* Those of the general list, then those of the format. */
static void add_env_pass(struct config_reader *r, struct config_agent *agent,
		const struct agent_format *f)
{
	size_t more = 0;
	str *names;

	while (f->env_pass && f->env_pass[more])
		more++;
	names = arena_array(&r->c->arena, str, agent->env_pass_n + more + 1);
	memcpy(names, agent->env_pass, agent->env_pass_n * sizeof(*names));
	for (size_t i = 0; i < more; i++)
		names[agent->env_pass_n + i] = str_from(f->env_pass[i]);
	agent->env_pass = names;
	agent->env_pass_n += more;
}

/* What is said about a sandbox that may not be there, or has no such choice, would be believed. */
static void check_sandbox(struct config_reader *r, str path, struct config_agent *agent,
		const value *doc)
{
	static const struct {
		const char *key;
		bool strict; /* of bwrap alone */
	} keys[] = { { "home", true }, { "network", true }, { "sandbox_writable", false } };

	if (agent->sandbox == SANDBOX_DEFAULT)
		agent->sandbox = r->c->default_sandbox;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (value_at(doc, keys[i].key) &&
				(keys[i].strict ? agent->sandbox != SANDBOX_BWRAP
						: agent->sandbox == SANDBOX_NONE))
			config_problem(r, key_of(r, path, keys[i].key), "needs sandbox = %s",
					keys[i].strict ? "\"bwrap\""
						       : "\"auto\", \"fence\" or \"bwrap\"");
	for (size_t i = 0; i < agent->sandbox_writable_n; i++)
		if (!str_starts(agent->sandbox_writable[i], STR("/")))
			config_problem(r, key_of(r, path, "sandbox_writable"),
					"\"" STR_FMT "\" is not an absolute path",
					STR_ARG(agent->sandbox_writable[i]));
}

void config_check_format(struct config_reader *r, str path, struct config_agent *agent,
		const value *doc)
{
	const struct agent_format *f = format_find(agent->format);

	check_card(r, path, agent);
	check_patterns(r, path, "limit_patterns", agent->limit_patterns, agent->limit_patterns_n);
	check_patterns(r, path, "login_patterns", agent->login_patterns, agent->login_patterns_n);
	check_sandbox(r, path, agent, doc);
	if (!f)
		return; /* which was said */
	if (str_is(agent->runtime, "tmux") && !f->terminal)
		config_problem(r, key_of(r, path, "runtime"),
				"%s cannot be run in a terminal: nothing would tell what it does; "
				"use "
				"\"exec\"",
				f->title);
	if (!f->program) {
		check_raw(r, path, doc);
		return;
	}
	check_known(r, path, agent, f, doc);
	if (!value_at(doc, "env_pass"))
		add_env_pass(r, agent, f);
	if (agent->command_n == 0) {
		str *argv = arena_array(&r->c->arena, str, 1);

		argv[0] = str_from(f->program);
		agent->command = argv;
		agent->command_n = 1;
	}
}

str config_agent_path(const struct config_agent *agent, str ours)
{
	str path = STR("");

	for (size_t i = 0; i < agent->env_pass_n; i++)
		if (str_is(agent->env_pass[i], "PATH"))
			path = ours;
	for (size_t i = 0; i < agent->env_n; i++)
		if (str_is(agent->env[i].name, "PATH"))
			path = agent->env[i].value;
	return path;
}

str config_program_missing(struct arena *a, const struct config_agent *agent)
{
	return arena_printf(a, "agent " STR_FMT ": its program " STR_FMT " %s",
			STR_ARG(agent->name), STR_ARG(agent->command[0]),
			memchr(agent->command[0].p, '/', agent->command[0].n)
					? "does not exist or is not executable"
					: "is not in its PATH");
}

str config_program_next(struct arena *a, const struct config_agent *agent)
{
	return arena_printf(a,
			"install " STR_FMT ", or correct agents." STR_FMT
			".command in config.toml, then: overseer agent test " STR_FMT,
			STR_ARG(agent->command[0]), STR_ARG(agent->name), STR_ARG(agent->name));
}
