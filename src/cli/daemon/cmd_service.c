/*
 * A unit by which systemd keeps the daemon running, for those who would not use `overseer watch`.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/call/child.h"
#include "cli/call/command.h"
#include "cli/daemon/service_unit.h"
#include "sys/file/file.h"

enum { CONFIG_MAX = 1024 * 1024, UNIT_MAX = 1024 * 1024 };

struct service {
	str name, quoted;   /* of the unit; as a shell takes it */
	const char *folder; /* where the units of this user are */
	const char *file;
	str there;       /* what the file holds; absent: there is none */
	bool enabled;    /* systemd starts it with the session */
	bool running;    /* a daemon, whoever started it */
	const char *did; /* for people and --json */
};

static int read_config(struct cli *c, struct config **ret, struct ov_err *err)
{
	const char *path = path_join(c->arena, c->client.dir, "config.toml");
	str toml = STR("");
	int r = file_read(c->arena, path, CONFIG_MAX, &toml, err);

	if (r < 0 && r != OV_ENOTFOUND)
		return r;
	r = config_parse(toml, ret, err);
	if (r < 0) {
		ov_wrap(err, r, "%s", path);
		return ov_next(err, "overseer config check");
	}
	return 0;
}

/* The folder above the store's, and its last part. */
static const char *repository(struct cli *c, str *ret_name)
{
	str dir = str_from(c->client.dir);
	size_t end = dir.n, begin;

	while (end > 0 && dir.p[end - 1] != '/')
		end--;
	end = end > 1 ? end - 1 : end;
	for (begin = end; begin > 0 && dir.p[begin - 1] != '/'; begin--)
		;
	*ret_name = str_sub(dir, begin, end - begin);
	return arena_cstr(c->arena, str_sub(dir, 0, end));
}

static str shell_quoted(struct arena *a, str s)
{
	/* A unit's name has no quotes in it, but may have backslashes. */
	return str_find_byte(s, '\\') < s.n ? arena_printf(a, "'" STR_FMT "'", STR_ARG(s)) : s;
}

static int unit_folder(struct cli *c, const char **ret, struct ov_err *err)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (!config || config[0] != '/') {
		if (!home || home[0] != '/') {
			ov_fail(err, OV_ENOTFOUND,
					"neither XDG_CONFIG_HOME nor HOME says where the units of "
					"this user are");
			return ov_next(err, "overseer install-service --print");
		}
		config = path_join(c->arena, home, ".config");
	}
	*ret = path_join(c->arena, config, "systemd/user");
	return 0;
}

static int look(struct cli *c, str repo_name, struct service *s, struct ov_err *err)
{
	str name = cli_has(c, "name") ? cli_flag(c, "name") : repo_name;
	int r = unit_name(c->arena, name, &s->name, err);

	if (r == 0)
		r = unit_folder(c, &s->folder, err);
	if (r < 0)
		return r;
	s->quoted = shell_quoted(c->arena, s->name);
	s->file = path_join(c->arena, s->folder, s->name.p);
	s->enabled = file_exists(path_join(c->arena,
			path_join(c->arena, s->folder, "default.target.wants"), s->name.p));
	r = file_read(c->arena, s->file, UNIT_MAX, &s->there, err);
	if (r == OV_ENOTFOUND)
		s->there = (str){ 0 };
	else if (r < 0)
		return r;
	s->running = client_connect(&c->client, NULL) == 0;
	return 0;
}

static int refuse(struct cli *c, const struct service *s, const char *verb, struct ov_err *err)
{
	if (!unit_is_ours(s->there, NULL))
		ov_fail(err, OV_ECONFLICT, "%s was not written by overseer, and is kept", s->file);
	else if (!unit_is_ours(s->there, c->client.dir))
		ov_fail(err, OV_ECONFLICT, "%s is of another store, and is kept", s->file);
	else
		ov_fail(err, OV_ECONFLICT, "%s differs from what would be written, and is kept",
				s->file);
	if (unit_is_ours(s->there, c->client.dir))
		return ov_next(err,
				"overseer install-service%s --print | diff '%s' -     or     "
				"--force",
				cli_has(c, "auto") ? " --auto" : "", s->file);
	return ov_next(err, "overseer install-service%s --name NAME     or     --force", verb);
}

static int put_unit(struct cli *c, struct service *s, str text, struct ov_err *err)
{
	int r;

	s->did = "unchanged";
	if (str_eq(s->there, text))
		return 0;
	if (s->there.p && !cli_has(c, "force"))
		return refuse(c, s, "", err);
	r = dir_make(s->folder, 0755, err);
	if (r == 0)
		r = file_write_atomic(s->file, text, 0644, err);
	s->did = "written";
	return r;
}

static int take_away(struct cli *c, struct service *s, struct ov_err *err)
{
	s->did = "absent";
	if (!s->there.p)
		return 0;
	if (!cli_has(c, "force") && !unit_is_ours(s->there, c->client.dir))
		return refuse(c, s, " --remove", err);
	if (!cli_has(c, "force") && s->enabled) {
		ov_fail(err, OV_ESTATE, STR_FMT " is enabled, and would leave a link to nowhere",
				STR_ARG(s->name));
		return ov_next(err, "systemctl --user disable --now " STR_FMT, STR_ARG(s->quoted));
	}
	s->did = "removed";
	return file_remove(s->file, err);
}

struct step {
	str command;
	const char *why;
};

enum { STEPS_MAX = 5 };

static size_t next_steps(struct cli *c, const struct service *s, struct step ret[static STEPS_MAX])
{
	bool reload = str_is(str_from(s->did), "written") || str_is(str_from(s->did), "removed");
	size_t n = 0;

	if (reload)
		ret[n++] = (struct step){ STR("systemctl --user daemon-reload"),
			"let systemd see it" };
	if (cli_has(c, "remove"))
		return n;
	if (s->running && !s->enabled)
		ret[n++] = (struct step){ STR("overseer down"),
			"a daemon runs already, and two cannot" };
	ret[n++] = (struct step){ arena_printf(c->arena, "systemctl --user %s " STR_FMT,
						  s->enabled ? "restart" : "enable --now",
						  STR_ARG(s->quoted)),
		s->enabled ? "start it anew" : "start it, now and whenever you log in" };
	ret[n++] = (struct step){ STR("loginctl enable-linger"), "also while you are logged out" };
	ret[n++] = (struct step){ arena_printf(c->arena, "journalctl --user -u " STR_FMT,
						  STR_ARG(s->quoted)),
		"what it says" };
	return n;
}

static void tell_service(struct cli *c, const struct service *s)
{
	struct step steps[STEPS_MAX];
	size_t n = next_steps(c, s, steps);
	struct out *o = &c->out;

	out_f(o, "%s was %s.\n", s->file, s->did);
	for (size_t i = 0; i < n; i++) {
		cell(o, S_BOLD, i ? STR("") : STR("Next"));
		cell(o, S_PLAIN, steps[i].command);
		cell(o, S_DIM, str_from(steps[i].why));
		row_end(o);
	}
	table_end(o, "");
}

static void tell_json(struct cli *c, const struct service *s)
{
	struct arena *a = c->arena;
	value *v = value_object(a), *next = value_array(a);
	struct step steps[STEPS_MAX];
	size_t n = next_steps(c, s, steps);

	for (size_t i = 0; i < n; i++)
		value_push(a, next, value_str(a, steps[i].command));
	value_put(a, v, "unit", value_str(a, s->name));
	value_put(a, v, "file", value_cstr(a, s->file));
	value_put(a, v, "result", value_cstr(a, s->did));
	value_put(a, v, "next", next);
	out_json(&c->out, v);
}

/* The unit as it is to be, in the arena. */
static int make_text(struct cli *c, str repo_name, const char *top, str *ret, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	struct config *config = NULL;
	struct unit u = {
		.dir = c->client.dir,
		.top = top,
		.path = str_from(getenv("PATH")),
		.name = repo_name,
		.auto_mode = cli_has(c, "auto"),
	};
	int r = program_own(c->arena, &u.program, err);

	if (r == 0)
		r = read_config(c, &config, err);
	if (r < 0)
		return r;
	u.watch = &config->watch;
	r = unit_write(&u, &b, err);
	config_free(config);
	if (r == 0)
		*ret = arena_str(c->arena, buf_str(&b));
	return r;
}

int cmd_install_service(struct cli *c, struct ov_err *err)
{
	struct service s = { 0 };
	const char *top;
	str name, text;
	int r = cli_store(c, err);

	if (r < 0)
		return r;
	top = repository(c, &name);
	if (!cli_has(c, "remove"))
		r = make_text(c, name, top, &text, err);
	if (r == 0 && cli_has(c, "print")) {
		out_f(&c->out, STR_FMT, STR_ARG(text));
		return 0;
	}
	if (r == 0)
		r = look(c, name, &s, err);
	if (r == 0)
		r = cli_has(c, "remove") ? take_away(c, &s, err) : put_unit(c, &s, text, err);
	if (r < 0)
		return r;
	if (c->json)
		tell_json(c, &s);
	else
		tell_service(c, &s);
	return 0;
}
