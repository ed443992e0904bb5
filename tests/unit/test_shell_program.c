/* What a call of a shell is about, by the command that an agent wrote. */
#include "agent/fact/shell_program.h"

#include <stdlib.h>

#include "base/str.h"
#include "tests/rng.h"
#include "tests/test.h"

static void is(const char *command, const char *expected)
{
	char name[SHELL_PROGRAM_MAX];

	shell_program(STR("Bash"), str_from(command), name);
	if (strcmp(name, expected) != 0)
		fail_msg("%s: \"%s\", not \"%s\"", command, name, expected);
}

TEST(plain_commands)
{
	is("pytest -q tests", "pytest");
	is("/usr/bin/pytest", "pytest");
	is("./run.sh --all", "run.sh");
	is("'pytest' -q", "pytest");
	is("sleep 300", "sleep");
	is("", "");
	is("   ", "");
	is("ls -la", "ls");
	is("# nothing", "");
}

TEST(what_they_do_is_in_their_next_word)
{
	is("cargo build --release", "cargo build");
	is("npm test", "npm test");
	is("git -C x status", "git");
	is("make", "make");
	is("make $TARGET", "make");
	is("python3 -m pytest -x", "pytest");
	is("python3 tools/x.py", "python3");
	is("go test ./...", "go test");
}

TEST(what_starts_others_is_passed_over)
{
	is("PYTHONPATH=. timeout 60 pytest", "pytest");
	is("env -i A=b nice -n 10 make check", "make check");
	is("sudo -E apt-get install x", "apt-get");
	is("npx vitest run", "vitest");
	is("uv run pytest", "pytest");
	is("bash -lc 'cd web && npm test'", "npm test");
	is("sh -c \"pytest -q\"", "pytest");
	is("bash -c \"bash -c 'bash -c ls'\"", "");
}

TEST(chains_and_pipes)
{
	is("cd web && npm install && npm test 2>&1 | tail -20", "npm install && npm test");
	is("pytest -q | tee log | grep FAILED", "pytest");
	is("make; make install", "make && make install");
	is("pytest > out.txt 2>err.txt", "pytest");
	is("pytest &> out.txt || true", "pytest");
	is("cat <<EOF > x.py\nimport os\nos.system(1)\nEOF", "cat");
	is("pytest \\\n  -q", "pytest");
	is("git add -A\ngit commit -m 'a; b && c'", "git add && git commit");
	is("echo 'a' && ls", "echo");
}

TEST(what_is_not_plain_has_no_name)
{
	is("for i in 1 2; do pytest; done", "");
	is("$CMD x", "");
	is("`which pytest`", "");
	is("(cd x; make)", "");
	is("if true; then make; fi", "");
	is("{ make; }", "");
	is("! make", "");
	is("\xc3\xa4\x01 x", "");
	is("mak\"e\" x", "");
	is("'unclosed", "");
}

TEST(other_tools_and_hooks)
{
	char name[SHELL_PROGRAM_MAX];

	shell_program(STR("Read"), STR("pytest"), name);
	assert_string_equal(name, "");
	shell_program(STR("run_shell_command"),
			STR("{\"command\": \"pytest -q\", \"description\": \"x\"}"), name);
	assert_string_equal(name, "pytest");
	shell_program(STR("exec_command"), STR("{\"cmd\": \"make\\u0000x\"}"), name);
	assert_string_equal(name, "make");
	shell_program(STR("shell"), STR("{\"command\": 7}"), name);
	assert_string_equal(name, "");
	shell_program(STR("shell"), STR("{\"command\": "), name);
	assert_string_equal(name, "");
}

TEST(long_ones_are_cut)
{
	char name[SHELL_PROGRAM_MAX];

	is("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
	is("npm install && npm test && npm run build && npm run lint",
			"npm install && npm test && npm ");
	shell_program(STR("Bash"), STR("make check && make install && make clean"), name);
	assert_int_equal(strlen(name), SHELL_PROGRAM_MAX - 1);
}

/* Whatever an agent writes: it ends, stays within its bounds, and is printable. */
TEST(anything)
{
	static const char alphabet[] = "ab '\"\\$`;&|<>()=-/\n\tc\0{}*0";

	for (uint64_t seed = 1; seed <= 20000; seed++) {
		struct rng rng = { seed };
		size_t n = rng_below(&rng, 60);
		char *text = malloc(n ? n : 1), name[SHELL_PROGRAM_MAX];

		for (size_t i = 0; i < n; i++)
			text[i] = alphabet[rng_below(&rng, sizeof(alphabet) - 1)];
		shell_program(STR("bash"), (str){ text, n }, name);
		for (const char *c = name; *c; c++)
			assert_true(*c >= 0x20 && *c < 0x7f);
		free(text);
	}
}

TEST_MAIN
