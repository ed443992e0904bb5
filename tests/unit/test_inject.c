/* inject.c is compiled into this test with the points on, whatever the build has. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "base/arena.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "sys/host/inject.h"
#include "tests/test.h"

/* Passes a, b, a, b, a with this choice and says how the process ended: as of wait(2). */
static int pass(const char *choice, const char *list)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		if (choice)
			setenv("OVERSEER_INJECT", choice, 1);
		if (list)
			setenv("OVERSEER_INJECT_LIST", list, 1);
		for (int i = 0; i < 5; i++)
			INJECT(i % 2 ? "point-b" : "point-a");
		_exit(42);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static bool survived(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == 42;
}

static bool killed(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

TEST(only_the_chosen_passage_kills)
{
	assert_true(survived(pass(NULL, NULL)));
	assert_true(survived(pass("", NULL)));
	assert_true(survived(pass("point", NULL)));
	assert_true(survived(pass("point-c", NULL)));
	assert_true(killed(pass("point-a", NULL)));
	assert_true(killed(pass("point-a:1", NULL)));
	assert_true(killed(pass("point-a:3", NULL)));
	assert_true(survived(pass("point-a:4", NULL)));
	assert_true(killed(pass("point-b:2", NULL)));
	assert_true(survived(pass("point-b:3", NULL)));
}

TEST(points_are_listed_once_and_before_the_kill)
{
	struct arena a = ARENA_INIT;
	char path[] = "/tmp/ov-inject-XXXXXX";
	str got;

	close(mkstemp(path));
	assert_true(survived(pass(NULL, path)));
	assert_true(killed(pass("point-b", path)));
	assert_int_equal(file_read(&a, path, 1000, &got, NULL), 0);
	assert_string_equal(got.p, "point-a\npoint-b\npoint-a\npoint-b\n");
	unlink(path);
	arena_done(&a);
}

TEST_MAIN
