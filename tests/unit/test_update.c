#include "tests/test.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "core/life/update.h"
#include "data/value/json.h"
#include "tests/rng.h"
#include "tests/update_find.h"

/* Texts of this file have ' for ", which spares the backslashes. */
static str quoted(struct arena *a, const char *text)
{
	str s = str_from(text);
	char *p = arena_cstr(a, s);

	for (size_t i = 0; i < s.n; i++)
		p[i] = p[i] == '\'' ? '"' : p[i];
	return (str){ p, s.n };
}

#define OPEN "```json\n"
#define SHUT "\n```\n"
#define UP(members) OPEN "{'overseerUpdate': {" members "}}" SHUT
#define DONE UP("'status': 'done'")
#define SAID_DONE "{'status':'done'}"

struct row {
	const char *name, *text;
	enum update_verdict verdict;
	const char *expected; /* the update; or a part of its problems */
};

static const struct row rows[] = {
	/* fences */
	{ "plain", DONE, UPDATE_OK, SAID_DONE },
	{ "amid prose", "I am done.\n" DONE "Bye.\n", UPDATE_OK, SAID_DONE },
	{ "no newline at the end", "```json\n{'overseerUpdate':{'status':'done'}}\n```", UPDATE_OK,
			SAID_DONE },
	{ "CR LF", "```json\r\n{'overseerUpdate':\r\n{'status':'done'}}\r\n```\r\n", UPDATE_OK,
			SAID_DONE },
	{ "CR alone", "x\r```json\r{'overseerUpdate':{'status':'done'}}\r```\r", UPDATE_OK,
			SAID_DONE },
	{ "tildes", "~~~json\n{'overseerUpdate':{'status':'done'}}\n~~~\n", UPDATE_OK, SAID_DONE },
	{ "longer fence", "`````json\n{'overseerUpdate':{'status':'done'}}\n``````\n", UPDATE_OK,
			SAID_DONE },
	{ "three spaces", "   ```json\n   {'overseerUpdate':{'status':'done'}}\n  ```\n", UPDATE_OK,
			SAID_DONE },
	{ "four spaces", "    ```json\n{'overseerUpdate':{'status':'done'}}\n    ```\n",
			UPDATE_NONE, NULL },
	{ "a tab", "\t```json\n{'overseerUpdate':{'status':'done'}}\n\t```\n", UPDATE_NONE, NULL },
	{ "space before the label", "``` \t json\n{'overseerUpdate':{'status':'done'}}\n```  \n",
			UPDATE_OK, SAID_DONE },
	{ "attributes", "```json title=`no` x\n{'overseerUpdate':{'status':'done'}}\n```\n",
			UPDATE_NONE, NULL },
	{ "attributes without ticks",
			"```json title=a {.b}\n{'overseerUpdate':{'status':'done'}}\n```\n",
			UPDATE_OK, SAID_DONE },
	{ "ticks after tildes", "~~~json `x`\n{'overseerUpdate':{'status':'done'}}\n~~~\n",
			UPDATE_OK, SAID_DONE },
	{ "jsonc", "```jsonc\n{'overseerUpdate':{'status':'done'}}\n```\n", UPDATE_NONE, NULL },
	{ "jso", "```jso\n{'overseerUpdate':{'status':'done'}}\n```\n", UPDATE_NONE, NULL },
	{ "JSON", "```JSON\n{'overseerUpdate':{'status':'done'}}\n```\n", UPDATE_NONE, NULL },
	{ "no label", "```\n{'overseerUpdate':{'status':'done'}}\n```\n", UPDATE_NONE, NULL },
	{ "no fence", "{'overseerUpdate':{'status':'done'}}\n", UPDATE_NONE, NULL },
	{ "two ticks", "``json\n{'overseerUpdate':{'status':'done'}}\n``\n", UPDATE_NONE, NULL },
	{ "not closed", OPEN "{'overseerUpdate':{'status':'done'}}\n", UPDATE_NONE, NULL },
	{ "closed by tildes", OPEN "{'overseerUpdate':{'status':'done'}}\n~~~\n", UPDATE_NONE,
			NULL },
	{ "closed too short", "````json\n{'overseerUpdate':{'status':'done'}}\n```\n", UPDATE_NONE,
			NULL },
	{ "on one line", "```json {'overseerUpdate':{'status':'done'}} ```\n", UPDATE_NONE, NULL },
	{ "quoted in a longer fence", "````markdown\n" DONE "````\n", UPDATE_NONE, NULL },
	{ "quoted in tildes", "~~~\n" DONE "~~~\n", UPDATE_NONE, NULL },
	{ "after another language", "```c\nint x;\n```\n" DONE, UPDATE_OK, SAID_DONE },
	{ "inside a line of JSON",
			"{'text':'```json\\n{\\'overseerUpdate\\':{\\'status\\':\\'done\\'}}\\n```'"
			"}"
			"\n",
			UPDATE_NONE, NULL },
	{ "ticks inside a text", UP("'summary': 'use ```json here'"), UPDATE_OK,
			"{'summary':'use ```json here'}" },
	{ "bytes that are no text around it", "\xff\xfe\n" DONE "\x80", UPDATE_OK, SAID_DONE },
	{ "nothing", "", UPDATE_NONE, NULL },
	/* which one */
	{ "the last of two", DONE UP("'status': 'blocked'"), UPDATE_OK, "{'status':'blocked'}" },
	{ "other JSON after it", DONE OPEN "{'x': 1}" SHUT, UPDATE_OK, SAID_DONE },
	{ "broken JSON of another kind after it", DONE OPEN "{x}" SHUT, UPDATE_OK, SAID_DONE },
	{ "a bad one after a good one", DONE UP("'status': 'finished'"), UPDATE_BAD,
			"overseerUpdate.status: 'finished' is not one of in_progress, blocked, "
			"done" },
	{ "a good one after a bad one", UP("'status': 1") DONE, UPDATE_OK, SAID_DONE },
	{ "an open one after a good one", DONE OPEN "{'overseerUpdate': {", UPDATE_OK, SAID_DONE },
	/* what it says */
	{ "everything",
			UP("'goalId':'goal_1','workNodeId':'S1.2.3','status':'in_progress',"
			   "'summary':'s','next':'n','currentState':'c','blockers':['b'],"
			   "'openQuestions':['q'],'decisions':[{'decision':'d','rationale':'r'}],"
			   "'evidence':{'filesTouched':['f'],'testsRun':['t'],'commits':['c'],"
			   "'commandsRun':['m'],'prs':['p'],'issues':['i'],'externalRefs':['e']}"),
			UPDATE_OK,
			"{'goalId':'goal_1','workNodeId':'S1.2.3','status':'in_progress','summary':"
			"'s','next':'n','currentState':'c','blockers':['b'],'openQuestions':['q'],"
			"'decisions':[{'decision':'d','rationale':'r'}],'evidence':{'filesTouched':"
			"['f'],'commandsRun':['m'],'testsRun':['t'],'commits':['c'],'prs':['p'],"
			"'issues':['i'],'externalRefs':['e']}}" },
	{ "how far, and what was learnt", UP("'learnings':['l'],'percentComplete':40"), UPDATE_OK,
			"{'percentComplete':40,'learnings':['l']}" },
	{ "a part of a percent", UP("'percentComplete': 99.5"), UPDATE_OK,
			"{'percentComplete':99.5}" },
	{ "more than all of it", UP("'percentComplete': 100.5"), UPDATE_BAD,
			"overseerUpdate.percentComplete: must be from 0 to 100" },
	{ "less than nothing", UP("'percentComplete': -1"), UPDATE_BAD,
			"overseerUpdate.percentComplete: must be from 0 to 100" },
	{ "how far as a text", UP("'percentComplete': '40'"), UPDATE_BAD,
			"overseerUpdate.percentComplete: expected a number, found string" },
	{ "learnings that are no list", UP("'learnings': 'l'"), UPDATE_BAD,
			"overseerUpdate.learnings: expected array, found string" },
	{ "empty lists", UP("'blockers': [], 'evidence': {}"), UPDATE_OK,
			"{'blockers':[],'evidence':{}}" },
	{ "an empty summary", UP("'summary': ''"), UPDATE_OK, "{'summary':''}" },
	{ "no update", OPEN "{'status': 'done'}" SHUT, UPDATE_NONE, NULL },
	{ "the key deeper down", OPEN "{'a': {'overseerUpdate': {}}}" SHUT, UPDATE_NONE, NULL },
	{ "an array", OPEN "[{'overseerUpdate': {}}]" SHUT, UPDATE_NONE, NULL },
	{ "broken JSON", OPEN "{'overseerUpdate': {'status': 'done',}}" SHUT, UPDATE_BAD,
			"(top): " },
	{ "a key twice", UP("'status': 'done', 'status': 'blocked'"), UPDATE_BAD, "(top): " },
	{ "bytes that are no text", UP("'summary': '\xff'"), UPDATE_BAD, "(top): " },
	{ "only ids", UP("'goalId': 'goal_1'"), UPDATE_BAD, "overseerUpdate: says nothing" },
	{ "empty", UP(""), UPDATE_BAD, "overseerUpdate: says nothing" },
	{ "not an object", OPEN "{'overseerUpdate': 'done'}" SHUT, UPDATE_BAD,
			"overseerUpdate: expected object, found string" },
	{ "null", OPEN "{'overseerUpdate': null}" SHUT, UPDATE_BAD,
			"overseerUpdate: expected object, found null" },
	{ "another key beside", OPEN "{'overseerUpdate': {'status':'done'}, 'note': 1}" SHUT,
			UPDATE_BAD, "(top): unknown key 'note'" },
	{ "a misspelt top", OPEN "{'overseer_update': {'status':'done'}}" SHUT, UPDATE_BAD,
			"(top): unknown key 'overseer_update' (did you mean 'overseerUpdate'?)" },
	{ "an unknown key", UP("'status':'done','sumary':'x'"), UPDATE_BAD,
			"overseerUpdate: unknown key 'sumary' (did you mean 'summary'?)" },
	{ "a key like no other", UP("'status':'done','zzzzzz':1"), UPDATE_BAD,
			"overseerUpdate: unknown key 'zzzzzz'" },
	{ "an unknown key of evidence", UP("'evidence':{'fileTouched':[]}"), UPDATE_BAD,
			"overseerUpdate.evidence: unknown key 'fileTouched' (did you mean "
			"'filesTouched'?)" },
	{ "an unknown key of a decision", UP("'decisions':[{'decision':'d','why':'r'}]"),
			UPDATE_BAD, "overseerUpdate.decisions[0]: unknown key 'why'" },
	{ "a decision without itself", UP("'decisions':[{'rationale':'r'}]"), UPDATE_BAD,
			"overseerUpdate.decisions[0]: 'decision' is missing" },
	{ "a decision as a text", UP("'decisions':['d']"), UPDATE_BAD,
			"overseerUpdate.decisions[0]: expected object, found string" },
	{ "a status that is not the agent's", UP("'status':'cancelled'"), UPDATE_BAD,
			"is not one of in_progress, blocked, done" },
	{ "a status that is no text", UP("'status':true"), UPDATE_BAD,
			"overseerUpdate.status: expected string" },
	{ "a summary that is no text", UP("'summary':['x']"), UPDATE_BAD,
			"overseerUpdate.summary: expected string, found array" },
	{ "blockers that are a text", UP("'blockers':'x'"), UPDATE_BAD,
			"overseerUpdate.blockers: expected array, found string" },
	{ "a blocker that is no text", UP("'blockers':['x', 1]"), UPDATE_BAD,
			"overseerUpdate.blockers[1]: expected string, found integer" },
	{ "an empty blocker", UP("'blockers':[' ']"), UPDATE_BAD,
			"overseerUpdate.blockers[0]: must not be empty" },
	{ "evidence that is a list", UP("'evidence':[]"), UPDATE_BAD,
			"overseerUpdate.evidence: expected object, found array" },
	{ "evidence that is no text", UP("'evidence':{'commits':[{}]}"), UPDATE_BAD,
			"overseerUpdate.evidence.commits[0]: expected string, found object" },
	{ "an empty id", UP("'goalId':'','status':'done'"), UPDATE_BAD,
			"overseerUpdate.goalId: must not be empty" },
	{ "NUL", UP("'summary':'a\\u0000b'"), UPDATE_BAD,
			"overseerUpdate.summary: must not contain NUL" },
	{ "all problems at once", UP("'a':1,'status':2,'next':3"), UPDATE_BAD,
			"found integer\noverseerUpdate.next: expected string, found integer" },
};

static void check_row(const struct row *row)
{
	struct arena a = ARENA_INIT;
	struct update_result r;
	str expected = row->expected ? quoted(&a, row->expected) : STR("");

	update_find(&a, quoted(&a, row->text), 0, false, NULL, 0, &r);
	if (r.verdict != row->verdict)
		fail_msg("%s: verdict %d, expected %d", row->name, r.verdict, row->verdict);
	if (row->verdict == UPDATE_OK) {
		str said = json_text(&a, update_merge(&a, NULL, &r.update));

		if (!str_eq(said, expected))
			fail_msg("%s: " STR_FMT, row->name, STR_ARG(said));
	} else if (row->verdict == UPDATE_BAD) {
		str text = update_problems_text(&a, &r);

		if (!str_contains(text, expected))
			fail_msg("%s: " STR_FMT, row->name, STR_ARG(text));
	}
	arena_done(&a);
}

TEST(every_row_of_the_table)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_row(&rows[i]);
}

TEST(the_fields_are_filled)
{
	struct arena a = ARENA_INIT;
	struct update_result r;
	str text = quoted(&a,
			UP("'goalId':'g','workNodeId':'n','status':'blocked','summary':'s',"
			   "'blockers':['b'],'evidence':{'commits':['c']}"));

	update_find(&a, text, 100, false, NULL, 0, &r);
	assert_int_equal(r.verdict, UPDATE_OK);
	assert_int_equal(r.block.offset, 100 + strlen(OPEN));
	assert_true(str_is(r.update.goal_id, "g") && str_is(r.update.work_node_id, "n"));
	assert_int_equal(r.update.status, NODE_BLOCKED);
	assert_true(str_is(r.update.summary, "s"));
	assert_int_equal(r.update.next.n, 0);
	assert_int_equal(value_count(r.update.blockers), 1);
	assert_int_equal(value_count(r.update.evidence), 1);
	assert_null(r.update.decisions);
	update_find(&a, quoted(&a, UP("'summary':'s'")), 0, false, NULL, 0, &r);
	assert_int_equal(r.update.status, -1);
	assert_null(r.update.blockers);
	arena_done(&a);
}

/* A text, a list or a block that is just as long as allowed, and one that is longer. */
TEST(bounds)
{
	static const struct {
		const char *before, *after;
		size_t most;
		bool list;
	} bounds[] = {
		{ "{'overseerUpdate':{'summary':'", "'}}", UPDATE_SUMMARY, false },
		{ "{'overseerUpdate':{'currentState':'", "'}}", UPDATE_SUMMARY, false },
		{ "{'overseerUpdate':{'next':'", "'}}", UPDATE_NEXT, false },
		{ "{'overseerUpdate':{'status':'done','goalId':'", "'}}", 64, false },
		{ "{'overseerUpdate':{'blockers':['", "']}}", UPDATE_NEXT, false },
		{ "{'overseerUpdate':{'blockers':[", "]}}", UPDATE_LIST, true },
		{ "{'overseerUpdate':{'openQuestions':[", "]}}", UPDATE_LIST, true },
		{ "{'overseerUpdate':{'evidence':{'commits':[", "]}}}", UPDATE_EVIDENCE, true },
	};

	for (size_t i = 0; i < 2 * ARRAY_LEN(bounds); i++) {
		struct arena a = ARENA_INIT;
		struct buf text = BUF_INIT;
		struct update_result r;
		size_t n = bounds[i / 2].most + i % 2;

		buf_adds(&text, STR(OPEN));
		buf_adds(&text, quoted(&a, bounds[i / 2].before));
		for (size_t k = 0; k < n; k++)
			if (bounds[i / 2].list)
				buf_addf(&text, "%s\"%zu\"", k ? "," : "", k);
			else
				buf_addc(&text, 'x');
		buf_adds(&text, quoted(&a, bounds[i / 2].after));
		buf_adds(&text, STR(SHUT));
		update_find(&a, buf_str(&text), 0, false, NULL, 0, &r);
		if (r.verdict != (i % 2 ? UPDATE_BAD : UPDATE_OK))
			fail_msg("%s %zu", bounds[i / 2].before, n);
		buf_done(&text);
		arena_done(&a);
	}
}

TEST(a_block_longer_than_the_window_is_told)
{
	for (size_t more = 0; more < 2; more++) {
		struct arena a = ARENA_INIT;
		struct buf text = BUF_INIT;
		struct update_result r;
		size_t n;

		buf_adds(&text, STR(OPEN "{\"overseerUpdate\":{\"status\":\"done\"}}"));
		n = text.n - strlen(OPEN);
		while (n++ < UPDATE_WINDOW - 1 + more)
			buf_addc(&text, ' ');
		buf_adds(&text, STR("\n   ```               \n"));
		update_find(&a, buf_str(&text), 0, false, NULL, 0, &r);
		assert_int_equal(r.verdict, more ? UPDATE_BAD : UPDATE_OK);
		if (more)
			assert_true(str_contains(update_problems_text(&a, &r),
					STR("longer than 65536")));
		buf_done(&text);
		arena_done(&a);
	}
}

TEST(our_own_text_is_no_answer)
{
	struct arena a = ARENA_INIT;
	str sample = quoted(&a, UP("'status': 'done',\n  'summary': 'What changed'")),
	    nudge = arena_printf(&a, "Say how it goes:\n" STR_FMT "Thank you.\n", STR_ARG(sample)),
	    answer = quoted(&a, DONE);
	str sent[] = { STR("Do the work."), nudge };
	struct buf echo = BUF_INIT;
	struct update_result r;

	update_find(&a, nudge, 0, false, sent, 2, &r);
	assert_int_equal(r.verdict, UPDATE_OWN);
	assert_int_equal(r.problems_n, 0);
	/* the first text alone does not have it */
	update_find(&a, nudge, 0, false, sent, 1, &r);
	assert_int_equal(r.verdict, UPDATE_OK);
	/* a terminal's line ends, and wrapped */
	for (size_t i = 0; i < nudge.n; i++)
		buf_addf(&echo, "%s%c",
				nudge.p[i] == '\n'                  ? "\r"
						: nudge.p[i] == ',' ? "\r\n"
								    : "",
				nudge.p[i]);
	update_find(&a, buf_str(&echo), 0, false, sent, 2, &r);
	assert_int_equal(r.verdict, UPDATE_OWN);
	/* an answer before the echo still is the answer, and so is one behind it */
	update_find(&a, arena_printf(&a, STR_FMT STR_FMT, STR_ARG(answer), STR_ARG(nudge)), 0,
			false, sent, 2, &r);
	assert_int_equal(r.verdict, UPDATE_OK);
	assert_int_equal(r.update.summary.n, 0);
	update_find(&a, arena_printf(&a, STR_FMT STR_FMT, STR_ARG(nudge), STR_ARG(answer)), 0,
			false, sent, 2, &r);
	assert_int_equal(r.verdict, UPDATE_OK);
	/* a template that would be malformed is no malformed answer */
	sent[0] = quoted(&a, UP("'status': '...', 'summary': '...'"));
	update_find(&a, sent[0], 0, false, sent, 1, &r);
	assert_int_equal(r.verdict, UPDATE_OWN);
	assert_int_equal(r.problems_n, 0);
	buf_done(&echo);
	arena_done(&a);
}

/* With its beginning missing, a window may start inside a block. */
TEST(a_window_that_is_cut_at_its_front)
{
	static const char *const fronts[] = { "", "some text\n", "}}\n```\n", "x = 1;\n```\ntext\n",
		"`json\n{\"overseerUpdate\": {\"status\": \"blocked\"}}\n```\n", "\n```\na\n```\n",
		"``json\n{}\n```\n" };

	for (size_t i = 0; i < ARRAY_LEN(fronts); i++) {
		struct arena a = ARENA_INIT;
		struct update_result r;
		str text = arena_printf(&a, "%s\n" STR_FMT, fronts[i], STR_ARG(quoted(&a, DONE)));

		update_find(&a, text, 0, true, NULL, 0, &r);
		if (r.verdict != UPDATE_OK || r.update.status != NODE_DONE)
			fail_msg("after \"%s\": verdict %d", fronts[i], r.verdict);
		arena_done(&a);
	}
}

/* The blocks of a stream fed in pieces, as one text. */
static void scan_pieces(str stream, struct rng *rng, size_t most, struct buf *out)
{
	struct update_scan s;
	struct update_block b;

	update_scan_init(&s, 7, false);
	for (size_t at = 0; at < stream.n;) {
		size_t n = most ? 1 + rng_below(rng, most) : stream.n;
		str piece = str_sub(stream, at, n);

		at += piece.n;
		while (update_scan_next(&s, &piece, &b))
			buf_addf(out, "%llu %d [" STR_FMT "]\n", (unsigned long long)b.offset,
					b.cut, STR_ARG(b.bytes));
		assert_int_equal(piece.n, 0);
	}
	if (update_scan_end(&s, &b))
		buf_addf(out, "%llu %d [" STR_FMT "]\n", (unsigned long long)b.offset, b.cut,
				STR_ARG(b.bytes));
	update_scan_done(&s);
}

TEST(pieces_never_change_the_result)
{
	static const char *const words[] = { "\n```json\n", "\r\n```json\r", "\n```\n", "```json",
		"```", "~~~", "~~~json", "````", "\n", "\n", "\n", "\r\n", "\r", " ", "   ", "\t",
		"x", "{\"a\":1}", "json", "`", "~", "" };
	struct rng rng = { 1 };
	size_t found = 0;

	for (size_t i = 0; i < 3000; i++) {
		struct buf stream = BUF_INIT, whole = BUF_INIT;

		for (size_t k = rng_below(&rng, 60); k > 0; k--)
			buf_adds(&stream, str_from(words[rng_below(&rng, ARRAY_LEN(words))]));
		scan_pieces(buf_str(&stream), NULL, 0, &whole);
		found += whole.n > 0;
		for (size_t most = 1; most < 20; most += 6) {
			struct buf pieces = BUF_INIT;

			scan_pieces(buf_str(&stream), &rng, most, &pieces);
			if (!str_eq(buf_str(&whole), buf_str(&pieces)))
				fail_msg("%s\nwhole:\n%s\npieces of %zu:\n%s", buf_cstr(&stream),
						buf_cstr(&whole), most, buf_cstr(&pieces));
			buf_done(&pieces);
		}
		buf_done(&stream);
		buf_done(&whole);
	}
	assert_true(found > 300);
}

TEST(a_scan_keeps_no_more_than_the_window)
{
	struct update_scan s;
	struct update_block b;
	char piece[4096];
	str text = STR("```json\n");
	size_t blocks = 0;

	memset(piece, 'x', sizeof(piece));
	update_scan_init(&s, 0, false);
	assert_false(update_scan_next(&s, &text, &b));
	for (size_t i = 0; i < 1000; i++) {
		text = (str){ piece, sizeof(piece) };
		assert_false(update_scan_next(&s, &text, &b));
	}
	assert_true(s.body.cap <= 2 * UPDATE_WINDOW);
	text = STR("\n```\n```json\n1\n```\n");
	while (update_scan_next(&s, &text, &b)) {
		assert_int_equal(b.cut, blocks == 0);
		assert_int_equal(b.bytes.n, blocks == 0 ? UPDATE_WINDOW : 2);
		blocks++;
	}
	assert_int_equal(blocks, 2);
	update_scan_done(&s);
}

/* A message that left its fence open does not swallow the next one. */
TEST(messages_end)
{
	struct update_scan s;
	struct update_block b;
	str text = STR("```json\n{}\n");

	update_scan_init(&s, 0, false);
	assert_false(update_scan_next(&s, &text, &b));
	assert_false(update_scan_end(&s, &b));
	text = STR("```json\n1\n```");
	assert_false(update_scan_next(&s, &text, &b));
	assert_true(update_scan_end(&s, &b));
	assert_true(str_is(b.bytes, "1\n"));
	assert_int_equal(b.offset, strlen("```json\n{}\n```json\n"));
	assert_false(update_scan_end(&s, &b));
	update_scan_done(&s);
}

static str merged(struct arena *a, const char *stored, const char *members)
{
	struct update_result r;
	value *old = NULL;

	if (stored && json_parse(a, quoted(a, stored), NULL, &old, NULL) < 0)
		fail_msg("%s", stored);
	update_find(a,
			arena_printf(a, OPEN "{\"overseerUpdate\":{" STR_FMT "}}" SHUT,
					STR_ARG(quoted(a, members))),
			0, false, NULL, 0, &r);
	assert_int_equal(r.verdict, UPDATE_OK);
	return json_text(a, update_merge(a, old, &r.update));
}

TEST(updates_merge)
{
	static const struct {
		const char *stored, *members, *expected;
	} cases[] = {
		{ NULL, "'status':'done'", "{'status':'done'}" },
		{ "{'status':'in_progress','summary':'s'}", "'status':'done'",
				"{'status':'done','summary':'s'}" },
		{ "{'summary':'s'}", "'summary':''", "{'summary':''}" },
		{ "{'blockers':['a','b']}", "'blockers':['c']", "{'blockers':['c']}" },
		{ "{'blockers':['a']}", "'blockers':[]", "{'blockers':[]}" },
		{ "{'blockers':['a']}", "'next':'n'", "{'next':'n','blockers':['a']}" },
		{ "{'evidence':{'commits':['a','b']}}",
				"'evidence':{'commits':['a','c','c'],'testsRun':['t']}",
				"{'evidence':{'testsRun':['t'],'commits':['b','a','c']}}" },
		{ "{'evidence':{'commits':['a']}}", "'evidence':{}",
				"{'evidence':{'commits':['a']}}" },
		{ "{'decisions':[{'decision':'d'}]}",
				"'decisions':[{'decision':'d'},{'decision':'e','rationale':'r'}]",
				"{'decisions':[{'decision':'d'},{'decision':'e','rationale':'r'}]"
				"}" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena a = ARENA_INIT;
		str once = merged(&a, cases[i].stored, cases[i].members);

		if (!str_eq(once, quoted(&a, cases[i].expected)))
			fail_msg("case %zu: " STR_FMT, i, STR_ARG(once));
		/* applied again, it changes nothing */
		assert_true(str_eq(merged(&a, once.p, cases[i].members), once));
		arena_done(&a);
	}
}

TEST(of_too_much_evidence_the_newest_stays)
{
	struct arena a = ARENA_INIT;
	const value *commits = NULL;
	value *stored = NULL;

	for (int i = 0; i < 300; i++) {
		struct update_result r;

		update_find(&a,
				arena_printf(&a,
						OPEN "{\"overseerUpdate\":{\"evidence\":"
						     "{\"commits\":[\"c%d\"]}}}" SHUT,
						i),
				0, false, NULL, 0, &r);
		stored = update_merge(&a, stored, &r.update);
		commits = value_at(value_at(stored, "evidence"), "commits");
	}
	assert_int_equal(value_count(commits), UPDATE_EVIDENCE);
	assert_true(str_is(value_item(commits, 0)->s, "c100"));
	assert_true(str_is(value_item(commits, UPDATE_EVIDENCE - 1)->s, "c299"));
	arena_done(&a);
}

TEST(identity_tells_run_place_and_bytes)
{
	struct arena a = ARENA_INIT;
	struct update_block b = { STR("{}"), 5, false }, other = b;
	str id = update_identity(&a, STR("R_1"), &b);

	assert_int_equal(id.n, 64);
	assert_true(str_eq(id, update_identity(&a, STR("R_1"), &b)));
	assert_false(str_eq(id, update_identity(&a, STR("R_2"), &b)));
	other.offset = 6;
	assert_false(str_eq(id, update_identity(&a, STR("R_1"), &other)));
	other = b;
	other.bytes = STR("{} ");
	assert_false(str_eq(id, update_identity(&a, STR("R_1"), &other)));
	arena_done(&a);
}

TEST(the_keys_are_told)
{
	size_t n, evidence_n;
	const char *const *keys = update_keys(&n),
			  *const *evidence = update_evidence_keys(&evidence_n);

	assert_int_equal(n, 12);
	assert_string_equal(keys[0], "goalId");
	assert_string_equal(keys[n - 1], "evidence");
	assert_int_equal(evidence_n, 7);
	assert_string_equal(evidence[0], "filesTouched");
}

TEST_MAIN
