/*
 * What an agent hides from git, or has git wait for: pipes in place of the files that git reads for
 * itself, files that its own rules ignore, files that it does not have checked out.
 */
#include <string.h>

#include "base/err.h"
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

TEST_MAIN
