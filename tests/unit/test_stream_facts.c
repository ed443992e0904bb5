/* Framing, and what single lines of each format mean that no capture shows. */
#include <malloc.h>

#include "agent/table/formats.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "tests/rng.h"
#include "tests/test.h"
#include "tests/unit/stream_fixture.h"

#define THREAD "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n"
#define TURN "{\"type\":\"turn.started\"}\n"

/* The facts without their offsets, which are tested apart. */
static const char *without_offsets(struct buf *facts)
{
	size_t n = 0;

	for (size_t i = 0; i < facts->n; i++) {
		if (facts->p[i] == '\n')
			while (facts->p[n - 1] != '@' || facts->p[n - 2] != ' ')
				n--;
		if (facts->p[i] == '\n')
			n -= 2;
		facts->p[n++] = facts->p[i];
	}
	facts->n = n;
	buf_reserve(facts, 1);
	facts->p[n] = '\0';
	return buf_cstr(facts);
}

static void facts_are(const char *format, const char *output, const char *errors,
		const char *expected)
{
	struct heard h;

	heard_init(&h);
	heard_feed(&h, format, str_from(output), str_from(errors), 0);
	assert_string_equal(without_offsets(&h.facts), expected);
	heard_done(&h);
}

/* How often the call was made that was made most often. */
static int64_t most_calls(const char *format, const char *output)
{
	struct heard h;
	int64_t most;

	heard_init(&h);
	heard_feed(&h, format, str_from(output), (str){ 0 }, 0);
	most = h.account.calls.most;
	heard_done(&h);
	return most;
}

#define CLAUDE_CALL(id, name, input)                                                       \
	"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":" \
	"\"" id "\",\"name\":\"" name "\",\"input\":" input "}]}}\n"
#define EDIT(id, text) CLAUDE_CALL(id, "Edit", "{\"file_path\":\"a\",\"new_string\":\"" text "\"}")
#define SHELL(id, why) CLAUDE_CALL(id, "Bash", "{\"command\":\"make\",\"description\":\"" why "\"}")
#define GEMINI_CALL(id, text)                                                      \
	"{\"type\":\"tool_use\",\"tool_id\":\"" id "\",\"tool_name\":\"replace\"," \
	"\"parameters\":{\"file_path\":\"a\",\"new_string\":\"" text "\"}}\n"
#define OPENCODE_CALL(id, text)                                                               \
	"{\"type\":\"tool_use\",\"part\":{\"callID\":\"" id "\",\"tool\":\"edit\",\"state\":" \
	"{\"status\":\"running\",\"input\":{\"filePath\":\"a\",\"newString\":\"" text "\"}}}}\n"
#define CODEX_CALL(id, type, more)                                                                \
	"{\"type\":\"item.started\",\"item\":{\"id\":\"" id "\",\"type\":\"" type "\"," more "}}" \
	"\n"
#define CODEX_PATCH(id) CODEX_CALL(id, "file_change", "\"changes\":[{\"path\":\"a\"}]")

TEST(calls_are_the_same_by_all_that_they_say)
{
	assert_int_equal(most_calls("claude", EDIT("1", "x") EDIT("2", "y")), 1);
	assert_int_equal(most_calls("claude", EDIT("1", "x") EDIT("2", "y") EDIT("3", "x")), 2);
	/* What it is good for is said in other words each time. */
	assert_int_equal(most_calls("claude", SHELL("1", "try") SHELL("2", "again")), 2);
	assert_int_equal(most_calls("gemini", GEMINI_CALL("1", "x") GEMINI_CALL("2", "y")), 1);
	assert_int_equal(most_calls("gemini", GEMINI_CALL("1", "x") GEMINI_CALL("2", "x")), 2);
	assert_int_equal(most_calls("opencode", OPENCODE_CALL("1", "x") OPENCODE_CALL("2", "y")),
			1);
	assert_int_equal(most_calls("opencode", OPENCODE_CALL("1", "x") OPENCODE_CALL("2", "x")),
			2);
	assert_int_equal(most_calls("codex",
					 CODEX_CALL("1", "command_execution", "\"command\":\"ls\"")
							 CODEX_CALL("2", "command_execution",
									 "\"command\":\"ls\"")),
			2);
	/*
	 * Of a patch it does not say what it is: two of the same file are not known to be the same.
	 */
	assert_int_equal(most_calls("codex", CODEX_PATCH("1") CODEX_PATCH("2")), 0);
}

/* ---- framing ---- */

TEST(lines_that_say_nothing_are_passed_over)
{
	struct heard h;

	heard_init(&h);
	heard_feed(&h, "codex",
			STR("\n  \r\nnot JSON\n[1]\n{\"type\":\n{}\n{\"type\":7}\n"
			    "{\"type\":\"new.thing\",\"x\":[{}]}\n{\"TYPE\":\"turn.started\"}"
			    "\n" TURN),
			(str){ 0 }, 0);
	assert_string_equal(without_offsets(&h.facts), "turn_started\n");
	assert_int_equal(h.counts.lines, 8);
	assert_int_equal(h.counts.skipped, 3);
	heard_done(&h);
}

TEST(the_last_line_needs_no_newline)
{
	facts_are("codex", THREAD "{\"type\":\"turn.started\"}", "",
			"ready session=\"t\"\nturn_started\n");
}

TEST(a_line_that_is_too_long_is_skipped)
{
	size_t n = STREAM_LINE_MAX + 10;
	char *long_line = mem_alloc(n + 1);
	struct buf text = BUF_INIT;

	memset(long_line, 'x', n);
	long_line[n] = '\n';
	for (int whole = 0; whole < 2; whole++) {
		struct heard h;

		buf_clear(&text);
		buf_adds(&text, STR(TURN "{\"a\":\""));
		buf_add(&text, long_line, n + 1);
		buf_adds(&text, STR(TURN));
		heard_init(&h);
		heard_feed(&h, "codex", buf_str(&text), (str){ 0 }, whole ? 0 : 4096);
		assert_int_equal(h.counts.too_long, 1);
		assert_int_equal(h.counts.lines, 2);
		heard_done(&h);
	}
	buf_done(&text);
	mem_free(long_line);
}

/* A line of ten megabytes is read; one of as many values would take a hundred times its memory. */
TEST(a_large_line_is_read_but_not_a_rich_one)
{
	struct buf text = BUF_INIT;
	struct heard h;

	buf_adds(&text, STR("{\"type\":\"turn.started\",\"x\":\""));
	for (int i = 0; i < 10 << 20; i++)
		buf_addc(&text, i % 7 ? 'a' : ',');
	buf_adds(&text, STR("\"}\n{\"type\":\"turn.started\",\"x\":["));
	for (int i = 0; i < 2 << 20; i++)
		buf_adds(&text, STR("1,"));
	buf_adds(&text, STR("1]}\n"));
	heard_init(&h);
	heard_feed(&h, "codex", buf_str(&text), (str){ 0 }, 65536);
	assert_int_equal(h.account.turns, 1);
	assert_int_equal(h.counts.too_long, 1);
	heard_done(&h);
	buf_done(&text);
}

TEST(deep_nesting_is_skipped)
{
	struct buf text = BUF_INIT;
	struct heard h;

	buf_adds(&text, STR("{\"type\":\"turn.started\",\"x\":"));
	for (int i = 0; i < 100000; i++)
		buf_addc(&text, '[');
	buf_adds(&text, STR("\n" TURN));
	heard_init(&h);
	heard_feed(&h, "codex", buf_str(&text), (str){ 0 }, 0);
	assert_int_equal(h.counts.skipped, 1);
	assert_int_equal(h.account.turns, 1);
	heard_done(&h);
	buf_done(&text);
}

TEST(characters_that_are_none_are_replaced)
{
	facts_are("codex",
			"{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\","
			"\"text\":"
			"\"a\xff\xc3 \\ud83d \\ude00\\ud83d\\ude00 \\\\ud83d \\\"\"}}\n",
			"",
			"message text=\"a\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd"
			"\xf0\x9f\x98\x80 \\ud83d \"\"\n");
}

struct counted {
	size_t n;
	uint64_t offset;
};

static void count(void *user, const struct fact *f)
{
	struct counted *c = user;

	c->n++;
	c->offset = f->offset;
}

TEST(gaps_and_repeats)
{
	struct counted c = { 0 };
	struct agent_stream *s = stream_new(format_find(STR("codex")), count, &c);

	stream_bytes(s, STR(TURN), 0);
	stream_bytes(s, STR(TURN), 0); /* heard before */
	assert_int_equal(c.n, 1);
	stream_bytes(s, STR("rned\"}\n" TURN), 17); /* overlaps */
	assert_int_equal(c.n, 2);
	assert_int_equal(c.offset, 48);
	stream_bytes(s, STR("{\"type\":"), 48);
	stream_bytes(s, STR(TURN "{\"ty"), 1000); /* the rest of the line is lost */
	assert_int_equal(c.n, 3);
	assert_int_equal(c.offset, 1024);
	assert_int_equal(stream_counts(s).gaps, 1);
	stream_bytes(s, (str){ "\0\0\0", 3 }, 1028);
	stream_bytes(s, (str){ "\0\0" TURN, 26 }, 1031);
	assert_int_equal(c.n, 4);
	assert_int_equal(stream_counts(s).gaps, 2);
	stream_free(s);
	assert_null(stream_free(NULL));
}

/* Any split of any mixture of lines, good and bad, gives the same. */
TEST(splits_do_not_matter)
{
	static const char *const lines[] = { THREAD, TURN, "garbage\n", "\n",
		"{\"type\":\"error\"}\n",
		"{\"type\":\"item.started\",\"item\":{\"id\":\"1\",\"type\":\"web_search\"}}\n",
		"{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":5}}\n", "\xff\xfe{}\n",
		"{\"type\":\"turn.failed\",\"error\":{\"message\":\"\\ud800\"}}\n" };
	struct rng rng = { 11 };

	for (int round = 0; round < 300; round++) {
		struct buf text = BUF_INIT;
		struct heard whole, parts;
		struct agent_stream *s;
		size_t at = 0;

		for (size_t i = rng_below(&rng, 20); i > 0; i--) {
			buf_adds(&text, str_from(lines[rng_below(&rng, ARRAY_LEN(lines))]));
			if (rng_below(&rng, 10) == 0) /* two writers at once */
				text.n -= MIN(text.n, rng_below(&rng, 9));
		}
		heard_init(&whole);
		heard_init(&parts);
		heard_feed(&whole, "codex", buf_str(&text), (str){ 0 }, 0);
		s = stream_new(format_find(STR("codex")), heard_fact, &parts);
		while (at < text.n) {
			size_t n = 1 + rng_below(&rng, 40);

			stream_bytes(s, str_sub(buf_str(&text), at, n), at);
			at += n;
		}
		stream_end(s);
		stream_free(s);
		assert_string_equal(buf_cstr(&whole.facts), buf_cstr(&parts.facts));
		heard_done(&whole);
		heard_done(&parts);
		buf_done(&text);
	}
}

TEST(nobody_reads_what_has_no_form)
{
	facts_are("raw", TURN, "error: x\n", "");
}

/* ---- troubles ---- */

TEST(troubles_by_status)
{
	static const struct {
		int status;
		enum trouble trouble;
	} cases[] = { { 0, TROUBLE_NONE }, { 200, TROUBLE_NONE }, { 400, TROUBLE_REFUSED },
		{ 401, TROUBLE_LOGIN }, { 402, TROUBLE_RATE_LIMITED }, { 403, TROUBLE_LOGIN },
		{ 404, TROUBLE_REFUSED }, { 408, TROUBLE_NETWORK }, { 413, TROUBLE_CONTEXT },
		{ 429, TROUBLE_RATE_LIMITED }, { 500, TROUBLE_OVERLOADED },
		{ 529, TROUBLE_OVERLOADED } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(trouble_of_status(cases[i].status), cases[i].trouble);
}

TEST(troubles_by_words)
{
	static const struct {
		const char *text;
		enum trouble trouble;
		int status;
	} cases[] = {
		{ "exceeded retry limit, last status: 429 Too Many Requests", TROUBLE_RATE_LIMITED,
				429 },
		{ "unexpected status 401 Unauthorized: bad key", TROUBLE_LOGIN, 401 },
		{ "API Error: 400 bad thing", TROUBLE_REFUSED, 400 },
		{ "API Error: 400 prompt is too long: 9 tokens", TROUBLE_CONTEXT, 400 },
		{ "Your credit balance is too low", TROUBLE_RATE_LIMITED, 0 },
		{ "[API Error: API key not valid. Please pass a valid API key. (Status: "
		  "INVALID_ARGUMENT)]",
				TROUBLE_LOGIN, 0 },
		{ "{\"error\":{\"code\":400,\"details\":[{\"reason\":\"API_KEY_INVALID\"}]}}",
				TROUBLE_LOGIN, 400 },
		{ "[API Error: terminated]", TROUBLE_NETWORK, 0 },
		{ "Model stream ended without a finish reason.", TROUBLE_NETWORK, 0 },
		{ "Attempt 1 failed: You have exhausted your capacity on this model.",
				TROUBLE_RATE_LIMITED, 0 },
		{ "{\"error\":{\"code\":503}}", TROUBLE_OVERLOADED, 503 },
		{ "You've hit your usage limit.", TROUBLE_RATE_LIMITED, 0 },
		{ "connect ECONNREFUSED 127.0.0.1:4444", TROUBLE_NETWORK, 0 },
		{ "stream disconnected before completion", TROUBLE_NETWORK, 0 },
		{ "Invalid API key \xc2\xb7 Please run /login", TROUBLE_LOGIN, 0 },
		{ "No conversation found with session ID: x", TROUBLE_SESSION_LOST, 0 },
		{ "Maximum session turns exceeded", TROUBLE_MAX_TURNS, 0 },
		{ "Loop detected, stopping execution", TROUBLE_LOOP, 0 },
		{ "too many links, a loop detected in a folder", TROUBLE_OTHER, 0 },
		{ "Operation aborted", TROUBLE_INTERRUPTED, 0 },
		{ "error on line 404040 of status.c", TROUBLE_OTHER, 0 },
		{ "it is broken", TROUBLE_OTHER, 0 },
		{ "", TROUBLE_OTHER, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int status = -1;

		assert_int_equal(trouble_of_text(str_from(cases[i].text), &status),
				cases[i].trouble);
		assert_int_equal(status, cases[i].status);
		assert_int_equal(trouble_of_text(str_from(cases[i].text), NULL), cases[i].trouble);
	}
}

TEST(when_it_may_be_tried_again)
{
	static const struct {
		const char *text;
		ov_time resets_at;
		int64_t wait_ms;
	} cases[] = {
		{ "Claude AI usage limit reached|1749924000", 1749924000000, 0 },
		{ "Claude AI usage limit reached|soon", 0, 0 },
		{ "limit reached|99999999999999999999999", 0, 0 },
		{ "Please try again in 2 days 3 hours 5 minutes.", 0,
				2 * OV_DAY + 3 * OV_HOUR + 5 * OV_MINUTE },
		{ "Your quota will reset after 18h32m10s.", 0,
				18 * OV_HOUR + 32 * OV_MINUTE + 10 * OV_SECOND },
		{ "Please retry in 12.7s, thanks", 0, 12 * OV_SECOND },
		{ "retry after 250ms", 0, 250 },
		{ "try again in a moment", 0, 0 },
		{ "try again in 5", 0, 0 },
		{ "try again in 5 parsecs", 0, 0 },
		{ "nothing", 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		ov_time at;
		int64_t wait;

		trouble_when(str_from(cases[i].text), &at, &wait);
		assert_int_equal(at, cases[i].resets_at);
		assert_int_equal(wait, cases[i].wait_ms);
	}
}

TEST(names)
{
	assert_null(format_find(STR("nonsense")));
}

/* ---- Claude Code ---- */

TEST(claude_limits)
{
	facts_are("claude",
			"{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":"
			"\"allowed\"}}\n"
			"{\"rate_limit_info\":{\"status\":\"rejected\",\"resetsAt\":1749924000,"
			"\"rateLimitType\":\"five_hour\"},\"type\":\"rate_limit_event\"}\n"
			"{\"type\":\"assistant\",\"error\":\"rate_limit\",\"api_error_status\":429,"
			"\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"You've hit your "
			"limit\"}]},"
			"\"api_error_params\":{\"rate_limit_info\":{\"resetsAt\":1749925000}}}\n"
			"{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,"
			"\"result\":\"You've hit your limit\"}\n",
			"",
			"trouble trouble=rate_limited resets=1749924000000 text=\"five_hour\"\n"
			"trouble failed trouble=rate_limited status=429 resets=1749925000000 "
			"text=\"You've hit your limit\"\n"
			"usage cost=-1\n"
			"turn_ended failed trouble=rate_limited status=429 resets=1749925000000 "
			"text=\"You've hit your limit\"\n");
}

TEST(claude_says_why_in_many_ways)
{
	facts_are("claude",
			"{\"type\":\"system\",\"subtype\":\"api_retry\",\"error_status\":null,"
			"\"error\":\"unknown\",\"attempt\":2,\"retry_delay_ms\":7.5}\n"
			"{\"type\":\"system\",\"subtype\":\"api_retry\",\"error_status\":404,"
			"\"error\":\"unknown\"}\n"
			"{\"type\":\"tool_progress\",\"tool_use_id\":\"x\",\"elapsed_time_"
			"seconds\":30}\n"
			"{\"type\":\"tool_progress\",\"tool_use_id\":\"x\",\"subagent_retry\":"
			"{\"attempt\":3,\"error_status\":529,\"error_category\":\"overloaded\"}}\n"
			"{\"type\":\"assistant\",\"error\":\"model_not_found\",\"message\":{"
			"\"content\":"
			"[{\"type\":\"text\",\"text\":\"?\"}]}}\n"
			"{\"type\":\"result\",\"subtype\":\"error_during_execution\",\"errors\":["
			"\"?\"]}\n",
			"",
			"retrying trouble=network attempt=2 wait=7 text=\"unknown\"\n"
			"retrying trouble=refused status=404 text=\"unknown\"\n"
			"retrying child trouble=overloaded status=529 attempt=3 "
			"text=\"overloaded\"\n"
			"trouble failed trouble=refused text=\"?\"\n"
			"usage cost=-1\n"
			"turn_ended failed trouble=refused text=\"?\"\n");
}

TEST(claude_asks_and_thinks)
{
	facts_are("claude",
			"{\"type\":\"control_request\",\"request\":{\"subtype\":\"can_use_tool\","
			"\"tool_name\":\"Bash\",\"tool_use_id\":\"t\",\"input\":{\"command\":"
			"\"ls\"}}}\n"
			"{\"type\":\"control_request\",\"request\":{\"subtype\":\"initialize\"}}\n"
			"{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\"}}\n"
			"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"thinking\"},"
			"{\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web_search\","
			"\"input\":"
			"{\"a\":1}},{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"s\"}]}}"
			"\n"
			"{\"type\":\"system\",\"subtype\":\"notification\",\"text\":\"hm\"}\n",
			"error: unknown option\nsome warning\n",
			"permission_wanted id=\"t\" name=\"Bash\" text=\"ls\"\n"
			"progress\n"
			"progress\n"
			"tool_started id=\"s\" name=\"web_search\" text=\"{\"a\":1}\"\n"
			"tool_ended id=\"s\"\n"
			"notice text=\"hm\"\n"
			"trouble failed trouble=other text=\"error: unknown option\"\n");
}

/* The same status again and again is a timer. */
TEST(claude_compacts)
{
#define STATUS(s) "{\"type\":\"system\",\"subtype\":\"status\",\"status\":" s "}\n"
	facts_are("claude",
			STATUS("\"requesting\"") STATUS("\"compacting\"") STATUS(
					"\"compacting\"") STATUS("null")
					STATUS("\"compacting\"") "{\"type\":\"system\",\"subtype\":"
								 "\"compact_boundary\",\"compact_"
								 "metadata\":"
								 "{\"post_tokens\":9}}\n",
			"",
			"compaction_started\ncompaction_ended\ncompaction_started\n"
			"compaction_ended\ncontext used=9\n");
}

/* Numbers that cannot be, and things in the place of others. */
TEST(claude_is_not_believed_everything)
{
	struct heard h;

	heard_init(&h);
	heard_feed(&h, "claude",
			STR("{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"usage\":{"
			    "\"input_tokens\":-5,\"output_tokens\":1e300},\"content\":{\"a\":1}}}\n"
			    "{\"type\":\"result\",\"modelUsage\":[1,2],\"total_cost_usd\":1e99}\n"
			    "{\"type\":\"result\",\"modelUsage\":{\"m\":{\"costUSD\":-1},\"n\":7}}"
			    "\n"
			    "{\"type\":\"result\",\"model_usage_since_last_result\":{\"m\":{"
			    "\"costUSD\":"
			    "0.5,\"inputTokens\":3}}}\n"
			    "{\"type\":\"user\",\"message\":{\"content\":[7,{\"type\":\"tool_"
			    "result\"}]},"
			    "\"tool_result_meta\":{\"x\":1}}\n{\"type\":\"system\"}\n"),
			(str){ 0 }, 0);
	assert_int_equal(h.account.usage.input, 3);
	assert_int_equal(h.account.usage.output, 0);
	assert_int_equal(h.account.cost_microusd, 500000);
	assert_int_equal(account_cost(&h.account), COST_UNKNOWN);
	heard_done(&h);
}

/*
 * Figures that cannot be true are unknown, not 0: what is left is the least that it was. A later
 * total that can be true tells what one before it did not; sums never do.
 */
TEST(figures_that_cannot_be_true_are_unknown)
{
#define SINCE(models) "{\"type\":\"result\",\"model_usage_since_last_result\":{" models "}}\n"
#define TOTAL(cost, models) \
	"{\"type\":\"result\",\"total_cost_usd\":" cost ",\"modelUsage\":{" models "}}\n"
#define MODEL(tokens, cost) "\"m\":{\"inputTokens\":" tokens ",\"costUSD\":" cost "}"
#define SAYS(id, tokens)                                    \
	"{\"type\":\"assistant\",\"message\":{\"id\":\"" id \
	"\",\"usage\":{\"input_tokens\":" tokens "},\"content\":[]}}\n"
#define CODEX(tokens) "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":" tokens "}}\n"
#define GEMINI(tokens) \
	"{\"type\":\"result\",\"status\":\"success\",\"stats\":{\"input_tokens\":" tokens "}}\n"
#define OPENCODE(tokens, cost)                                                                  \
	"{\"type\":\"step_finish\",\"part\":{\"reason\":\"stop\",\"tokens\":{\"input\":" tokens \
	"},\"cost\":" cost "}}\n"
#define MAX64 "9223372036854775807"
	static const struct {
		const char *format, *output;
		int64_t cost, input;
		bool untrue; /* the tokens */
	} cases[] = {
		{ "claude", SINCE(MODEL("5", "0.5")), 500000, 5, false },
		{ "claude", SINCE(MODEL("5", "1e308")), COST_UNKNOWN, 5, false },
		{ "claude", SINCE(MODEL("5", "-1")), COST_UNKNOWN, 5, false },
		{ "claude", SINCE(MODEL("5", "\"NaN\"")), COST_UNKNOWN, 5, false },
		{ "claude", SINCE("\"m\":{\"inputTokens\":5}"), COST_UNKNOWN, 5, false },
		{ "claude",
				SINCE(MODEL("5", "1") ","
						      "\"n\":{\"costUSD\":-1}"),
				COST_UNKNOWN, 5, false },
		{ "claude", SINCE(MODEL("5", "1")) SINCE(MODEL("6", "1e308")), COST_UNKNOWN, 11,
				false },
		{ "claude", SINCE(MODEL(MAX64, "1")), 1000000, 0, true },
		{ "claude", SINCE(MODEL("-7", "1")), 1000000, 0, true },
		{ "claude", SINCE(MODEL("1e300", "1")) SINCE(MODEL("4", "1")), 2000000, 4, true },
		{ "claude", TOTAL("1e308", MODEL("5", "1")), COST_UNKNOWN, 5, false },
		{ "claude", TOTAL("0.5", MODEL("5", "1e308")), 500000, 5, false },
		{ "claude", TOTAL("1", MODEL("5", "1")) TOTAL("2", MODEL(MAX64, "1")), 2000000, 5,
				true },
		/* What a message says too early its result makes good, if it can be true. */
		{ "claude", SAYS("a", MAX64), COST_UNKNOWN, 0, true },
		{ "claude", SAYS("a", MAX64) SINCE(MODEL("5", "1")), 1000000, 5, false },
		{ "claude", SAYS("a", "9") SINCE(MODEL("-1", "1")), 1000000, 9, true },
		{ "codex", CODEX("7"), COST_UNKNOWN, 7, false },
		{ "codex", CODEX("7") CODEX(MAX64), COST_UNKNOWN, 7, true },
		{ "codex", CODEX("7") CODEX("-1"), COST_UNKNOWN, 7, true },
		{ "codex", CODEX("\"NaN\"") CODEX("8"), COST_UNKNOWN, 8, false },
		{ "gemini", GEMINI("7"), COST_UNKNOWN, 7, false },
		{ "gemini", GEMINI("1e308"), COST_UNKNOWN, 0, true },
		{ "gemini", GEMINI("-1") GEMINI("7"), COST_UNKNOWN, 7, true },
		{ "opencode", OPENCODE("7", "0.25"), 250000, 7, false },
		{ "opencode", OPENCODE("7", "0.25") OPENCODE("7", "1e308"), COST_UNKNOWN, 14,
				false },
		{ "opencode", OPENCODE("7", "-0.1"), COST_UNKNOWN, 7, false },
		{ "opencode", OPENCODE(MAX64, "0.25") OPENCODE("1", "0.25"), 500000, 1, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct heard h;

		heard_init(&h);
		heard_feed(&h, cases[i].format, str_from(cases[i].output), (str){ 0 }, 0);
		if (account_cost(&h.account) != cases[i].cost ||
				h.account.usage.input != cases[i].input ||
				account_usage_untrue(&h.account) != cases[i].untrue)
			fail_msg("case %zu (%s): cost %lld, input %lld, untrue %d", i,
					cases[i].format, (long long)account_cost(&h.account),
					(long long)h.account.usage.input,
					account_usage_untrue(&h.account));
		heard_done(&h);
	}
}

/* ---- Codex ---- */

TEST(codex_items)
{
	facts_are("codex",
			"{\"type\":\"item.started\",\"item\":{\"id\":\"1\",\"type\":\"todo_list\","
			"\"items\":[{\"text\":\"a\"}]}}\n"
			"{\"type\":\"item.updated\",\"item\":{\"id\":\"1\",\"type\":\"todo_list\"}}"
			"\n"
			"{\"type\":\"item.completed\",\"item\":{\"id\":\"1\",\"type\":\"todo_"
			"list\"}}\n"
			"{\"type\":\"item.completed\",\"item\":{\"id\":\"2\",\"type\":\"web_"
			"search\","
			"\"query\":\"q\"}}\n"
			"{\"type\":\"item.completed\",\"item\":{\"id\":\"3\",\"type\":\"file_"
			"change\","
			"\"changes\":[{\"path\":\"a\"},{\"path\":\"b\"}],\"status\":\"declined\"}}"
			"\n"
			"{\"type\":\"item.completed\",\"item\":{\"id\":\"4\",\"type\":\"mcp_tool_"
			"call\","
			"\"server\":\"s\",\"tool\":\"t\",\"arguments\":{\"path\":\"p\"},"
			"\"error\":{\"message\":\"no\"},\"status\":\"failed\"}}\n"
			"{\"type\":\"item.started\",\"item\":{\"id\":\"5\",\"type\":\"agent_"
			"message\"}}\n"
			"{\"type\":\"item.completed\",\"item\":{\"id\":\"6\",\"type\":"
			"\"reasoning\"}}\n"
			"{\"type\":\"error\",\"message\":\"Reconnecting... x\"}\n"
			"{\"type\":\"turn.completed\"}\n",
			"",
			"tool_started id=\"1\" name=\"update_plan\" text=\"[{\"text\":\"a\"}]\"\n"
			"progress\n"
			"tool_ended id=\"1\" name=\"update_plan\"\n"
			"tool_started id=\"2\" name=\"web_search\" text=\"q\"\n"
			"tool_ended id=\"2\" name=\"web_search\"\n"
			"tool_started id=\"3\" name=\"apply_patch\" text=\"a b\"\n"
			"tool_ended id=\"3\" name=\"apply_patch\" failed\n"
			"permission_denied id=\"3\" name=\"apply_patch\" failed\n"
			"tool_started id=\"4\" name=\"mcp__s__t\" text=\"p\"\n"
			"tool_ended id=\"4\" name=\"mcp__s__t\" failed text=\"no\"\n"
			"progress\n"
			"retrying failed trouble=other text=\"Reconnecting... x\"\n"
			"turn_ended\n");
}

/* Its input counts what came from the cache. */
TEST(codex_usage)
{
	facts_are("codex",
			"{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1000,"
			"\"cached_input_tokens\":300,\"cache_write_input_tokens\":50,"
			"\"output_tokens\":20,\"reasoning_output_tokens\":5}}\n",
			"2026-11-15T00:08:53Z ERROR codex_core: error=unsupported\nWARNING: "
			"proceeding\n"
			"Error: no rollout found for thread id x\n",
			"usage total in=650 out=20 read=300 write=50 cost=-1\nturn_ended\n"
			"trouble failed trouble=session_lost text=\"Error: no rollout found for "
			"thread id "
			"x\"\n");
}

/* ---- Gemini CLI ---- */

TEST(gemini_says_more_than_its_result)
{
	facts_are("gemini",
			"{\"type\":\"init\",\"session_id\":\"s\"}\n"
			"{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"a\",\"delta\":"
			"true}\n"
			"{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"b\",\"delta\":"
			"true}\n"
			"{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"c\"}\n"
			"{\"type\":\"error\",\"severity\":\"warning\",\"message\":\"hm\"}\n"
			"{\"type\":\"error\",\"severity\":\"error\","
			"\"message\":\"Maximum session turns exceeded\"}\n"
			"{\"type\":\"result\",\"status\":\"success\",\"stats\":{\"total_tokens\":"
			"100,"
			"\"input_tokens\":60,\"output_tokens\":30,\"cached\":10}}\n",
			"Attempt 3 failed with status 429. Retrying with backoff... _ApiError: x\n"
			"    at throwErrorIfNotOK (status 500)\n  status: 429\nWarning: quota\n",
			"ready session=\"s\"\nturn_started\nprogress\nprogress\n"
			"message text=\"ab\"\nprogress\nmessage text=\"c\"\n"
			"notice text=\"hm\"\n"
			"trouble failed trouble=max_turns text=\"Maximum session turns exceeded\"\n"
			"usage in=50 out=40 read=10 cost=-1\n"
			"turn_ended failed trouble=max_turns text=\"Maximum session turns "
			"exceeded\"\n"
			"retrying failed trouble=rate_limited status=429 attempt=3 text=\"Attempt "
			"3 "
			"failed with status 429. Retrying with backoff... _ApiError: x\"\n");
}

/* Newer versions say in two lines what failed, and that it is tried again. */
TEST(gemini_retries_in_two_lines)
{
	facts_are("gemini", "",
			"Attempt 1 failed: You exceeded your current quota (status 429).\n"
			"Suggested retry after 20s.. Retrying after 20000ms...\n"
			"Retrying what nobody named\n",
			"trouble failed trouble=rate_limited status=429 text=\"Attempt 1 failed: "
			"You "
			"exceeded your current quota (status 429).\"\n"
			"retrying failed trouble=rate_limited status=429 attempt=1 wait=20000 "
			"text=\"Attempt 1 failed: You exceeded your current quota (status 429). "
			"Suggested retry after 20s.. Retrying after 20000ms...\"\n");
}

/* Its mode takes tools away; a name that it never had is the model's own. */
TEST(gemini_says_that_there_is_no_such_tool)
{
	static const char *const names[] = { "run_shell_command", "no_such_tool" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char lines[512], facts[256];

		snprintf(lines, sizeof(lines),
				"{\"type\":\"tool_use\",\"tool_name\":\"%s\",\"tool_id\":\"t\","
				"\"parameters\":{}}\n"
				"{\"type\":\"tool_result\",\"tool_id\":\"t\",\"status\":\"error\","
				"\"output\":\"none\",\"error\":{\"type\":\"tool_not_"
				"registered\"}}\n",
				names[i]);
		snprintf(facts, sizeof(facts),
				"tool_started id=\"t\" name=\"%s\"\n%stool_ended id=\"t\" failed "
				"text=\"none\"\n",
				names[i],
				i ? "" : "permission_denied id=\"t\" failed text=\"none\"\n");
		facts_are("gemini", lines, "", facts);
	}
}

TEST(codex_says_that_its_sandbox_cannot_start)
{
	static const struct {
		const char *output;
		int code;
		bool told;
	} cases[] = {
		{ "bwrap: No permissions to create new namespace, likely because", 1, true },
		{ "bwrap: setting up uid map: Permission denied", 1, true },
		{ "bwrap: execvp codex-linux-sandbox: No such file or directory", 1, true },
		{ "codex-linux-sandbox: cannot be run", 1, true },
		{ "bwrap: Unknown option --foo", 1, false },
		{ "the log says bwrap: No permissions to create new namespace", 1, false },
		{ "bwrap: No permissions to create new namespace", 0, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char line[512], facts[512], trouble[256] = "";

		snprintf(line, sizeof(line),
				"{\"type\":\"item.completed\",\"item\":{\"id\":\"1\",\"type\":"
				"\"command_execution\",\"command\":\"x\",\"aggregated_output\":"
				"\"%s\\nmore\",\"exit_code\":%d}}\n",
				cases[i].output, cases[i].code);
		if (cases[i].told)
			snprintf(trouble, sizeof(trouble),
					"trouble id=\"1\" name=\"Bash\" failed trouble=sandbox "
					"text=\"%s\"\n",
					cases[i].output);
		snprintf(facts, sizeof(facts),
				"tool_started id=\"1\" name=\"Bash\" text=\"x\"\n"
				"tool_ended id=\"1\" name=\"Bash\"%s text=\"%s/more\"\n%s",
				cases[i].code ? " failed" : "", cases[i].output, trouble);
		facts_are("codex", line, "", facts);
	}
}

TEST(codex_refuses_a_patch_in_its_errors)
{
	facts_are("codex", "",
			"2026-11-17T09:06:53.294062Z ERROR codex_core::tools::router: error=patch "
			"rejected: writing is blocked by read-only sandbox\n",
			"permission_denied name=\"apply_patch\" failed "
			"text=\"2026-11-17T09:06:53.294062Z ERROR codex_core::tools::router: "
			"error=patch rejected: writing is blocked by read-only sandbox\"\n");
}

TEST(gemini_tools_and_last_words)
{
	facts_are("gemini",
			"{\"type\":\"tool_result\",\"tool_id\":\"t\",\"status\":\"error\","
			"\"error\":"
			"{\"type\":\"policy_violation\",\"message\":\"no\"}}\n"
			"{\"type\":\"message\",\"role\":\"user\",\"content\":\"u\"}\n"
			"{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"last\","
			"\"delta\":true}\n",
			"",
			"permission_denied id=\"t\" failed text=\"no\"\n"
			"tool_ended id=\"t\" failed text=\"no\"\n"
			"progress\nmessage text=\"last\"\n");
}

/* The file of a sub-agent: what it calls and uses; answers are the same whenever they came. */
TEST(codex_keeps_files_of_sub_agents)
{
	static const char lines[] =
			"{\"type\":\"turn_context\",\"payload\":{\"model\":\"m1\"}}\n"
			"{\"type\":\"response_item\",\"payload\":{\"type\":\"function_call\","
			"\"name\":"
			"\"exec_command\",\"arguments\":\"{\\\"cmd\\\":\\\"ls\\\"}\",\"call_id\":"
			"\"c1\"}}\n"
			"{\"payload\":{\"type\":\"function_call_output\",\"call_id\":\"c1\","
			"\"output\":"
			"\"Chunk ID: 1\\nWall time: 0.1 seconds\\nProcess exited with code "
			"3\\nOutput:\\n"
			"Wall time: x\"}}\n"
			"{\"payload\":{\"type\":\"token_count\",\"info\":{\"total_token_usage\":{"
			"\"input_tokens\":9,\"cached_input_tokens\":2,\"output_tokens\":1}}}}\n"
			"{\"payload\":{\"type\":\"item_completed\",\"item\":{\"type\":"
			"\"CollabAgentToolCall\",\"receiver_thread_ids\":[\"t1\",7]}}}\n"
			"{\"payload\":{\"type\":\"task_complete\"}}\n{\"payload\":3}\n{}\n";
	struct heard h;
	struct agent_stream *s;

	heard_init(&h);
	s = stream_new_thread(format_find(STR("codex")), heard_fact, &h);
	stream_bytes(s, str_from(lines), 0);
	stream_free(s);
	assert_string_equal(without_offsets(&h.facts),
			"model model=\"m1\"\n"
			"tool_started id=\"c1\" name=\"exec_command\" text=\"ls\"\n"
			"tool_ended id=\"c1\" text=\"Process exited with code 3/Output:/Wall time: "
			"x\"\n"
			"usage total in=7 out=1 read=2 "
			"cost=-1\ncontext\nthread\nthread\nturn_ended\n");
	heard_done(&h);
}

/* ---- opencode ---- */

TEST(opencode_ends_in_many_ways)
{
	facts_are("opencode",
			"{\"type\":\"step_start\",\"sessionID\":\"s\"}\n"
			"{\"type\":\"reasoning\",\"sessionID\":\"s\"}\n"
			"{\"type\":\"tool_use\",\"part\":{\"tool\":\"bash\",\"callID\":\"1\","
			"\"state\":"
			"{\"status\":\"running\",\"input\":{\"command\":\"ls\"}}}}\n"
			"{\"type\":\"tool_use\",\"part\":{\"tool\":\"edit\",\"callID\":\"2\","
			"\"state\":"
			"{\"status\":\"error\",\"error\":\"rejected permission to use\"}}}\n"
			"{\"type\":\"step_finish\",\"part\":{\"reason\":\"length\",\"cost\":0.5,"
			"\"tokens\":"
			"{\"input\":1,\"output\":2,\"reasoning\":3,\"cache\":{\"read\":4,\"write\":"
			"5}}}}\n"
			"{\"type\":\"error\",\"error\":{\"name\":\"MessageAbortedError\"}}\n",
			"",
			"ready session=\"s\"\nturn_started\nprogress\n"
			"tool_started id=\"1\" name=\"bash\" text=\"ls\"\n"
			"tool_started id=\"2\" name=\"edit\"\n"
			"tool_ended id=\"2\" name=\"edit\" failed text=\"rejected permission to "
			"use\"\n"
			"permission_denied id=\"2\" name=\"edit\" failed text=\"rejected "
			"permission to "
			"use\"\n"
			"usage in=1 out=5 read=4 write=5 cost=500000\ncontext used=15\n"
			"turn_ended failed trouble=context text=\"length\"\n"
			"turn_ended failed trouble=interrupted text=\"MessageAbortedError\"\n");
}

/* Of the session itself the plugin tells only what the output does not, or late. */
TEST(opencode_tells_of_sub_agents)
{
	static const struct {
		const char *what, *child, *more, *facts;
	} cases[] = {
		{ "model", "false", ",\"model\":\"p/m\"",
				"ready session=\"ses_c\"\nmodel model=\"p/m\"\n" },
		{ "call", "true",
				",\"id\":\"c1\",\"tool\":\"bash\",\"text\":\"ls\",\"digest\":\"d\"",
				"tool_started id=\"ses_c/c1\" name=\"bash\" child text=\"ls\"\n" },
		{ "answer", "true", ",\"id\":\"c1\",\"failed\":true,\"digest\":\"e\"",
				"tool_ended id=\"ses_c/c1\" failed child\n" },
		{ "step", "true",
				",\"tokens\":{\"input\":7,\"output\":2,\"reasoning\":1,\"cache\":{"
				"\"read\":3}},\"cost\":0.25",
				"usage child in=7 out=3 read=3 cost=250000\n" },
		{ "over", "true", "", "turn_ended child\n" },
		{ "call", "false", ",\"id\":\"c2\",\"tool\":\"read\",\"text\":\"a.c\"",
				"tool_started id=\"c2\" name=\"read\" text=\"a.c\"\n" },
		{ "answer", "false", ",\"id\":\"c2\"", "" },
		{ "step", "false", ",\"tokens\":{\"input\":7}", "" },
		{ "over", "false", "", "" },
		{ "else", "true", "", "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char line[512];

		snprintf(line, sizeof(line),
				"{\"type\":\"overseer\",\"session\":\"ses_c\",\"what\":\"%s\","
				"\"child\":%s%s}\n",
				cases[i].what, cases[i].child, cases[i].more);
		facts_are("opencode", line, "", cases[i].facts);
	}
}

/* Its output names a call when it is over; where our plugin runs, that is known as it begins. */
TEST(opencode_tells_late_unless_the_plugin_speaks)
{
	static const struct {
		const char *line;
		bool late;
	} cases[] = {
		{ OPENCODE_CALL("1", "x"), true },
		{ "{\"type\":\"overseer\",\"at\":5,\"session\":\"s\",\"child\":false,"
		  "\"what\":\"model\",\"model\":\"p/m\"}\n",
				false },
		{ "{\"type\":\"overseer\",\"at\":5,\"session\":\"s\",\"child\":false,"
		  "\"what\":\"call\",\"id\":\"1\",\"tool\":\"bash\",\"text\":\"x\"}\n",
				false },
		{ "{\"type\":\"overseer\",\"what\":\"else\"}\n", true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct heard h;

		heard_init(&h);
		h.account.tells_late = true;
		heard_feed(&h, "opencode", str_from(cases[i].line), (str){ 0 }, 0);
		assert_int_equal(h.account.tells_late, cases[i].late);
		heard_done(&h);
	}
}

TEST(opencode_retries_in_its_log)
{
	facts_are("opencode", "",
			"level=ERROR message=\"stream error\" session.id=ses_1 small=true "
			"error.error=\"x\"\n"
			"level=ERROR run=1 message=\"stream error\" session.id=ses_1 small=false "
			"error.error=\"AI_APICallError: \\\"Too Many Requests\\\"\"\n"
			"level=ERROR message=\"stream error\" session.id=ses_1 small=false "
			"error.error=boom\n"
			"level=ERROR message=other error=\"401 Unauthorized\"\n"
			"\x1b[91m\x1b[1mError: \x1b[0mSession not found\nlevel\nx=\"",
			"ready session=\"ses_1\"\n"
			"retrying failed trouble=rate_limited attempt=1 text=\"AI_APICallError: "
			"\\\"Too Many Requests\\\"\"\n"
			"retrying failed trouble=other attempt=2 text=\"boom\"\n"
			"trouble failed trouble=session_lost text=\"Error: Session not found\"\n");
}

static const char *transcript_facts(struct heard *h, const char *format, const char *lines)
{
	struct agent_stream *s = stream_new_transcript(format_find(str_from(format)), heard_fact,
			h);

	stream_bytes(s, str_from(lines), 0);
	stream_end(s);
	stream_free(s);
	return without_offsets(&h->facts);
}

/* Of what an agent keeps of a session only its words and what they used count. */
TEST(transcripts)
{
	struct heard h;
	const char *told;

	heard_init(&h);
	told = transcript_facts(&h, "claude",
			"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"do "
			"it\"}}\n"
			"{\"isSidechain\":false,\"message\":{\"id\":\"m1\",\"content\":["
			"{\"type\":\"text\",\"text\":\"On it.\"},"
			"{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Bash\",\"input\":{}}],"
			"\"usage\":{\"input_tokens\":100,\"output_tokens\":20}},"
			"\"type\":\"assistant\"}\n"
			"{\"isSidechain\":true,\"message\":{\"id\":\"m2\",\"content\":["
			"{\"type\":\"text\",\"text\":\"A helper.\"}]},\"type\":\"assistant\"}\n"
			"{\"type\":\"result\",\"subtype\":\"success\",\"result\":\"x\"}\n");
	assert_non_null(strstr(told, "On it."));
	assert_null(strstr(told, "A helper."));
	assert_null(strstr(told, "tool_"));
	assert_null(strstr(told, "turn_"));
	assert_int_equal(h.account.usage.input, 100);
	assert_int_equal(h.account.usage.output, 20);
	heard_done(&h);
	heard_init(&h);
	told = transcript_facts(&h, "codex",
			"{\"type\":\"response_item\",\"payload\":{\"type\":\"message\","
			"\"role\":\"user\",\"content\":[{\"type\":\"input_text\","
			"\"text\":\"do it\"}]}}\n"
			"{\"type\":\"event_msg\",\"payload\":{\"type\":\"token_count\",\"info\":{"
			"\"total_token_usage\":{\"input_tokens\":100,\"cached_input_tokens\":30,"
			"\"output_tokens\":20},\"last_token_usage\":{\"total_tokens\":120},"
			"\"model_context_window\":1000}}}\n"
			"{\"type\":\"event_msg\",\"payload\":{\"type\":\"token_count\",\"info\":"
			"null}}\n"
			"{\"type\":\"response_item\",\"payload\":{\"type\":\"message\","
			"\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\","
			"\"text\":\"All done.\"}]}}\n");
	assert_null(strstr(told, "do it"));
	assert_non_null(strstr(told, "All done."));
	assert_int_equal(h.account.usage.input, 70);
	assert_int_equal(h.account.usage.cache_read, 30);
	assert_int_equal(h.account.context_window, 1000);
	heard_done(&h);
}

#define REQUEST(source, base, tail)                                      \
	"{\"type\":\"api-request\",\"querySource\":\"" source "\"," base \
	"\"keep\":3,\"tail\":" tail "}\n"
#define BASE "\"base\":\"40c96bd8\","

/* A request that adds nothing to the one before is that one again. */
TEST(requests_that_claude_repeats)
{
	struct heard h;

	heard_init(&h);
	assert_string_equal(transcript_facts(&h, "claude",
					    REQUEST("repl_main_thread", "",
							    "[\"a\"]") REQUEST("repl_main_thread",
							    BASE, "[\"b\"]") REQUEST("compact",
							    BASE, "[]") REQUEST("repl_main_thread",
							    BASE, "null")
							    REQUEST("repl_main_thread", "", "[]")),
			"");
	heard_done(&h);
	heard_init(&h);
	assert_string_equal(transcript_facts(&h, "claude",
					    REQUEST("repl_main_thread", BASE,
							    "[]") REQUEST("repl_main_thread", BASE,
							    "[]") REQUEST("repl_main_thread", BASE,
							    "[\"b\"]") REQUEST("repl_main_thread",
							    BASE, "[]")),
			"retrying trouble=other attempt=1 text=\"its model does not answer\"\n"
			"retrying trouble=other attempt=2 text=\"its model does not answer\"\n"
			"retrying trouble=other attempt=1 text=\"its model does not answer\"\n");
	heard_done(&h);
}

#define ROLLOUT(at, payload) \
	"{\"timestamp\":\"2026-11-17T12:00:0" at ".000Z\",\"payload\":{" payload "}}\n"

/* A line each of what the hooks of Codex do not tell: how a call ended, and why a turn failed. */
TEST(what_only_the_session_of_codex_tells)
{
	static const struct {
		const char *line, *told;
	} rows[] = {
		{ ROLLOUT("1",
				  "\"type\":\"function_call_output\",\"call_id\":\"c1\","
				  "\"output\":\"Chunk ID: 3cecdc\\nWall time: 0.1 seconds\\n"
				  "Output:\\nhi\\n\""),
				"tool_ended id=\"c1\" text=\"Output:/hi/\"\n" },
		{ ROLLOUT("1", "\"type\":\"local_shell_call_output\",\"call_id\":\"c2\""),
				"tool_ended id=\"c2\"" },
		{ ROLLOUT("1", "\"type\":\"function_call\",\"call_id\":\"c1\""), "" },
		{ ROLLOUT("2",
				  "\"type\":\"item_completed\",\"item\":{\"type\":"
				  "\"CommandExecution\",\"id\":\"c1\",\"status\":\"failed\","
				  "\"aggregated_output\":\"bwrap: No permissions to create new "
				  "namespace\\nx\"}"),
				"trouble id=\"c1\" name=\"Bash\" failed trouble=sandbox "
				"text=\"bwrap: No "
				"permissions to create new namespace\"\n" },
		{ ROLLOUT("2",
				  "\"type\":\"item_completed\",\"item\":{\"type\":"
				  "\"CommandExecution\",\"id\":\"c1\",\"status\":\"completed\","
				  "\"aggregated_output\":\"bwrap: namespace\"}"),
				"" },
		{ ROLLOUT("3", "\"type\":\"task_complete\",\"last_agent_message\":\"x\""), "" },
		{ ROLLOUT("3", "\"type\":\"task_complete\",\"error\":null"), "" },
		{ ROLLOUT("3", "\"type\":\"task_complete\",\"error\":\"x\""), "" },
		{ ROLLOUT("3",
				  "\"type\":\"task_complete\",\"error\":{\"message\":\"no "
				  "luck\",\"codex_error_info\":{\"http_connection_failed\":{"
				  "\"http_status_code\":401}}}"),
				"turn_ended failed trouble=login status=401 text=\"no luck\"\n" },
		{ ROLLOUT("3",
				  "\"type\":\"task_complete\",\"error\":{\"message\":\"no "
				  "luck\",\"codex_error_info\":\"usage_limit_exceeded\"}"),
				"turn_ended failed trouble=rate_limited text=\"no luck\"\n" },
		{ ROLLOUT("3",
				  "\"type\":\"task_complete\",\"error\":{\"message\":\"no "
				  "luck\",\"codex_error_info\":\"context_window_exceeded\"}"),
				"turn_ended failed trouble=context text=\"no luck\"\n" },
		{ ROLLOUT("3",
				  "\"type\":\"task_complete\",\"error\":{\"message\":\"no "
				  "luck\",\"codex_error_info\":{\"other\":{\"http_status_code\":"
				  "99999999999}}}"),
				"turn_ended failed trouble=other text=\"no luck\"\n" },
		{ ROLLOUT("3", "\"type\":\"turn_aborted\",\"reason\":\"interrupted\""), "" },
	};
	struct heard h;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *told;

		heard_init(&h);
		told = transcript_facts(&h, "codex", rows[i].line);
		assert_int_equal(strncmp(told, rows[i].told, strlen(rows[i].told)), 0);
		assert_int_equal(told[0] != '\0', rows[i].told[0] != '\0');
		heard_done(&h);
	}
}

static void ignore(void *user, const struct fact *f)
{
	(void)user;
	(void)f;
}

/* Of the allocator's: what is in use; nothing where a sanitizer stands in for it. */
static size_t bytes_in_use(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* Long lines come, and then an agent is silent for an hour: a thousand of them share one daemon. */
TEST(a_silent_stream_keeps_little_memory)
{
	enum { STREAMS = 50, LINE = 200 * 1000, MOST = 10 * 1000 };
	struct buf line = BUF_INIT;
	struct agent_stream *all[STREAMS];
	size_t before;

	buf_adds(&line, STR("{\"type\":\"user\",\"message\":{\"content\":\""));
	while (line.n < LINE)
		buf_adds(&line, STR("many words "));
	buf_adds(&line, STR("\"}}\n"));
	before = bytes_in_use();
	for (size_t i = 0; i < STREAMS; i++) {
		all[i] = stream_new(format_find(STR("claude")), ignore, NULL);
		/* In two pieces, as a pipe gives them. */
		stream_bytes(all[i], str_sub(buf_str(&line), 0, LINE / 2), 0);
		stream_bytes(all[i], str_sub(buf_str(&line), LINE / 2, line.n), LINE / 2);
		assert_int_equal(stream_counts(all[i]).lines, 1);
		assert_int_equal(stream_counts(all[i]).skipped, 0);
	}
	assert_true(bytes_in_use() < before + STREAMS * MOST);
	for (size_t i = 0; i < STREAMS; i++)
		stream_free(all[i]);
	buf_done(&line);
}

TEST_MAIN
