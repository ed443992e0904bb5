/* [escalation.channels.NAME]: what each type of channel needs, and what does not go with it. */
#include "core/config/config_channel.h"

#include "base/str.h"
#include "core/config/config_impl.h"
#include "core/model/limits.h"
#include "core/text/url_check.h"

enum { MAX_CHANNELS = 32 };

#define TYPE_NAME(sym, name) name,
static const char *const type_names[] = { CHANNEL_TYPES(TYPE_NAME) NULL };
#undef TYPE_NAME

#define AT(member) .offset = offsetof(struct config_channel, member)

static const struct option options[] = {
	{ "type", OPT_CHOICE, 0, 0, NULL, "What kind of channel it is.", type_names, AT(type) },
	{ "url", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Where it is reached: of gitea the server, with or without \"/api/v1\"; of "
			"github only for a server of one's own, with its \"/api/v3\"; of webhook, "
			"slack and discord the address that is posted to. https, except on this "
			"machine.",
			AT(url) },
	{ "url_file", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"The file that holds the address, in place of url: that of a chat is "
			"itself a secret.",
			AT(url_file) },
	{ "url_env", OPT_STR, 0, LIMIT_NAME, "\"\"",
			"The variable of the daemon's environment that holds the address, "
			"likewise.",
			AT(url_env) },
	{ "repo", OPT_STR, 0, LIMIT_NAME, "\"\"",
			"Of gitea and github: where issues are opened, \"owner/name\".", AT(repo) },
	{ "token_file", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Of gitea and github: the file that holds the token, readable by its owner "
			"only; an absolute path, or one that begins with \"~/\".",
			AT(token_file) },
	{ "token_env", OPT_STR, 0, LIMIT_NAME, "\"\"",
			"Or the variable of the daemon's environment that holds it.",
			AT(token_env) },
	{ "secret_file", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Of webhook: the file with the secret by which requests are signed "
			"(X-Overseer-Signature-256).",
			AT(secret_file) },
	{ "secret_env", OPT_STR, 0, LIMIT_NAME, "\"\"", "Or the variable that holds it.",
			AT(secret_env) },
	{ "command", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Of hook: run by sh -c in the repository, with the alarm as JSON on "
			"standard input.",
			AT(command) },
	{ "timeout", OPT_DURATION, 10, 10 * OV_MINUTE, "\"10s\"",
			"The longest that one attempt may take.", AT(timeout) },
	{ "labels", OPT_TEXTS, 0, LIMIT_ID, "[\"overseer\", \"<level>\", \"automated\"]",
			"Of gitea and github: the labels of an issue; \"<level>\" stands for info, "
			"warning, critical or emergency.",
			AT(labels), .count_offset = offsetof(struct config_channel, labels_n) },
};

struct options config_channel_options(void)
{
	return (struct options){ options, ARRAY_LEN(options) };
}

/* What of it a type of channel has; one of each needed group must be there. */
enum group { G_URL, G_REPO, G_TOKEN, G_SECRET, G_COMMAND, G_LABELS, GROUP_COUNT };

static const struct {
	const char *keys[3];
} groups[] = {
	[G_URL] = { { "url", "url_file", "url_env" } },
	[G_REPO] = { { "repo" } },
	[G_TOKEN] = { { "token_file", "token_env" } },
	[G_SECRET] = { { "secret_file", "secret_env" } },
	[G_COMMAND] = { { "command" } },
	[G_LABELS] = { { "labels" } },
};

#define BIT(group) (1U << (group))
#define ISSUES (BIT(G_REPO) | BIT(G_TOKEN))

static const struct {
	unsigned needs, may;
	bool query; /* an address may have one */
	bool plain; /* an address is no secret, and stands in the file */
	const char *default_url;
} rules[] = {
	[CHANNEL_DESKTOP] = { 0, 0, false, false, "" },
	[CHANNEL_GITEA] = { ISSUES | BIT(G_URL), BIT(G_LABELS), false, true, "" },
	[CHANNEL_GITHUB] = { ISSUES, BIT(G_URL) | BIT(G_LABELS), false, true,
			"https://api.github.com" },
	[CHANNEL_WEBHOOK] = { BIT(G_URL), BIT(G_SECRET), true, false, "" },
	[CHANNEL_SLACK] = { BIT(G_URL), 0, true, false, "" },
	[CHANNEL_DISCORD] = { BIT(G_URL), 0, true, false, "" },
	[CHANNEL_HOOK] = { BIT(G_COMMAND), 0, false, false, "" },
};
static_assert(ARRAY_LEN(rules) == CHANNEL_TYPE_COUNT, "a type without a rule");
static_assert(ARRAY_LEN(groups) == GROUP_COUNT, "a group without keys");

static str key_of(struct config_reader *r, str path, const char *key)
{
	return arena_printf(&r->c->arena, STR_FMT ".%s", STR_ARG(path), key);
}

/* Said and not empty; what is there but empty is as if it were not. */
static bool said(const value *doc, const char *key)
{
	const value *v = value_at(doc, key);

	return v && !(v->kind == V_STR && v->s.n == 0);
}

static void check_group(struct config_reader *r, str path, const struct config_channel *ch,
		const value *doc, enum group g)
{
	const char *first = NULL, *type = type_names[ch->type];

	for (size_t i = 0; i < ARRAY_LEN(groups[g].keys) && groups[g].keys[i]; i++) {
		const char *key = groups[g].keys[i];

		if (!said(doc, key))
			continue;
		if (!((rules[ch->type].needs | rules[ch->type].may) & BIT(g)))
			config_problem(r, key_of(r, path, key),
					"a channel of type \"%s\" has none; leave it out", type);
		else if (first)
			config_problem(r, key_of(r, path, key),
					"%s is given, too; leave one of them out", first);
		else if (g == G_URL && i > 0 && rules[ch->type].plain)
			config_problem(r, key_of(r, path, key),
					"the address of \"%s\" is no secret; write it as url",
					type);
		first = key;
	}
	if (first || !(rules[ch->type].needs & BIT(g)))
		return;
	if (groups[g].keys[1] && !(g == G_URL && rules[ch->type].plain))
		config_problem(r, key_of(r, path, groups[g].keys[0]),
				"is missing: a channel of type \"%s\" needs it, or %s%s%s", type,
				groups[g].keys[1], groups[g].keys[2] ? " or " : "",
				groups[g].keys[2] ? groups[g].keys[2] : "");
	else
		config_problem(r, key_of(r, path, groups[g].keys[0]),
				"is missing: a channel of type \"%s\" needs it", type);
}

/* The value may well be the secret itself, so it is not repeated. */
static void check_source(struct config_reader *r, str path, const char *file_key, str file,
		const char *env_key, str env)
{
	if (file.n && !str_starts(file, STR("/")) && !str_starts(file, STR("~/")))
		config_problem(r, key_of(r, path, file_key),
				"must be the path of a file: an absolute one, or one that begins "
				"with \"~/\"");
	if (env.n && !config_env_name_valid(env))
		config_problem(r, key_of(r, path, env_key),
				"must be the name of an environment variable, not what it holds");
}

/* "owner/name", as both services spell them: it becomes a part of addresses. */
static bool repo_valid(str s)
{
	size_t slash = str_find_byte(s, '/');

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
				    strchr("-_./", c)) ||
				(c == '/' && i != slash))
			return false;
	}
	return slash > 0 && slash + 1 < s.n && !str_starts(s, STR(".")) && s.p[slash + 1] != '.';
}

static void check_labels(struct config_reader *r, str path, const struct config_channel *ch)
{
	for (size_t i = 0; i < ch->labels_n; i++)
		if (str_trim(ch->labels[i]).n == 0 ||
				str_find_byte(ch->labels[i], ',') < ch->labels[i].n)
			config_problem(r,
					arena_printf(&r->c->arena, STR_FMT ".labels[%zu]",
							STR_ARG(path), i),
					"a label is a text without commas");
}

static void check_channel(struct config_reader *r, str path, struct config_channel *ch,
		const value *doc)
{
	const char *why;

	for (size_t g = 0; g < GROUP_COUNT; g++)
		check_group(r, path, ch, doc, (enum group)g);
	if (!ch->url.n)
		ch->url = str_from(rules[ch->type].default_url);
	why = ch->url.n ? config_url_problem(ch->url, rules[ch->type].query) : NULL;
	if (why)
		config_problem(r, key_of(r, path, "url"), "%s", why);
	check_source(r, path, "url_file", ch->url_file, "url_env", ch->url_env);
	check_source(r, path, "token_file", ch->token_file, "token_env", ch->token_env);
	check_source(r, path, "secret_file", ch->secret_file, "secret_env", ch->secret_env);
	if (ch->repo.n && !repo_valid(ch->repo))
		config_problem(r, key_of(r, path, "repo"), "must be of the form \"owner/name\"");
	check_labels(r, path, ch);
}

/* Routes name channels or types, so a name must not promise another type. */
static void check_name(struct config_reader *r, str path, const struct config_channel *ch)
{
	if (!config_name_valid(ch->name)) {
		config_problem(r, path,
				"a name has 1 to %d characters of a-z, 0-9, \"-\" and \"_\"",
				LIMIT_ID);
		return;
	}
	for (size_t i = 0; i < CHANNEL_TYPE_COUNT; i++)
		if (str_is(ch->name, type_names[i]) && ch->type != i)
			config_problem(r, path,
					"a channel of this name is of type \"%s\"; give it another "
					"one",
					type_names[i]);
}

static void read_channel(struct config_reader *r, const struct member *m, struct config_channel *ch)
{
	str path = arena_printf(&r->c->arena, "escalation.channels." STR_FMT, STR_ARG(m->key));
	const value *type;

	ch->name = m->key;
	if (!config_want(r, path, m->value, V_OBJECT))
		return;
	config_read_section(r, path, m->value, config_channel_options(), ch);
	type = value_at(m->value, "type");
	if (!type || type->kind != V_STR || !str_is(type->s, type_names[ch->type]))
		return; /* which was said: nothing is known about it */
	check_name(r, path, ch);
	check_channel(r, path, ch, m->value);
}

/* A channel that needs no table, unless there is one. */
static void add_channel(struct config_reader *r, enum channel_type type, str command)
{
	str name = str_from(type_names[type]);
	struct config_channel *ch = &r->c->channels[r->c->channels_n];

	if (config_channel(r->c, name)) {
		if (command.n)
			config_problem(r, STR("escalation.hook"),
					"[escalation.channels.hook] is there, too; leave one of "
					"them out");
		return;
	}
	*ch = (struct config_channel){ .name = name,
		.type = type,
		.command = command,
		.timeout = 10 * OV_SECOND };
	r->c->channels_n++;
}

void config_read_channels(struct config_reader *r, const value *v)
{
	size_t n;

	if (v && !config_want(r, STR("escalation.channels"), v, V_OBJECT))
		return;
	n = v ? v->object.n : 0;
	if (n > MAX_CHANNELS) {
		config_problem(r, STR("escalation.channels"),
				"%zu channels, at most %d are allowed", n, MAX_CHANNELS);
		return;
	}
	r->c->channels = arena_array(&r->c->arena, struct config_channel, n + 2);
	r->c->channels_n = n;
	for (size_t i = 0; i < n; i++)
		read_channel(r, &v->object.members[i], &r->c->channels[i]);
	if (r->c->escalation_desktop)
		add_channel(r, CHANNEL_DESKTOP, STR(""));
	else if (config_channel(r->c, STR("desktop")))
		config_problem(r, STR("escalation.desktop"),
				"is false, and [escalation.channels.desktop] is there; leave one "
				"of "
				"them out");
	if (r->c->escalation_hook.n)
		add_channel(r, CHANNEL_HOOK, r->c->escalation_hook);
}

void config_without_desktop(struct config *c)
{
	struct policy *p = &c->policy;
	struct policy_channel *rest = arena_array(&c->arena, struct policy_channel,
			p->channels_n + 1);
	size_t n = 0;

	if (config_lookup(c->doc, STR("escalation.desktop")) ||
			config_lookup(c->doc, STR("escalation.routes")) ||
			config_lookup(c->doc, STR("escalation.channels.desktop")))
		return;
	for (size_t i = 0; i < p->channels_n; i++)
		if (!str_is(p->channels[i].name, "desktop"))
			rest[n++] = p->channels[i];
	p->channels = rest;
	p->channels_n = n;
}

const struct config_channel *config_channel(const struct config *c, str name)
{
	for (size_t i = 0; i < c->channels_n; i++)
		if (str_eq(c->channels[i].name, name))
			return &c->channels[i];
	return NULL;
}
