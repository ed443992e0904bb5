/* Files that are found by a pattern, without ever leaving the folder. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/beneath.h"
#include "sys/host/clock.h"
#include "tests/test.h"

static char dir[64];

static void sh(const char *script)
{
	char *command;

	assert_true(asprintf(&command, "set -e; cd '%s'; %s", dir, script) > 0);
	assert_int_equal(system(command), 0);
	free(command);
}

static void begin(void)
{
	snprintf(dir, sizeof(dir), "/tmp/ov-beneath-XXXXXX");
	assert_non_null(mkdtemp(dir));
	sh("mkdir -p in/a in/b/c out; echo 1 >in/1.xml; echo 22 >in/2.xml; echo 3 >in/a/3.xml; "
	   "echo 4 >in/b/4.xml; echo 5 >in/b/c/5.xml; echo 6 >in/.6.xml; echo 7 >out/7.xml; "
	   "ln -s ../out in/link; ln -s ../out/7.xml in/7.xml; ln -s 1.xml in/8.xml; mkfifo "
	   "in/9.xml; mkdir in/dir.xml");
}

static void end(void)
{
	assert_int_equal(strncmp(dir, "/tmp/ov-beneath-", 16), 0);
	sh("cd /; rm -rf \"$OLDPWD\"");
}

static void note(void *user, const struct beneath_file *f)
{
	buf_adds(user, f->path);
	buf_addc(user, ' ');
}

static void finds(const char *pattern, const char *expected)
{
	struct buf b = BUF_INIT;
	char in[80];
	int r;

	snprintf(in, sizeof(in), "%s/in", dir);
	r = beneath_find(in, str_from(pattern), note, &b, NULL);
	if (!str_is(buf_str(&b), expected))
		fail_msg("%s: \"%s\", not \"%s\"", pattern, buf_cstr(&b), expected);
	assert_true(r >= 0 && (r == 0) == (*expected == '\0'));
	buf_done(&b);
}

TEST(patterns_stay_beneath)
{
	begin();
	finds("1.xml", "1.xml ");
	finds("./1.xml", "./1.xml ");
	finds("*.xml", "1.xml 2.xml ");
	finds("[2-9].xml", "2.xml ");
	finds("?/*.xml", "a/3.xml b/4.xml ");
	finds("*/*/*.xml", "b/c/5.xml ");
	finds("b//c/5.xml", "b/c/5.xml ");
	finds(".*.xml", ".6.xml ");
	finds("nowhere/*.xml", "");
	finds("1.xml/*", "");
	finds("", "");
	finds("/", "");
	/* Nothing that leads out, no link, no pipe, no folder. */
	finds("../out/7.xml", "");
	finds("../*/7.xml", "");
	finds("a/../../out/*.xml", "");
	finds("link/7.xml", "");
	finds("l*/7.xml", "");
	finds("7.xml", "");
	finds("8.xml", "");
	finds("9.xml", "");
	finds("dir.xml", "");
	end();
}

TEST(a_folder_that_is_not_there_has_none)
{
	assert_int_equal(beneath_find("/nonexistent/folder", STR("*"), note, NULL, NULL), 0);
}

TEST(so_many_and_no_more)
{
	struct buf b = BUF_INIT;

	begin();
	sh("i=0; while [ $i -lt 100 ]; do : >out/f$i; i=$((i+1)); done");
	assert_int_equal(beneath_find(dir, STR("out/f*"), note, &b, NULL), BENEATH_FILES);
	buf_done(&b);
	end();
}

static void read_it(void *user, const struct beneath_file *f)
{
	struct arena a = ARENA_INIT;
	struct ov_err err = { 0 };
	str text = STR("untouched");

	(void)user;
	assert_int_equal(f->size, 3);
	assert_true(f->modified_at <= clock_file());
	assert_int_equal(beneath_read(&a, f, 2, &text, &err), OV_ELIMIT);
	assert_true(str_is(text, "untouched"));
	assert_int_equal(beneath_read(&a, f, 3, &text, &err), 0);
	assert_true(str_is(text, "22\n"));
	arena_done(&a);
}

/*
 * What was there before has an older stamp than what is written now, also within the same moment.
 */
TEST(files_are_read_within_a_bound)
{
	ov_time start;
	char in[80];
	struct stat st;

	begin();
	snprintf(in, sizeof(in), "%s/in", dir);
	assert_int_equal(beneath_find(in, STR("2.xml"), read_it, NULL, NULL), 1);
	start = clock_file();
	sh("echo x >in/2.xml");
	snprintf(in, sizeof(in), "%s/in/2.xml", dir);
	assert_int_equal(stat(in, &st), 0);
	assert_true((ov_time)st.st_mtim.tv_sec * OV_SECOND + st.st_mtim.tv_nsec / 1000000 >= start);
	end();
}

TEST_MAIN
