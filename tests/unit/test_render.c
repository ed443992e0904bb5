#include "agent/fact/render.h"
#include "agent/table/formats.h"
#include "base/arena.h"
#include "base/str.h"
#include "tests/test.h"
#include "tests/unit/stream_fixture.h"

static const char *render_role_name(enum render_role kind)
{
#define NAME(sym, name) [sym] = name,
	static const char *const names[] = { RENDER_ROLES(NAME) };
#undef NAME

	return names[kind];
}

static void on_line(void *user, const struct render_line *l)
{
	struct buf *out = user;

	buf_addf(out, "%s%s%s", l->child ? "  " : "", render_role_name(l->role),
			l->failed ? "!" : "");
	if (l->name.n)
		buf_addf(out, " [" STR_FMT "]", STR_ARG(l->name));
	if (l->text.n)
		buf_addf(out, " " STR_FMT, STR_ARG(l->text));
	if (l->note.n)
		buf_addf(out, " (" STR_FMT ")", STR_ARG(l->note));
	buf_addc(out, '\n');
}

static void on_fact(void *user, const struct fact *f)
{
	render_fact(user, f);
}

static void lines_are(const char *format, str output, str errors, bool live, bool ended,
		const char *expected)
{
	struct buf lines = BUF_INIT;
	struct render r;
	struct agent_stream *s = stream_new(format_find(str_from(format)), on_fact, &r);

	render_init(&r, live, on_line, &lines);
	stream_bytes(s, output, 0);
	stream_errors(s, errors);
	stream_end(s);
	render_end(&r, ended);
	assert_string_equal(buf_cstr(&lines), expected);
	stream_free(s);
	buf_done(&lines);
}

static void capture_is(const char *format, const char *path, const char *expected)
{
	struct arena a = ARENA_INIT;
	str output = capture_read(&a, arena_printf(&a, "%s/%s.out", format, path).p);
	str errors = capture_read(&a, arena_printf(&a, "%s/%s.err", format, path).p);

	lines_are(format, output, errors, false, true, expected);
	arena_done(&a);
}

TEST(turns_and_tools)
{
	capture_is("claude", "2.1.325/01_tools",
			"session [bcac89b7-f0ce-4aad-8947-bb6c67a83286] claude-opus-5-5\n"
			"words w\n"
			"tool [Write] KIT/wm/a.txt\n"
			"tool! [Bash] cat a.txt; exit 3 (failed)\n"
			"answer! Exit code 3\n"
			"words All done.\n"
			"sum 1 turn, 2 tool calls, 360 tokens (300 in, 60 out, 0 cached), "
			"$0.0024\n");
}

TEST(several_turns_and_sub_agents)
{
	capture_is("claude", "2.1.325/26_subagent2",
			"session [8c4ec1fd-dc4d-41c2-8a70-391a1dda08b3] claude-opus-5-5\n"
			"tool [Agent] sub hello\n"
			"  words fake reply #0 to: sub hello\n"
			"words parent done\n"
			"turn (2)\n"
			"words fake: script finished\n"
			"sum 2 turns, 1 tool call, 480 tokens (400 in, 80 out, 0 cached), "
			"$0.0032\n");
}

TEST(denials)
{
	capture_is("claude", "2.1.325/61_hook_decisions",
			"session [1a909b7e-c76f-4f0c-86ec-6c8db77322fe] claude-opus-5-5\n"
			"tool! [Bash] echo 1 (failed)\n"
			"answer! PreToolUse:Bash hook error: overseer policy denies\n"
			"denied [Bash]\n"
			"words first stop\n"
			"notice Stop hook error occurred \xc2\xb7 ctrl+o to see\n"
			"words second round\n"
			"sum 1 turn, 1 tool call, 360 tokens (300 in, 60 out, 0 cached), "
			"$0.0024\n");
}

TEST(retries_and_troubles)
{
	capture_is("claude", "2.1.325/70_err429",
			"session [6de874e4-9089-4fb8-a79f-1f47e33874af] claude-opus-5-5\n"
			"held retrying (429, attempt 1): rate_limit\n"
			"trouble! [rate_limited] API Error: Request rejected (429) \xc2\xb7 limit\n"
			"sum 1 turn, 0 tool calls, $0.0000\n");
	capture_is("codex", "0.166.0/15_err401",
			"session [01a1dc89-2110-7fa1-bfaf-4f18d94eadb8]\n"
			"notice Model metadata for `fake-model` not found. Defaulting to fallback "
			"metadata; "
			"this can degrade performance and cause issues.\n"
			"held retrying (401, attempt 1): Reconnecting... 1/1 (unexpected status "
			"401 "
			"Unauthorized: bad key, url: http://127.0.0.1:18999/v1/responses)\n"
			"trouble! [login] unexpected status 401 Unauthorized: bad key, url: "
			"http://127.0.0.1:18999/v1/responses\n"
			"sum 1 turn, 0 tool calls\n");
	/* What its errors say of a turn that is over comes too late to be shown. */
	capture_is("opencode", "1.18.18/10_err401",
			"session [ses_e20d6b2f9ffegjpLbWLY4B9aqa]\ntrouble! [login] boom\n");
}

TEST(compaction_and_waiting)
{
	lines_are("claude",
			STR("{\"type\":\"system\",\"subtype\":\"status\",\"status\":\"compacting\"}"
			    "\n"
			    "{\"type\":\"control_request\",\"request\":{\"subtype\":\"can_use_"
			    "tool\","
			    "\"tool_name\":\"Bash\"}}\n"
			    "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":"
			    "\"rejected\","
			    "\"resetsAt\":1749924000}}\n"),
			(str){ 0 }, false, true,
			"held compacting the conversation\nheld waits for permission to use Bash\n"
			"trouble! [rate_limited] (until 2025-06-14T18:00:00.000Z)\n");
}

#define OPENCODE_TOOL                                                                             \
	"{\"type\":\"tool_use\",\"timestamp\":5000,\"part\":{\"tool\":\"bash\",\"callID\":\"1\"," \
	"\"state\":{\"status\":\"completed\",\"input\":{\"command\":\"make\\ntest\"},"            \
	"\"time\":{\"start\":1000}}}}\n"

TEST(live_calls_are_shown_when_they_begin)
{
	lines_are("opencode", STR(OPENCODE_TOOL), (str){ 0 }, false, false,
			"tool [bash] make (4s)\nsum 0 turns, 1 tool call\n");
	lines_are("opencode", STR(OPENCODE_TOOL), (str){ 0 }, true, false,
			"tool [bash] make\ntool [bash] make (4s)\nsum 0 turns, 1 tool call\n");
	lines_are("codex",
			STR("{\"type\":\"item.started\",\"item\":{\"id\":\"1\",\"type\":\"web_"
			    "search\","
			    "\"query\":\"q\"}}\n"),
			(str){ 0 }, false, false,
			"tool! [web_search] q (running)\nsum 0 turns, 1 tool call\n");
	lines_are("codex",
			STR("{\"type\":\"item.started\",\"item\":{\"id\":\"1\",\"type\":\"web_"
			    "search\","
			    "\"query\":\"q\"}}\n{\"type\":\"turn.completed\"}\n"),
			(str){ 0 }, true, true,
			"tool [web_search] q\ntool! [web_search] q (no answer)\n"
			"sum 0 turns, 1 tool call\n");
}

TEST(calls_are_bounded)
{
	struct buf output = BUF_INIT, lines = BUF_INIT;
	struct render r;
	struct agent_stream *s = stream_new(format_find(STR("codex")), on_fact, &r);

	for (int i = 0; i < ACCOUNT_TOOLS * 2; i++)
		buf_addf(&output,
				"{\"type\":\"item.started\",\"item\":{\"id\":\"%d\",\"type\":\"web_"
				"search\"}}\n",
				i);
	render_init(&r, false, on_line, &lines);
	stream_bytes(s, buf_str(&output), 0);
	assert_int_equal(r.calls_n, ACCOUNT_TOOLS);
	stream_free(s);
	buf_done(&output);
	buf_done(&lines);
}

/* The words of a result that no message had. */
TEST(last_words)
{
	lines_are("claude",
			STR("{\"type\":\"result\",\"subtype\":\"success\",\"result\":\"only "
			    "here\"}\n"),
			(str){ 0 }, false, true, "words only here\n");
}

TEST_MAIN
