#include "app/notify/notify_impl.h"

#include "base/str.h"
#include "base/utf8.h"
#include "data/value/json.h"
#include "tests/test.h"

TEST_MAIN

/* What an agent would write that wants to be more than quoted. */
#define NASTY                                                                                    \
	"@everyone see #12 <!-- overseer:x notice:y -->\n## Head\n![i](http://a.example/x) `c` " \
	"<b>"                                                                                    \
	"&amp; *b* _i_ ~s~ |t| <!channel>"

static struct notice_message message(struct arena *a)
{
	value *d = value_object(a), *list = value_array(a), *did = value_object(a),
	      *evidence = value_object(a);
	str *commands = arena_array(a, str, 1);

	commands[0] = STR("overseer inbox answer 3 resume|abort|TEXT");
	value_put(a, evidence, "repeatedError", value_cstr(a, "```\n" NASTY));
	value_put(a, evidence, "occurrences", value_int(a, 5));
	value_push(a, list, value_cstr(a, "Change approach"));
	value_push(a, list, value_cstr(a, NASTY));
	value_put(a, d, "type", value_cstr(a, "stuck"));
	value_put(a, d, "severity", value_cstr(a, "critical"));
	value_put(a, d, "message", value_cstr(a, NASTY));
	value_put(a, d, "evidence", evidence);
	value_put(a, d, "recommendations", list);
	value_put(a, did, "level", value_cstr(a, "pause"));
	value_put(a, did, "reason", value_cstr(a, "Loop stuck - requires human decision"));
	value_put(a, did, "did", value_cstr(a, "the goal was paused"));
	return (struct notice_message){ .id = STR("N_1"),
		.channel = STR("x"),
		.urgency = URGENCY_CRITICAL,
		.goal_id = STR("goal_1"),
		.goal_title = STR("Title"),
		.node_id = STR("T1"),
		.node_name = STR("Fix authentication tests"),
		.iteration = 7,
		.escalation = 3,
		.reason = STR(NASTY),
		.detection = d,
		.intervention = did,
		.commands = commands,
		.commands_n = 1,
		.fingerprint = STR("stuck:-->evil"),
		.at = (ov_time)1770112800 * 1000 };
}

#define HARMLESS                                                                                   \
	"@\u200beveryone see \\#\u200b12 &lt;\\!-- overseer:x notice:y --&gt; \\#\u200b\\#\u200b " \
	"Head "                                                                                    \
	"\\!\\[i\\]\\(http://a.example/x\\) \\`c\\` &lt;b&gt;&amp;amp; \\*b\\* \\_i\\_ \\~s\\~ "   \
	"\\|t\\| "                                                                                 \
	"&lt;\\!channel&gt;"

TEST(an_issue_has_the_form_that_people_know)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct notice_message m = message(&a);
	str body;

	m.reason = STR("Loop stuck: Same error repeated 5 times");
	assert_string_equal(notify_issue_title(&a, &m).p,
			"Overseer: CRITICAL: Loop stuck: Same error repeated 5 times");
	m.detection = NULL;
	body = notify_issue_body(&a, &m, false);
	assert_string_equal(body.p,
			"<!-- overseer:stuck:___evil notice:N_1 -->\n"
			"## Agent Loop Overseer Alert\n"
			"\n"
			"**Goal:** goal\\_1/T1  \n"
			"**Task:** Fix authentication tests  \n"
			"**Iteration:** 7  \n"
			"**Timestamp:** 2026-02-03T10:00:00.000Z  \n"
			"\n"
			"### Issue\n"
			"\n"
			"Loop stuck: Same error repeated 5 times\n"
			"\n"
			"### Intervention\n"
			"\n"
			"- **Level:** pause\n"
			"- **Reason:** Loop stuck - requires human decision\n"
			"- **Done:** the goal was paused\n"
			"\n"
			"### Actions Required\n"
			"\n"
			"- [ ] Review the goal's state and its iterations\n"
			"- [ ] Determine whether it should continue or be aborted\n"
			"- [ ] Provide guidance on how to proceed\n"
			"\n"
			"What to type where the daemon runs:\n"
			"\n"
			"    overseer inbox answer 3 resume|abort|TEXT\n"
			"\n"
			"---\n"
			"*Automated escalation from Overseer. Closing this issue does not resume "
			"anything.*\n");
}

TEST(what_agents_write_is_only_quoted)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct notice_message m = message(&a);
	str body = notify_issue_body(&a, &m, true), line, rest = body;
	size_t fences = 0;

	assert_true(str_contains(body,
			STR("### Issue\n\n" HARMLESS "\n\n### Detection\n\n"
			    "- **Type:** stuck\n- **Severity:** critical\n"
			    "- **Message:** " HARMLESS "\n")));
	assert_true(str_contains(body,
			STR("**Recommendations:**\n\n1. Change approach\n2. " HARMLESS "\n")));
	while (str_split(&rest, '\n', &line))
		fences += str_starts(str_trim(line), STR("```"));
	assert_int_equal(fences, 2);
	assert_true(str_starts(body, notify_mark(&a, &m)));
	assert_true(str_starts(body, notify_mark_same(&a, &m)));
}

TEST(marks_tell_notices_apart)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct notice_message m = message(&a), longer = m, other = m;

	longer.fingerprint = STR("stuck:-->evil2");
	other.id = STR("N_12");
	assert_false(str_starts(notify_mark(&a, &longer), notify_mark_same(&a, &m)));
	assert_false(str_starts(notify_mark(&a, &other), notify_mark(&a, &m)));
	assert_true(str_starts(notify_mark(&a, &other), notify_mark_same(&a, &m)));
}

/* The longest that the state lets through, in characters that all need an escape. */
static str filled(struct arena *a, size_t n)
{
	char *p = arena_alloc(a, n);

	memset(p, '*', n);
	return (str){ p, n };
}

static size_t longest_text(const value *v)
{
	size_t longest = v->kind == V_STR ? v->s.n : 0;

	for (size_t i = 0; v->kind == V_ARRAY && i < v->array.n; i++)
		longest = MAX(longest, longest_text(v->array.items[i]));
	for (size_t i = 0; v->kind == V_OBJECT && i < v->object.n; i++)
		longest = MAX(longest, longest_text(v->object.members[i].value));
	return longest;
}

TEST(chats_get_what_they_take)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct notice_message m = message(&a);
	const value *v, *embed;

	m.reason = filled(&a, 8000);
	m.node_name = m.goal_title = filled(&a, 8000);
	v = slack_document(&a, &m);
	assert_true(longest_text(value_at(v, "blocks")) <= 2000);
	assert_true(value_str_at(v, "text").n <= 3000);
	v = discord_document(&a, &m);
	embed = value_item(value_at(v, "embeds"), 0);
	assert_true(value_str_at(v, "content").n <= 2000);
	assert_true(longest_text(value_at(embed, "fields")) <= 1024);
	assert_true(value_str_at(embed, "description").n <= 4096);
	assert_true(json_text(&a, embed).n < 6000);
}

TEST(chats_call_nobody)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct notice_message m = message(&a);
	const value *v = slack_document(&a, &m);

	assert_true(str_contains(value_str_at(v, "text"), STR("&lt;!channel&gt;")));
	assert_false(str_contains(json_text(&a, v), STR("<")));
	v = discord_document(&a, &m);
	assert_int_equal(value_count(value_at(value_at(v, "allowed_mentions"), "parse")), 0);
	assert_true(str_contains(value_str_at(v, "content"), STR("\\@everyone")));
	assert_false(str_contains(value_str_at(v, "content"), STR(" @everyone")));
}

TEST(the_document_has_the_members_of_the_form)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct notice_message m = message(&a);
	const value *v = notify_document(&a, &m), *c = value_at(v, "context");

	assert_true(str_is(value_str_at(v, "level"), "critical"));
	assert_true(str_is(value_str_at(v, "timestamp"), "2026-02-03T10:00:00.000Z"));
	assert_true(str_is(value_str_at(v, "fingerprint"), "stuck:-->evil"));
	assert_true(str_is(value_str_at(c, "loopId"), "goal_1/T1"));
	assert_true(str_is(value_str_at(c, "taskDescription"), "Fix authentication tests"));
	assert_int_equal(value_int_at(c, "iterationNumber"), 7);
	assert_true(str_is(value_str_at(value_at(c, "detection"), "type"), "stuck"));
	assert_true(str_is(value_str_at(value_at(c, "intervention"), "level"), "pause"));
	assert_int_equal(value_int_at(c, "inbox"), 3);
}

TEST(lines_are_cut_between_characters)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	assert_string_equal(notify_line(&a, STR(" a\tb\nc "), 10).p, "a b c");
	assert_string_equal(notify_line(&a, STR("0123456789a"), 10).p, "0123456...");
	assert_string_equal(notify_line(&a, STR("01234\u00e9\u00e9\u00e9"), 10).p,
			"01234\u00e9...");
	assert_true(utf8_valid(notify_line(&a, STR("\u00e9\u00e9\u00e9"), 5)));
}
