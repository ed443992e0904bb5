#include "agent/table/formats.h"
#include "base/buf.h"
#include "base/str.h"
#include "cli/call/command.h"
#include "cli/daemon/init_find.h"
#include "cli/daemon/trust.h"
#include "core/config/config.h"
#include "data/value/json.h"
#include "sys/file/file.h"

enum { EXCLUDE_MAX = 1024 * 1024, CONFIG_MAX = 1024 * 1024 };

struct init {
	struct repo repo;
	str check;              /* command, or empty */
	const char *check_file; /* that says so */
	const struct found_agent *agents;
	size_t agents_n;
	const struct found_agent *usual; /* the first that works; NULL: none */
	const char *dir, *config;
	bool wrote_config;
	bool unchecked; /* as the file says: finished work waits for a person */
};

static void add_agent(struct buf *b, const struct found_agent *f)
{
	/* One that does not work stays as a suggestion. */
	const char *off = f->problem.n ? "#" : "";

	buf_addf(b, "\n# %s" STR_FMT STR_FMT "\n%s[agents.%s]\n%sformat = \"%s\"\n",
			f->format->title, STR_ARG(f->version.n ? STR(" ") : STR("")),
			STR_ARG(f->version), off, f->format->name, off, f->format->name);
	if (f->problem.n)
		buf_addf(b, "# It was found but does not work: " STR_FMT ".\n",
				STR_ARG(f->problem));
	if (f->warning.n)
		buf_addf(b, "# " STR_FMT ".\n", STR_ARG(f->warning));
	config_template_agent(b);
}

static str quoted(struct arena *a, str s)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	json_write_string(&b, s);
	return arena_str(a, buf_str(&b));
}

static void add_example(struct buf *b)
{
	buf_adds(b, STR("# Known by name:"));
	for (size_t i = 0; agent_format_names[i]; i++)
		if (agent_formats[i].program)
			buf_addf(b, " %s", agent_format_names[i]);
	buf_adds(b,
			STR(". Any other command:\n"
			    "#[agents.mine]\n"
			    "#command = [\"/path/to/agent\"]\n"
			    "#\n"
			    "#[agents.claude]\n"
			    "#format = \"claude\"\n"));
}

/* What is known goes to its section, the agents to the end. */
static void add_findings(struct arena *a, const struct init *in, struct buf *b)
{
	struct config_found found[2];
	size_t n = 0;

	if (in->check.n)
		found[n++] = (struct config_found){ "workspace.check_command",
			quoted(a, in->check) };
	if (in->usual)
		found[n++] = (struct config_found){ "defaults.agent",
			quoted(a, str_from(in->usual->format->name)) };
	config_template(b, found, n);
	buf_addf(b,
			"\n# Agents. A run is one process; it gets the prompt on its standard "
			"input and works in a\n"
			"# worktree of its own. %s\n",
			in->agents_n ? "These were found on this machine."
				     : "None was found on this machine; this is how one is "
				       "written.");
	if (!in->agents_n)
		add_example(b);
	for (size_t i = 0; i < in->agents_n; i++)
		add_agent(b, &in->agents[i]);
}

static int write_config(struct cli *c, struct init *in, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	struct config *config;
	int r;

	if (file_exists(in->config))
		return 0;
	add_findings(c->arena, in, &b);
	r = config_parse(buf_str(&b), &config, err);
	if (r < 0)
		return ov_wrap(err, OV_EINTERNAL, "the configuration that was to be written");
	config_free(config);
	r = file_create_atomic(in->config, buf_str(&b), 0600, err);
	if (r == OV_ECONFLICT)
		return 0; /* another init was quicker: its file is kept */
	in->wrote_config = r == 0;
	return r;
}

/* A file that cannot be read or is wrong is none of init's business: `config check` tells. */
static void look_at_checks(struct cli *c, struct init *in)
{
	struct config *config;
	str text;

	if (file_read(c->arena, in->config, CONFIG_MAX, &text, NULL) < 0 ||
			config_parse(text, &config, NULL) < 0)
		return;
	in->unchecked = policy_waits_unchecked(&config->policy, false);
	if (!in->wrote_config) {
		in->check = arena_str(c->arena, config->policy.check_command);
		in->check_file = "config.toml";
	}
	config_free(config);
}

static bool has_line(str text, str want)
{
	str line;

	while (str_split(&text, '\n', &line))
		if (str_eq(str_trim(line), want))
			return true;
	return false;
}

/* git ignores our folder in every work tree of the repository. */
static int write_exclude(struct cli *c, const struct init *in, struct ov_err *err)
{
	const char *info = path_join(c->arena, in->repo.common_dir, "info"),
		   *path = path_join(c->arena, info, "exclude");
	str old = STR(""), text;
	int r = dir_make(info, 0755, err);

	if (r == 0)
		r = file_read(c->arena, path, EXCLUDE_MAX, &old, err);
	if (r == OV_ENOTFOUND)
		r = 0;
	if (r < 0 || has_line(old, STR("/.overseer/")))
		return r;
	text = arena_printf(c->arena, STR_FMT "%s/.overseer/\n", STR_ARG(old),
			old.n && old.p[old.n - 1] != '\n' ? "\n" : "");
	return file_write_atomic(path, text, 0644, err);
}

static int look(struct cli *c, struct init *in, struct ov_err *err)
{
	int r = repo_detect(c->arena, c->dir, &in->repo, err);

	if (r < 0)
		return r;
	if (str_contains(str_from(in->repo.top), STR("/.overseer/")))
		return ov_fail(err, OV_ESTATE,
				"%s is a worktree of Overseer's own; it belongs to the store above "
				"it",
				in->repo.top);
	in->dir = path_join(c->arena, in->repo.top, ".overseer");
	in->config = path_join(c->arena, in->dir, "config.toml");
	in->check = check_detect(c->arena, in->repo.top, &in->check_file);
	in->agents_n = agents_detect(c->arena, &in->agents);
	for (size_t i = 0; i < in->agents_n && !in->usual; i++)
		if (in->agents[i].problem.n == 0)
			in->usual = &in->agents[i];
	return 0;
}

static void label(struct out *o, const char *name)
{
	cell(o, S_BOLD, str_from(name));
}

/* What we get from it: "hooks, resume, tools, cost". */
static str features(struct arena *a, const struct agent_format *f)
{
	const struct {
		bool has;
		const char *name;
	} all[] = { { f->hooks, "hooks" }, { f->resumes, "resume" }, { f->scoped, "tool scope" },
		{ f->costs, "cost" } };
	str s = STR("");

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i].has)
			s = arena_printf(a, STR_FMT "%s%s", STR_ARG(s), s.n ? ", " : "",
					all[i].name);
	return s;
}

static void tell_none(struct out *o)
{
	label(o, "Agents");
	cell(o, S_PLAIN,
			STR("none of claude, codex, gemini, opencode is in PATH; any "
			    "command will do:"));
	row_end(o);
	label(o, "");
	cell(o, S_PLAIN, STR("[agents.mine]  command = [\"/path/to/agent\"]"));
	row_end(o);
}

static void tell_agents(struct cli *c, const struct init *in)
{
	struct out *o = &c->out;

	for (size_t i = 0; i < in->agents_n; i++) {
		const struct found_agent *f = &in->agents[i];

		label(o, i ? "" : "Agents");
		if (f->problem.n)
			cell_f(o, S_YELLOW, "%s does not work: " STR_FMT, f->format->name,
					STR_ARG(f->problem));
		else
			cell_f(o, S_PLAIN, "%s " STR_FMT "  (" STR_FMT ")%s%s%s%s", f->format->name,
					STR_ARG(f->version.n ? f->version
							     : STR("(version unknown)")),
					STR_ARG(features(c->arena, f->format)),
					in->wrote_config ? "  -> [agents." : "",
					in->wrote_config ? f->format->name : "",
					in->wrote_config ? "]" : "",
					in->wrote_config && f == in->usual ? "  (default)" : "");
		row_end(o);
		if (f->warning.n) {
			label(o, "");
			cell_f(o, S_YELLOW, "%s: " STR_FMT, f->format->name, STR_ARG(f->warning));
			row_end(o);
		}
	}
	if (in->agents_n == 0)
		tell_none(o);
}

static void tell_next(struct cli *c, const struct init *in)
{
	struct out *o = &c->out;

	label(o, "Next");
	if (in->wrote_config && !in->usual) {
		cell(o, S_PLAIN, STR("edit .overseer/config.toml    name an agent: [agents.NAME]"));
		row_end(o);
		label(o, "");
	}
	if (!in->repo.has_commit) {
		cell(o, S_PLAIN, STR("git commit                    agents start from a commit"));
		row_end(o);
		label(o, "");
	}
	if (in->wrote_config && in->usual) {
		cell_f(o, S_PLAIN, "%-30stry it on a toy task",
				arena_cstr(c->arena,
						arena_printf(c->arena, "overseer agent test %s",
								in->usual->format->name)));
		row_end(o);
		label(o, "");
	}
	if (in->unchecked) {
		cell(o, S_PLAIN,
				STR("edit .overseer/config.toml    set a check: "
				    "workspace.check_command"));
		row_end(o);
		label(o, "");
	}
	cell(o, S_PLAIN, STR("overseer up                   start the daemon"));
	row_end(o);
}

static void tell_prepared(struct cli *c, const struct init *in)
{
	struct out *o = &c->out;
	str top = str_from(in->repo.top);
	size_t slash = top.n;

	while (slash > 0 && top.p[slash - 1] != '/')
		slash--;
	label(o, "Repository");
	cell_f(o, S_PLAIN, STR_FMT " (%s" STR_FMT ", %s)", STR_ARG(str_sub(top, slash, top.n)),
			in->repo.branch.n ? "branch " : "",
			STR_ARG(in->repo.branch.n ? in->repo.branch : STR("detached")),
			!in->repo.has_commit             ? "no commit yet"
					: in->repo.clean ? "clean"
							 : "with uncommitted changes");
	row_end(o);
	tell_agents(c, in);
	label(o, "Checks");
	if (in->check.n)
		cell_f(o, S_PLAIN, STR_FMT "  (found in %s)%s", STR_ARG(in->check), in->check_file,
				in->wrote_config ? "  -> workspace.check_command" : "");
	else if (in->unchecked)
		cell(o, S_YELLOW, STR(UNCHECKED_NOTE));
	else
		cell(o, S_PLAIN, STR("workspace.check_command is not set"));
	row_end(o);
	label(o, in->wrote_config ? "Wrote" : "Kept");
	cell(o, S_PLAIN,
			in->wrote_config ? STR(".overseer/config.toml  (git ignores .overseer/)")
					 : STR(".overseer/config.toml  (it exists and was not "
					       "changed)"));
	row_end(o);
	tell_next(c, in);
	table_end(o, "");
}

static value *agent_value(struct arena *a, const struct found_agent *f)
{
	value *v = value_object(a);

	value_put(a, v, "name", value_cstr(a, f->format->name));
	value_put(a, v, "title", value_cstr(a, f->format->title));
	value_put(a, v, "path", value_cstr(a, f->path));
	value_put(a, v, "version", f->version.n ? value_str(a, f->version) : value_null(a));
	value_put(a, v, "warning", f->warning.n ? value_str(a, f->warning) : value_null(a));
	value_put(a, v, "problem", f->problem.n ? value_str(a, f->problem) : value_null(a));
	return v;
}

static void tell_json(struct cli *c, const struct init *in)
{
	struct arena *a = c->arena;
	value *v = value_object(a), *agents = value_array(a);

	for (size_t i = 0; i < in->agents_n; i++)
		value_push(a, agents, agent_value(a, &in->agents[i]));
	value_put(a, v, "repository", value_cstr(a, in->repo.top));
	value_put(a, v, "branch", value_str(a, in->repo.branch));
	value_put(a, v, "clean", value_bool(a, in->repo.clean));
	value_put(a, v, "dir", value_cstr(a, in->dir));
	value_put(a, v, "config", value_cstr(a, in->config));
	value_put(a, v, "created", value_bool(a, in->wrote_config));
	value_put(a, v, "agents", agents);
	value_put(a, v, "default_agent",
			in->wrote_config && in->usual ? value_cstr(a, in->usual->format->name)
						      : value_null(a));
	value_put(a, v, "check_command", value_str(a, in->check));
	value_put(a, v, "unchecked_waits", value_bool(a, in->unchecked));
	out_json(&c->out, v);
}

int cmd_init(struct cli *c, struct ov_err *err)
{
	struct init in = { 0 };
	int r = look(c, &in, err);

	if (r == 0)
		r = store_shown(c->arena, in.dir, err);
	if (r == 0)
		r = store_trusted(c->arena, in.dir, err);
	if (r == 0)
		r = dir_make(in.dir, 0700, err);
	if (r == 0)
		r = write_exclude(c, &in, err);
	if (r == 0)
		r = write_config(c, &in, err);
	if (r < 0)
		return r;
	look_at_checks(c, &in);
	if (c->json)
		tell_json(c, &in);
	else
		tell_prepared(c, &in);
	return 0;
}
