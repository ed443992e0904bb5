/*
 * `agent test`: a scratch repository, `overseerd --agent-test` in it, and its verdicts as
 * they come.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/table/formats.h"
#include "base/str.h"
#include "cli/call/child.h"
#include "cli/call/command.h"
#include "cli/daemon/trust.h"
#include "cli/out/lane.h"
#include "core/config/config.h"
#include "data/value/json.h"
#include "sys/file/file.h"

enum { CONFIG_MAX = 1024 * 1024, OUTPUT_MAX = 4 * 1024 * 1024, HELPER_MS = 60 * 1000 };

struct trial {
	struct cli *c;
	const char *name, *program, *scratch, *repo, *worktree;
	value *checks;
	size_t ok, failed;
	bool good, told; /* told: it ended as it should, with its verdict */
};

/* A short program of ours whose output nobody wants. */
static int helper(struct trial *t _unused_, const char *const *argv, const char *cwd,
		struct ov_err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct capture spec = { .argv = argv,
		.cwd = cwd,
		.max = OUTPUT_MAX,
		.timeout_ms = HELPER_MS };
	int status, r = spawn_capture(&spec, &out, &status, err);

	if (r == 0 && status != 0)
		r = ov_fail(err, OV_EIO, "%s %s failed with status %d", argv[0], argv[1], status);
	return r;
}

/*
 * A repository of its own, so that the user's knows nothing of it; the work is done in a
 * linked worktree.
 */
static int make_scratch(struct trial *t, struct ov_err *err)
{
	struct arena *a = t->c->arena;
	const char *const init[] = { "git", "init", "-q", "-b", "main", NULL };
	const char *const add[] = { "git", "add", "README", NULL };
	const char *const commit[] = { "git", "-c", "user.name=Overseer", "-c",
		"user.email=overseer@localhost", "-c", "commit.gpgsign=false", "commit", "-q", "-m",
		"Begin", NULL };
	const char *const tree[] = { "git", "worktree", "add", "-q", "-b", "test", t->worktree,
		NULL };
	const char *const *const steps[] = { init, add, commit, tree };
	int r = dir_make(t->repo, 0700, err);

	if (r == 0)
		r = file_write_atomic(path_join(a, t->repo, "README"),
				STR("A scratch repository of overseer agent test.\n"), 0644, err);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(steps); i++)
		r = helper(t, steps[i], t->repo, err);
	return r < 0 ? ov_wrap(err, r, "making a scratch repository") : 0;
}

static void remove_scratch(struct trial *t)
{
	const char *const argv[] = { "rm", "-rf", "--", t->scratch, NULL };

	(void)helper(t, argv, "/", NULL);
}

static enum style verdict_style(const value *v)
{
	str word = value_str_at(v, "verdict");

	if (str_is(word, "ok"))
		return S_GREEN;
	return str_is(word, "skipped") ? S_DIM : value_bool_at(v, "needed") ? S_RED : S_YELLOW;
}

static void show_check(struct trial *t, const value *v)
{
	struct out *o = &t->c->out;
	str word = value_str_at(v, "verdict");

	out_f(o, "  ");
	out_styled(o, verdict_style(v), arena_printf(t->c->arena, "%-8.*s", STR_ARG(word)));
	out_styled(o, S_BOLD,
			arena_printf(t->c->arena, "%-11.*s", STR_ARG(value_str_at(v, "check"))));
	out_text(o, value_str_at(v, "text"));
	out_f(o, "\n");
	show_last_lines(o, "           | ", value_str_at(v, "last_lines"), SIZE_MAX);
}

static void take_line(void *user, str line)
{
	struct trial *t = user;
	struct cli *c = t->c;
	value *v;

	if (json_parse(c->arena, arena_str(c->arena, line), NULL, &v, NULL) < 0)
		return;
	if (value_at(v, "ok")) {
		t->told = true;
		t->good = value_bool_at(v, "ok");
	} else if (value_at(v, "check")) {
		str word = value_str_at(v, "verdict");

		value_push(c->arena, t->checks, v);
		t->ok += str_is(word, "ok");
		t->failed += str_is(word, "failed");
		if (!c->json)
			show_check(t, v);
	} else if (!c->json) {
		out_styled(&c->out, S_DIM, value_str_at(v, "doing"));
		out_f(&c->out, " ...\n");
	}
	if (!c->json)
		(void)out_flush(&c->out, STDOUT_FILENO, NULL);
}

static int check_name(struct cli *c, const char *name, const struct agent_format **ret,
		struct ov_err *err)
{
	const char *file = path_join(c->arena, c->client.dir, "config.toml");
	struct config *config;
	str text;
	int r = file_read(c->arena, file, CONFIG_MAX, &text, err);

	if (r == 0)
		r = config_parse(text, &config, err);
	if (r < 0) {
		ov_wrap(err, r, "%s", file);
		return ov_next(err, "overseer config check");
	}
	*ret = NULL;
	for (size_t i = 0; i < config->agents_n; i++)
		if (str_is(config->agents[i].name, name))
			*ret = format_find(config->agents[i].format);
	config_free(config);
	if (*ret)
		return 0;
	ov_fail(err, OV_ENOTFOUND, "there is no [agents.%s] in %s", name, file);
	return ov_next(err, "overseer agent list");
}

static int run_trial(struct trial *t, int *ret_status, struct ov_err *err)
{
	const char *argv[16] = { t->program, "--agent-test", t->name, "--dir", t->c->client.dir,
		"--scratch", t->scratch, "--worktree", t->worktree };
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct capture spec = { .argv = argv,
		.max = OUTPUT_MAX,
		.timeout_ms = OV_HOUR,
		.line = take_line,
		.user = t };
	str note = cli_flag(t->c, "note");
	int r;

	if (note.n) {
		argv[9] = "--note";
		argv[10] = arena_cstr(t->c->arena, note);
	}
	/* Ctrl-C is for the child, which ends its run in order; then we clean up. */
	(void)signal(SIGINT, SIG_IGN);
	r = spawn_capture(&spec, &out, ret_status, err);
	(void)signal(SIGINT, SIG_DFL);
	return r;
}

static void tell_end(struct trial *t)
{
	struct cli *c = t->c;

	if (c->json) {
		value *v = value_object(c->arena);

		value_put(c->arena, v, "agent", value_cstr(c->arena, t->name));
		value_put(c->arena, v, "ok", value_bool(c->arena, t->good));
		value_put(c->arena, v, "checks", t->checks);
		out_json(&c->out, v);
		return;
	}
	out_styled(&c->out, t->good ? S_GREEN : S_RED, str_from(t->name));
	if (t->good)
		out_f(&c->out, " can be used: %zu of %zu checks passed.\n", t->ok,
				t->ok + t->failed);
	else
		out_f(&c->out,
				" cannot be relied on: %zu of %zu checks failed.\n"
				"Next: correct [agents.%s] in %s/config.toml, or what its "
				"output above says, then: overseer agent test %s\n",
				t->failed, t->ok + t->failed, t->name, c->client.dir, t->name);
}

int cmd_agent_test(struct cli *c, struct ov_err *err)
{
	struct trial t = { .c = c,
		.name = arena_cstr(c->arena, c->args[0]),
		.checks = value_array(c->arena) };
	const struct agent_format *format = NULL;
	int status = 0, r = cli_store(c, err);

	if (r == 0)
		r = store_trusted(c->arena, c->client.dir, err);
	if (r == 0)
		r = check_name(c, t.name, &format, err);
	if (r == 0)
		r = program_find(c->arena, "overseerd", "OVERSEERD", &t.program, err);
	if (r < 0)
		return r;
	t.scratch = arena_cstr(c->arena,
			arena_printf(c->arena, "%s/agent-test/%s.%d", c->client.dir, t.name,
					(int)getpid()));
	t.repo = path_join(c->arena, t.scratch, "repo");
	t.worktree = path_join(c->arena, t.scratch, "worktree");
	if (!c->json)
		out_f(&c->out,
				"Testing %s (%s) in a scratch repository; it asks its model a few "
				"short things.\n",
				t.name, format->title);
	r = make_scratch(&t, err);
	if (r == 0)
		r = run_trial(&t, &status, err);
	remove_scratch(&t);
	if (r < 0)
		return r;
	if (!t.told)
		return ov_fail(err, status == 130 ? OV_ESTATE : OV_EIO,
				"the test ended with status %d before its verdict", status);
	tell_end(&t);
	return t.good ? 0 : 1;
}
