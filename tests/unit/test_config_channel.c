#include "tests/test.h"

#include <stdio.h>

#include "base/err.h"
#include "base/str.h"
#include "core/config/config.h"
#include "core/text/url_check.h"
#include "data/value/json.h"

static struct config *parse(const char *toml)
{
	struct config *c = NULL;
	struct ov_err err = { 0 };

	if (config_parse(str_from(toml), &c, &err) < 0)
		fail_msg("%s", err.msg);
	return c;
}

/* Refused, and the message says so. */
static void refused(const char *toml, const char *says)
{
	struct config *c = NULL;
	struct ov_err err = { 0 };

	if (config_parse(str_from(toml), &c, &err) == 0)
		fail_msg("accepted: %s", toml);
	if (!strstr(err.msg, says))
		fail_msg("%s\n  does not say: %s", err.msg, says);
}

#define CH "[escalation.channels.x]\n"
#define GITEA CH "type = \"gitea\"\nurl = \"https://git.example\"\nrepo = \"o/n\"\n"

TEST(without_a_table)
{
	struct config *c = parse("");

	assert_int_equal(c->channels_n, 1);
	assert_true(str_is(c->channels[0].name, "desktop"));
	assert_int_equal(c->channels[0].type, CHANNEL_DESKTOP);
	assert_int_equal(c->channels[0].timeout, 10 * OV_SECOND);
	assert_int_equal(c->policy.channels_n, 1);
	assert_true(str_is(c->policy.channels[0].name, "desktop"));
	config_free(c);
	c = parse("escalation.desktop = false\nescalation.hook = \"cat\"\n");
	assert_int_equal(c->channels_n, 1);
	assert_int_equal(c->policy.channels[0].type, CHANNEL_HOOK);
	assert_true(str_is(config_channel(c, STR("hook"))->command, "cat"));
	assert_null(config_channel(c, STR("desktop")));
	config_free(c);
}

TEST(each_type)
{
	struct config *c = parse(
			"[escalation.channels.tracker]\ntype = \"gitea\"\n"
			"url = \"https://git.example/api/v1\"\nrepo = \"o-1/n_2.x\"\n"
			"token_file = \"~/.config/gitea/token\"\nlabels = [\"a\"]\n"
			"[escalation.channels.github]\ntype = \"github\"\nrepo = \"o/n\"\n"
			"token_env = \"GITHUB_TOKEN\"\n"
			"[escalation.channels.pager]\ntype = \"webhook\"\n"
			"url = \"http://127.0.0.1:81/x?y=z@q\"\nsecret_env = \"PAGER_SECRET\"\n"
			"timeout = \"2s\"\n"
			"[escalation.channels.slack]\ntype = \"slack\"\nurl_file = \"/run/x\"\n"
			"[escalation.channels.discord]\ntype = \"discord\"\nurl_env = \"D\"\n"
			"[escalation.channels.mail]\ntype = \"hook\"\ncommand = \"mail me\"\n"
			"[escalation.channels.desktop]\ntype = \"desktop\"\ntimeout = \"1s\"\n");
	const struct config_channel *ch = config_channel(c, STR("tracker"));

	assert_int_equal(c->channels_n, 7);
	assert_int_equal(c->policy.channels_n, 7);
	assert_int_equal(ch->type, CHANNEL_GITEA);
	assert_int_equal(ch->labels_n, 1);
	ch = config_channel(c, STR("github"));
	assert_true(str_is(ch->url, "https://api.github.com"));
	assert_int_equal(ch->labels_n, 3);
	assert_true(str_is(ch->labels[1], "<level>"));
	assert_int_equal(config_channel(c, STR("pager"))->timeout, 2 * OV_SECOND);
	assert_int_equal(config_channel(c, STR("desktop"))->timeout, OV_SECOND);
	config_free(c);
}

TEST(names)
{
	refused("[escalation.channels.github]\ntype = \"hook\"\ncommand = \"x\"\n",
			"escalation.channels.github: a channel of this name is of type \"github\"");
	refused("[escalation.channels.A]\ntype = \"desktop\"\n", "a name has 1 to");
	refused("escalation.hook = \"a\"\n[escalation.channels.hook]\ntype = \"hook\"\n"
		"command = \"b\"\n",
			"escalation.hook: [escalation.channels.hook] is there, too");
	refused("escalation.desktop = false\n[escalation.channels.desktop]\ntype = \"desktop\"\n",
			"escalation.desktop: is false");
	refused("escalation.channels = 3\n", "escalation.channels: expected");
	refused("[escalation]\nchanels = {}\n", "did you mean \"channels\"?");
	refused(CH "type = \"desktop\"\nurk = \"\"\n", "x.urk: unknown (did you mean \"url\"?)");
	refused(CH "url = \"https://x.example\"\n", "x.type: is missing");
	refused(CH "type = \"pigeon\"\n", "is not one of");
}

TEST(what_a_type_needs)
{
	refused(CH "type = \"gitea\"\n",
			"x.url: is missing: a channel of type \"gitea\" needs it\n");
	refused(CH "type = \"gitea\"\n", "x.repo: is missing");
	refused(GITEA,
			"x.token_file: is missing: a channel of type \"gitea\" needs it, or "
			"token_env");
	refused(CH "type = \"slack\"\n", "needs it, or url_file or url_env");
	refused(CH "type = \"hook\"\n", "x.command: is missing");
	refused(CH "type = \"desktop\"\nurl = \"https://x.example\"\n",
			"x.url: a channel of type \"desktop\" has none");
	refused(CH "type = \"slack\"\nurl = \"https://x.example\"\nlabels = []\n",
			"x.labels: a channel");
	refused(CH "type = \"slack\"\nurl = \"https://x.example\"\nsecret_env = \"A\"\n",
			"x.secret_env");
	refused(GITEA "token_file = \"/a\"\ntoken_env = \"B\"\n",
			"x.token_env: token_file is given, too");
	refused(CH "type = \"github\"\nrepo = \"o/n\"\ntoken_env = \"T\"\nurl_env = \"A\"\n",
			"x.url_env: the address of \"github\" is no secret");
}

TEST(addresses)
{
	static const char *const bad[] = { "git.example", "ftp://x.example", "http://git.example",
		"http://127.0.0.1.example", "https://u:p@git.example", "https://",
		"https://a.example b" };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char toml[200];

		snprintf(toml, sizeof(toml), CH "type = \"webhook\"\nurl = \"%s\"\n", bad[i]);
		refused(toml, "escalation.channels.x.url: ");
	}
	refused(GITEA "token_env = \"gto_0123-4567\"\n", "x.token_env: must be the name of an env");
	refused(GITEA "token_file = \"token\"\n", "x.token_file: must be the path of a file");
	assert_non_null(config_url_problem(STR("https://a.example/?b"), false));
	assert_null(config_url_problem(STR("https://a.example/?b"), true));
	assert_null(config_url_problem(STR("http://[::1]:8/"), false));
}

/* What may be a secret does not come back in messages. */
TEST(secrets_are_not_repeated)
{
	struct config *c = NULL;
	struct ov_err err = { 0 };

	assert_true(config_parse(STR(GITEA "token_env = \"gto-hush\"\ntoken_file = \"hush\"\n"), &c,
				    &err) < 0);
	assert_null(strstr(err.msg, "hush"));
	assert_true(config_parse(STR(CH "type = \"slack\"\nurl = \"http://chat.example/hush\"\n"),
				    &c, &err) < 0);
	assert_null(strstr(err.msg, "hush"));
}

TEST(repositories_and_labels)
{
	static const char *const bad[] = { "o", "/n", "o/", "o/n/x", "o n/x", "../x", "o/..",
		"o/n?" };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char toml[200];

		snprintf(toml, sizeof(toml),
				CH "type = \"github\"\ntoken_env = \"T\"\nrepo = \"%s\"\n", bad[i]);
		refused(toml, "x.repo: must be of the form");
	}
	refused(GITEA "token_env = \"T\"\nlabels = [\"a,b\"]\n", "x.labels[0]: a label is");
}

TEST(routes)
{
	struct config *c = parse("");
	const struct policy_route *r = c->policy.routes;

	assert_int_equal(r[URGENCY_INFO].n, 0);
	assert_true(r[URGENCY_WARNING].n == 1 && str_is(r[URGENCY_WARNING].to[0], "desktop"));
	assert_true(r[URGENCY_CRITICAL].n == 1 && str_is(r[URGENCY_CRITICAL].to[0], "*"));
	assert_true(r[URGENCY_EMERGENCY].n == 1 && str_is(r[URGENCY_EMERGENCY].to[0], "*"));
	assert_true(c->policy.notify);
	assert_int_equal(c->policy.notice_attempts, 8);
	assert_int_equal(c->policy.notice_retry, OV_MINUTE);
	assert_int_equal(c->policy.notice_retry_max, OV_HOUR);
	config_free(c);
	/* Types may be named before there is one of them. */
	c = parse("escalation.routes.info = [\"gitea\", \"x\"]\nescalation.auto = false\n" CH
		  "type = \"hook\"\ncommand = \"true\"\n");
	assert_int_equal(c->policy.routes[URGENCY_INFO].n, 2);
	assert_false(c->policy.notify);
	config_free(c);
	refused("escalation.routes.warning = [\"desktopp\"]", "did you mean \"desktop\"?");
	refused("escalation.routes.loud = []", "escalation.routes.loud");
	refused("escalation.retry_base = \"2h\"", "escalation.retry_base");
}

TEST(shown_without_the_secret_part)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct config *c = parse(CH "type = \"slack\"\nurl = \"https://chat.example/T1/hush\"\n"
				    "[escalation.channels.y]\ntype = \"webhook\"\n"
				    "url = \"https://chat.example\"\n"
				    "[escalation.channels.z]\ntype = \"gitea\"\nrepo = \"o/n\"\n"
				    "url = \"https://git.example/sub\"\ntoken_env = \"T\"\n");
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	value *v = config_view(&a, c);

	json_write(&out, v);
	assert_null(strstr(buf_cstr(&out), "hush"));
	v = (value *)value_get(v, STR("escalation.channels.x.url"));
	assert_true(str_is(value_str_at(v, "value"), "https://chat.example/(hidden)"));
	v = config_view(&a, c);
	assert_true(str_is(value_str_at(value_get(v, STR("escalation.channels.z.url")), "value"),
			"https://git.example/sub"));
	assert_true(value_get(v, STR("escalation.channels.y.labels")) != NULL);
	assert_null(value_get(v, STR("escalation.channels.desktop.type")));
	config_free(c);
}

TEST_MAIN
