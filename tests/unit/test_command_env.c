#include "core/config/command_env.h"

#include "base/err.h"
#include "base/str.h"
#include "tests/test.h"

static const char *const all[] = { "HOME=/u", "CI_TOKEN=t", "CI_JOB=7", "HOOK_URL=h", "KEY=k",
	"EMPTY=", NULL };

static struct config *parse(const char *text)
{
	struct config *c = NULL;
	struct ov_err err = { 0 };

	if (config_parse(str_from(text), &c, &err) < 0)
		fail_msg("%s", err.msg);
	return c;
}

/* "HOME CI_JOB": the names, in order. */
static const char *names(struct arena *a, const char *const *env)
{
	str s = STR("");

	for (size_t i = 0; env[i]; i++)
		s = arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(s), i ? " " : "",
				(int)strcspn(env[i], "="), env[i]);
	return arena_cstr(a, s);
}

static void check(const char *config, const char *wanted)
{
	struct arena a = ARENA_INIT;
	struct config *c = parse(config);

	assert_string_equal(names(&a, command_env(&a, c, (char *const *)all, NULL, 0)), wanted);
	config_free(c);
	arena_done(&a);
}

#define CHANNEL                                                                                 \
	"planner.provider = \"openai\"\nplanner.model = \"m\"\nplanner.api_key_env = \"KEY\"\n" \
	"[escalation.channels.chat]\ntype = \"slack\"\nurl_env = \"HOOK_URL\"\n"

TEST(everything_but_our_own_tokens)
{
	check("", "HOME CI_TOKEN CI_JOB HOOK_URL KEY EMPTY");
	check(CHANNEL, "HOME CI_TOKEN CI_JOB EMPTY");
}

TEST(names_and_patterns)
{
	check("commands.env_pass = [\"HOME\", \"CI_*\"]\n", "HOME CI_TOKEN CI_JOB");
	check("commands.env_pass = []\n", "");
	/* A name is not a pattern, and a pattern is not enough for a token. */
	check("commands.env_pass = [\"CI\", \"K*\", \"HOOK*\"]\n" CHANNEL, "");
	check("commands.env_pass = [\"KEY\", \"HOOK_URL\"]\n" CHANNEL, "HOOK_URL KEY");
}

TEST(ours_stand_in_place_of_theirs)
{
	static const char *const own[] = { "HOME=/ours", "OVERSEER_X=1" };
	struct arena a = ARENA_INIT;
	struct config *c = parse("");
	const char *const *env = command_env(&a, c, (char *const *)all, own, ARRAY_LEN(own));

	assert_string_equal(names(&a, env), "CI_TOKEN CI_JOB HOOK_URL KEY EMPTY HOME OVERSEER_X");
	assert_string_equal(env[5], "HOME=/ours");
	assert_string_equal(names(&a, env_with(&a, env, own, 1)),
			"CI_TOKEN CI_JOB HOOK_URL KEY EMPTY OVERSEER_X HOME");
	config_free(c);
	arena_done(&a);
}

TEST_MAIN
