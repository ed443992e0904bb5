#include "app/sandbox/agent_command.h"

#include "base/arena.h"
#include "base/str.h"
#include "tests/test.h"

/* What commands say for which the sandbox may be why, and the part of the hint that fits. */
TEST(hints)
{
	static const char write[] = "agents.boxed.sandbox_writable", ssh[] = "an ssh agent";
	static const struct {
		const char *said, *hint;
	} cases[] = {
		{ "sh: 1: cannot create /x: Read-only file system", write },
		{ "Error: EROFS: read-only file system, open '/x'", write },
		{ "error: could not write config file /w/.git/config: Device or resource busy",
				write },
		{ "Error: unable to open database file", write },
		{ "mkdir: cannot create directory '/x': Permission denied", write },
		{ "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the "
		  "docker daemon running?",
				"docker's" },
		{ "git@example.org: Permission denied (publickey).", ssh },
		{ "git@example.org: Permission denied (publickey,password).", ssh },
		{ "2 tests failed", NULL },
	};
	struct arena a = ARENA_INIT;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		str said = str_from(cases[i].said),
		    hint = agent_command_hint(&a, STR("boxed"), said);
		bool named = str_contains(hint, STR("It ran in the sandbox of agent boxed. ")) &&
				str_contains(hint, STR("workspace.check_sandbox"));

		if (named != !!cases[i].hint ||
				(named && !str_contains(hint, str_from(cases[i].hint))))
			fail_msg("%s: " STR_FMT, cases[i].said, STR_ARG(hint));
		/* Where a key is missing, no path helps. */
		assert_true(cases[i].hint == write || !str_contains(hint, STR("writable")));
		assert_int_equal(agent_command_hint(&a, STR(""), said).n, 0);
	}
	arena_done(&a);
}

TEST_MAIN
