/*
 * What an agent hides from git, or has git wait for: pipes in place of the files that git reads for
 * itself, files that its own rules ignore, files that it does not have checked out.
 */
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "tests/git/fixture.h"

#define BRANCH "overseer/w1/a"

TEST(pipes_in_place_of_what_git_reads)
{
	struct fixture f;
	struct answer e, h;

	fixture_open(&f);
	sh(&f, "echo '*.tmp' >.gitignore; git add -A; git commit -qm rules");
	e = ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; rm .gitignore; mkfifo .gitignore .gitattributes; mkdir -p a/b; "
			"mkfifo "
			"a/b/.gitignore a/.gitmodules; echo work >a/b/work; mkfifo a/pipe");
	h = harvest(&f, e.base);
	assert_sh(&f, "work", "git show %s:a/b/work", h.head);
	assert_non_null(strstr(h.detail, ".aside-1"));
	assert_sh(&f, "./.gitattributes\n./.gitignore\n./a/.gitmodules\n./a/b/.gitignore",
			"cd \"$W.aside-1\"; find . -type p | LC_ALL=C sort");
	assert_sh(&f, "./a/pipe", "cd \"$W\"; find . -type p");
	ensure(&f, "overseer/w1/b");
	assert_sh(&f, "*.tmp", "cat \"$W/.gitignore\"");
	fixture_close(&f);
}

/* An object of the agent's is a pipe: git waits for it, and is ended. */
TEST(git_that_waits_for_an_object_is_ended)
{
	struct fixture f;
	struct answer e, h = { 0 };

	fixture_open(&f);
	e = ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; echo work >work; git add -A; git commit -qm work; "
			"id=$(git rev-parse 'HEAD^{tree}'); "
			"cd \"$(git rev-parse --absolute-git-dir)/objects\"; "
			"cd $(echo $id | cut -c1-2); id=$(echo $id | cut -c3-); "
			"rm -f $id; mkfifo $id");
	git_set_timeout(f.git, 300);
	start_harvest(&f, e.base, "refs/overseer/rescue/w1/1", &h);
	finish(&f, &h);
	assert_int_equal(h.r, OV_EIO);
	assert_non_null(strstr(h.msg, "git took too long"));
	/* Nothing of it is lost, and without the pipe it is taken over. */
	assert_sh(&f, "work", "cat \"$W/work\"");
	sh(&f,
			"cd \"$W\"; find \"$(git rev-parse --absolute-git-dir)\" -type p -delete; "
			"git add -A; git write-tree >/dev/null");
	git_set_timeout(f.git, 0);
	h = harvest(&f, e.base);
	assert_sh(&f, "work", "git show %s:work", h.head);
	fixture_close(&f);
}

static long peak_kib(void)
{
	struct rusage u;

	assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
	return u.ru_maxrss;
}

/* Each would be read whole, were it not longer than any ref: 20 names of one file of 32 MiB. */
TEST(refs_that_are_no_refs_take_no_memory)
{
	struct fixture f;
	struct answer e, h;
	long before;

	fixture_open(&f);
	e = ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; echo work >work; git add -A; git commit -qm work; "
			"cd \"$(git rev-parse --absolute-git-dir)/refs\"; mkdir -p heads/x tags/x; "
			"truncate -s 32M heads/x/0; for i in $(seq 10); do ln heads/x/0 "
			"heads/x/$i; ln heads/x/0 tags/x/$i; done; printf '%%04097d' 0 "
			">heads/long");
	before = peak_kib();
	h = harvest(&f, e.base);
	assert_sh(&f, "work", "git show %s:work", h.head);
	assert_true(peak_kib() - before < 64 * 1024);
	fixture_close(&f);
}

static void check_sparse(struct fixture *f, const struct answer *h)
{
	assert_sh(f, "src/one\nsrc/work\nwork", "git diff-tree -r --name-only main %s", h->head);
	assert_sh(f, "changed", "git show %s:src/one", h->head);
	assert_sh(f, "", "git diff-tree -r --diff-filter=D --name-only main %s", h->head);
}

/* With work inside and outside of what is checked out. */
static const char sparse_work[] =
		"echo work >work; mkdir -p src; echo work >src/work; echo changed "
		">src/one";

TEST(sparse_checkout_of_the_agents)
{
	struct fixture f;
	struct answer e, h;

	fixture_open(&f);
	sh(&f, "mkdir d; echo 1 >d/1; echo 2 >d/2; git add -A; git commit -qm more");
	e = ensure(&f, BRANCH);
	sh(&f, "cd \"$W\"; git sparse-checkout set --no-cone /work; test ! -e d; %s", sparse_work);
	h = harvest(&f, e.base);
	check_sparse(&f, &h);
	/* It goes on: what it has again counts again. */
	sh(&f, "cd \"$W\"; mkdir -p d; echo again >d/1");
	h = harvest(&f, e.base);
	assert_sh(&f, "d/1\nsrc/one\nsrc/work\nwork", "git diff-tree -r --name-only main %s",
			h.head);
	/* A removal by git's own means is one. */
	sh(&f, "cd \"$W\"; git rm -q --cached --sparse d/2");
	h = harvest(&f, e.base);
	assert_sh(&f, "d/2", "git diff-tree -r --diff-filter=D --name-only main %s", h.head);
	/* The next task has all files. */
	ensure(&f, "overseer/w1/b");
	assert_sh(&f, "1\n2", "cat \"$W\"/d/*");
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	assert_sh(&f, "", "git -C \"$W\" ls-files -t | grep -v '^H ' || :");
	fixture_close(&f);
}

TEST(sparse_checkout_of_the_users)
{
	struct fixture f;
	struct answer e, h;

	fixture_open(&f);
	sh(&f,
			"mkdir d; echo 1 >d/1; echo 2 >d/2; git add -A; git commit -qm more; git "
			"sparse-checkout set --no-cone '/*' '!/d/' '!/src/'; test ! -e d");
	e = ensure(&f, BRANCH);
	assert_int_equal(sh_status(&f, "test -e \"$W/d\""), 1);
	sh(&f, "cd \"$W\"; %s", sparse_work);
	h = harvest(&f, e.base);
	check_sparse(&f, &h);
	assert_int_equal(accept_key(&f, BRANCH, "D_1").outcome, GIT_OK);
	assert_sh(&f, "d/1\nd/2", "git ls-tree --name-only main d/");
	ensure(&f, "overseer/w1/b");
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	assert_int_equal(sh_status(&f, "test -e \"$W/d\""), 1);
	fixture_close(&f);
}

TEST(configuration_that_moves_the_checkout)
{
	struct fixture f;
	struct answer e;

	fixture_open(&f);
	e = ensure(&f, BRANCH);
	sh(&f,
			"echo work >\"$W/work\"; mkdir \"$W/../elsewhere\"; git config "
			"core.worktree "
			"\"$(realpath \"$W/../elsewhere\")\"");
	harvest(&f, e.base);
	assert_int_equal(accept_key(&f, BRANCH, "D_1").outcome, GIT_OK);
	sh(&f, "git --git-dir=.git config --unset core.worktree");
	assert_sh(&f, "work", "cat work");
	assert_sh(&f, "", "ls \"$W/../elsewhere\"");
	assert_sh(&f, "", "git status --porcelain");
	fixture_close(&f);
}

TEST(branch_that_names_nothing)
{
	struct fixture f;
	struct answer e, h;

	fixture_open(&f);
	e = ensure(&f, BRANCH);
	sh(&f,
			"echo work >\"$W/work\"; for d in .git \"$(git -C \"$W\" rev-parse "
			"--absolute-git-dir)\"; do mkdir -p \"$d/refs/heads/overseer/w1\"; echo "
			"3333333333333333333333333333333333333333 >\"$d/refs/heads/" BRANCH
			"\"; done");
	h = harvest(&f, e.base);
	assert_sh(&f, "work", "git show %s:work", h.head);
	assert_sh(&f, h.head, "git rev-parse " BRANCH);
	assert_sh(&f, "", "git fsck --connectivity-only 2>&1 | grep error || :");
	fixture_close(&f);
}

/* By rules of the agent's, which nobody sees; what the base ignores goes with the worktree. */
TEST(ignored_by_the_agents_own_rules)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; mkdir -p a/b c/build; echo '*' >a/.gitignore; echo one "
			">a/b/one; echo two "
			">a/two; echo build/ >c/.gitignore; echo three >c/build/three; echo o "
			">main.o; echo "
			"o >a/x.o; ln -s two a/link");
	a = remove_tree(&f);
	assert_sh(&f, "a/.gitignore\na/b/one\na/link\na/two\na/x.o\nc/.gitignore\nc/build/three",
			"git diff-tree -r --name-only main %s", a.rescue_ref);
	assert_int_equal(sh_status(&f, "test -e \"$W\" -o -e \"$W.aside-1\""), 1);
	fixture_close(&f);
}

TEST(too_much_that_is_ignored)
{
	struct fixture f;

	fixture_open(&f);
	ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; mkdir a; echo '*' >a/.gitignore; echo work >a/work; truncate "
			"-s 100M "
			"a/large");
	assert_non_null(strstr(remove_tree(&f).detail, ".aside-1"));
	assert_sh(&f, "work", "cat \"$W.aside-1/a/work\"");
	assert_int_equal(sh_status(&f, "test -e \"$W\""), 1);
	fixture_close(&f);
}

TEST(ignored_by_what_was_added_to_the_repositorys_rules)
{
	struct fixture f;
	struct answer e, h;
	struct ov_err err;

	fixture_open(&f);
	sh(&f, "echo '*.mine' >>.git/info/exclude");
	e = ensure(&f, BRANCH);
	sh(&f,
			"echo '*.hidden' >>.git/info/exclude; cd \"$W\"; echo work >a.hidden; echo "
			"x "
			">b.mine; mkdir .serena; echo x >.serena/x");
	assert_int_equal(git_exclude(f.git, STR("/.serena/x"), &err), 0);
	h = harvest(&f, e.base);
	assert_string_equal(h.files, "a.hidden\n");
	fixture_close(&f);
}

TEST(closed_worktree)
{
	struct fixture f;
	struct answer e;

	fixture_open(&f);
	e = ensure(&f, BRANCH);
	sh(&f, "echo work >\"$W/work\"; chmod 0 \"$W\"");
	assert_string_equal(harvest(&f, e.base).files, "work\n");
	assert_sh(&f, "700", "stat -c %%a \"$W\"");
	fixture_close(&f);
}

/* Also after a test that failed. */
static bool can_be_root(void)
{
	return setresuid(0, 0, 0) == 0;
}

/* To root no folder is closed: what follows is an ordinary user's, until fixture_close_as. */
static void become_ordinary(void)
{
	assert_int_equal(setresuid(65534, 65534, 0), 0);
	/* Otherwise its own /proc/self/fd is closed to it. */
	assert_int_equal(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
}

static void fixture_open_as(struct fixture *f, bool *ret_root)
{
	*ret_root = can_be_root();
	if (*ret_root)
		become_ordinary();
	fixture_open(f);
}

static void fixture_close_as(struct fixture *f, bool root)
{
	fixture_close(f);
	if (root)
		assert_int_equal(setresuid(0, 0, 0), 0);
}

/* Git passes over a folder that it cannot open, with a warning and status 0. */
#define CLOSED                                                                                     \
	"cd \"$W\"; mkdir -p z/in/deep x w; echo precious >z/y; echo deep >z/in/deep/y; echo x "   \
	">x/y; "                                                                                   \
	"echo w >w/y; chmod 0 z/in/deep z/in z; chmod 400 x; chmod 300 w; chmod 500 src; echo ok " \
	">c.txt"

TEST(closed_folders_are_harvested)
{
	struct fixture f;
	struct answer e, h;
	bool root;

	fixture_open_as(&f, &root);
	e = ensure(&f, BRANCH);
	sh(&f, CLOSED);
	h = harvest(&f, e.base);
	assert_string_equal(h.files, "c.txt\nw/y\nx/y\nz/in/deep/y\nz/y\n");
	assert_string_equal(h.detail, "");
	ensure(&f, "overseer/w1/b");
	assert_sh(&f, "", "cd \"$W\"; ls -d z x w c.txt 2>/dev/null || :");
	fixture_close_as(&f, root);
}

TEST(closed_folders_are_rescued)
{
	struct fixture f;
	struct answer a;
	bool root;

	fixture_open_as(&f, &root);
	ensure(&f, BRANCH);
	sh(&f, CLOSED);
	a = ensure(&f, "overseer/w1/b");
	assert_sh(&f, "c.txt\nw/y\nx/y\nz/in/deep/y\nz/y", "git diff-tree -r --name-only main %s",
			a.rescue_ref);
	sh(&f, CLOSED);
	a = remove_tree(&f);
	assert_sh(&f, "c.txt\nw/y\nx/y\nz/in/deep/y\nz/y", "git diff-tree -r --name-only main %s",
			a.rescue_ref);
	assert_int_equal(sh_status(&f, "test -e \"$W\" -o -e \"$W.aside-1\""), 1);
	fixture_close_as(&f, root);
}

/* Nothing of the base's is taken to be removed. */
TEST(closed_folder_of_the_base)
{
	struct fixture f;
	struct answer e, h;
	bool root;

	fixture_open_as(&f, &root);
	e = ensure(&f, BRANCH);
	sh(&f, "cd \"$W\"; echo changed >src/one; chmod 0 src");
	h = harvest(&f, e.base);
	assert_string_equal(h.files, "src/one\n");
	assert_sh(&f, "changed", "git show %s:src/one", h.head);
	fixture_close_as(&f, root);
}

/* What the agent's own rules ignore is no exception. */
TEST(closed_folder_that_is_ignored)
{
	struct fixture f;
	struct answer a;
	bool root;

	fixture_open_as(&f, &root);
	ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; mkdir -p a/b/c; echo '*' >a/.gitignore; echo one >a/b/c/one; "
			"chmod "
			"0 a/b/c a/b");
	a = remove_tree(&f);
	assert_sh(&f, "one", "git show %s:a/b/c/one", a.rescue_ref);
	fixture_close_as(&f, root);
}

/* Otherwise git takes it for an ordinary folder, whose history would be removed with it. */
TEST(closed_git_folder_inside)
{
	struct fixture f;
	struct answer a;
	bool root;

	fixture_open_as(&f, &root);
	ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; for i in a b c; do git init -q $i; echo w >$i/w; git -C $i add "
			"w; "
			"git -C $i -c user.name=a -c user.email=b commit -qm inner; done; chmod 0 "
			"a/.git "
			"b/.git/objects c/.git/HEAD");
	a = ensure(&f, "overseer/w1/b");
	assert_non_null(strstr(a.detail, ".aside-1"));
	assert_sh(&f, "inner\ninner\ninner",
			"cd \"$W.aside-1\"; for i in a b c; do git -C $i log --format=%%s; done");
	fixture_close_as(&f, root);
}

/* A look at somebody who works there changes nothing. */
TEST(closed_folder_stays_closed_meanwhile)
{
	struct fixture f;
	bool root;

	fixture_open_as(&f, &root);
	ensure(&f, BRANCH);
	sh(&f, "cd \"$W\"; mkdir z; chmod 0 z");
	assert_int_equal(fingerprint(&f).r, 0);
	assert_sh(&f, "0", "stat -c %%a \"$W/z\"");
	fixture_close_as(&f, root);
}

/* Somebody else's cannot be opened: it is kept with all that is around it, and said. */
TEST(closed_folder_of_somebody_else)
{
	struct fixture f;
	struct answer e, a;
	bool root;

	if (!can_be_root())
		skip();
	fixture_open_as(&f, &root);
	e = ensure(&f, BRANCH);
	sh(&f, "cd \"$W\"; mkdir z; echo theirs >z/y; echo ok >c.txt");
	assert_true(can_be_root());
	sh(&f, "chown -R 0:0 \"$W/z\"; chmod 700 \"$W/z\"");
	become_ordinary();
	a = harvest(&f, e.base);
	assert_string_equal(a.files, "c.txt\n");
	assert_non_null(strstr(a.detail, "\"z\""));
	a = restore(&f, "refs/overseer/rescue/x");
	sh(&f, "test -d \"$W/z\"");
	a = ensure(&f, "overseer/w1/b");
	assert_non_null(strstr(a.detail, ".aside-1"));
	sh(&f, "test -d \"$W.aside-1/z\"; test ! -e \"$W/z\"");
	sh(&f, "mv \"$W.aside-1/z\" \"$W/\" 2>/dev/null || mv \"$W.aside-1\" \"$W/again\"");
	a = remove_tree(&f);
	assert_non_null(strstr(a.detail, ".aside-"));
	assert_true(can_be_root());
	assert_sh(&f, "theirs", "cat \"$W\".aside-*/z/y \"$W\".aside-*/again/z/y 2>/dev/null || :");
	fixture_close(&f);
}

TEST_MAIN
