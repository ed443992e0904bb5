/*
 * The programs that git runs on files: filters and merge drivers, for which files and with
 * what rights.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "tests/git/fixture.h"
#include "tests/skip.h"

/*
 * Where the filter says for what it ran: the temporary folder of what is confined, or the one
 * that is set.
 */
#define RAN "\"$R/.overseer/git/w1/own/tmp/ran\" \"$R/../ran\""

/* A filter of the user's runs for the files that the base names, and for no other. */
TEST(filters_run_for_what_the_base_names)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	setenv("TMPDIR", f.dir, 1); /* where nothing is confined */
	sh(&f,
			"git config --global filter.user.clean 'echo %%f >>\"$TMPDIR/ran\"; cat'; "
			"echo "
			"'*.named filter=user' "
			">.gitattributes; echo n >x.named; git add -A; git commit -qm filter");
	fixture_reopen(&f);
	a = ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; printf '[attr]every filter=user\n* every\n' >>.gitattributes; "
			"echo t >t.txt; echo more >>x.named; rm -f " RAN);
	a = harvest(&f, a.base);
	assert_non_null(strstr(a.refused, "\".gitattributes\": \"*\" is for the filter \"user\""));
	assert_sh(&f, "x.named", "cat " RAN " 2>/dev/null | sort -u");
	assert_sh(&f, "t", "git show overseer/w1/a:t.txt");
	sh(&f, "cd \"$W\"; echo u >u.txt; rm -f " RAN);
	ensure(&f, "overseer/w1/b");
	assert_sh(&f, "", "cat " RAN " 2>/dev/null | grep txt || :");
	unsetenv("TMPDIR");
	fixture_close(&f);
}

/*
 * What is in the work's attributes, and for what it is refused; the base's are of `filters_open`.
 */
static const struct {
	const char *attributes, *reason;
} rules[] = {
	{ "echo '*.enc filter=rot' >>.gitattributes", "\".gitattributes\": \"*.enc\" is for" },
	{ "mkdir -p d; echo '/a.enc filter=rot' >d/.gitattributes", "\"d/.gitattributes\"" },
	{ "printf '*.enc one\\n[attr]one two\\n[attr]two filter=rot\\n' >>.gitattributes",
			"\"*.enc\"" },
	{ "sed -i 's/^.attr.*/[attr]kept filter=rot/' .gitattributes", "\"*.kept\" is for" },
	{ "seq -f '[attr]n%g text' 200 >>.gitattributes; printf '[attr]z filter=rot\\n*.enc z\\n' "
	  ">>.gitattributes",
			"more in its .gitattributes" },
	{ "sed -i /plain/d .gitattributes",
			"that was in \".gitattributes\": \"plain.rot\" was an exception to" },
	{ "(grep plain .gitattributes; grep -v plain .gitattributes) >n; mv n .gitattributes",
			"rot" },
	{ "echo '*.enc filter=none' >>.gitattributes", "" },
	{ "echo '*.enc text' >>.gitattributes", "" },
	{ "echo '*.bin filter=lfs' >>.gitattributes", "" },
	{ "sed -i /lfs/d .gitattributes", "" },
	{ "sed -i /lfs/d .gitattributes; echo '*.enc filter=rot' >>.gitattributes",
			"\"*.enc\" is for the filter \"rot\"" },
	{ "echo '*.rot -filter' >>.gitattributes",
			"\"*.rot\" is an exception to the filter \"rot\"" },
	{ "echo '*.rot filter=lfs' >>.gitattributes", "\"*.rot\" is an exception to" },
	{ "echo 'x.* !filter' >>.gitattributes", "\"x.*\" is an exception to" },
	{ "echo '*.old -filter' >old/.gitattributes", "that was in \"old/.gitattributes\"" },
	{ "sed -i '/^.*rot filter/d' .gitattributes", "\"*.rot\" was for the filter \"rot\"" },
	{ "sed -i 's/^.*rot filter/*.ro filter/' .gitattributes", "\"*.ro\" is for" },
	{ "git rm -q .gitattributes", "\"*.rot\" was for the filter \"rot\"" },
	{ "git rm -rq --cached .gitattributes old/.gitattributes; rm .gitattributes",
			"that was in \".gitattributes\"" },
	{ "rm -r old", "\"old/**/*.old\" was for" },
	{ "sed -i 's/^#.*/# other/' .gitattributes", "" },
};

static void filters_open(struct fixture *f)
{
	fixture_open(f);
	sh(f,
			"git config filter.rot.clean 'tr a-z b-za'; git config filter.rot.smudge "
			"'tr b-za a-z'; printf '# rules\\n[attr]kept -text\\n*.rot "
			"filter=rot\\nplain.rot -filter\\n*.dat filter=lfs\\n*.kept kept\\n' "
			">.gitattributes; mkdir "
			"old; echo '*.old filter=rot' >old/.gitattributes; echo abc | tee x.rot "
			"plain.rot >old/x.old; git add -A; git commit -qm rot");
	assert_sh(f, "bcd\nabc\nbcd", "git show HEAD:x.rot HEAD:plain.rot HEAD:old/x.old");
}

/* The agent does what it was told, in its worktree. */
static void obey(struct fixture *f, const char *reason)
{
	const char *from = strstr(reason, "(git checkout "), *to = from ? strchr(from, ')') : NULL;

	assert_null(strstr(reason, "git rm"));
	if (to)
		sh(f, "cd \"$W\"; %.*s; git commit -qm restored", (int)(to - from - 1), from + 1);
	else
		sh(f, "cd \"$W\"; git rm -q d/.gitattributes; git commit -qm restored");
}

/*
 * Our git does not run a filter for what the work newly names, and the user's would: such work is
 * refused, at the harvest and before the target moves.
 */
TEST(new_rules_for_a_filter_are_refused)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		struct fixture f;
		struct answer a;
		char main[64], base[64];

		filters_open(&f);
		strcpy(main, sh(&f, "git rev-parse main"));
		a = ensure(&f, "overseer/w1/a");
		strcpy(base, a.base);
		sh(&f,
				"cd \"$W\"; %s; git add -A; echo abc >p.enc; git add -A; git "
				"commit -qm mine; "
				"echo x >y.rot",
				rules[i].attributes);
		a = harvest(&f, a.base);
		if (!strstr(a.refused, rules[i].reason) || !*rules[i].reason != !*a.refused)
			fail_msg("%s: \"%s\"", rules[i].attributes, a.refused);
		assert_sh(&f, "y", "git show overseer/w1/a:y.rot");
		a = accept_key(&f, "overseer/w1/a", "k1");
		assert_int_equal(a.outcome, *rules[i].reason ? GIT_REFUSED : GIT_OK);
		if (*rules[i].reason)
			assert_sh(&f, main, "git rev-parse main");
		if (*rules[i].reason && !strstr(a.detail, rules[i].reason))
			fail_msg("%s: \"%s\"", rules[i].attributes, a.detail);
		if (*rules[i].reason && !strstr(a.detail, "more in its")) {
			obey(&f, a.detail);
			a = harvest(&f, base);
			if (*a.refused)
				fail_msg("%s: \"%s\"", rules[i].attributes, a.refused);
		}
		fixture_close(&f);
	}
}

/* What a filter or merge driver tries that runs a program which the agent has changed. */
#define TRIES                                                                                      \
	"for to in \"$HOME/out\" \"$HOME/a repo/.git/out\" \"$HOME/a repo/src/out\" "              \
	"\"$HOME/a repo/.overseer/git/w1/own/HEAD\"; do echo bad >\"$to\"; done 2>/dev/null; cat " \
	"\"$HOME/a repo/.overseer/secret\" 2>/dev/null"

TEST(filters_and_merge_drivers_are_confined)
{
	struct fixture f;
	struct ov_err err;
	struct answer a;

	if (git_confine_works(getenv("OV_SHIM"), &err) < 0)
		skip_for("landlock: git cannot be confined here");
	fixture_open(&f);
	sh(&f,
			"git config filter.user.clean './tool filter %%f'; git config "
			"filter.user.required true; git config filter.user.smudge cat; git config "
			"merge.user.driver './tool merge %%A "
			"\"$(cat %%B)\" %%P'; printf '*.named filter=user\n*.merged merge=user\n' "
			">.gitattributes; echo 'cat' >tool; chmod +x tool; echo n >x.named; echo m "
			">\"it's a.merged\"; git add -A; git commit -qm tool; mkdir -p .overseer; "
			"echo "
			"secret >.overseer/secret");
	fixture_reopen(&f);
	a = ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; cat >tool <<'END'\n#!/bin/sh\n" TRIES
			"\n[ \"$1\" = merge ] || { echo filtered \"$2\"; exec cat; }\n"
			"echo \"merged $3 $4\" >\"$2\"\nEND\n"
			"echo more >>x.named; echo ours >\"it's a.merged\"");
	sh(&f, "echo theirs >\"it's a.merged\"; git commit -qam theirs");
	a = harvest(&f, a.base);
	assert_sh(&f, "filtered x.named\nn\nmore", "git show overseer/w1/a:x.named");
	a = rebase(&f, "overseer/w1/a", "k1");
	assert_sh(&f, "merged ours it's a.merged", "git show \"%s:it's a.merged\"", a.commit);
	assert_sh(&f, "", "ls -d \"$HOME/out\" .git/out src/out 2>/dev/null || :");
	assert_sh(&f, "", "grep bad .overseer/git/w1/own/HEAD || :");
	fixture_close(&f);
}

/*
 * Names stand where git puts them, quoted as git quotes them, whatever the command has around them.
 */
TEST(names_in_filter_commands)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	sh(&f,
			"git config filter.q.clean 'sh -c \"cat; echo tail %%f\"'; git config "
			"filter.r.clean "
			"'cat; printf \"<%%%%s>\" %%f'; printf '*.q filter=q\n*.r filter=r\n' "
			">.gitattributes; git add -A; git commit -qm filters");
	fixture_reopen(&f);
	a = ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; echo x >'n;cd${IFS}$TMPDIR;id>pwn;.q'; echo x >\"it's "
			"\\\"a\\\".r\"; "
			"echo x >\"$(printf 'a\nb.r')\"");
	harvest(&f, a.base);
	assert_sh(&f, "", "find \"$R/..\" -name pwn");
	assert_sh(&f, "x\n<it's \"a\".r>", "git show 'overseer/w1/a:it'\\''s \"a\".r'");
	assert_sh(&f, "x\n<a\nb.r>", "git show \"overseer/w1/a:$(printf 'a\nb.r')\"");
	fixture_close(&f);
}

/* ---- the sandbox, in whose place is a shell that says that it was started ---- */

struct made {
	size_t asked;
	const char *fails; /* why there is none; NULL: there is */
};

static int make(void *user, struct arena *a, const struct git_programs_ask *ask,
		const char *const **ret, struct ov_err *err)
{
	const char **words = arena_array(a, const char *, 7);
	struct made *m = user;

	m->asked++;
	assert_true(str_ends(str_from(ask->worktree), STR("/w1")));
	assert_true(str_starts(str_from(ask->writable[0]), str_from(ask->readable)));
	if (m->fails)
		return ov_fail(err, OV_EUNAVAILABLE, "%s", m->fails);
	words[0] = "sh";
	words[1] = "-c";
	words[2] = "echo made >>\"$HOME/made\"; exec \"$@\"";
	words[3] = "sh";
	words[4] = ask->argv[0];
	words[5] = ask->argv[1];
	*ret = words;
	return 0;
}

static void kept_open(struct fixture *f, struct made *m, bool landlock)
{
	const struct git_bounds bounds = { .program = getenv("OV_SHIM"),
		.landlock = landlock,
		.sandbox = m ? make : NULL,
		.user = m };
	struct ov_err err;

	if (landlock && git_confine_works(getenv("OV_SHIM"), &err) < 0)
		skip_for("landlock: git cannot be confined here");
	fixture_open(f);
	git_confine(f->git, &bounds);
	sh(f,
			"git config filter.user.clean './tool %%f'; git config "
			"filter.user.smudge cat; echo '*.named filter=user' >.gitattributes; "
			"printf '#!/bin/sh\\ncat\\n' >tool; chmod +x tool; git add -A; git "
			"commit -qm tool");
}

TEST(one_sandbox_for_all_programs_of_a_command)
{
	for (int landlock = 0; landlock < 2; landlock++) {
		struct made m = { 0 };
		struct fixture f;
		struct answer a;

		kept_open(&f, &m, landlock);
		a = ensure(&f, "overseer/w1/a");
		sh(&f,
				"cd \"$W\"; printf '#!/bin/sh\\necho \"filtered $1\"; exec cat\\n' "
				">tool; for i in $(seq 20); do echo $i >$i.named; done; rm -f "
				"\"$HOME/made\"");
		m.asked = 0;
		harvest(&f, a.base);
		assert_sh(&f, "filtered 7.named\n7", "git show overseer/w1/a:7.named");
		assert_int_equal(m.asked, 1);
		assert_sh(&f, "1", "grep -c made \"$HOME/made\"");
		fixture_close(&f);
	}
}

/* A filter that is configured and not used costs nothing. */
TEST(no_sandbox_where_no_rule_names_a_program)
{
	struct made m = { 0 };
	struct fixture f;
	struct answer a;

	kept_open(&f, &m, false);
	sh(&f, "echo >.gitattributes; git commit -qam 'no rules'");
	a = ensure(&f, "overseer/w1/a");
	sh(&f, "cd \"$W\"; echo 1 >1.named");
	harvest(&f, a.base);
	assert_sh(&f, "1", "git show overseer/w1/a:1.named");
	assert_int_equal(m.asked, 0);
	fixture_close(&f);
}

/*
 * Kept as it is, since nothing may be lost, and never work: that would be plain text where it
 * should not be.
 */
static void fails_to_filter(struct fixture *f, const char *base, const char *why)
{
	struct answer a;

	start_harvest(f, base, "refs/overseer/rescue/w1/r", &a);
	finish(f, &a);
	assert_true(a.r < 0);
	if (!strstr(a.msg, why))
		fail_msg("\"%s\" is not in: %s", why, a.msg);
	assert_sh(f, "text", "git show refs/overseer/rescue/w1/r:1.named");
	assert_sh(f, "", "git log --format=%%H main..overseer/w1/a");
}

/* The filter is not a required one: git would store the file as it is. */
TEST(without_its_sandbox_nothing_is_stored)
{
	struct made m = { 0 };
	struct fixture f;
	struct answer a;

	kept_open(&f, &m, false);
	a = ensure(&f, "overseer/w1/a");
	sh(&f, "cd \"$W\"; printf '#!/bin/sh\\ntr a-z A-Z\\n' >tool; echo text >1.named");
	m.fails = "there is none today";
	fails_to_filter(&f, a.base, "there is none today");
	m.fails = NULL;
	harvest(&f, a.base);
	assert_sh(&f, "TEXT", "git show overseer/w1/a:1.named");
	fixture_close(&f);
}

TEST(without_a_required_filter_nothing_is_stored)
{
	struct fixture f;
	struct answer a;

	kept_open(&f, NULL, false);
	sh(&f, "git config filter.user.required true");
	a = ensure(&f, "overseer/w1/a");
	sh(&f, "cd \"$W\"; printf '#!/bin/sh\\nexit 1\\n' >tool; echo text >1.named");
	fails_to_filter(&f, a.base, "clean filter 'user' failed");
	sh(&f, "cd \"$W\"; printf '#!/bin/sh\\ntr a-z A-Z\\n' >tool");
	harvest(&f, a.base);
	assert_sh(&f, "TEXT", "git show overseer/w1/a:1.named");
	fixture_close(&f);
}

TEST(what_a_program_leaves_ends_with_git)
{
	for (int kind = 0; kind < 4; kind++) {
		struct made m = { 0 };
		struct fixture f;
		struct answer a;

		kept_open(&f, kind & 2 ? &m : NULL, kind & 1);
		a = ensure(&f, "overseer/w1/a");
		sh(&f,
				"cd \"$W\"; cat >tool <<'END'\n#!/bin/sh\n"
				"setsid env -i sh -c 'echo $$; exec sleep 1000' </dev/null "
				"2>/dev/null >>\"${TMPDIR:-$HOME}/left\" &\n"
				"until [ -s \"${TMPDIR:-$HOME}/left\" ]; do sleep 0.01; done\n"
				"exec cat\nEND\necho text >1.named");
		harvest(&f, a.base);
		assert_sh(&f, "text", "git show overseer/w1/a:1.named");
		assert_sh(&f, "ended",
				"for p in $(cat \"$HOME/left\" .overseer/git/w1/own/tmp/left "
				"2>/dev/null); do kill -0 $p 2>/dev/null && echo lives || echo "
				"ended; done | sort -u");
		fixture_close(&f);
	}
}

TEST_MAIN
