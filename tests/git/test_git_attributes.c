/*
 * Rules about one attribute, gathered: git must see the same of them as of the files they are from.
 */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "drive/gitrules/git_attributes.h"
#include "tests/git/fixture.h"

static void check(const char *want, const struct git_attributes *files, size_t n)
{
	struct arena a = ARENA_INIT;

	assert_string_equal(arena_cstr(&a, git_attributes_rules(&a, files, n, "filter", NULL)),
			want);
	arena_done(&a);
}

TEST(lines)
{
	const struct git_attributes root[] = { { STR(""),
			STR("# no\n\n*.bin filter=lfs diff=lfs -text\n*.txt text\n/top -filter\n"
			    "[attr]big filter=x -text\na/*.iso  big\n\"with space\" filter=y\n"
			    "!not filter=z\n*.c filter=a filter=b\r\n*.none !filter\n"
			    "filtering text=filter\n") } };
	const struct git_attributes below[] = {
		{ STR("d"),
				STR("*.bin -filter\nx/y filter=q\n/z "
				    "filter=r\nw/ filter=s\n[attr]n "
				    "filter=t\n*.n n\n") },
		{ STR("o[d] \"d"), STR("*.bin filter=u\n") }
	};

	check("\"*.bin\" filter=lfs\n\"/top\" -filter\n\"a/*.iso\" filter=x\n\"with space\" "
	      "filter=y\n\"*.c\" filter=b\n\"*.none\" !filter\n",
			root, ARRAY_LEN(root));
	check("\"d/**/*.bin\" -filter\n\"d/x/y\" filter=q\n\"d/z\" filter=r\n\"d/**/w/\" filter=s\n"
	      "\"o\\\\[d] \\\"d/**/*.bin\" filter=u\n",
			below, ARRAY_LEN(below));
}

/*
 * The same answers for every file, with the gathered rules alone in place of all that there were.
 */
TEST(as_git_sees_them)
{
	static const struct git_attributes files[] = {
		{ STR(""),
				STR("*.bin filter=lfs\n[attr]big filter=x\ndeep/** big\n/only "
				    "filter=o\n"
				    "\"sp ace\" filter=s\n*.q? filter=q\nsub/one.bin -filter\n") },
		{ STR("sub"),
				STR("*.dat filter=d\n/here filter=h\na/b filter=ab\n*.bin "
				    "!filter\n") },
		{ STR("sub/a"), STR("b -filter\nc* filter=c\n") },
	};
	const char *names = "one.bin only sub/only deep/x deep/y/z 'sp ace' 'sub/sp ace' a.q1 "
			    "sub/one.bin "
			    "sub/two.bin sub/x.dat sub/a/x.dat sub/here sub/a/here sub/a/b a/b "
			    "sub/a/c1 "
			    "sub/a/d/c2 sub/q/one.bin plain";
	struct arena a = ARENA_INIT;
	struct fixture f;
	char before[4096];

	fixture_open(&f);
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		sh(&f,
				"mkdir -p './" STR_FMT "'; cat >'./" STR_FMT
				"/.gitattributes' <<'E'\n" STR_FMT "E",
				STR_ARG(files[i].dir), STR_ARG(files[i].dir),
				STR_ARG(files[i].text));
	strcpy(before, sh(&f, "git check-attr filter -- %s", names));
	assert_non_null(strstr(before, "sub/a/x.dat: filter: d"));
	sh(&f,
			"find . -name .gitattributes -delete; cat >.git/info/attributes <<'E'\n* "
			"!filter\n" STR_FMT "E",
			STR_ARG(git_attributes_rules(&a, files, ARRAY_LEN(files), "filter", NULL)));
	assert_sh(&f, before, "git check-attr filter -- %s", names);
	/* Whatever an agent writes. */
	sh(&f,
			"printf '* filter=evil\\n[attr]big filter=evil\\n' >.gitattributes; mkdir "
			"-p sub/a; printf "
			"'* filter=evil\\n' | tee sub/.gitattributes >sub/a/.gitattributes");
	assert_sh(&f, before, "git check-attr filter -- %s", names);
	arena_done(&a);
	fixture_close(&f);
}

/* Whether one rule can be an exception to another, and whether it leaves nothing of it. */
TEST(patterns_that_meet)
{
	static const struct {
		const char *a, *b;
		bool meet, cover;
	} cases[] = {
		{ "\"*.bin\"", "\"*.bin\"", true, true },
		{ "\"*.bin\"", "\"*.key\"", false, false },
		{ "\"*.BIN\"", "\"*.bin\"", true, false },
		{ "\"*\"", "\"*.key\"", true, true },
		{ "\"a.key\"", "\"*.key\"", true, false },
		{ "\"*.key\"", "\"s/a.key\"", true, true },
		{ "\"*.key\"", "\"s/**\"", true, false },
		{ "\"s/**\"", "\"s/*.key\"", true, true },
		{ "\"/s/**\"", "\"s/*.key\"", true, true },
		{ "\"s/**/*\"", "\"s/t/**\"", true, true },
		{ "\"s/**\"", "\"*.key\"", true, false },
		{ "\"d/**\"", "\"/s/**\"", false, false },
		{ "\"[ab].c\"", "\"b.c\"", true, false },
		{ "\"/a.c\"", "\"a.c\"", true, false },
		{ "\"a\\\\*\"", "\"b\"", true, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		str a = str_from(cases[i].a), b = str_from(cases[i].b);

		if (git_attributes_meet(a, b) != cases[i].meet ||
				git_attributes_meet(b, a) != cases[i].meet ||
				git_attributes_cover(a, b) != cases[i].cover)
			fail_msg("%s %s", cases[i].a, cases[i].b);
	}
}

TEST_MAIN
