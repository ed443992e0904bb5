#include "tests/test.h"

#include <string.h>

#include "agent/fact/account.h"
#include "agent/read/hook.h"
#include "agent/table/formats.h"
#include "agent/table/hook_scope.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"

static struct arena arena;

/* Texts of this file have ' for ", which spares the backslashes. */
static str quoted(const char *text)
{
	str s = str_from(text);
	char *p = arena_cstr(&arena, s);

	for (size_t i = 0; i < s.n; i++)
		p[i] = p[i] == '\'' ? '"' : p[i];
	return (str){ p, s.n };
}

static struct hook_call call_of(const char *json)
{
	struct ov_err err;
	struct hook_call c;

	if (hook_read(&arena, quoted(json), STR(""), &c, &err) < 0)
		fail_msg("%s: %s", json, err.msg);
	return c;
}

#define S "'session_id':'s1','cwd':'/w','permission_mode':'default',"

/* What each call of the two agents means: for a screen, and beside a stream that says more. */
static const struct {
	const char *json;
	enum fact_kind kind, structured;
	const char *name, *id, *text;
	bool failed, child;
	enum trouble trouble;
} rows[] = {
	{ "{" S "'hook_event_name':'SessionStart','source':'startup','model':'m'}", FACT_READY,
			FACT_READY, "", "", "startup", false, false, 0 },
	{ "{" S "'hook_event_name':'UserPromptSubmit','prompt':'secret words'}", FACT_TURN_STARTED,
			FACT_NOTICE, "", "", "", false, false, 0 },
	{ "{" S "'hook_event_name':'PreToolUse','tool_name':'Bash','tool_input':{'command':'ls'},"
	  "'tool_use_id':'t1'}",
			FACT_TOOL_STARTED, FACT_NOTICE, "Bash", "t1", "{'command':'ls'}", false,
			false, 0 },
	{ "{" S "'hook_event_name':'PostToolUse','tool_name':'Bash','tool_use_id':'t1',"
	  "'tool_response':'x'}",
			FACT_TOOL_ENDED, FACT_NOTICE, "Bash", "t1", "", false, false, 0 },
	{ "{" S "'hook_event_name':'PostToolUseFailure','tool_name':'Bash','tool_use_id':'t1',"
	  "'error':'Exit code 3'}",
			FACT_TOOL_ENDED, FACT_NOTICE, "Bash", "t1", "Exit code 3", true, false, 0 },
	{ "{" S "'hook_event_name':'PostToolBatch','tool_calls':[{'tool_name':'Bash'}]}",
			FACT_TOOL_ENDED, FACT_NOTICE, "", "", "", false, false, 0 },
	{ "{" S "'hook_event_name':'PermissionRequest','tool_name':'Bash','tool_input':{'a':1}}",
			FACT_PERMISSION_WANTED, FACT_PERMISSION_WANTED, "Bash", "", "{'a':1}",
			false, false, 0 },
	{ "{" S "'hook_event_name':'PermissionDenied','tool_name':'Bash','reason':'no'}",
			FACT_PERMISSION_DENIED, FACT_PERMISSION_DENIED, "Bash", "", "no", false,
			false, 0 },
	{ "{" S "'hook_event_name':'Notification','message':'Claude needs your permission',"
	  "'notification_type':'permission_prompt'}",
			FACT_PERMISSION_WANTED, FACT_PERMISSION_WANTED, "permission_prompt", "",
			"Claude needs your permission", false, false, 0 },
	{ "{" S "'hook_event_name':'Notification','message':'Claude is waiting',"
	  "'notification_type':'idle_prompt'}",
			FACT_NOTICE, FACT_NOTICE, "", "", "Claude is waiting", false, false, 0 },
	{ "{" S "'hook_event_name':'PreCompact','trigger':'auto'}", FACT_COMPACTION_STARTED,
			FACT_COMPACTION_STARTED, "", "", "", false, false, 0 },
	{ "{" S "'hook_event_name':'PostCompact','trigger':'auto'}", FACT_COMPACTION_ENDED,
			FACT_COMPACTION_ENDED, "", "", "", false, false, 0 },
	{ "{" S "'hook_event_name':'Stop','stop_hook_active':false,"
	  "'last_assistant_message':'All done.'}",
			FACT_TURN_ENDED, FACT_NOTICE, "", "", "All done.", false, false, 0 },
	{ "{" S "'hook_event_name':'StopFailure','error':'rate_limit',"
	  "'last_assistant_message':'API Error: 429'}",
			FACT_TURN_ENDED, FACT_NOTICE, "", "", "API Error: 429", true, false,
			TROUBLE_RATE_LIMITED },
	{ "{" S "'hook_event_name':'StopFailure','error':'invalid_request',"
	  "'last_assistant_message':'Prompt is too long'}",
			FACT_TURN_ENDED, FACT_NOTICE, "", "", "Prompt is too long", true, false,
			TROUBLE_CONTEXT },
	{ "{" S "'hook_event_name':'StopFailure','error':'invalid_request',"
	  "'last_assistant_message':'API Error: 429'}",
			FACT_TURN_ENDED, FACT_NOTICE, "", "", "API Error: 429", true, false,
			TROUBLE_REFUSED },
	{ "{" S "'hook_event_name':'StopFailure','error':'unknown'}", FACT_TURN_ENDED, FACT_NOTICE,
			"", "", "", true, false, TROUBLE_OTHER },
	{ "{" S "'hook_event_name':'SubagentStart','agent_id':'a6'}", FACT_TURN_STARTED,
			FACT_NOTICE, "", "", "", false, true, 0 },
	{ "{" S "'hook_event_name':'SubagentStop','agent_id':'a6','last_assistant_message':'x'}",
			FACT_TURN_ENDED, FACT_NOTICE, "", "", "x", false, true, 0 },
	{ "{" S "'hook_event_name':'PreToolUse','agent_id':'a6','tool_name':'Read',"
	  "'tool_use_id':'t'}",
			FACT_TOOL_STARTED, FACT_NOTICE, "Read", "t", "", false, true, 0 },
	{ "{" S "'hook_event_name':'SessionEnd','reason':'other'}", FACT_SESSION_ENDED,
			FACT_SESSION_ENDED, "", "", "other", false, false, 0 },
	{ "{" S "'hook_event_name':'MessageDisplay','new':{'x':[1]}}", FACT_NOTICE, FACT_NOTICE, "",
			"", "MessageDisplay", false, false, 0 },
};

TEST(calls_as_facts)
{
	const struct agent_format *raw = format_find(STR("raw")),
				  *claude = format_find(STR("claude"));

	arena = ARENA_INIT;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct hook_call c = call_of(rows[i].json);
		str line = hook_line(&arena, &c, 1234, false, STR("")), taken;
		struct fact f, g;

		assert_true(hook_fact(&arena, line, raw, &f, &taken));
		assert_true(hook_fact(&arena, line, claude, &g, &taken));
		if (f.kind != rows[i].kind || g.kind != rows[i].structured)
			fail_msg("%s: %d, %d", rows[i].json, f.kind, g.kind);
		if (!str_is(f.name, rows[i].name) || !str_is(f.id, rows[i].id))
			fail_msg("%s: %s", rows[i].json, arena_cstr(&arena, line));
		if (f.kind == FACT_NOTICE || rows[i].text[0] || f.text.n)
			assert_true(str_eq(f.text, quoted(rows[i].text)));
		assert_int_equal(f.failed, rows[i].failed);
		assert_int_equal(f.child, rows[i].child);
		assert_int_equal(f.trouble, rows[i].trouble);
		assert_false(g.failed);
		assert_true(str_is(f.session, "s1"));
		assert_int_equal(f.at, 1234);
		assert_int_equal(f.offset, 0);
		assert_int_equal(f.cost_microusd, COST_UNKNOWN);
		assert_int_equal(taken.n, 0);
	}
	arena_done(&arena);
}

TEST(what_a_prompt_says_is_not_noted)
{
	struct hook_call c;

	arena = ARENA_INIT;
	c = call_of("{'hook_event_name':'UserPromptSubmit','prompt':'secret words'}");
	assert_false(str_contains(hook_line(&arena, &c, 1, false, STR("")), STR("secret")));
	arena_done(&arena);
}

TEST(the_beginning_of_a_session_names_its_transcript)
{
	struct hook_call c;
	str line;

	arena = ARENA_INIT;
	c = call_of("{'hook_event_name':'SessionStart','transcript_path':'/h/t.jsonl'}");
	line = hook_line(&arena, &c, 1, false, STR(""));
	assert_true(str_is(hook_transcript(&arena, line), "/h/t.jsonl"));
	c = call_of("{'hook_event_name':'Stop','transcript_path':'/h/t.jsonl'}");
	line = hook_line(&arena, &c, 1, false, STR(""));
	assert_int_equal(hook_transcript(&arena, line).n, 0);
	assert_int_equal(hook_transcript(&arena, STR("no JSON")).n, 0);
	/* Half of a name is none. */
	c.event = STR("SessionStart");
	c.transcript = (str){ arena_array(&arena, char, HOOK_PATH_MAX + 1), HOOK_PATH_MAX + 1 };
	memset((char *)c.transcript.p, 'x', c.transcript.n);
	line = hook_line(&arena, &c, 1, false, STR(""));
	assert_int_equal(hook_transcript(&arena, line).n, 0);
	arena_done(&arena);
}

TEST(calls_that_are_none)
{
	static const char *const bad[] = { "", "{", "[]", "'x'", "{}", "{'hook_event_name':1}",
		"{'hook_event_name':''}" };
	struct hook_call c;

	arena = ARENA_INIT;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_true(hook_read(&arena, quoted(bad[i]), STR(""), &c, NULL) < 0);
	assert_int_equal(hook_read(&arena, STR("{}"), STR("Stop"), &c, NULL), 0);
	assert_true(str_is(c.event, "Stop"));
	arena_done(&arena);
}

TEST(lines_that_are_none)
{
	static const char *const bad[] = { "", "x", "{}", "[]", "{'event':1}",
		"{'at_ms':1,'event':''}", "{'event':'Stop'" };
	struct fact f;
	str taken;

	arena = ARENA_INIT;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(hook_fact(&arena, quoted(bad[i]), NULL, &f, &taken));
	assert_true(hook_fact(&arena, hook_line_dropped(&arena, 5), NULL, &f, &taken));
	assert_int_equal(f.kind, FACT_NOTICE);
	assert_true(str_contains(f.text, STR("more was said")));
	arena_done(&arena);
}

/* The worst that an agent can say still fits a line. */
TEST(lines_are_bounded)
{
	static const char *const keys[] = { "hook_event_name", "session_id", "model", "tool_name",
		"tool_use_id", "notification_type", "error", "agent_id", "last_assistant_message" };
	enum { MUCH = 100000 };
	value *v;
	struct hook_call c;
	char *junk;
	str line, taken;
	struct fact f;

	arena = ARENA_INIT;
	junk = arena_alloc(&arena, MUCH);
	memset(junk, 1, MUCH);
	v = value_object(&arena);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		value_put(&arena, v, keys[i], value_str(&arena, (str){ junk, MUCH }));
	assert_int_equal(hook_read(&arena, json_text(&arena, v), STR(""), &c, NULL), 0);
	line = hook_line(&arena, &c, INT64_MAX, true, (str){ junk, MUCH });
	assert_true(line.n < HOOK_LINE_MAX);
	assert_true(hook_fact(&arena, line, NULL, &f, &taken));
	value_put(&arena, v, "hook_event_name", value_cstr(&arena, "PreToolUse"));
	value_put(&arena, v, "tool_input", value_copy(&arena, v));
	assert_int_equal(hook_read(&arena, json_text(&arena, v), STR(""), &c, NULL), 0);
	assert_true(hook_line(&arena, &c, 1, true, STR("D")).n < HOOK_LINE_MAX);
	arena_done(&arena);
}

static str reason_of(struct hook_reply r)
{
	value *v;

	assert_int_equal(json_parse(&arena, r.text, NULL, &v, NULL), 0);
	return value_str_at(value_at(v, "hookSpecificOutput"), "permissionDecisionReason");
}

TEST(tools_outside_the_scope_are_denied)
{
	static const str deny[] = { STR("Bash") }, allow[] = { STR("Read"), STR("Edit") };
	struct tool_scope all = { 0 }, but = { .deny = deny, .deny_n = 1 },
			  only = { .allow = allow, .allow_n = 2 };
	const struct agent_format *f = format_find(STR("claude"));
	struct hook_call bash, read, none, post;
	struct hook_reply r;
	struct fact fact;
	str line, taken;

	arena = ARENA_INIT;
	bash = call_of("{'hook_event_name':'PreToolUse','tool_name':'Bash','tool_use_id':'t7'}");
	read = call_of("{'hook_event_name':'PreToolUse','tool_name':'Read'}");
	none = call_of("{'hook_event_name':'PreToolUse'}");
	post = call_of("{'hook_event_name':'PostToolUse','tool_name':'Bash'}");
	assert_int_equal(hook_answer(&arena, &bash, f, &all, STR("")).text.n, 0);
	assert_int_equal(hook_answer(&arena, &none, f, &all, STR("")).text.n, 0);
	assert_int_equal(hook_answer(&arena, &read, f, &but, STR("")).text.n, 0);
	assert_int_equal(hook_answer(&arena, &read, f, &only, STR("")).text.n, 0);
	assert_int_equal(hook_answer(&arena, &post, f, &but, STR("")).text.n, 0);
	assert_int_equal(hook_answer(&arena, &post, f, NULL, STR("")).text.n, 0);
	r = hook_answer(&arena, &bash, f, &but, STR("go on"));
	assert_true(r.denied);
	assert_true(str_contains(r.text, quoted("'hookEventName':'PreToolUse'")));
	assert_true(str_contains(r.text, quoted("'permissionDecision':'deny'")));
	assert_true(str_contains(reason_of(r), STR("the tool Bash is outside the tool scope")));
	assert_true(str_contains(reason_of(r), STR("(allowed: all; denied: Bash)")));
	assert_true(str_contains(reason_of(hook_answer(&arena, &bash, f, &only, STR(""))),
			STR("(allowed: Read, Edit)")));
	/* What cannot be judged is not permitted. */
	assert_true(hook_answer(&arena, &none, f, &but, STR("")).denied);
	assert_true(str_contains(reason_of(hook_answer(&arena, &read, NULL, NULL, STR(""))),
			STR("cannot be read")));
	line = hook_line(&arena, &bash, 1, true, STR(""));
	assert_true(hook_fact(&arena, line, f, &fact, &taken));
	assert_int_equal(fact.kind, FACT_PERMISSION_DENIED);
	assert_true(str_is(fact.name, "Bash") && str_is(fact.id, "t7"));
	arena_done(&arena);
}

/* An agent whose shell has a word for what is a tool of its own, too. */
TEST(a_tool_within_the_shell)
{
	static const struct tool_name tools[] = { { "Bash", TOOLS_SHELL },
		{ "apply_patch", TOOLS_EDIT }, { 0 } };
	static const str edit[] = { STR("edit") }, patch[] = { STR("apply_patch") };
	struct agent_format f = { .name = "x", .tools = tools };
	struct tool_scope no_edit = { .deny = edit, .deny_n = 1 },
			  only = { .allow = patch, .allow_n = 1 };
	struct hook_call c, ls;

	arena = ARENA_INIT;
	c = call_of("{'hook_event_name':'PreToolUse','tool_name':'Bash','tool_input':{'command':"
		    "' apply_patch <<EOF'}}");
	ls = call_of("{'hook_event_name':'PreToolUse','tool_name':'Bash','tool_input':{'command':"
		     "'ls apply_patch'}}");
	assert_true(hook_answer(&arena, &c, &f, &no_edit, STR("")).denied);
	assert_false(hook_answer(&arena, &ls, &f, &no_edit, STR("")).denied);
	assert_true(hook_answer(&arena, &c, &f, &only, STR("")).denied);
	assert_false(hook_answer(&arena, &c, format_find(STR("claude")), &no_edit, STR("")).denied);
	arena_done(&arena);
}

/* Codex's hooks call its shell Bash; scopes may say what its model calls it. */
TEST(a_tool_with_two_names)
{
	static const struct tool_name tools[] = { { "Bash", TOOLS_SHELL },
		{ "exec_command", TOOLS_SHELL }, { 0 } };
	static const str name[] = { STR("exec_command") };
	struct agent_format f = { .name = "x", .tools = tools };
	struct tool_scope but = { .deny = name, .deny_n = 1 },
			  only = { .allow = name, .allow_n = 1 };
	struct hook_call c, other;

	arena = ARENA_INIT;
	c = call_of("{'hook_event_name':'PreToolUse','tool_name':'Bash'}");
	other = call_of("{'hook_event_name':'PreToolUse','tool_name':'view_image'}");
	assert_true(hook_answer(&arena, &c, &f, &but, STR("")).denied);
	assert_false(hook_answer(&arena, &c, &f, &only, STR("")).denied);
	assert_true(hook_answer(&arena, &other, &f, &only, STR("")).denied);
	f.tools = tools + 2;
	assert_false(hook_answer(&arena, &c, &f, &but, STR("")).denied);
	arena_done(&arena);
}

TEST(stop_hands_over_what_is_next)
{
	struct tool_scope all = { 0 };
	struct hook_call stop, again, sub, post;
	struct hook_reply r;
	struct fact f;
	str taken;

	arena = ARENA_INIT;
	stop = call_of("{'hook_event_name':'Stop'}");
	again = call_of("{'hook_event_name':'Stop','stop_hook_active':true}");
	sub = call_of("{'hook_event_name':'SubagentStop','agent_id':'a'}");
	post = call_of("{'hook_event_name':'Stop','agent_id':'a'}");
	r = hook_answer(&arena, &stop, NULL, &all, STR("do \"this\"\n"));
	assert_true(str_eq(r.text, quoted("{'decision':'block','reason':'do \\'this\\'\\n'}")));
	assert_int_equal(hook_answer(&arena, &stop, NULL, &all, STR("")).text.n, 0);
	assert_true(hook_answer(&arena, &again, NULL, &all, STR("x")).text.n > 0);
	assert_int_equal(hook_answer(&arena, &sub, NULL, &all, STR("x")).text.n, 0);
	assert_false(hook_may_go_on(&sub) || hook_may_go_on(&post));
	assert_true(hook_fact(&arena, hook_line(&arena, &stop, 1, false, STR("D_1")), NULL, &f,
			&taken));
	assert_true(str_is(taken, "D_1"));
	arena_done(&arena);
}

/* As an agent on a screen tells it: by hooks alone. */
static void heard(struct account *c, const char *json)
{
	struct hook_call call = call_of(json);
	struct fact f;
	str taken;

	assert_true(hook_fact(&arena, hook_line(&arena, &call, 1000, false, STR("")), NULL, &f,
			&taken));
	account_fact(c, &f, 1000);
}

#define PRE(id, input)                                                          \
	"{'hook_event_name':'PreToolUse','tool_name':'Edit','tool_use_id':'" id \
	"','tool_input':" input "}"
#define POST(id, answer)                                                         \
	"{'hook_event_name':'PostToolUse','tool_name':'Edit','tool_use_id':'" id \
	"','tool_response':" answer "}"

TEST(the_same_call_is_known_by_hooks_too)
{
	struct account c;

	account_init(&c, NULL, 0);
	heard(&c, PRE("1", "{'file_path':'a','new_string':'x'}"));
	heard(&c, POST("1", "{'ok':true}"));
	heard(&c, PRE("2", "{'new_string':'x','file_path':'a'}"));
	heard(&c, POST("2", "{'ok':true}"));
	assert_int_equal(c.calls.most, 2);
	assert_int_equal(c.calls.same, 2);
	heard(&c, PRE("3", "{'file_path':'a','new_string':'x'}"));
	heard(&c, POST("3", "{'ok':false}"));
	assert_int_equal(c.calls.most, 3);
	assert_int_equal(c.calls.same, 1);
	heard(&c, PRE("4", "{'file_path':'a','new_string':'y'}"));
	heard(&c, POST("4", "{'ok':false}"));
	assert_int_equal(c.calls.most, 3);
	assert_int_equal(c.calls.same, 1);
	arena_done(&arena);
}

TEST(scope_and_next_as_files)
{
	static const str deny[] = { STR("shell"), STR("WebFetch") };
	struct tool_scope s = { .deny = deny, .deny_n = 2 }, back;
	const struct agent_format *f;
	struct ov_err err;
	str text, dispatch, said;

	arena = ARENA_INIT;
	text = hook_scope_text(&arena, format_find(STR("codex")), &s);
	assert_int_equal(hook_scope_read(&arena, text, &f, &back, &err), 0);
	assert_true(str_is(STR("codex"), f->name));
	assert_null(back.allow);
	assert_int_equal(back.deny_n, 2);
	assert_true(str_is(back.deny[1], "WebFetch"));
	text = hook_scope_text(&arena, format_find(STR("claude")), NULL);
	assert_int_equal(hook_scope_read(&arena, text, &f, &back, &err), 0);
	assert_true(!back.allow && back.deny_n == 0);
	assert_true(hook_scope_read(&arena, STR("{}"), &f, &back, &err) < 0);
	assert_true(hook_scope_read(&arena, quoted("{'format':'codex','allow':[]}"), &f, &back,
				    &err) < 0);
	assert_true(hook_scope_read(&arena, quoted("{'format':'codex','alow':['x']}"), &f, &back,
				    &err) < 0);

	assert_int_equal(hook_next_text(&arena, STR("D_1-x"), STR("go\n"), &text, &err), 0);
	assert_int_equal(hook_next_read(&arena, text, &dispatch, &said, &err), 0);
	assert_true(str_is(dispatch, "D_1-x") && str_is(said, "go\n"));
	assert_true(hook_next_text(&arena, STR("../x"), STR("go"), &text, &err) < 0);
	assert_true(hook_next_text(&arena, STR("D"), STR(""), &text, &err) < 0);
	assert_true(hook_next_read(&arena, quoted("{'dispatch':'a/b','text':'x'}"), &dispatch,
				    &said, &err) < 0);
	assert_true(hook_next_read(&arena, quoted("{'dispatch':'D'}"), &dispatch, &said, &err) < 0);
	arena_done(&arena);
}

TEST_MAIN
