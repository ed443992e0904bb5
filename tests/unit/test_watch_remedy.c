#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "sys/proc/proc.h"
#include "tests/pidfd.h"
#include "tests/test.h"
#include "watch/remedy/keep.h"
#include "watch/remedy/remedy.h"

#define STAMP "20261115T185901Z"

static struct arena arena;
static char top[64];

/* What a script prints, without the last line's end; it must succeed. */
static const char *sh(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static const char *sh(const char *fmt, ...)
{
	char *out = arena_zalloc(&arena, 65536);
	const char *script;
	va_list ap;
	size_t n;
	FILE *f;

	va_start(ap, fmt);
	script = arena_vprintf(&arena, fmt, ap).p;
	va_end(ap);
	f = popen(arena_printf(&arena, "set -e; cd '%s'; %s", top, script).p, "r");
	assert_non_null(f);
	n = fread(out, 1, 65535, f);
	assert_int_equal(pclose(f), 0);
	if (n && out[n - 1] == '\n')
		out[n - 1] = '\0';
	return out;
}

static const char *in(const char *name)
{
	return path_join(&arena, top, name);
}

static void setup(bool repository)
{
	snprintf(top, sizeof(top), "/tmp/overseer-test-remedy-XXXXXX");
	assert_non_null(mkdtemp(top));
	sh("mkdir -p repo/.overseer/logs repo/sub; echo 'daemon: it broke' "
	   "> repo/.overseer/logs/daemon.log");
	if (repository)
		sh("cd repo; git init -q -b main; git config user.name T; git config user.email "
		   "t@localhost; printf 'a\\n' > a; printf 'b\\n' > b; printf '*.o\\n' > "
		   ".gitignore; git add a b .gitignore; git commit -qm one");
}

static void teardown(void)
{
	sh("cd ..; chmod -R u+w '%s'; rm -rf '%s'", top, top);
	arena_done(&arena);
}

static int start(const char *script, const char *word)
{
	const char *argv[] = { "/bin/sh", "-c", script, word, NULL };
	const char *env[] = { "PATH=/usr/bin:/bin", arena_printf(&arena, "TOP=%s", top).p, NULL };
	const struct remedy_launch launch = { .argv = argv,
		.env = env,
		.cwd = in("repo/sub"),
		.prompt_on_stdin = true,
		.prompt_file = in("repo/.overseer/remediation_prompt.txt") };
	const struct remedy_ask ask = { .dir = in("repo/.overseer"),
		.repo = in("repo"),
		.launch = &launch,
		.configured = "Mend it.",
		.stamp = STAMP,
		.failure = FAILURE_HEARTBEAT,
		.text = "nothing heard for 30 s" };
	struct ov_err err = { 0 };
	int pid;

	assert_int_equal(remedy_start(&ask, &pid, &err), 0);
	return pid;
}

static int finish(int pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static str log_text(void)
{
	str text;

	assert_int_equal(file_read(&arena, in("repo/.overseer/logs/remediation_" STAMP ".txt"),
					 64 << 20, &text, NULL),
			0);
	return text;
}

static void assert_has(str text, const char *piece)
{
	if (!str_contains(text, str_from(piece)))
		fail_msg("\"%s\" is not in:\n%.*s", piece, (int)MIN(text.n, (size_t)8000), text.p);
}

static const char *path_now(void)
{
	const char *path = getenv("PATH");
	static char kept[8192];

	snprintf(kept, sizeof(kept), "%s", path ? path : "");
	return kept;
}

static void wait_for(const char *path)
{
	for (int i = 0; i < 6000 && !file_exists(path); i++)
		usleep(10000);
	assert_true(file_exists(path));
}

TEST(the_agent_gets_the_prompt_and_the_log_tells_all)
{
	struct stat st;
	str log;

	SKIP_WITHOUT_PIDFDS();
	setup(true);
	assert_int_equal(finish(start("cat > $TOP/got; pwd > $TOP/where; printf %s \"$0\" > "
				      "$TOP/word; "
				      "env > $TOP/env; echo I mended it; echo loudly >&2",
					 "say " REMEDY_PROMPT)),
			REMEDY_OK);
	log = log_text();
	assert_has(log, "Failure: heartbeat (the daemon's main loop does not turn)\n");
	assert_has(log, "==== Prompt ====\nMend it.\n");
	assert_has(log, "daemon: it broke\n");
	assert_has(log, "nothing heard for 30 s\n");
	assert_has(log, "The last lines of logs/task_pool.log: there are none\n");
	assert_has(log, "## main\n");
	assert_has(log, "I mended it\nloudly\n");
	assert_has(log, "---- it exited with status 0 ----\n");
	assert_has(log, "==== Outcome ====\ncompleted;");
	assert_has(log, "Duration: ");
	assert_true(str_contains(log, str_from(sh("cat got"))));
	assert_string_equal(sh("cat got"), sh("cat repo/.overseer/remediation_prompt.txt"));
	assert_string_equal(sh("cat word"), arena_printf(&arena, "say %s", sh("cat got")).p);
	assert_string_equal(sh("cat where"), in("repo/sub"));
	assert_string_equal(sh("grep -c OVERSEER_REMEDIATION=" STAMP " env"), "1");
	assert_int_equal(stat(in("repo/.overseer/logs/remediation_" STAMP ".txt"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* Clean: HEAD itself is kept. */
	assert_string_equal(sh("git -C repo rev-parse " KEEP_PREFIX "remediation_" STAMP),
			sh("git -C repo rev-parse HEAD"));
	teardown();
}

TEST(a_checkout_is_kept_as_it_is_and_not_touched)
{
	const char *ref = KEEP_PREFIX "remediation_" STAMP, *status, *index;

	SKIP_WITHOUT_PIDFDS();
	setup(true);
	sh("cd repo; echo staged > a; git add a; echo more > a; echo changed > b; echo new > "
	   "'un tracked'; echo obj > x.o; git init -q nested; echo n > nested/n; touch "
	   ".git/index.lock; echo secret > .overseer/overseer.db");
	status = sh("git --no-optional-locks -C repo status --porcelain");
	index = sh("sha256sum < repo/.git/index");
	assert_int_equal(finish(start("true", "")), REMEDY_OK);
	assert_string_equal(sh("git -C repo show %s:a", ref), "more");
	assert_string_equal(sh("git -C repo show %s^2:a", ref), "staged");
	assert_string_equal(sh("git -C repo show %s:b", ref), "changed");
	assert_string_equal(sh("git -C repo show '%s:un tracked'", ref), "new");
	assert_string_equal(sh("git -C repo ls-tree -r --name-only %s | tr '\\n' ' '", ref),
			".gitignore a b un tracked ");
	assert_string_equal(sh("git -C repo rev-parse %s^1", ref),
			sh("git -C repo rev-parse HEAD"));
	assert_string_equal(sh("git --no-optional-locks -C repo status --porcelain"), status);
	assert_string_equal(sh("sha256sum < repo/.git/index"), index);
	assert_string_equal(sh("ls repo/.git | grep -c overseer || true"), "0");
	assert_has(log_text(), "(with what is not committed)");
	/* Ignored, as it is usually, our folder needs no leaving out. */
	sh("cd repo; rm .git/index.lock; echo .overseer >> .git/info/exclude; echo yet more > a");
	assert_int_equal(finish(start("true", "")), REMEDY_OK);
	assert_string_equal(sh("git -C repo show %s:a", ref), "yet more");
	assert_string_equal(sh("git -C repo show %s^3:a", ref), "more");
	teardown();
}

TEST(no_commit_a_damaged_index_and_no_repository_are_no_obstacle)
{
	SKIP_WITHOUT_PIDFDS();
	setup(false);
	assert_int_equal(finish(start("true", "")), REMEDY_OK);
	assert_has(log_text(), "is in no checkout of git");
	sh("cd repo; git init -q; echo x > x");
	assert_int_equal(finish(start("true", "")), REMEDY_OK);
	assert_string_equal(sh("git -C repo show " KEEP_PREFIX "remediation_" STAMP ":x"), "x");
	sh("cd repo; echo y > y; echo damaged > .git/index");
	assert_int_equal(finish(start("true", "")), REMEDY_OK);
	assert_string_equal(sh("git -C repo show " KEEP_PREFIX "remediation_" STAMP ":y"), "y");
	teardown();
}

TEST(another_checkout_in_which_it_works_is_kept_too)
{
	SKIP_WITHOUT_PIDFDS();
	setup(true);
	sh("cd repo/sub; git init -q; echo w > w");
	assert_int_equal(finish(start("true", "")), REMEDY_OK);
	assert_string_equal(sh("git -C repo/sub show " KEEP_PREFIX "remediation_" STAMP "_dir:w"),
			"w");
	assert_string_equal(sh("git -C repo rev-parse " KEEP_PREFIX "remediation_" STAMP),
			sh("git -C repo rev-parse HEAD"));
	teardown();
}

TEST(what_cannot_be_kept_is_not_let_in)
{
	SKIP_WITHOUT_PIDFDS();
	setup(true);
	sh("cd repo; rm -rf .git/objects .git/HEAD");
	assert_int_equal(finish(start("touch $TOP/ran", "")), REMEDY_NOT_KEPT);
	assert_false(file_exists(in("ran")));
	assert_has(log_text(), "failed: the checkout could not be kept");
	assert_has(log_text(), "==== Prompt ====\n");
	teardown();
}

TEST(without_git_nobody_is_let_in)
{
	const char *path = path_now();

	SKIP_WITHOUT_PIDFDS();
	setup(true);
	assert_int_equal(setenv("PATH", top, 1), 0);
	assert_int_equal(finish(start("touch $TOP/ran", "")), REMEDY_NOT_KEPT);
	assert_int_equal(setenv("PATH", path, 1), 0);
	assert_false(file_exists(in("ran")));
	assert_has(log_text(), "git: no such program in PATH");
	teardown();
}

TEST(asked_to_end_before_it_has_begun_it_starts_nobody)
{
	const char *path = path_now();
	int pid;

	SKIP_WITHOUT_PIDFDS();
	setup(true);
	/* What git is asked with stands still until somebody looks. */
	sh("mkdir bin; mkfifo held; printf '#!/bin/sh\ntouch %s/here; read x < %s/held\n' > "
	   "bin/git; chmod +x bin/git",
			top, top);
	assert_int_equal(setenv("PATH", in("bin:/usr/bin:/bin"), 1), 0);
	pid = start("touch $TOP/ran", "");
	assert_int_equal(setenv("PATH", path, 1), 0);
	wait_for(in("here"));
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(finish(pid), REMEDY_ENDED);
	assert_false(file_exists(in("ran")));
	assert_has(log_text(), "failed: it was ended");
	teardown();
}

TEST(an_agent_that_dies_is_started_once_more)
{
	SKIP_WITHOUT_PIDFDS();
	setup(true);
	assert_int_equal(finish(start("test -e $TOP/again || { touch $TOP/again; kill -9 $$; }; "
				      "echo better",
					 "")),
			REMEDY_OK);
	assert_has(log_text(), "---- it was ended by signal 9 ----\n");
	assert_has(log_text(), "started once more ====\nbetter\n");
	assert_int_equal(finish(start("echo x >> $TOP/runs; exit 3", "")), REMEDY_FAILED);
	assert_string_equal(sh("cat runs"), "x\nx");
	assert_has(log_text(), "failed: the agent failed twice\n");
	teardown();
}

TEST(asked_to_end_it_leaves_nothing_behind)
{
	bool found = true;
	char mark[REMEDY_MARK_MAX];
	int pid;

	SKIP_WITHOUT_PIDFDS();
	setup(true);
	pid = start("trap '' TERM; setsid sh -c 'trap \"\" TERM; touch $TOP/there; while :; do "
		    "sleep 1; done' & while :; do sleep 1; done",
			"");
	wait_for(in("there"));
	assert_int_equal(kill(pid, SIGTERM), 0);
	/* Asked once more only when the first was heard: signals do not queue. */
	for (int i = 0; i < 6000 && !str_contains(log_text(), STR("asked to end")); i++)
		usleep(10000);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(finish(pid), REMEDY_ENDED);
	assert_has(log_text(), "failed: it was ended");
	remedy_mark(in("repo/.overseer"), STAMP, mark);
	assert_int_equal(proc_find_env(STR(REMEDY_MARK), str_from(mark), &found, NULL), 0);
	assert_false(found);
	teardown();
}

TEST(of_a_long_output_the_beginning_and_the_end_are_kept)
{
	str log;

	SKIP_WITHOUT_PIDFDS();
	setup(true);
	assert_int_equal(finish(start("echo the first; head -c 20000000 /dev/zero | tr '\\0' x; "
				      "echo the last",
					 "")),
			REMEDY_OK);
	log = log_text();
	assert_true(log.n < (16 << 20) + 20000);
	assert_true(log.n > (16 << 20));
	assert_has(log, "the first\n");
	assert_has(log, "the last\n");
	assert_has(log, " bytes are left out here ----\n");
	teardown();
}

TEST(without_a_log_all_else_is_done)
{
	SKIP_WITHOUT_PIDFDS();
	setup(true);
	sh("rm -rf repo/.overseer/logs; touch repo/.overseer/logs");
	assert_int_equal(finish(start("cat > $TOP/got", "")), REMEDY_OK);
	assert_true(file_exists(in("got")));
	teardown();
}

TEST(what_another_store_has_mended_is_left_alone)
{
	char mark[REMEDY_MARK_MAX];
	size_t killed = 0;
	int pid;

	SKIP_WITHOUT_PIDFDS();
	setup(false);
	remedy_mark(in("other/.overseer"), STAMP, mark);
	pid = atoi(sh(REMEDY_MARK "='%s' sleep 1000 > /dev/null & echo $!", mark));
	assert_int_equal(remedy_sweep(in("repo/.overseer"), STAMP, &killed, NULL), 0);
	assert_int_equal(killed, 0);
	assert_int_equal(kill(pid, 0), 0);
	assert_int_equal(remedy_sweep(in("other/.overseer"), STAMP, &killed, NULL), 0);
	assert_int_equal(killed, 1);
	teardown();
}

TEST(the_newest_file_that_asks_for_a_person_is_found)
{
	char name[256], text[32];
	struct ov_err err = { 0 };

	setup(false);
	assert_int_equal(manual_find(in("repo/.overseer"), name, text, sizeof(text), &err), 0);
	assert_string_equal(name, "");
	sh("cd repo/.overseer; echo old > " VITAL_MANUAL
	   "2.txt; touch -d '1 hour ago' " VITAL_MANUAL
	   "2.txt; echo new, and much longer than there is room for > " VITAL_MANUAL
	   "1.txt; echo no > " VITAL_MANUAL "3.txt~");
	assert_int_equal(manual_find(in("repo/.overseer"), name, text, sizeof(text), &err), 0);
	assert_string_equal(name, VITAL_MANUAL "1.txt");
	assert_string_equal(text, "new, and much longer than there");
	assert_true(manual_find(in("nowhere"), name, text, sizeof(text), &err) < 0);
	teardown();
}

TEST_MAIN
