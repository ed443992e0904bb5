/* What is large or too much: many files, large ones, and trees that are larger than what they take. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "tests/git/fixture.h"

static int loose_objects(const struct fixture *f)
{
	return atoi(sh(f, "git count-objects | cut -d' ' -f1"));
}

/* A file per object would be a multiple of the disk, and of the time. */
TEST(many_files_become_one_pack)
{
	struct fixture f;
	struct answer e, a;
	int before;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	before = loose_objects(&f);
	sh(&f, "cd \"$W\"; mkdir many; cd many; seq 1 1500 | split -l 1 -a 4 -");
	a = harvest(&f, e.base);
	assert_int_equal(a.files_changed, 1500);
	assert_same_content(&f, a.head, f.tree);
	assert_true(loose_objects(&f) - before < 100);
	assert_sh(&f, "", "git fsck --strict --no-dangling 2>&1");
	fixture_close(&f);
}

TEST(many_committed_files_stay_one_pack)
{
	struct fixture f;
	struct answer e, a;
	int before;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	before = loose_objects(&f);
	sh(&f,
			"cd \"$W\"; mkdir many; cd many; seq 1 1500 | split -l 1 -a 4 -; git add "
	                "-A; "
			"git commit -qm many");
	a = harvest(&f, e.base);
	assert_int_equal(a.files_changed, 1500);
	assert_int_equal(a.commits, 1);
	assert_same_content(&f, a.head, f.tree);
	assert_true(loose_objects(&f) - before < 100);
	fixture_close(&f);
}

TEST_MAIN
