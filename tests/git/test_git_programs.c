/* The programs that git runs on files: filters and merge drivers, for which files and with what rights. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "tests/git/fixture.h"
#include "tests/skip.h"

/* Where the filter says for what it ran: the temporary folder of what is confined, or the one that is set. */
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

/* What is in the work's attributes, and for what it is refused; the base's are of `filters_open`. */
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
	{ "sed -i /plain/d .gitattributes", "lacks a rule that was in \".gitattributes\"" },
	{ "(grep plain .gitattributes; grep -v plain .gitattributes) >n; mv n .gitattributes",
			"rot" },
	{ "echo '*.enc filter=none' >>.gitattributes", "" },
	{ "echo '*.enc text' >>.gitattributes", "" },
	{ "echo '*.rot -filter' >>.gitattributes", "" },
	{ "rm -r old", "" },
	{ "sed -i 's/^#.*/# other/' .gitattributes", "" },
};

static void filters_open(struct fixture *f)
{
	fixture_open(f);
	sh(f,
			"git config filter.rot.clean 'tr a-z b-za'; git config filter.rot.smudge "
			"'tr b-za a-z'; printf '# rules\\n[attr]kept -text\\n*.rot "
			"filter=rot\\nplain.rot -filter\\n*.kept kept\\n' >.gitattributes; mkdir "
			"old; echo '*.old filter=rot' >old/.gitattributes; echo abc | tee x.rot "
			"plain.rot >old/x.old; git add -A; git commit -qm rot");
	assert_sh(f, "bcd\nabc\nbcd", "git show HEAD:x.rot HEAD:plain.rot HEAD:old/x.old");
}

/*
 * Our git does not run a filter for what the work newly names, and the user's would: such work is refused, at
 * the harvest and before the target moves.
 */
TEST(new_rules_for_a_filter_are_refused)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		struct fixture f;
		struct answer a;
		char main[64];

		filters_open(&f);
		strcpy(main, sh(&f, "git rev-parse main"));
		a = ensure(&f, "overseer/w1/a");
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
		fixture_close(&f);
	}
}

/* What a filter or merge driver tries that runs a program which the agent has changed. */
#define TRIES                                                                                     \
	"for to in \"$OUT/out\" \"$OUT/a repo/.git/out\" \"$OUT/a repo/src/out\" "                \
	"\"$OUT/a repo/.overseer/git/w1/own/HEAD\"; do echo bad >\"$to\"; done 2>/dev/null; cat " \
	"\"$OUT/a repo/.overseer/secret\" 2>/dev/null"

TEST(filters_and_merge_drivers_are_confined)
{
	struct fixture f;
	struct ov_err err;
	struct answer a;

	if (git_confine_works(getenv("OV_SHIM"), &err) < 0)
		skip_for("landlock: git cannot be confined here");
	fixture_open(&f);
	setenv("OUT", f.dir, 1);
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
	assert_sh(&f, "", "ls -d \"$OUT/out\" .git/out src/out 2>/dev/null || :");
	assert_sh(&f, "", "grep bad .overseer/git/w1/own/HEAD || :");
	unsetenv("OUT");
	fixture_close(&f);
}

/* Names stand where git puts them, quoted as git quotes them, whatever the command has around them. */
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

TEST_MAIN
