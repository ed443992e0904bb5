#include "tests/test.h"

#include <stdlib.h>

#include "agent/launch/environment.h"
#include "agent/launch/launch.h"
#include "agent/read/hook.h"
#include "agent/table/formats.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"
#include "data/value/toml.h"

static struct arena arena;

static const char *ends(const char *word, size_t keep)
{
	size_t n = strlen(word);

	return n > keep ? word + n - keep : word;
}

/* The words of the command line, each on a line of its own. */
static const char *lines(const struct launch *l)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	for (size_t i = 0; l->argv[i]; i++)
		buf_addf(&b, "%s\n", l->argv[i]);
	return arena_cstr(&arena, buf_str(&b));
}

static bool has(const struct launch *l, const char *word)
{
	for (size_t i = 0; l->argv[i]; i++)
		if (strcmp(l->argv[i], word) == 0)
			return true;
	return false;
}

/* The word that begins so, or NULL. */
static const char *option(const struct launch *l, const char *prefix)
{
	for (size_t i = 0; l->argv[i]; i++)
		if (strncmp(l->argv[i], prefix, strlen(prefix)) == 0)
			return l->argv[i] + strlen(prefix);
	return NULL;
}

static const char *env_of(const struct launch *l, const char *name)
{
	for (size_t i = 0; i < l->env_n; i++)
		if (strcmp(l->env[i].name, name) == 0)
			return l->env[i].value;
	return NULL;
}

static str file_of(const struct launch *l, const char *path)
{
	for (size_t i = 0; i < l->files_n; i++)
		if (strcmp(l->files[i].path, path) == 0)
			return l->files[i].text;
	return (str){ 0 };
}

static struct launch_ask ask_of(const char *format)
{
	return (struct launch_ask){ .format = format_find(str_from(format)),
		.prompt = STR("--do it"),
		.prompt_file = "/run/1/instruction",
		.run_dir = "/run/1",
		.worktree = "/wt" };
}

static struct launch build(const struct launch_ask *ask)
{
	struct ov_err err = { 0 };
	struct launch l;

	if (launch_build(&arena, ask, &l, &err) < 0)
		fail_msg("%s", err.msg);
	return l;
}

TEST(each_form_as_a_whole)
{
	static const struct {
		const char *format, *session, *model, *mode;
		bool resume;
		enum prompt_by by;
		const char *words;
		const char *input;
	} cases[] = {
		{ "codex", "", "", "", false, PROMPT_STDIN,
				"codex\nexec\n--json\n--skip-git-repo-check\n"
				"-c\napproval_policy=\"never\"\n-c\nsandbox_mode=\"workspace-"
				"write\"\n"
				"--\n-\n",
				"--do it" },
		{ "codex", "01a1-x", "m1", "danger-full-access", true, PROMPT_ARG,
				"codex\nexec\nresume\n--json\n--skip-git-repo-check\n--model=m1\n"
				"-c\napproval_policy=\"never\"\n"
				"-c\nsandbox_mode=\"danger-full-access\"\n--\n01a1-x\n--do it\n",
				"" },
		{ "gemini", "2222-x", "", "", false, PROMPT_STDIN,
				"gemini\n--output-format=stream-json\n--approval-mode=yolo\n"
				"--skip-trust\n--session-id=2222-x\n",
				"--do it" },
		{ "gemini", "2222-x", "g", "auto_edit", true, PROMPT_ARG,
				"gemini\n--output-format=stream-json\n--approval-mode=auto_edit\n"
				"--skip-trust\n--resume=2222-x\n--model=g\n--prompt=--do it\n",
				"" },
		{ "opencode", "", "", "", false, PROMPT_STDIN,
				"opencode\nrun\n--format=json\n--print-logs\n--log-level=WARN\n"
				"--title=1\n",
				"--do it" },
		{ "opencode", "ses_1", "p/m", "auto", true, PROMPT_FILE,
				"opencode\nrun\n--format=json\n--print-logs\n--log-level=WARN\n"
				"--session=ses_1\n--model=p/m\n--auto\n--\n"
				"Your instruction is in the file /run/1/instruction. Read it and "
				"do "
				"what it says.\n",
				"" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct launch_ask ask = ask_of(cases[i].format);
		struct launch l;

		ask.session = str_from(cases[i].session);
		ask.model = str_from(cases[i].model);
		ask.permission_mode = str_from(cases[i].mode);
		ask.resume = cases[i].resume;
		ask.prompt_by = cases[i].by;
		l = build(&ask);
		assert_string_equal(lines(&l), cases[i].words);
		assert_true(str_is(l.input, cases[i].input));
		/* opencode's plugin is no hook. */
		assert_int_equal(l.files_n, !strcmp(cases[i].format, "opencode"));
	}
}

TEST(codex_is_told_that_the_worktree_of_a_trusted_repository_is_trusted)
{
	struct launch_ask ask = ask_of("codex");
	struct launch l;

	l = build(&ask);
	assert_null(strstr(lines(&l), "projects="));
	ask.trusted = true;
	l = build(&ask);
	assert_non_null(strstr(lines(&l), "-c\nprojects={\"/wt\"={trust_level=\"trusted\"}}\n"));
}

/* Nothing of the prompt is on the command line, nor on standard input, which is the terminal. */
TEST(in_a_terminal_the_prompt_is_typed)
{
	static const struct {
		const char *format, *session;
		bool resume;
		enum prompt_by by;
		const char *words;
	} cases[] = {
		{ "codex", "", false, PROMPT_STDIN,
				"codex\n--no-daemon\n-c\ncheck_for_update_on_startup=false\n"
				"-c\nprojects={\"/wt\"={trust_level=\"trusted\"}}\n"
				"-c\napproval_policy=\"never\"\n"
				"-c\nsandbox_mode=\"workspace-write\"\n--\n" },
		{ "codex", "01a1-x", true, PROMPT_ARG,
				"codex\nresume\n--no-daemon\n-c\ncheck_for_update_on_startup="
				"false\n"
				"-c\nprojects={\"/wt\"={trust_level=\"trusted\"}}\n"
				"-c\napproval_policy=\"never\"\n"
				"-c\nsandbox_mode=\"workspace-write\"\n--\n01a1-x\n" },
	};
	struct launch_ask ask;
	struct launch l;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		ask = ask_of(cases[i].format);
		ask.terminal = true;
		ask.session = str_from(cases[i].session);
		ask.resume = cases[i].resume;
		ask.prompt_by = cases[i].by;
		l = build(&ask);
		assert_string_equal(lines(&l), cases[i].words);
		assert_null(l.input.p);
	}
	ask = ask_of("claude");
	ask.terminal = true;
	ask.session = STR("1111-x");
	ask.max_turns = 3;
	l = build(&ask);
	assert_string_equal(l.argv[0], "claude");
	assert_string_equal(l.argv[1], "--session-id=1111-x");
	assert_false(has(&l, "-p") || has(&l, "--verbose") || has(&l, "--max-turns=3") ||
			has(&l, "--do it"));
	assert_null(l.input.p);
	/* A command that reads its prompt from standard input still does. */
	ask = ask_of("raw");
	ask.terminal = true;
	ask.command = (const str[]){ STR("cat") };
	ask.command_n = 1;
	l = build(&ask);
	assert_true(str_is(l.input, "--do it"));
	ask.prompt_by = PROMPT_FILE;
	l = build(&ask);
	assert_null(l.input.p);
}

TEST(claude_begins_and_goes_on)
{
	struct launch_ask ask = ask_of("claude");
	struct launch l;

	ask.session = STR("1111-x");
	ask.max_turns = 7;
	l = build(&ask);
	assert_string_equal(l.argv[0], "claude");
	assert_string_equal(l.argv[1], "-p");
	assert_true(has(&l, "--output-format=stream-json") && has(&l, "--verbose"));
	assert_string_equal(option(&l, "--session-id="), "1111-x");
	assert_string_equal(option(&l, "--permission-mode="), "acceptEdits");
	assert_string_equal(option(&l, "--max-turns="), "7");
	assert_null(option(&l, "--resume="));
	assert_null(option(&l, "--settings="));
	assert_null(option(&l, "--tools="));
	assert_non_null(strstr(option(&l, "--allowedTools="), "Bash"));
	assert_null(strstr(option(&l, "--allowedTools="), "mcp__*"));
	assert_string_equal(option(&l, "--disallowedTools="), "EnterWorktree,ExitWorktree");
	assert_true(str_is(l.input, "--do it"));
	assert_string_equal(env_of(&l, "DISABLE_AUTOUPDATER"), "1");

	ask.resume = true;
	ask.permission_mode = STR("plan");
	ask.prompt_by = PROMPT_ARG;
	l = build(&ask);
	assert_string_equal(option(&l, "--resume="), "1111-x");
	assert_string_equal(option(&l, "--permission-mode="), "plan");
	assert_null(option(&l, "--session-id="));
	assert_null(option(&l, "--allowedTools=")); /* what it may do is what that mode says */
	assert_non_null(strstr(lines(&l), "\n--\n--do it\n"));
	assert_true(l.input.p && l.input.n == 0);
}

TEST(a_configured_command_comes_first)
{
	static const str command[] = { STR("/opt/claude"), STR("--add-dir=/x") };
	struct launch_ask ask = ask_of("claude");
	struct launch l;

	ask.command = command;
	ask.command_n = ARRAY_LEN(command);
	l = build(&ask);
	assert_string_equal(l.argv[0], "/opt/claude");
	assert_string_equal(l.argv[1], "--add-dir=/x");
	assert_string_equal(l.argv[2], "-p");
}

TEST(raw_is_put_into_place)
{
	static const str command[] = { STR("agent"), STR("-x{prompt}y"), STR("{prompt_file}") };
	struct launch_ask ask = ask_of("raw");
	struct launch l;
	struct ov_err err;

	assert_int_equal(launch_build(&arena, &ask, &l, &err), OV_EINVALID);
	ask.command = command;
	ask.command_n = ARRAY_LEN(command);
	ask.prompt = STR("a {prompt} $(b)");
	ask.prompt_by = PROMPT_ARG;
	l = build(&ask);
	assert_string_equal(lines(&l), "agent\n-xa {prompt} $(b)y\n/run/1/instruction\n");
	assert_true(l.input.p && l.input.n == 0);
	ask.prompt_by = PROMPT_STDIN;
	l = build(&ask);
	assert_true(str_eq(l.input, ask.prompt));
	ask.keep_input = true;
	l = build(&ask);
	assert_null(l.input.p);
}

TEST(a_prompt_may_be_too_long_for_a_word)
{
	static const char *const formats[] = { "claude", "codex", "gemini", "opencode" };
	size_t n = 128 * 1024;
	char *big = arena_alloc(&arena, n);
	struct launch l;
	struct ov_err err;

	memset(big, 'x', n);
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		struct launch_ask ask = ask_of(formats[i]);

		ask.prompt = (str){ big, n };
		l = build(&ask);
		assert_int_equal(l.input.n, n);
		ask.prompt_by = PROMPT_ARG;
		assert_int_equal(launch_build(&arena, &ask, &l, &err), OV_ELIMIT);
		assert_non_null(strstr(err.next, "stdin"));
	}
}

TEST(claude_hooks_come_by_a_file_of_the_run)
{
	struct launch_ask ask = ask_of("claude");
	struct launch l;
	value *v;
	str command;

	ask.hook = "/opt/it's/overseer";
	l = build(&ask);
	assert_string_equal(option(&l, "--settings="), "/run/1/claude-settings.json");
	assert_string_equal(env_of(&l, "OVERSEER_RUN_DIR"), "/run/1");
	assert_int_equal(json_parse(&arena, file_of(&l, "claude-settings.json"), NULL, &v, NULL),
			0);
	command = value_str_at(
			value_item(value_at(value_item(value_at(value_at(v, "hooks"), "Stop"), 0),
						   "hooks"),
					0),
			"command");
	assert_true(str_is(command, "'/opt/it'\\''s/overseer' hook Stop"));
	assert_int_equal(json_parse(&arena, file_of(&l, HOOK_SCOPE), NULL, &v, NULL), 0);
	assert_true(str_is(value_str_at(v, "format"), "claude"));
	assert_null(value_at(v, "allow"));
}

TEST(codex_hooks_come_by_options_that_are_toml)
{
	struct launch_ask ask = ask_of("codex");
	struct launch l;
	const char *text;
	value *v;
	str command;

	ask.hook = "/opt/a \"b\"/overseer";
	l = build(&ask);
	assert_true(has(&l, "--dangerously-bypass-hook-trust"));
	text = option(&l, "hooks.PreToolUse=");
	assert_non_null(text);
	assert_int_equal(toml_parse(&arena, arena_printf(&arena, "x = %s\n", text), &v, NULL), 0);
	command = value_str_at(value_item(value_at(value_item(value_at(v, "x"), 0), "hooks"), 0),
			"command");
	assert_true(str_is(command, "'/opt/a \"b\"/overseer' hook PreToolUse"));
	assert_true(file_of(&l, HOOK_SCOPE).n > 0);
	/* Nothing below the worktree or the user's own folders. */
	for (size_t i = 0; i < l.files_n; i++)
		assert_int_not_equal(l.files[i].path[0], '/');
}

TEST(codex_can_commit)
{
	struct launch_ask ask = ask_of("codex");
	struct launch l;

	ask.git_dir = "/r/.overseer/git/w/.git";
	ask.git_common_dir = "/r/.git";
	l = build(&ask);
	assert_string_equal(option(&l, "sandbox_workspace_write.writable_roots="),
			"[\"/r/.overseer/git/w/.git\"]");
	ask.permission_mode = STR("read-only");
	l = build(&ask);
	assert_null(option(&l, "sandbox_workspace_write.writable_roots="));
}

TEST(claude_tools_follow_the_scope)
{
	const str allow[] = { STR("read"), STR("shell"), STR("Brand") },
		  deny[] = { STR("Grep"), STR("web"), STR("Odd") };
	struct tool_scope both = { allow, ARRAY_LEN(allow), deny, ARRAY_LEN(deny) },
			  only = { .deny = deny, .deny_n = 1 };
	struct launch_ask ask = ask_of("claude");
	struct launch l;

	ask.scope = &both;
	l = build(&ask);
	assert_non_null(strstr(option(&l, "--tools="), "Read,Glob,LS"));
	assert_non_null(strstr(option(&l, "--tools="), "Bash"));
	assert_non_null(strstr(option(&l, "--tools="), "Brand"));
	assert_null(strstr(option(&l, "--tools="), ",Write"));
	assert_string_equal(option(&l, "--tools="), option(&l, "--allowedTools="));
	assert_non_null(strstr(option(&l, "--disallowedTools="), "Grep"));
	assert_non_null(strstr(option(&l, "--disallowedTools="), "Edit"));
	assert_non_null(strstr(option(&l, "--disallowedTools="), "mcp__*"));
	assert_non_null(strstr(option(&l, "--disallowedTools="), "Odd"));
	ask.scope = &only;
	l = build(&ask);
	assert_null(option(&l, "--tools="));
	assert_null(strstr(option(&l, "--allowedTools="), "Grep"));
	assert_string_equal(option(&l, "--disallowedTools="), "EnterWorktree,ExitWorktree,Grep");
}

TEST(single_tools_of_servers_are_left_to_the_hook)
{
	const str allow[] = { STR("edit"), STR("mcp__git__log") };
	struct tool_scope s = { .allow = allow, .allow_n = ARRAY_LEN(allow) };
	struct launch_ask ask = ask_of("claude");
	struct launch l;

	ask.scope = &s;
	l = build(&ask);
	assert_null(strstr(option(&l, "--disallowedTools="), "mcp__*"));
	assert_null(strstr(option(&l, "--tools="), "mcp__"));
	assert_non_null(strstr(option(&l, "--allowedTools="), "mcp__git__log"));
	assert_true(tool_permitted(ask.format, &s, STR("mcp__git__log")));
	assert_false(tool_permitted(ask.format, &s, STR("mcp__git__push")));
}

TEST(codex_classes_are_switched_off)
{
	const str deny[] = { STR("exec_command"), STR("web") }, no_edit[] = { STR("edit") };
	struct tool_scope s = { .deny = deny, .deny_n = ARRAY_LEN(deny) },
			  r = { .deny = no_edit, .deny_n = 1 };
	struct launch_ask ask = ask_of("codex");
	struct launch l;

	ask.scope = &s;
	l = build(&ask);
	assert_true(has(&l, "features.shell_tool=false"));
	assert_true(has(&l, "web_search=\"disabled\""));
	assert_false(has(&l, "features.multi_agent=false"));
	assert_true(has(&l, "sandbox_mode=\"workspace-write\""));
	ask.scope = &r;
	ask.permission_mode = STR("danger-full-access");
	l = build(&ask);
	assert_true(has(&l, "sandbox_mode=\"read-only\""));
	assert_false(has(&l, "features.shell_tool=false"));
}

/* A sandbox inside of ours cannot be made; who may not edit is kept from it by ours. */
TEST(codex_has_no_sandbox_of_its_own_in_ours)
{
	const str no_edit[] = { STR("edit") };
	struct tool_scope r = { .deny = no_edit, .deny_n = 1 };
	struct launch_ask ask = ask_of("codex");
	struct launch l;

	ask.sandboxed = true;
	ask.git_dir = "/r/.git/worktrees/w";
	ask.git_common_dir = "/r/.git";
	l = build(&ask);
	assert_true(has(&l, "sandbox_mode=\"danger-full-access\""));
	assert_null(option(&l, "sandbox_workspace_write.writable_roots="));
	assert_false(l.read_only);
	ask.permission_mode = STR("read-only");
	assert_true(build(&ask).read_only);
	ask.permission_mode = STR("");
	ask.scope = &r;
	l = build(&ask);
	assert_true(has(&l, "sandbox_mode=\"danger-full-access\""));
	assert_true(l.read_only);
	ask.sandboxed = false;
	assert_false(build(&ask).read_only);
}

TEST(gemini_gets_a_policy)
{
	const str allow[] = { STR("read"), STR("edit") }, deny[] = { STR("glob") };
	struct tool_scope s = { allow, ARRAY_LEN(allow), deny, ARRAY_LEN(deny) },
			  d = { .deny = deny, .deny_n = 1 };
	struct launch_ask ask = ask_of("gemini");
	struct launch l;
	const value *rules;
	value *v;

	ask.scope = &s;
	l = build(&ask);
	assert_string_equal(option(&l, "--policy="), "/run/1/gemini-policy.toml");
	assert_int_equal(toml_parse(&arena, file_of(&l, "gemini-policy.toml"), &v, NULL), 0);
	rules = value_at(v, "rule");
	assert_int_equal(value_count(rules), 3);
	assert_true(str_is(value_str_or(value_item(value_at(value_item(rules, 0), "toolName"), 0),
					   STR("")),
			"*"));
	assert_true(str_is(value_str_at(value_item(rules, 1), "decision"), "allow"));
	ask.scope = &d;
	l = build(&ask);
	assert_int_equal(toml_parse(&arena, file_of(&l, "gemini-policy.toml"), &v, NULL), 0);
	assert_int_equal(value_count(value_at(v, "rule")), 1);
	assert_string_equal(ends(option(&l, "--policy="), 5), ".toml");
}

TEST(opencode_gets_a_plugin)
{
	struct launch_ask ask = ask_of("opencode");
	struct launch l;

	ask.run_dir = "/a b/#1/R_1";
	l = build(&ask);
	assert_string_equal(env_of(&l, "OPENCODE_CONFIG_CONTENT"),
			"{\"plugin\":[\"file:///a%20b/%231/R_1/opencode/overseer.js\"]}");
	assert_string_equal(l.files[0].path, "opencode/overseer.js");
	assert_true(str_contains(l.files[0].text, STR("session.created")));
}

TEST(opencode_gets_permissions)
{
	const str allow[] = { STR("read"), STR("write") }, deny[] = { STR("bash") };
	struct tool_scope s = { .allow = allow, .allow_n = ARRAY_LEN(allow) },
			  d = { .deny = deny, .deny_n = 1 };
	struct launch_ask ask = ask_of("opencode");
	struct launch l;
	value *v;

	ask.scope = &d;
	l = build(&ask);
	assert_string_equal(env_of(&l, "OPENCODE_PERMISSION"), "{\"bash\":\"deny\"}");
	ask.scope = &s;
	l = build(&ask);
	assert_int_equal(json_parse(&arena, str_from(env_of(&l, "OPENCODE_PERMISSION")), NULL, &v,
					 NULL),
			0);
	assert_true(str_is(v->object.members[0].key, "*"));
	assert_true(str_is(value_str_at(v, "*"), "deny"));
	assert_true(str_is(value_str_at(v, "grep"), "allow"));
	/* It cannot be told to write but not to edit. */
	assert_true(str_is(value_str_at(v, "edit"), "deny"));
	assert_null(value_at(v, "write"));
}

TEST(a_scope_says_which_tools)
{
	const struct agent_format *f = format_find(STR("claude"));
	const str allow[] = { STR("Edit"), STR("mcp") }, deny[] = { STR("mcp__a__*") };
	struct tool_scope s = { allow, ARRAY_LEN(allow), deny, ARRAY_LEN(deny) }, back;
	static const struct {
		const char *tool;
		bool permitted;
	} cases[] = { { "Edit", true }, { "edit", true }, { "Write", false }, { "Bash", false },
		{ "mcp__b__x", true }, { "mcp__a__x", false }, { "Unheard", false } };
	struct ov_err err;
	value *v;

	/* "Edit" is a tool; "edit" would be the class of those that edit. */
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(tool_permitted(f, &s, str_from(cases[i].tool)),
				cases[i].permitted);
	assert_true(tool_permitted(f, NULL, STR("Unheard")));
	v = tool_scope_value(&arena, &s);
	assert_int_equal(tool_scope_read(&arena, v, &back, &err), 0);
	assert_int_equal(back.allow_n, 2);
	assert_true(str_is(back.deny[0], "mcp__a__*"));
	assert_int_equal(tool_scope_read(&arena, value_object(&arena), &back, &err), 0);
	assert_null(back.allow);
	value_put(&arena, v, "allow", value_array(&arena));
	assert_int_equal(tool_scope_read(&arena, v, &back, &err), OV_EINVALID);
	value_put(&arena, v, "allow", value_cstr(&arena, "x"));
	assert_int_equal(tool_scope_read(&arena, v, &back, &err), OV_EINVALID);
}

TEST(every_row_is_whole)
{
	for (size_t i = 0; i < agent_formats_n; i++) {
		const struct agent_format *f = &agent_formats[i];

		assert_non_null(f->launch);
		assert_string_equal(agent_format_names[i], f->name);
		assert_int_equal(f->program != NULL, f->structured);
		assert_int_equal(f->tools != NULL, f->scoped);
		assert_int_equal(f->permission_modes != NULL, f->structured);
		/* In a terminal it is only heard by its hooks and its transcript. */
		assert_int_equal(f->terminal, !f->structured || f->hooks);
		assert_int_equal(f->transcript != NULL, f->terminal && f->structured);
	}
	assert_null(agent_format_names[agent_formats_n]);
#define PARSED(sym, name) assert_int_equal(tool_class_parse(STR(name)), sym);
	TOOL_CLASSES(PARSED)
#undef PARSED
}

static char *given(const char *name)
{
	static char home[] = "/h/a", lang[] = "C";

	return strcmp(name, "HOME") == 0 ? home : strcmp(name, "LANG") == 0 ? lang : NULL;
}

TEST(what_is_said_last_counts_and_each_name_is_there_once)
{
	const str pass[] = { STR("HOME"), STR("LANG"), STR("ABSENT") };
	const struct launch_pair needed[] = { { "LANG", "C.UTF-8" }, { "QUIET", "1" } };
	const struct env_pair configured[] = { { STR("QUIET"), STR("0") },
		{ STR("OVERSEER_GOAL"), STR("chosen") } };
	const struct env_pair own[] = { { STR("OVERSEER_GOAL"), STR("ours") } };
	const struct launch l = { .env = needed, .env_n = ARRAY_LEN(needed) };
	const char *const *env = environment_build(&arena,
			&(struct environment_ask){ .pass = pass,
					.pass_n = ARRAY_LEN(pass),
					.get = given,
					.launch = &l,
					.configured = configured,
					.configured_n = ARRAY_LEN(configured),
					.own = own,
					.own_n = ARRAY_LEN(own) });
	static const char *const want[] = { "HOME=/h/a", "LANG=C.UTF-8", "QUIET=0",
		"OVERSEER_GOAL=ours" };

	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_string_equal(env[i], want[i]);
	assert_null(env[ARRAY_LEN(want)]);
}

TEST_MAIN
