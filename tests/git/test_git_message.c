/* The message of an accepted commit: attribution out, the trailer in, in the right paragraph. */
#include "base/arena.h"
#include "base/str.h"
#include "drive/accept/git_target_steps.h"
#include "tests/test.h"

static const struct {
	const char *in, *out;
} cases[] = {
	{ "Add it", "Add it\n\nOverseer-Accept: K\n" },
	{ "", "Work of b\n\nOverseer-Accept: K\n" },
	{ "\n\n  \n", "Work of b\n\nOverseer-Accept: K\n" },
	{ "Add it\n\n\n\nBody\n\n\n", "Add it\n\nBody\n\nOverseer-Accept: K\n" },
	{ "Add it\n\nBody\n\nSigned-off-by: A <a@b>",
			"Add it\n\nBody\n\nSigned-off-by: A <a@b>\nOverseer-Accept: K\n" },
	/* A subject that looks like a trailer is a subject. */
	{ "fix: it", "fix: it\n\nOverseer-Accept: K\n" },
	{ "Add it\n\nCo-Authored-By: Tool <t@t>\nSigned-off-by: A <a@b>",
			"Add it\n\nSigned-off-by: A <a@b>\nOverseer-Accept: K\n" },
	{ "Add it\n\n\xf0\x9f\xa4\x96 Generated with "
	  "[Tool](https://example.org)\n\nCo-authored-by: Tool <t@t>\n",
			"Add it\n\nOverseer-Accept: K\n" },
	/* Nobody but us writes the key. */
	{ "Add it\n\nOverseer-Accept: OTHER\n overseer-accept: X",
			"Add it\n\nOverseer-Accept: K\n" },
	{ "Add it\n\nThis was generated with care.",
			"Add it\n\nThis was generated with care.\n\nOverseer-Accept: K\n" },
	/* Prose is prose, also where it begins as a credit does. */
	{ "Add it\n\nGenerated with care.",
			"Add it\n\nGenerated with care.\n\nOverseer-Accept: K\n" },
	{ "Add it\n\nGenerated with Flex now:\nco-authored-by: is a trailer\nof git's.",
			"Add it\n\nGenerated with Flex now:\nco-authored-by: is a trailer\nof "
			"git's.\n\nOverseer-Accept: K\n" },
	{ "Add it\n\nBody\n\nGenerated with Tool\nFixes: #1\n\nAssisted-by: T",
			"Add it\n\nBody\n\nFixes: #1\nOverseer-Accept: K\n" },
	{ "Co-authored-by: Tool <t@t>", "Work of b\n\nOverseer-Accept: K\n" },
	{ "fix: it\nCo-authored-by: Tool <t@t>",
			"fix: it\nCo-authored-by: Tool <t@t>\n\nOverseer-Accept: K\n" },
	{ "Add \xff it\r\n\r\nBody \t",
			"Add \xef\xbf\xbd it\xef\xbf\xbd\n\xef\xbf\xbd\nBody\n\nOverseer-Accept: "
			"K\n" },
};

TEST(squash_messages)
{
	struct arena a = ARENA_INIT;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		str s = git_message_squash(&a, str_from(cases[i].in), STR("Work of b"), GIT_ACCEPT,
				STR("K"));

		assert_string_equal(arena_cstr(&a, s), cases[i].out);
	}
	arena_done(&a);
}

TEST(ref_names)
{
	static const char *const good[] = { "main", "overseer/w1/T1.2", "a-b_c",
		"refs/overseer/rescue/x" };
	static const char *const bad[] = { "", "-x", "a..b", "a b", "a\nb", "a~", "a^", "a:b", "a?",
		"a*", "a[", "a\\", "@", "a@{b", "/a", "a/", "a//b", "a.", ".a", "a/.b", "a.lock",
		"a.lock/b", "a\x7f" };

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_true(git_ref_valid(str_from(good[i])));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(git_ref_valid(str_from(bad[i])));
}

TEST_MAIN
