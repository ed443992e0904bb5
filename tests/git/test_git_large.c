/*
 * What is large or too much: many files, large ones, and trees that are larger than what they take.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Git would hash all of it, again and again: the index keeps its size modulo 4 GiB. */
TEST(a_file_that_is_too_large_is_put_aside)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	sh(&f, "cd \"$W\"; echo 1 >1; mkdir d; echo begin >d/hole; truncate -s 1T d/hole");
	a = harvest(&f, e.base);
	assert_int_equal(a.files_changed, 1);
	assert_non_null(strstr(a.refused, "d/hole is too large"));
	assert_sh(&f, "begin", "head -c 5 \"$W.aside-1/d/hole\"");
	assert_sh(&f, "1", "git show %s:1", a.head);
	/* Below the bound it is work as any other. */
	sh(&f, "cd \"$W\"; truncate -s 100M 2");
	a = harvest(&f, e.base);
	assert_string_equal(a.refused, "");
	assert_int_equal(a.files_changed, 2);
	fixture_close(&f);
}

/* 40,000,000 names in five objects. */
static const char bomb[] = "cd \"$W\"; echo precious >precious; "
			   "b=$(echo x | git hash-object -w --stdin); "
			   "t=$(for i in $(seq 100 199); do printf '100644 blob %s\\tf%d\\n' $b "
			   "$i; done | git "
			   "mktree); "
			   "t=$(for i in $(seq 100 199); do printf '040000 tree %s\\td%d\\n' $t "
			   "$i; done | git "
			   "mktree); "
			   "t=$(for i in $(seq 1000 4999); do printf '040000 tree %s\\te%d\\n' $t "
			   "$i; done | git "
			   "mktree); "
			   "git update-ref HEAD $(echo bomb | git commit-tree $t -p HEAD)";

TEST(a_commit_of_too_many_names_is_refused)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	sh(&f, "%s", bomb);
	a = harvest(&f, e.base);
	assert_non_null(strstr(a.refused, "changes more files than the 250000"));
	assert_non_null(strstr(a.detail, "was moved to"));
	assert_sh(&f, "precious", "git show %s:precious", a.head);
	assert_sh(&f, "bomb",
			"GIT_ALTERNATE_OBJECT_DIRECTORIES=\"$R/.git/objects\" git "
			"--git-dir=\"$W.aside-1\" log -1 --format=%%s overseer/w1/a 2>/dev/null");
	remove_tree(&f);
	assert_sh(&f, "", "ls -d \"$W\" 2>/dev/null || :");
	fixture_close(&f);
}

TEST(a_worktree_with_such_a_commit_can_be_removed)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f, "%s", bomb);
	a = remove_tree(&f);
	assert_sh(&f, "", "ls -d \"$W\" 2>/dev/null || :");
	assert_sh(&f, "precious", "git show %s:precious", a.rescue_ref);
	fixture_close(&f);
}

/* 20,000 names of 3,500 letters are more than anybody reads. */
TEST(a_worktree_with_too_many_names_can_be_removed)
{
	struct fixture f;
	struct answer e, a = { 0 };

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; d=$(printf 'x%%.0s' $(seq 250)); "
			"for i in $(seq 14); do mkdir $d; cd $d; done; seq 20000 | xargs touch; "
			"echo 1 >1");
	start_harvest(&f, e.base, "refs/overseer/rescue/w1/h", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_ELIMIT);
	assert_non_null(strstr(a.msg, "git printed more than 67108864 bytes"));
	a = remove_tree(&f);
	assert_non_null(strstr(a.detail, "was moved to"));
	assert_sh(&f, "", "ls -d \"$W\" 2>/dev/null || :");
	assert_sh(&f, "20000", "find \"$W.aside-1\" -type f -path '*/x*' | wc -l");
	/* The next one can be made in its place. */
	ensure(&f, "overseer/w1/b");
	assert_sh(&f, "overseer/w1/b", "git -C \"$W\" branch --show-current");
	fixture_close(&f);
}

/* Pipes and folders are no files, but somebody has to look at each of them. */
TEST(another_repository_of_too_many_pipes)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; echo 1 >1; git init -q emb; cd emb; echo 2 >2; mkfifo p; "
			"python3 -c 'import os\nfor i in range(100000): os.link(\"p\" if i < 60000 "
			"else "
			"\"q\", "
			"str(i)+\"l\") if i != 60000 else os.mkfifo(\"q\")'");
	a = harvest(&f, e.base);
	assert_non_null(strstr(a.detail, "the files of emb/ are too many for a rescue ref"));
	assert_string_equal(a.files, "1\n");
	assert_sh(&f, "2", "cat \"$W/emb/2\"");
	fixture_close(&f);
}

/* What git takes for it is bounded; here it is asked how much. */
TEST(the_memory_of_git_is_bounded)
{
	struct fixture f;
	struct answer e;
	const char *kib;

	fixture_open(&f);
	sh(&f,
			"git config filter.ask.clean 'ulimit -d'; echo '*.ask filter=ask' "
			">.gitattributes; "
			"git add .gitattributes; git commit -qm rules");
	e = ensure(&f, "overseer/w1/a");
	sh(&f, "cd \"$W\"; echo 1 >1.ask");
	harvest(&f, e.base);
	kib = sh(&f, "git show overseer/w1/a:1.ask");
	if (!getenv("OV_SANITIZED"))
		assert_true(atoll(kib) >= 1 << 20 && atoll(kib) <= 8 << 20);
	fixture_close(&f);
}

/* Folders in each other below one of the worktree's; the last has a file. */
static void make_chain(struct fixture *f, const char *top, int depth)
{
	char path[512];
	int fd, next;

	snprintf(path, sizeof(path), "%s/%s", f->tree, top);
	assert_int_equal(mkdir(path, 0755), 0);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < depth; i++) {
		assert_int_equal(mkdirat(fd, "a", 0755), 0);
		next = openat(fd, "a", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		close(fd);
		fd = next;
	}
	next = openat(fd, "precious", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(next >= 0);
	close(next);
	close(fd);
}

#define FOUND "find \"$W\".aside-* -name precious -printf '%%f\\n' | wc -l"

/* Deeper than a name can be long: git cannot open them, nor be told their names. */
TEST(folders_that_are_too_deep_are_put_aside)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	sh(&f, "echo w >\"$W/src/w\"");
	make_chain(&f, "src/deep", 6000);
	make_chain(&f, "other", 3000);
	a = harvest(&f, e.base);
	assert_string_equal(a.files, "src/w\n");
	assert_non_null(strstr(a.detail, "\"src/deep/a"));
	assert_non_null(strstr(a.detail, "\"other/a"));
	assert_non_null(strstr(a.detail, ".aside-1"));
	assert_sh(&f, "2", FOUND);
	make_chain(&f, "again", 6000);
	a = ensure(&f, "overseer/w1/b");
	assert_non_null(strstr(a.detail, "\"again/a"));
	assert_sh(&f, "", "git -C \"$W\" status --porcelain 2>&1");
	make_chain(&f, "last", 6000);
	remove_tree(&f);
	assert_int_equal(sh_status(&f, "test -e \"$W\""), 1);
	assert_sh(&f, "4", FOUND);
	fixture_close(&f);
}

TEST_MAIN
