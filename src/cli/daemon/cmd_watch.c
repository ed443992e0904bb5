/*
 * The watchdog, from here to its start: the configuration is read and checked now, while somebody
 * looks on, and all that the watchdog needs of it is handed over in memory. What becomes of the
 * file later is no concern of a watchdog that runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/launch/environment.h"
#include "agent/table/formats.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/utf8.h"
#include "cli/call/child.h"
#include "cli/call/command.h"
#include "cli/daemon/daemon.h"
#include "cli/daemon/trust.h"
#include "core/config/command_env.h"
#include "core/config/config.h"
#include "data/value/json.h"
#include "sys/file/file.h"
#include "watch/guard/spec.h"

extern char **environ;

enum { CONFIG_MAX = 1024 * 1024 };

struct watch {
	struct cli *c;
	const struct config *config;
	const char *dir, *repo; /* absolute */
	const char *overseer;
	const char *const *options; /* of the daemon */
	size_t options_n;
};

static void put_watch_text(struct watch *w, value *v, const char *key, str text)
{
	value_put(w->c->arena, v, key, value_str(w->c->arena, text));
}

/* ---- the configuration ---- */

static int read_config(struct watch *w, struct config **ret, struct ov_err *err)
{
	const char *path = path_join(w->c->arena, w->dir, "config.toml");
	const char **sets = arena_array(w->c->arena, const char *, w->options_n + 1);
	size_t n = 0;
	str text = STR("");
	int r = file_read(w->c->arena, path, CONFIG_MAX, &text, err);

	for (size_t i = 1; i < w->options_n; i++)
		if (strcmp(w->options[i - 1], "--set") == 0)
			sets[n++] = w->options[i++];
	if (r == 0 || r == OV_ENOTFOUND)
		r = config_parse_with(text, sets, n, ret, err);
	if (r == 0)
		return 0;
	ov_wrap(err, r, "%s", path);
	return ov_next(err, "overseer config check");
}

/* ---- how the daemon is started ---- */

/* The options become "$@", so that a command of the configuration has them too. */
static str start_command(struct watch *w)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	str configured = w->config->watch.start_command;

	if (w->options_n) {
		buf_adds(&b, STR("set --"));
		for (size_t i = 0; i < w->options_n; i++) {
			buf_addc(&b, ' ');
			buf_add_word(&b, str_from(w->options[i]));
		}
		buf_addc(&b, '\n');
	}
	if (configured.n) {
		buf_adds(&b, configured);
	} else {
		buf_adds(&b, STR("exec "));
		/*
		 * By its name, so that a new version is found; by its place where it has no name.
		 */
		if (program_in_path(w->c->arena, "overseer"))
			buf_adds(&b, STR("overseer"));
		else
			buf_add_word(&b, str_from(w->overseer));
		buf_adds(&b, STR(" up --foreground --dir \"$OVERSEER_DIR\" \"$@\""));
	}
	return arena_str(w->c->arena, buf_str(&b));
}

/* ---- who mends ---- */

struct mender {
	str name;
	const char *const *argv, *const *env;
	const char *cwd, *prompt_file;
	bool prompt_on_stdin;
};

static int find_cwd(struct watch *w, struct mender *m, struct ov_err *err)
{
	str dir = w->config->watch.remediation_dir;
	const char *path = dir.n ? arena_cstr(w->c->arena, dir) : w->repo;
	char real[PATH_MAX];
	struct stat st;

	if (path[0] != '/')
		path = path_join(w->c->arena, w->repo, path);
	if (!realpath(path, real) || stat(real, &st) < 0)
		return ov_fail(err, OV_ENOTFOUND, "watch.remediation_dir: %s: %s", path,
				strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return ov_fail(err, OV_EINVALID, "watch.remediation_dir: %s is not a folder", path);
	m->cwd = arena_cstr(w->c->arena, str_from(real));
	return 0;
}

static struct launch_ask how_to(struct watch *w, const struct config_agent *agent,
		const struct tool_scope *scope, const struct mender *m)
{
	struct launch_ask ask = {
		.format = format_find(agent->format),
		.command = agent->command,
		.command_n = agent->command_n,
		.model = agent->model,
		.permission_mode = agent->permission_mode,
		.max_turns = agent->max_turns,
		.prompt_by = agent->prompt_by,
		.prompt = STR(REMEDY_PROMPT),
		.prompt_file = m->prompt_file,
		.scope = agent->tools_n || agent->tools_deny_n ? scope : NULL,
		.run_dir = w->dir,
		.worktree = m->cwd,
	};
	const char *git = path_join(w->c->arena, w->repo, ".git");

	if (file_exists(git))
		ask.git_dir = ask.git_common_dir = git;
	return ask;
}

/* In its own PATH, as it will be looked for. Better missed now than at night. */
static int check_program(struct watch *w, const struct mender *m, struct ov_err *err)
{
	const char *program = m->argv[0], *path = getenv("PATH");

	for (size_t i = 0; m->env[i]; i++)
		if (str_starts(str_from(m->env[i]), STR("PATH=")))
			path = m->env[i] + strlen("PATH=");
	if (strchr(program, '/') ? program[0] != '/' || file_can_run(program)
				 : file_in_path(w->c->arena, path, program) != NULL)
		return 0;
	ov_fail(err, OV_ENOTFOUND, "watch.remediation_agent: its program %s was not found",
			program);
	return ov_next(err, "overseer agent list");
}

static int by_agent(struct watch *w, struct mender *m, struct ov_err *err)
{
	const struct config_agent *agent = config_agent(w->config,
			w->config->watch.remediation_agent);
	const struct tool_scope scope = { agent->tools_n ? agent->tools : NULL, agent->tools_n,
		agent->tools_deny, agent->tools_deny_n };
	const struct launch_ask ask = how_to(w, agent, &scope, m);
	const struct env_pair own[] = {
		{ STR("OVERSEER_DIR"), str_from(w->dir) },
		{ STR("OVERSEER_PROMPT_FILE"), str_from(m->prompt_file) },
	};
	struct launch launch;
	int r = launch_build(w->c->arena, &ask, &launch, err);

	if (r < 0)
		return ov_wrap(err, r, "watch.remediation_agent");
	if (launch.files_n)
		return ov_fail(err, OV_EINVALID,
				"watch.remediation_agent: the tools of \"" STR_FMT
				"\" are narrowed by a file of each run; name an agent without "
				"tools and tools_deny",
				STR_ARG(agent->name));
	m->name = agent->name;
	m->argv = launch.argv;
	m->prompt_on_stdin = launch.input.n > 0;
	m->env = environment_build(w->c->arena,
			&(struct environment_ask){ .pass = agent->env_pass,
					.pass_n = agent->env_pass_n,
					.get = getenv,
					.launch = &launch,
					.configured = agent->env,
					.configured_n = agent->env_n,
					.own = own,
					.own_n = ARRAY_LEN(own) });
	return check_program(w, m, err);
}

/* A command has our environment as others of the configuration have the daemon's. */
static void by_command(struct watch *w, struct mender *m)
{
	struct arena *a = w->c->arena;
	const char **argv = arena_array(a, const char *, 4);
	const char *own[] = { arena_printf(a, "OVERSEER_DIR=%s", w->dir).p,
		arena_printf(a, "OVERSEER_PROMPT_FILE=%s", m->prompt_file).p };

	argv[0] = "/bin/sh";
	argv[1] = "-c";
	argv[2] = arena_cstr(a, w->config->watch.remediation_command);
	m->name = STR("remediation_command");
	m->argv = argv;
	m->env = command_env(a, w->config, environ, own, ARRAY_LEN(own));
	m->prompt_on_stdin = true;
}

/* What is not UTF-8 is no text of JSON, and is left out. */
static value *words_value(struct watch *w, const char *const *words)
{
	value *list = value_array(w->c->arena);

	for (; *words; words++)
		if (utf8_valid(str_from(*words)))
			value_push(w->c->arena, list, value_cstr(w->c->arena, *words));
	return list;
}

static int remedy_value(struct watch *w, value **ret, struct ov_err *err)
{
	const struct config_watch *from = &w->config->watch;
	struct arena *a = w->c->arena;
	struct mender m = { .prompt_file = path_join(a, w->dir, "remediation_prompt.txt") };
	value *v = value_object(a);
	int r;

	*ret = value_null(a);
	if (!from->remediation_agent.n && !from->remediation_command.n)
		return 0;
	r = find_cwd(w, &m, err);
	if (r == 0 && from->remediation_agent.n)
		r = by_agent(w, &m, err);
	else if (r == 0)
		by_command(w, &m);
	if (r < 0)
		return r;
	put_watch_text(w, v, "name", m.name);
	value_put(a, v, "argv", words_value(w, m.argv));
	value_put(a, v, "env", words_value(w, m.env));
	put_watch_text(w, v, "cwd", str_from(m.cwd));
	value_put(a, v, "prompt_on_stdin", value_bool(a, m.prompt_on_stdin));
	put_watch_text(w, v, "prompt_file", str_from(m.prompt_file));
	*ret = v;
	return 0;
}

/* ---- handing it over ---- */

static int spec_value(struct watch *w, value **ret, struct ov_err *err)
{
	const struct config_watch *from = &w->config->watch;
	struct arena *a = w->c->arena;
	value *v = value_object(a), *numbers = value_object(a), *remedy;
	int r = remedy_value(w, &remedy, err);

	if (r < 0)
		return r;
	put_watch_text(w, v, "dir", str_from(w->dir));
	put_watch_text(w, v, "repo", str_from(w->repo));
	put_watch_text(w, v, "overseer", str_from(w->overseer));
	put_watch_text(w, v, "start_command", start_command(w));
#define PUT_TIME(name) value_put(a, numbers, #name "_ms", value_int(a, from->name));
	SPEC_TIMES(PUT_TIME)
#undef PUT_TIME
	value_put(a, numbers, "max_restarts", value_int(a, from->max_restarts));
	put_watch_text(w, numbers, "remediation_prompt", from->remediation_prompt);
	value_put(a, v, "watch", numbers);
	value_put(a, v, "remedy", remedy);
	*ret = v;
	return 0;
}

/* In memory: an environment may hold what must not be on disk or in a list of processes. */
static int spec_fd(struct watch *w, const value *spec, int *ret, struct ov_err *err)
{
	str text = json_text(w->c->arena, spec);
	int fd, r;

	if (text.n > SPEC_MAX)
		return ov_fail(err, OV_ELIMIT, "the environment is too large for a watchdog");
	r = file_in_memory(text, &fd, err);
	if (r == 0 && fcntl(fd, F_SETFD, 0) < 0)
		r = ov_fail_errno(err, errno, "a file in memory");
	if (r < 0)
		return ov_wrap(err, r, "handing the configuration to the watchdog");
	*ret = fd;
	return 0;
}

static int prepare(struct watch *w, struct config **config, struct ov_err *err)
{
	struct cli *c = w->c;
	char real[PATH_MAX];
	int r = cli_store(c, err);

	if (r < 0)
		return r;
	if (!realpath(c->client.dir, real))
		return ov_fail_errno(err, errno, "%s", c->client.dir);
	w->dir = arena_cstr(c->arena, str_from(real));
	r = store_trusted(c->arena, w->dir, err);
	if (r < 0)
		return r;
	if (!realpath(path_join(c->arena, w->dir, ".."), real))
		return ov_fail_errno(err, errno, "the folder above %s", w->dir);
	w->repo = arena_cstr(c->arena, str_from(real));
	r = daemon_options(c, &w->options, &w->options_n, err);
	if (r == 0)
		r = program_own(c->arena, &w->overseer, err);
	if (r == 0)
		r = read_config(w, config, err);
	w->config = r == 0 ? *config : NULL;
	/* The daemon would refuse that as well, but after a while, and be mended for it. */
	if (r == 0 && cli_has(c, "auto"))
		r = config_check_auto(w->config, "overseer watch --auto", err);
	return r;
}

int cmd_watch(struct cli *c, struct ov_err *err)
{
	struct watch w = { .c = c };
	struct config *config = NULL;
	const char *program, *argv[4] = { NULL };
	value *spec;
	int fd = -1, r = prepare(&w, &config, err);

	if (r == 0)
		r = program_find(c->arena, "overseer-watch", "OVERSEER_WATCH", &program, err);
	if (r == 0)
		r = spec_value(&w, &spec, err);
	if (r == 0)
		r = spec_fd(&w, spec, &fd, err);
	if (r == 0) {
		argv[0] = program;
		argv[1] = "--spec-fd";
		argv[2] = arena_printf(c->arena, "%d", fd).p;
		execv(program, (char *const *)argv);
		r = ov_fail_errno(err, errno, "starting %s", program);
	}
	config_free(config);
	return r;
}
