#include "agent/launch/project.h"

#include "base/arena.h"
#include "base/str.h"
#include "data/value/json.h"
#include "tests/test.h"

#define TRUSTED                                                                             \
	"\"/r\": {\"hasTrustDialogAccepted\": true, \"mcpServers\": {\"x\": {\"command\": " \
	"\"y\"}}}"

TEST(only_what_the_user_said_is_trusted)
{
	static const struct {
		const char *text;
		bool trusted;
	} cases[] = {
		{ "{\"projects\": {" TRUSTED "}}", true },
		{ "{\"projects\": {\"/r\": {\"hasTrustDialogAccepted\": false}}}", false },
		{ "{\"projects\": {\"/r\": {\"hasTrustDialogAccepted\": \"true\"}}}", false },
		{ "{\"projects\": {\"/\": {\"hasTrustDialogAccepted\": true}}}", false },
		{ "{\"projects\": {\"/r/a\": {\"hasTrustDialogAccepted\": true}}}", false },
		{ "{\"projects\": []}", false },
		{ "{\"projects\": {" TRUSTED "}", false },
		{ "[]", false },
		{ "", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(project_claude_trusted(str_from(cases[i].text), "/r"),
				cases[i].trusted);
	assert_true(project_codex_trusted(STR("[projects.\"/r\"]\ntrust_level = \"trusted\"\n"),
			"/r"));
	assert_false(project_codex_trusted(STR("[projects.\"/r\"]\ntrust_level = \"untrusted\"\n"),
			"/r"));
	assert_false(project_codex_trusted(STR("[projects.\"/\"]\ntrust_level = \"trusted\"\n"),
			"/r"));
	assert_false(project_codex_trusted(STR("projects = 1\n"), "/r"));
	assert_false(project_codex_trusted(STR("[projects"), "/r"));
}

TEST(a_worktree_is_known_as_its_repository_is)
{
	struct arena a = ARENA_INIT;
	str text = project_claude_share(&a,
			STR("{\"n\": 1.5, \"projects\": {\"/r/w\": {\"old\": 1}, " TRUSTED "}}"),
			"/r", "/r/w");
	const value *projects;
	value *v;

	assert_int_equal(json_parse(&a, text, NULL, &v, NULL), 0);
	projects = value_at(v, "projects");
	assert_int_equal(value_count(projects), 2);
	assert_true(value_equal(value_at(projects, "/r/w"), value_at(projects, "/r")));
	assert_int_equal(value_count(value_at(projects, "/r")), 2);
	assert_true(value_at(v, "n") != NULL);
	arena_done(&a);
}

TEST(what_says_nothing_of_the_repository_stays_as_it_is)
{
	static const char *const cases[] = { "{\"projects\": {\"/x\": {}}}", "{}",
		"{\"projects\": 1}", "not json", "" };
	struct arena a = ARENA_INIT;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_true(str_is(project_claude_share(&a, str_from(cases[i]), "/r", "/r/w"),
				cases[i]));
	arena_done(&a);
}

TEST_MAIN
