/*
 * The programs that git runs (shim/programs.c), without git: a shell is what is kept, and in place
 * of a sandbox a command that says that it was made. Scripts find themselves in $S, with $K:
 * keeps; $A: asks.
 */
#include <stdlib.h>
#include <sys/wait.h>

#include "tests/shim/place.h"

static int run(struct place *p, const char *script)
{
	const char *text = arena_printf(&p->a,
			"cd '%s'; S='%s'; export S; printf '%%s\\0' sh -c 'echo made >>made; exec "
			"\"$@\"' sh \"$S\" --host >sandbox; K=\"$S --confine --free --programs "
			"sandbox --\"; A=\"$S --confine --free --ask --\"; export K A; %s",
			p->root, shim_path(), script)
					   .p;
	int status = system(text);

	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static const char *said(struct place *p, const char *name)
{
	const char *path = arena_printf(&p->a, "%s/%s", p->root, name).p;
	char *text = arena_zalloc(&p->a, 4096);
	FILE *f = fopen(path, "r");

	if (f) {
		(void)!fread(text, 1, 4095, f);
		fclose(f);
	}
	return text;
}

/*
 * Each script, the status that it has to end with, what is in the file "out" then, and in "made".
 */
static const struct {
	const char *script;
	int status;
	const char *out, *made;
} rows[] = {
	{ "$K sh -c 'exit 5'", 5, "", "" },
	{ "$K sh -c 'kill -9 $$'; [ $? = 137 ]", 0, "", "" },
	{ "$K sh -c 'echo text | $A cat >out'", 0, "text\n", "made\n" },
	{ "$K sh -c 'for i in 1 2 3; do $A sh -c \"exit $i\"; echo $? >>out; done'", 0, "1\n2\n3\n",
			"made\n" },
	{ "$K sh -c '$A sh -c \"kill -9 \\$\\$\"; echo $? >out'", 0, "137\n", "made\n" },
	{ "$K sh -c '$A printf \"<%s>\" a \"\" \"b c\" >out'", 0, "<a><><b c>", "made\n" },
	{ "$K sh -c 'V=1 $A env | grep ^V= >out'", 0, "V=1\n", "made\n" },
	/* Two at a time, that wait for one another. */
	{ "mkfifo f; $K sh -c '$A sh -c \"echo x >f\" & $A cat f >out; wait'", 0, "x\n", "made\n" },
	/* Nobody to ask: it is run at once. */
	{ "$A echo free >out", 0, "free\n", "" },
	/* No sandbox: the command fails, also one that would go on without. */
	{ "rm sandbox; $K sh -c '$A true; exit 0' 2>/dev/null", RUN_STATUS_PROGRAMS, "", "" },
	{ "printf '%s\\0' false >sandbox; $K sh -c '$A true; exit 0' 2>/dev/null",
			RUN_STATUS_PROGRAMS, "", "" },
	{ "rm sandbox; $S --confine --free --lenient --programs sandbox -- sh -c '$A true || echo "
	  "no >out' 2>/dev/null",
			0, "no\n", "" },
	/* A program that ends the host. */
	{ "$K sh -c '$A sh -c \"kill -9 \\$PPID\"; exit 0' 2>/dev/null", RUN_STATUS_PROGRAMS, "",
			"made\n" },
};

TEST(programs)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct place p;
		int status;

		place_init(&p);
		status = run(&p, rows[i].script);
		if (status != rows[i].status || strcmp(said(&p, "out"), rows[i].out) != 0 ||
				strcmp(said(&p, "made"), rows[i].made) != 0)
			fail_msg("%s: status %d, said \"%s\", made \"%s\"", rows[i].script, status,
					said(&p, "out"), said(&p, "made"));
		place_done(&p);
	}
}

/* In whatever session, and whoever started it: it has ended when the command has. */
TEST(what_is_left_has_ended)
{
	static const char *const scripts[] = {
		"$S --confine --free --programs '' -- sh -c 'setsid sh -c \"echo \\$\\$ >pid; exec "
		"sleep 1000\" & until [ -s pid ]; do sleep 0.01; done'",
		"$K sh -c '$A sh -c \"setsid sleep 1000 & echo \\$! >pid\"'",
		"$K sh -c '$A sh -c \"echo \\$\\$ >pid; exec sleep 1000\" & until [ -s pid ]; do "
		"sleep 0.01; done'",
	};

	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		struct place p;
		int pid;

		place_init(&p);
		assert_int_equal(run(&p, scripts[i]), 0);
		pid = atoi(said(&p, "pid"));
		assert_true(pid > 0);
		if (kill(pid, 0) == 0)
			fail_msg("%s: %d lives", scripts[i], pid);
		place_done(&p);
	}
}

TEST_MAIN
