#include "agent/format/format.h"
#include "agent/table/formats.h"

#include "base/str.h"
#include "tests/test.h"

/* The versions of docs/agents.md, as programs print them. */
TEST(versions)
{
	static const struct {
		const char *format, *version;
		bool too_old;
	} cases[] = {
		{ "codex", "0.131.0", false },
		{ "codex", "0.130.9", true },
		{ "codex", "0.14.0", true },
		{ "codex", "0.169.0", false },
		{ "codex", "1.0", false },
		{ "codex", "0.131", false },
		{ "codex", "0", true },
		{ "codex", "0.131.0-alpha.2", false },
		{ "codex", "99999999999999999999", false },
		{ "codex", "", false },
		{ "codex", "unknown", false },
		{ "claude", "2.0.2", false },
		{ "claude", "1.0.109", true },
		{ "gemini", "0.40.1", true },
		{ "opencode", "1.18.14", false },
		{ "raw", "0.0.1", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(format_is_too_old(format_find(str_from(cases[i].format)),
						 str_from(cases[i].version)),
				cases[i].too_old);
}

TEST_MAIN
