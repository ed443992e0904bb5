#include "tests/test.h"

#include "base/err.h"
#include "base/str.h"
#include "core/config/config.h"

TEST_MAIN

static struct config *parse(const char *lines)
{
	struct arena a = ARENA_INIT;
	struct config *c = NULL;
	struct ov_err err = { 0 };

	if (config_parse(arena_printf(&a, "[planner]\n%s\n", lines), &c, &err) < 0)
		fail_msg("%s", err.msg);
	arena_done(&a);
	return c;
}

TEST(there_is_no_planner_unless_one_is_named)
{
	struct config *c = parse("");
	bool needed;

	assert_int_equal(c->planner_provider, PROVIDER_NONE);
	assert_int_equal(c->planner_timeout, 2 * OV_MINUTE);
	assert_int_equal(c->planner_max_repairs, 2);
	assert_false(c->policy.planner);
	assert_false(c->policy.diagnose);
	assert_int_equal(config_planner_key_env(c, &needed).n, 0);
	assert_false(needed);
	config_free(c);
}

TEST(a_provider_brings_its_usual_address_and_key)
{
	static const struct {
		const char *lines, *url, *model, *ref, *key_env;
		bool needed;
	} cases[] = {
		{ "provider = \"anthropic\"\nmodel = \"anthropic/claude-x\"",
				"https://api.anthropic.com", "claude-x", "anthropic/claude-x",
				"ANTHROPIC_API_KEY", true },
		{ "provider = \"openai\"\nmodel = \"gpt-x\"\napi_key_env = \"MY_KEY\"",
				"https://api.openai.com", "gpt-x", "openai/gpt-x", "MY_KEY", true },
		{ "provider = \"openai\"\nmodel = \"meta/llama\"\n"
		  "base_url = \"http://127.0.0.1:8080/api//\"",
				"http://127.0.0.1:8080/api", "meta/llama", "openai/meta/llama",
				"OPENAI_API_KEY", false },
		{ "provider = \"openai\"\nmodel = \"m\"\nbase_url = \"http://[::1]:1\"\n"
		  "api_key_env = \"K\"",
				"http://[::1]:1", "m", "openai/m", "K", true },
		{ "provider = \"command\"\ncommand = \"plan-it\"", "", "", "command", "", false },
		{ "provider = \"command\"\ncommand = \"plan-it\"\nmodel = \"own\"", "", "own",
				"command/own", "", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct config *c = parse(cases[i].lines);
		bool needed;

		assert_true(str_is(config_planner_url(c), cases[i].url));
		assert_true(str_is(config_planner_model(c), cases[i].model));
		assert_true(str_is(config_planner_ref(&c->arena, c), cases[i].ref));
		assert_true(str_is(config_planner_key_env(c, &needed), cases[i].key_env));
		assert_int_equal(needed, cases[i].needed);
		assert_true(c->policy.planner);
		config_free(c);
	}
}

TEST(contradictions_are_errors)
{
	static const struct {
		const char *lines, *problem;
	} cases[] = {
		{ "provider = \"anthropic\"",
				"planner.model: provider \"anthropic\" needs a model" },
		{ "provider = \"anthropic\"\nmodel = \"openai/gpt\"",
				"is not a model of anthropic" },
		{ "provider = \"command\"", "planner.command: provider \"command\" needs one" },
		{ "provider = \"command\"\ncommand = \"  \"", "needs one" },
		{ "command = \"x\"", "needs planner.provider = \"command\"" },
		{ "base_url = \"https://example.com\"", "planner.base_url: needs the provider" },
		{ "api_key_env = \"K\"", "planner.api_key_env: needs the provider" },
		{ "diagnose = true", "planner.diagnose: needs a planner.provider" },
		{ "provider = \"gemini\"", "planner.provider" },
		{ "provider = \"openai\"\nmodel = \"m\"\napi_key_env = \"sk-secret\"",
				"not the key" },
		{ "provider = \"openai\"\nmodel = \"m\"\nbase_url = \"example.com\"",
				"must begin with https://" },
		{ "provider = \"openai\"\nmodel = \"m\"\nbase_url = \"http://example.com\"",
				"only for this machine" },
		{ "provider = \"openai\"\nmodel = \"m\"\nbase_url = "
		  "\"http://127.0.0.1.example.com\"",
				"only for this machine" },
		{ "provider = \"openai\"\nmodel = \"m\"\nbase_url = "
		  "\"http://localhost.example.com\"",
				"only for this machine" },
		{ "provider = \"openai\"\nmodel = \"m\"\n"
		  "base_url = \"http://127.0.0.1@example.com\"",
				"no user" },
		{ "provider = \"openai\"\nmodel = \"m\"\nbase_url = \"https://\"", "a host" },
		{ "provider = \"openai\"\nmodel = \"m\"\nbase_url = \"https://a.example?k=v\"",
				"query" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena a = ARENA_INIT;
		struct config *c = NULL;
		struct ov_err err = { 0 };

		assert_int_equal(config_parse(arena_printf(&a, "[planner]\n%s\n", cases[i].lines),
						 &c, &err),
				OV_EINVALID);
		if (!strstr(err.msg, cases[i].problem))
			fail_msg("case %zu: %s", i, err.msg);
		assert_null(strstr(err.msg, "sk-secret"));
		arena_done(&a);
	}
}
