/* Names that may not get to the target branch: at the harvest, and before the branch moves. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "tests/git/fixture.h"

/* What an agent may leave, and the name that it is refused for. */
static const struct {
	const char *script, *name;
} bad[] = {
	{ "mkdir .overseer; echo x >.overseer/config.toml; git add -f .overseer; git commit -qm x",
			".overseer/config.toml" },
	{ "mkdir .OverSeer; echo x >.OverSeer/config.toml", ".OverSeer/config.toml" },
	{ "mkdir -p sub/.overseer; echo x >sub/.overseer/a; git add -f sub; git commit -qm x",
			"sub/.overseer/a" },
	{ "mkdir $(printf '.over\\305\\277eer'); echo x >$(printf '.over\\305\\277eer')/a",
			"eer/a" },
	{ "mkdir 'OVERSE~1'; echo x >'OVERSE~1/config.toml'", "OVERSE~1/config.toml" },
	{ "ln -s /tmp .OVERSEER", ".OVERSEER" },
};

TEST(refused_at_the_harvest)
{
	struct fixture f;
	struct answer e, a;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		fixture_open(&f);
		e = ensure(&f, "overseer/w1/a");
		sh(&f, "cd \"$W\"; echo good >good; %s", bad[i].script);
		a = harvest(&f, e.base);
		assert_int_equal(a.outcome, GIT_OK);
		if (!strstr(a.refused, bad[i].name))
			fail_msg("%s: \"%s\"", bad[i].script, a.refused);
		assert_non_null(strstr(a.refused, "Overseer's own folder"));
		/* All of it is kept. */
		assert_int_equal(a.files_changed, 2);
		assert_string_equal(a.head, sh(&f, "git rev-parse overseer/w1/a"));
		/* Taken out, it is as any other work. */
		sh(&f,
				"cd \"$W\"; git reset -q %s; git add good; git commit -qm y; git "
				"clean -qfdx",
				e.base);
		a = harvest(&f, e.base);
		assert_string_equal(a.refused, "");
		fixture_close(&f);
	}
}

/* What was there before is nobody's fault, and whoever takes it away does right. */
TEST(entries_of_the_base)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	sh(&f,
			"mkdir .OVERSEER; echo old >.OVERSEER/a; echo old >.OVERSEER/b; git add -f "
			".OVERSEER; "
			"git commit -qm old");
	e = ensure(&f, "overseer/w1/a");
	sh(&f, "cd \"$W\"; echo good >good");
	a = harvest(&f, e.base);
	assert_string_equal(a.refused, "");
	sh(&f, "cd \"$W\"; rm .OVERSEER/a");
	a = harvest(&f, e.base);
	assert_string_equal(a.refused, "");
	a = accept_key(&f, "overseer/w1/a", "K1");
	assert_int_equal(a.outcome, GIT_OK);
	assert_sh(&f, ".OVERSEER/b", "git ls-tree -r --name-only main .OVERSEER");
	sh(&f, "cd \"$W\"; echo new >.OVERSEER/b");
	a = harvest(&f, sh(&f, "git rev-parse main"));
	assert_non_null(strstr(a.refused, "\".OVERSEER/b\""));
	fixture_close(&f);
}

/* A candidate is refused, whoever made it; the target stays where it is. */
TEST(refused_before_the_move)
{
	static const char *const names[] = { ".git", ".GIT", ".overseer", "git~1", ".Overseer " };
	struct fixture f;
	struct answer a;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *candidate, *before;
		char commit[72];

		fixture_open(&f);
		ensure(&f, "overseer/w1/a");
		before = sh(&f, "git rev-parse main");
		candidate = sh(&f,
				"b=$(echo x | git hash-object -w --stdin); "
				"t=$(printf '100644 blob %%s\\tconfig\\n' $b | git mktree); "
				"r=$( (git ls-tree main; printf '040000 tree %%s\\t%s\\n' $t) | "
				"git mktree); "
				"printf 'evil\\n\\nOverseer-Accept: K1\\n' | git commit-tree $r -p "
				"main",
				names[i]);
		snprintf(commit, sizeof(commit), "%s", candidate);
		a = advance(&f, commit, "K1");
		assert_int_equal(a.r, 0);
		assert_int_equal(a.outcome, GIT_REFUSED);
		assert_non_null(strstr(a.detail, names[i]));
		assert_string_equal(sh(&f, "git rev-parse main"), before);
		fixture_close(&f);
	}
}

TEST(refused_by_a_pick)
{
	struct fixture f;
	struct answer a;
	const char *before;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f, "cd \"$W\"; mkdir .OVERSEER; echo x >.OVERSEER/a");
	before = sh(&f, "git rev-parse main");
	a = pick(&f, "K1");
	assert_int_equal(a.outcome, GIT_REFUSED);
	assert_string_equal(sh(&f, "git rev-parse main"), before);
	fixture_close(&f);
}

/* Names of any bytes: what people and agents are told is one line of text. */
TEST(what_is_said_is_text)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; mkdir .OVERSEER; for i in 1 2 3 4 5 6 7; do echo x "
			">\".OVERSEER/$(printf "
			"'a\\nb\\033[31m\\377')$i\"; done");
	a = harvest(&f, e.base);
	assert_null(strchr(a.refused, '\n'));
	assert_null(strchr(a.refused, '\033'));
	assert_non_null(strstr(a.refused, "and 2 more"));
	fixture_close(&f);
}

TEST_MAIN
