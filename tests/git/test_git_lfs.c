/*
 * git-lfs, the real one: large files are in the repository's own storage after every call, whoever
 * ran the filter, and an agent's git finds them there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "sys/loop/loop.h"
#include "tests/git/fixture.h"
#include "tests/skip.h"

#define AGENT ".overseer/git/w1/.git"
#define OBJECT                                                                                   \
	"object() { h=$(sha256sum <\"$1\"); h=${h%% *}; a=${h#??}; b=${a#??}; echo "             \
	"${h%%$a}/${a%%$b}/$h; }; has() { cmp \"$1\" \"$R/.git/lfs/objects/$(object \"$1\")\"; " \
	"}; "

static void lfs_open_with(struct fixture *f, const char *config)
{
	if (system("command -v git-lfs >/dev/null") != 0)
		skip_for("git-lfs: it is not installed");
	fixture_open(f);
	sh(f,
			"%s; git lfs install --local >/dev/null; git lfs track '*.bin' >/dev/null; "
			"head -c 70000 /dev/urandom >a.bin; git add -A; git commit -qm large; git "
			"show HEAD:a.bin | grep -q ^oid",
			config);
}

static void lfs_open(struct fixture *f)
{
	lfs_open_with(f, ":");
}

/* What was accepted is in the user's checkout, byte by byte, and the storage is whole. */
static void assert_accepted(struct fixture *f, const char *name)
{
	struct answer a = accept_key(f, f->branch, "k1");

	assert_int_equal(a.outcome, GIT_OK);
	sh(f, "cmp '%s' '../%s'", name, name);
	sh(f, "git show 'main:%s' | grep -q ^oid", name);
	assert_sh(f, "", "git status --porcelain");
	sh(f, "git lfs fsck");
	sh(f, "rm '%s'; GIT_TRACE=0 git checkout -q -- '%s'; cmp '%s' '../%s'", name, name, name,
			name);
}

TEST(what_an_agent_leaves)
{
	struct fixture f;
	struct answer a;

	lfs_open(&f);
	a = ensure(&f, "overseer/w1/a");
	sh(&f, "cmp a.bin \"$W/a.bin\"; head -c 80000 /dev/urandom >../b.bin; cp ../b.bin \"$W\"");
	a = harvest(&f, a.base);
	assert_true(a.leftovers);
	sh(&f, OBJECT "has ../b.bin; [ ! -e .overseer/git/w1/own/lfs/objects ]");
	assert_accepted(&f, "b.bin");
	fixture_close(&f);
}

TEST(what_an_agent_commits)
{
	struct fixture f;
	struct answer a;

	lfs_open(&f);
	a = ensure(&f, "overseer/w1/a");
	sh(&f,
			"head -c 80000 /dev/urandom >../b.bin; cd \"$W\"; cp \"$R/../b.bin\" .; "
			"git add -A; git commit -qm mine; rm b.bin; git checkout -q -- b.bin");
	a = harvest(&f, a.base);
	assert_false(a.leftovers);
	sh(&f, OBJECT "has ../b.bin");
	/* What it finds afterwards in its own folder. */
	sh(&f, "cd \"$W\"; rm b.bin; git checkout -q -- b.bin; cmp b.bin \"$R/../b.bin\"");
	assert_accepted(&f, "b.bin");
	fixture_close(&f);
}

/* The target went on meanwhile, with large files too: the worktree follows with all of them. */
TEST(a_rebase)
{
	struct fixture f;
	struct answer a;

	lfs_open(&f);
	a = ensure(&f, "overseer/w1/a");
	sh(&f,
			"head -c 90000 /dev/urandom >t.bin; git add -A; git commit -qm theirs; "
			"head "
			"-c 80000 /dev/urandom >../b.bin; cd \"$W\"; cp \"$R/../b.bin\" .; git add "
			"-A; git commit -qm mine; echo x >text");
	harvest(&f, a.base);
	a = rebase(&f, "overseer/w1/a", "k0");
	assert_int_equal(a.outcome, GIT_OK);
	sh(&f, "cmp t.bin \"$W/t.bin\"; cmp ../b.bin \"$W/b.bin\"");
	assert_accepted(&f, "b.bin");
	fixture_close(&f);
}

TEST(an_agents_git_finds_what_the_repository_has)
{
	struct fixture f;
	struct answer a;

	lfs_open(&f);
	a = ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; rm a.bin; git checkout -q -- a.bin; cmp a.bin \"$R/a.bin\"; "
			"GIT_LFS_SKIP_SMUDGE=1 git checkout -q --detach HEAD~1; "
			"GIT_LFS_SKIP_SMUDGE=1 git checkout -q -; grep -q ^oid a.bin; git lfs "
			"pull; "
			"cmp a.bin \"$R/a.bin\"; [ -z \"$(git status --porcelain)\" ]; git lfs "
			"fsck");
	a = harvest(&f, a.base);
	assert_false(a.leftovers);
	fixture_close(&f);
}

/*
 * What an agent tracks newly: its commits stay as they are, and what it left becomes a
 * pointer, too.
 */
TEST(a_new_rule)
{
	struct fixture f;
	struct answer a;

	lfs_open(&f);
	a = ensure(&f, "overseer/w1/a");
	sh(&f,
			"head -c 80000 /dev/urandom >../n.psd; cd \"$W\"; git lfs track '*.psd' "
			">/dev/null; cp \"$R/../n.psd\" .; git add -A; git commit -qm mine");
	a = harvest(&f, a.base);
	assert_false(a.leftovers);
	assert_string_equal(a.refused, "");
	sh(&f, OBJECT "has ../n.psd");
	assert_accepted(&f, "n.psd");
	fixture_close(&f);
}

TEST(a_new_rule_that_is_not_committed)
{
	struct fixture f;
	struct answer a, again;

	lfs_open(&f);
	a = ensure(&f, "overseer/w1/a");
	sh(&f,
			"head -c 80000 /dev/urandom >../n.psd; cd \"$W\"; mkdir below; echo "
			"'[attr]large filter=lfs -text' >>.gitattributes; echo '*.psd large' "
			">below/.gitattributes; cp \"$R/../n.psd\" below/; cp \"$R/../n.psd\" .");
	a = harvest(&f, a.base);
	assert_true(a.leftovers);
	sh(&f, OBJECT "has ../n.psd; git show overseer/w1/a:n.psd | cmp - ../n.psd");
	again = harvest(&f, a.base);
	assert_string_equal(again.head, a.head);
	sh(&f, "mkdir ../below; mv ../n.psd ../below");
	assert_accepted(&f, "below/n.psd");
	/* The worktree goes on with the rule as one of the base. */
	a = ensure(&f, "overseer/w1/b");
	sh(&f,
			"cmp below/n.psd \"$W/below/n.psd\"; [ -z \"$(git -C \"$W\" status "
			"--porcelain)\" ]");
	fixture_close(&f);
}

/* A rule that the base has goes: the file is one of git's own again. */
TEST(a_rule_less)
{
	struct fixture f;
	struct answer a;

	lfs_open(&f);
	a = ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; git lfs untrack '*.bin' >/dev/null; git add --renormalize -A; "
			"git commit -qm less; git show HEAD:a.bin | cmp - a.bin; [ -z \"$(git "
			"status "
			"--porcelain)\" ]");
	a = harvest(&f, a.base);
	assert_false(a.leftovers);
	a = accept_key(&f, f.branch, "k1");
	assert_int_equal(a.outcome, GIT_OK);
	sh(&f, "git show main:a.bin | cmp - a.bin");
	assert_sh(&f, "", "git status --porcelain");
	fixture_close(&f);
}

/* Beside another filter that the base names, which goes on for just its files. */
TEST(a_new_rule_beside_another_filter)
{
	struct fixture f;
	struct answer a;

	lfs_open_with(&f,
			"git config filter.rot.clean 'tr a-z b-za'; git config "
			"filter.rot.smudge 'tr b-za a-z'; echo '*.enc filter=rot' "
			">.gitattributes; echo abc >x.enc");
	assert_sh(&f, "bcd", "git show HEAD:x.enc");
	a = ensure(&f, "overseer/w1/a");
	sh(&f,
			"head -c 80000 /dev/urandom >../n.psd; cd \"$W\"; git lfs track '*.psd' "
			">/dev/null; cp \"$R/../n.psd\" .; git add -A; git commit -qm mine; echo "
			"def >y.enc");
	a = harvest(&f, a.base);
	assert_string_equal(a.refused, "");
	assert_string_equal(a.files, ".gitattributes\nn.psd\ny.enc\n");
	assert_sh(&f, "efg", "git show overseer/w1/a:y.enc");
	assert_accepted(&f, "n.psd");
	fixture_close(&f);
}

/* Nothing but what has the content that its name says, and is a file, whatever else is there. */
TEST(what_an_agent_plants)
{
	struct fixture f;
	struct answer a;

	lfs_open(&f);
	a = ensure(&f, "overseer/w1/a");
	sh(&f,
			OBJECT
			"echo secret >../secret; for n in right wrong link pipe folder upper "
			"deep none; do echo $n >../$n; done; cd " AGENT
			"; mkdir -p lfs/objects; at() { p=lfs/objects/$(object "
			"\"$R/../$1\"); mkdir -p \"$(dirname \"$p\")\"; echo \"$p\"; }; "
			"cp \"$R/../right\" \"$(at right)\"; chmod 4555 \"$(at right)\"; "
			"echo other >\"$(at wrong)\"; ln -s \"$R/../link\" \"$(at link)\"; "
			"mkfifo \"$(at pipe)\"; mkdir \"$(at folder)\"; "
			"echo upper >\"$(dirname \"$(at upper)\")/$(basename \"$(at upper)\" | "
			"tr a-f A-F)\"; cp \"$R/../deep\" \"lfs/objects/$(basename \"$(at "
			"deep)\")\"; p=$(at none); rmdir \"$(dirname \"$p\")\"; mkdir ../out; "
			"cp \"$R/../none\" \"../out/$(basename \"$p\")\"; ln -s ../../../../out "
			"\"$(dirname \"$p\")\"; echo x >\"$W/work\"");
	a = harvest(&f, a.base);
	assert_true(a.leftovers);
	sh(&f,
			OBJECT
			"has ../right; for n in wrong link pipe folder upper deep none; do "
			"[ ! -e .git/lfs/objects/$(object ../$n) ] || { echo $n; exit 1; }; "
			"done; [ \"$(stat -c %%a .git/lfs/objects/$(object ../right))\" = 644 ]");
	/* Nothing else stays behind, and what the agent still holds open is another file. */
	assert_sh(&f, "2", "find .git/lfs -type f | wc -l");
	assert_sh(&f, "", "find .git/lfs -type f -links +1");
	assert_sh(&f, "",
			"find .overseer/git/w1/own .git/lfs -name 'lfs-in' -o -name 'overseer-*'");
	fixture_close(&f);
}

/* An object that the repository has is not replaced. */
TEST(what_is_there_stays)
{
	struct fixture f;
	struct answer a;

	lfs_open(&f);
	a = ensure(&f, "overseer/w1/a");
	sh(&f,
			OBJECT "p=$(object a.bin); echo x >\"$W/work\"; cd " AGENT
			       "; rm -rf lfs; mkdir -p \"lfs/objects/$(dirname $p)\"; echo other "
			       ">lfs/objects/$p");
	a = harvest(&f, a.base);
	sh(&f, OBJECT "has a.bin; git lfs fsck");
	fixture_close(&f);
}

TEST(what_was_only_staged_is_rescued)
{
	struct fixture f;

	lfs_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f,
			"head -c 80000 /dev/urandom >../s.bin; cd \"$W\"; cp \"$R/../s.bin\" .; "
			"git "
			"add s.bin; rm s.bin");
	rescue(&f, f.tree, "refs/overseer/rescue/r");
	sh(&f,
			OBJECT
			"has ../s.bin; git show refs/overseer/rescue/r^2:s.bin | git lfs smudge "
			"| cmp - ../s.bin");
	fixture_close(&f);
}

TEST(what_goes_with_a_worktree_is_rescued)
{
	struct fixture f;
	struct answer a;

	lfs_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f,
			"head -c 80000 /dev/urandom >../s.bin; cd \"$W\"; cp \"$R/../s.bin\" .; "
			"git "
			"add s.bin; git commit -qm stray; git reset -q --hard HEAD~1");
	a = remove_tree(&f);
	sh(&f,
			OBJECT
			"has ../s.bin; git show $(git log --format=%%H --full-history --no-merges "
			"--diff-filter=A -1 %s -- "
			"s.bin):s.bin | git lfs smudge | cmp - ../s.bin",
			a.rescue_ref);
	fixture_close(&f);
}

/* Elsewhere by the user's configuration: there it is for us, and the agent's git. */
TEST(another_storage)
{
	static const char *const where[] = { "big", "/store" };

	for (size_t i = 0; i < ARRAY_LEN(where); i++) {
		struct fixture f;
		struct answer a;
		char config[200];
		bool outside = where[i][0] == '/';

		snprintf(config, sizeof(config), "git config lfs.storage \"%s%s\"",
				outside ? "${R%/*}" : "", where[i]);
		lfs_open_with(&f, config);
		sh(&f, "[ ! -e .git/lfs/objects ]");
		a = ensure(&f, "overseer/w1/a");
		sh(&f,
				"cmp a.bin \"$W/a.bin\"; for n in b c; do head -c 80000 "
				"/dev/urandom "
				">../$n.bin; done; cd \"$W\"; rm a.bin; git checkout -q -- a.bin; "
				"cmp "
				"a.bin \"$R/a.bin\"; cp \"$R/../b.bin\" .; git add b.bin; git "
				"commit "
				"-qm mine; [ -d \"$R/" AGENT
				"/lfs/objects\" ]; cp \"$R/../c.bin\" .");
		a = harvest(&f, a.base);
		assert_true(a.leftovers);
		assert_accepted(&f, "b.bin");
		sh(&f, "cmp c.bin ../c.bin; [ ! -e .git/lfs/objects ]");
		fixture_close(&f);
	}
}

/*
 * A pointer with another size than the object has: git-lfs would remove the object as broken. It
 * does not get to the user's checkout, and our own git has nothing to remove it from.
 */
TEST(a_pointer_that_would_remove_an_object)
{
	struct fixture f;
	struct answer a, b;

	lfs_open(&f);
	a = ensure(&f, "overseer/w1/a");
	sh(&f, "git show HEAD:a.bin | sed 's/^size .*/size 5/' >\"$W/a.bin\"; echo x >\"$W/work\"");
	a = harvest(&f, a.base);
	assert_true(a.leftovers);
	sh(&f, "grep -q '^size 5' <<E\n$(git show overseer/w1/a:a.bin)\nE");
	assert_non_null(strstr(a.refused, "a.bin"));
	/* The next that takes this up. */
	start_ensure_at(&f, "overseer/w1/b", a.head, "refs/overseer/rescue/1", &b);
	finish(&f, &b);
	if (b.r < 0)
		fail_msg("%s", b.msg);
	sh(&f, OBJECT "rm \"$W/a.bin\"; has a.bin");
	restore(&f, "refs/overseer/rescue/2");
	sh(&f, OBJECT "has a.bin");
	a = accept_key(&f, "overseer/w1/b", "k1");
	assert_int_equal(a.outcome, GIT_REFUSED);
	assert_non_null(strstr(a.detail, "a.bin"));
	sh(&f, OBJECT "has a.bin; git lfs fsck");
	assert_sh(&f, "", "git status --porcelain");
	fixture_close(&f);
}

/* git-lfs takes more for a pointer than what it writes. */
TEST(pointers_in_other_words)
{
	static const char *const ways[] = { "{ echo; cat; }", "sed 's/^size /size +/'",
		"sed 's/^size /size 00/'", "sed 's/$/\\r/'", "{ cat; echo; }",
		"{ cat; head -c 1500 /dev/zero | tr '\\\\0' '\\\\n'; }" };
	char branch[32];

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		struct fixture f;
		struct answer a;

		lfs_open(&f);
		snprintf(branch, sizeof(branch), "overseer/w1/%zu", i);
		a = ensure(&f, branch);
		/* Committed as they are: git-lfs would write them as it does. */
		sh(&f,
				"git show HEAD:a.bin | %s >../odd; cd \"$W\"; git update-index "
				"--cacheinfo 100644,$(git hash-object -w --no-filters "
				"../../../../odd),a.bin; git commit -qm odd; cp ../../../../odd "
				"a.bin",
				ways[i]);
		a = harvest(&f, a.base);
		if (!a.refused[0])
			accept_key(&f, branch, "k1");
		sh(&f, OBJECT "has a.bin"); /* of the target as it was */
		fixture_close(&f);
	}
}

/* A pointer to nothing: git could not check it out. One that was there before may be moved. */
TEST(a_pointer_to_nothing)
{
	struct fixture f;
	struct answer a;

	lfs_open(&f);
	sh(&f,
			"git show HEAD:a.bin | sed -E "
			"'s/^(oid .*).{8}$/\\10000abcd/; s/^size .*/size 5/' >old.bin; git add -A; "
			"git commit -qm "
			"pointer");
	a = ensure(&f, "overseer/w1/a");
	sh(&f, "cd \"$W\"; mv old.bin new.bin; sed s/size.*/#/ <a.bin >b.txt");
	a = harvest(&f, a.base);
	assert_string_equal(a.refused, "");
	sh(&f, "cd \"$W\"; sed s/0000abcd/0000abce/ <new.bin >other.bin");
	a = harvest(&f, a.base);
	assert_non_null(strstr(a.refused, "other.bin"));
	assert_null(strstr(a.refused, "new.bin"));
	fixture_close(&f);
}

/*
 * Content that is not on this machine: its file is the pointer, which stays as it is. Nothing is
 * downloaded by us from where a commit says, which may be an agent's.
 */
TEST(what_is_not_here_is_a_pointer)
{
	struct fixture f;
	struct answer a;
	char ssh[128];

	lfs_open(&f);
	sh(&f,
			"cp a.bin ..; git init -q --bare ../there.git; mv .git/lfs ../there.git/; "
			"printf "
			"'[lfs]\\n\\turl = ssh://agents.example/x\\n' >.lfsconfig; git add "
			".lfsconfig; "
			"git commit -qm address; rm -rf .git/lfs; printf '#!/bin/sh\\necho x "
			">>\"${TMPDIR:-$HOME}/called\"\\nexit 1\\n' >../ssh; chmod +x ../ssh");
	snprintf(ssh, sizeof(ssh), "%s/ssh", f.dir);
	setenv("GIT_SSH_COMMAND", ssh, 1);
	fixture_reopen(&f);
	a = ensure(&f, "overseer/w1/a");
	sh(&f, "grep -q ^oid \"$W/a.bin\"; echo x >\"$W/work\"");
	a = harvest(&f, a.base);
	assert_int_equal(a.files_changed, 1);
	assert_string_equal(a.files, "work\n");
	assert_sh(&f, "", "find .. -name called");
	/* The user's own git asks there. */
	sh(&f, "! TMPDIR= git lfs pull 2>/dev/null; [ -e ../called ]");
	/* What an agent downloads is the repository's, and no change. */
	sh(&f,
			"u=\"file://${R%%/*}/there.git\"; git remote add origin \"$u\"; cd \"$W\"; "
			"git -c "
			"lfs.url=\"$u\" lfs pull; cmp a.bin \"$R/../a.bin\"");
	a = harvest(&f, a.base);
	assert_string_equal(a.files, "work\n");
	sh(&f, OBJECT "has ../a.bin");
	unsetenv("GIT_SSH_COMMAND");
	fixture_close(&f);
}

/* More than an agent adds in its work: it is put aside as a whole, and the harvest goes on. */
TEST(more_than_can_be_looked_at)
{
	struct fixture f;
	struct answer a;

	lfs_open(&f);
	a = ensure(&f, "overseer/w1/a");
	sh(&f,
			"echo x >\"$W/work\"; mkdir -p " AGENT "/lfs/objects/00/00; cd " AGENT
			"/lfs/objects/00/00; seq -f %%064.0f 10001 | xargs touch");
	a = harvest(&f, a.base);
	assert_true(a.leftovers);
	assert_non_null(strstr(a.detail, "aside"));
	assert_sh(&f, "10001", "find .overseer/worktrees/w1.aside-1 -type f | wc -l");
	assert_sh(&f, "1", "find .git/lfs -type f | wc -l");
	fixture_close(&f);
}

/*
 * Content of which most is a hole would be copied and hashed for minutes: in the storage, or as
 * a file.
 */
TEST(a_hole_is_no_large_file)
{
	struct fixture f;
	struct answer a, b;

	lfs_open(&f);
	a = ensure(&f, "overseer/w1/a");
	sh(&f,
			"echo x >\"$W/work\"; mkdir -p " AGENT
			"/lfs/objects/00/00; truncate -s 1T " AGENT
			"/lfs/objects/00/00/$(printf %%064d 1)");
	b = harvest(&f, a.base);
	assert_string_equal(b.files, "work\n");
	assert_non_null(strstr(b.detail, "aside"));
	assert_sh(&f, "1", "find .git/lfs -type f | wc -l");
	sh(&f, "truncate -s 1T \"$W/hole.bin\"");
	b = harvest(&f, a.base);
	assert_string_equal(b.files, "work\n");
	assert_non_null(strstr(b.refused, "hole.bin is too large"));
	fixture_close(&f);
}

/* The daemon ends after n turns of the loop; true when the call ended before that. */
static bool cut_harvest(int n)
{
	struct fixture f;
	struct answer a, b;
	bool whole;

	lfs_open(&f);
	a = ensure(&f, "overseer/w1/a");
	sh(&f,
			"for n in b c; do head -c 80000 /dev/urandom >../$n.bin; done; cd \"$W\"; "
			"cp "
			"\"$R/../b.bin\" .; git add b.bin; git commit -qm mine; cp \"$R/../c.bin\" "
			".");
	start_harvest(&f, a.base, "refs/overseer/rescue/h", &b);
	for (int i = 0; i < n && !b.done; i++)
		assert_true(loop_step(f.loop, 60 * 1000 * 1000));
	whole = b.done;
	fixture_reopen(&f);
	harvest(&f, a.base);
	sh(&f,
			OBJECT "has ../b.bin; has ../c.bin; [ -z \"$(find .git/lfs -name "
			       "'overseer-*')\" ] || { echo %d turns; exit 1; }",
			n);
	assert_accepted(&f, "c.bin");
	sh(&f, "cmp b.bin ../b.bin");
	fixture_close(&f);
	return whole;
}

TEST(harvest_cut_at_every_turn)
{
	int stride = getenv("OV_SOAK") ? 1 : getenv("OV_FULL") ? 5 : 17, n = 1;

	while (!cut_harvest(n))
		n += stride;
	assert_true(n > 20);
}

/* The large files are at the remote before what points to them is. */
TEST(a_push)
{
	struct fixture f;
	struct answer a, b;

	lfs_open(&f);
	sh(&f,
			"git init -q --bare -b main ../there.git; git remote add origin "
			"\"file://${R%%/*}/there.git\"; git push -q origin main");
	a = ensure(&f, "overseer/w1/a");
	sh(&f, "head -c 80000 /dev/urandom >../b.bin; cp ../b.bin \"$W\"");
	harvest(&f, a.base);
	start_rebase(&f, "overseer/w1/a", "k1", "origin", &a);
	finish(&f, &a);
	start_advance(&f, a.commit, "k1", "origin", &b);
	finish(&f, &b);
	assert_string_equal(b.detail, "");
	assert_sh(&f, a.commit, "git -C ../there.git rev-parse main");
	sh(&f, OBJECT "cmp ../b.bin ../there.git/lfs/objects/$(object ../b.bin)");
	/* Where they go is no agent's to say. */
	a = ensure(&f, "overseer/w1/b");
	sh(&f,
			"printf '[lfs]\\n\\turl = ssh://agents.example/x\\n' >\"$W/.lfsconfig\"; "
			"echo n "
			">\"$W/n.bin\"");
	harvest(&f, a.base);
	start_rebase(&f, "overseer/w1/b", "k2", "origin", &a);
	finish(&f, &a);
	start_advance(&f, a.commit, "k2", "origin", &b);
	finish(&f, &b);
	assert_int_equal(b.outcome, GIT_OK);
	assert_non_null(strstr(b.detail, "git lfs push origin main && git push origin main"));
	assert_sh(&f, a.base, "git -C ../there.git rev-parse main");
	fixture_close(&f);
}

TEST_MAIN
