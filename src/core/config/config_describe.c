/*
 * The configuration for people: effective values, the reference page, the file that `init` writes.
 */
#include "base/str.h"
#include "core/config/config_impl.h"

static value *entry(struct arena *a, value *effective, value *def, bool set, const char *help)
{
	value *v = value_object(a);

	value_put(a, v, "value", effective);
	value_put(a, v, "default", def);
	value_put(a, v, "set", value_bool(a, set));
	value_put(a, v, "help", value_cstr(a, help));
	return v;
}

static void view_agent(struct arena *a, value *out, const struct config *c,
		const struct config_agent *agent)
{
	const value *doc = value_get(value_at(c->doc, "agents"), agent->name);
	struct options all = config_agent_options();

	for (size_t i = 0; i < all.n; i++) {
		const struct option *o = &all.p[i];
		str key = arena_printf(a, "agents." STR_FMT ".%s", STR_ARG(agent->name), o->key);

		value_set(a, out, key,
				entry(a, config_option_value(a, o, agent),
						config_option_default(a, o),
						value_at(doc, o->key) != NULL, o->help));
	}
}

static void view_prices(struct arena *a, value *out, const struct config *c)
{
	struct options all = config_price_options();

	for (size_t i = 0; i < c->policy.prices.n; i++)
		for (size_t k = 0; k < all.n; k++) {
			const struct option *o = &all.p[k];
			const value *doc = value_get(value_at(c->doc, "prices"),
					c->policy.prices.p[i].model);

			value_set(a, out,
					arena_printf(a, "prices.\"" STR_FMT "\".%s",
							STR_ARG(c->policy.prices.p[i].model),
							o->key),
					entry(a, config_option_value(a, o, &c->policy.prices.p[i]),
							value_null(a),
							value_at(doc, o->key) != NULL, o->help));
		}
}

/* The address of a chat lets whoever knows it write there; people need only see where it leads. */
static value *channel_value(struct arena *a, const struct option *o,
		const struct config_channel *ch)
{
	bool open = ch->type == CHANNEL_GITEA || ch->type == CHANNEL_GITHUB;
	size_t host = str_find(ch->url, STR("://")) + 3, path;

	if (open || !str_is(STR("url"), o->key) || ch->url.n == 0)
		return config_option_value(a, o, ch);
	path = str_find_byte(str_sub(ch->url, host, SIZE_MAX), '/');
	return value_strf(a, STR_FMT "/(hidden)", STR_ARG(str_sub(ch->url, 0, host + path)));
}

static void view_channels(struct arena *a, value *out, const struct config *c)
{
	struct options all = config_channel_options();

	for (size_t i = 0; i < c->channels_n; i++) {
		const struct config_channel *ch = &c->channels[i];
		const value *doc = value_get(config_lookup(c->doc, STR("escalation.channels")),
				ch->name);

		for (size_t k = 0; doc && k < all.n; k++)
			value_set(a, out,
					arena_printf(a, "escalation.channels." STR_FMT ".%s",
							STR_ARG(ch->name), all.p[k].key),
					entry(a, channel_value(a, &all.p[k], ch),
							config_option_default(a, &all.p[k]),
							value_at(doc, all.p[k].key) != NULL,
							all.p[k].help));
	}
}

value *config_view(struct arena *a, const struct config *c)
{
	const struct option *o;
	value *out = value_object(a);

	for (size_t i = 0; (o = config_option_at(i)); i++)
		value_put(a, out, o->key,
				entry(a, config_option_value(a, o, c), config_option_default(a, o),
						config_lookup(c->doc, str_from(o->key)) != NULL,
						o->help));
	for (size_t i = 0; i < c->agents_n; i++)
		view_agent(a, out, c, &c->agents[i]);
	for (size_t i = 0; i < c->policy.roles_n; i++)
		value_set(a, out,
				arena_printf(a, "roles." STR_FMT, STR_ARG(c->policy.roles[i].name)),
				entry(a, value_str(a, c->policy.roles[i].agent), value_null(a),
						true, "The agent that takes nodes of this role."));
	view_channels(a, out, c);
	view_prices(a, out, c);
	return out;
}

static const char *const type_names[] = {
	[OPT_STR] = "text",
	[OPT_INT] = "integer",
	[OPT_BOOL] = "boolean",
	[OPT_DURATION] = "duration",
	[OPT_BYTES] = "size",
	[OPT_UP_TO] = "boolean or size",
	[OPT_DELAYS] = "3 durations",
	[OPT_WORD] = "word",
	[OPT_CHOICE] = "word",
	[OPT_NAMES] = "list of names",
	[OPT_COMMAND] = "text or list of texts",
	[OPT_ENV] = "table of texts",
	[OPT_TEXTS] = "list of texts",
	[OPT_USD] = "number",
	[OPT_CLOCK] = "time of day",
	[OPT_MILLI] = "number",
	[OPT_CENTI] = "number",
};

/* What a table of Markdown would take for its own. */
static void add_cell(struct buf *out, str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '|')
			buf_adds(out, STR("\\|"));
		else
			buf_addc(out, s.p[i]);
}

static void add_range(struct buf *out, struct arena *a, const struct option *o)
{
	buf_adds(out, config_option_range(a, o));
	for (size_t i = 0; o->choices && o->choices[i]; i++)
		buf_addf(out, "%s`%s`", i ? ", " : "", o->choices[i]);
	if (o->budget)
		buf_adds(out, STR(", or `\"unlimited\"`"));
	if (config_budget_of_estimate(o))
		buf_adds(out, STR(", or `\"3x estimate\"`"));
}

static void doc_row(struct buf *out, struct arena *a, const struct option *o, str name)
{
	buf_addf(out, "| `" STR_FMT "` | %s | ", STR_ARG(name), type_names[o->type]);
	if (o->def || o->preset)
		buf_addf(out, "`" STR_FMT "`", STR_ARG(config_option_default_text(a, o)));
	else
		buf_adds(out, o->optional ? STR("none") : STR("must be given"));
	buf_adds(out, STR(" | "));
	add_range(out, a, o);
	buf_adds(out, STR(" | "));
	add_cell(out, str_from(o->help));
	buf_adds(out, STR(" |\n"));
}

static void doc_head(struct buf *out, str section)
{
	buf_addf(out, "\n## [" STR_FMT "]\n\n", STR_ARG(section));
	buf_adds(out,
			STR("| option | type | default | range | meaning "
			    "|\n|---|---|---|---|---|\n"));
}

static str section_of(const struct option *o)
{
	str key = str_from(o->key);

	return str_sub(key, 0, str_find_byte(key, '.'));
}

static bool is_first_of_section(size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (str_eq(section_of(config_option_at(i)), section_of(config_option_at(at))))
			return false;
	return true;
}

void config_docs(struct buf *out)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct options agent = config_agent_options(), channel = config_channel_options(),
		       price = config_price_options();
	const struct option *o;

	buf_adds(out,
			STR("# Configuration\n\n"
			    "Made from the option table; do not edit. The file is "
			    "`.overseer/config.toml`, "
			    "in TOML.\n"
			    "A duration is a text such as `\"250ms\"`, `\"90s\"`, `\"15m\"`, "
			    "`\"1h30m\"`, `\"2d\"`; a size is a text such as\n"
			    "`\"512KiB\"`, `\"256MiB\"`, `\"2GiB\"`. A table may be written in "
			    "several parts. An unknown key, or one that is set twice, is an error. "
			    "`overseer config check` finds what is wrong,\n"
			    "`overseer config show --effective` shows every value.\n"));
	for (size_t i = 0; (o = config_option_at(i)); i++) {
		str section = section_of(o);

		if (!is_first_of_section(i))
			continue;
		doc_head(out, section);
		for (size_t k = i; (o = config_option_at(k)); k++)
			if (str_eq(section_of(o), section))
				doc_row(out, &a, o,
						str_sub(str_from(o->key), section.n + 1, SIZE_MAX));
	}
	doc_head(out, STR("agents.NAME"));
	for (size_t i = 0; i < agent.n; i++)
		doc_row(out, &a, &agent.p[i], str_from(agent.p[i].key));
	doc_head(out, STR("roles"));
	buf_adds(out,
			STR("| `NAME` | text | | an agent of `[agents.*]` | The agent that takes "
			    "nodes "
			    "of this role. |\n"));
	doc_head(out, STR("escalation.channels.NAME"));
	for (size_t i = 0; i < channel.n; i++)
		doc_row(out, &a, &channel.p[i], str_from(channel.p[i].key));
	doc_head(out, STR("prices.\"MODEL\""));
	for (size_t i = 0; i < price.n; i++)
		doc_row(out, &a, &price.p[i], str_from(price.p[i].key));
	buf_adds(out,
			STR("\nFor agents that tell the tokens of a run but not its cost. `*` at "
			    "the end of a model's name stands for any rest of it; the longest\n"
			    "name that matches decides. There are no prices by default: they "
			    "change, and a wrong one is worse than none. `overseer cost`\n"
			    "says which runs have no known cost.\n"));
}

/* A comment of lines that fit the screen. */
static void add_comment(struct buf *out, str help)
{
	size_t column = 1;
	str word;

	buf_addc(out, '#');
	while (str_split(&help, ' ', &word)) {
		if (column + 1 + word.n > 96) {
			buf_adds(out, STR("\n#"));
			column = 1;
		}
		buf_addf(out, " " STR_FMT, STR_ARG(word));
		column += 1 + word.n;
	}
	buf_addc(out, '\n');
}

/* One option, below the header of its section: the default as a comment, or what was found out. */
static void template_option(struct buf *out, const struct option *o, str section,
		const struct config_found *found, size_t found_n)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const char *key = o->key + section.n + 1;

	add_comment(out, str_from(o->help));
	for (size_t i = 0; i < found_n; i++)
		if (strcmp(found[i].key, o->key) == 0) {
			buf_addf(out, "%s = " STR_FMT "\n", key, STR_ARG(found[i].toml));
			return;
		}
	buf_addf(out, "#%s = " STR_FMT "\n", key, STR_ARG(config_option_default_text(&a, o)));
}

void config_template_agent(struct buf *out)
{
	static const char *const keys[] = { "model", "permission_mode", "concurrency" };
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct options agent = config_agent_options();

	for (size_t i = 0; i < agent.n; i++)
		for (size_t k = 0; k < ARRAY_LEN(keys); k++)
			if (strcmp(agent.p[i].key, keys[k]) == 0)
				buf_addf(out, "#%s = " STR_FMT "\n", keys[k],
						STR_ARG(config_option_default_text(&a,
								&agent.p[i])));
}

void config_template(struct buf *out, const struct config_found *found, size_t found_n)
{
	const struct option *o;

	buf_adds(out,
			STR("# Overseer's configuration. What is commented out is the default; "
			    "remove the # to change it.\n"
			    "# A [table] may be written in several parts, so that you can paste "
			    "tables at the end of this file.\n"));
	for (size_t i = 0; (o = config_option_at(i)); i++) {
		str section = section_of(o);

		if (!is_first_of_section(i))
			continue;
		buf_addf(out, "\n[" STR_FMT "]\n", STR_ARG(section));
		for (size_t k = i; (o = config_option_at(k)); k++)
			if (str_eq(section_of(o), section))
				template_option(out, o, section, found, found_n);
	}
	buf_adds(out,
			STR("\n# Further ways to tell people outside: gitea, github, webhook, "
			    "slack, "
			    "discord or a hook (a command);\n"
			    "# `overseer escalation test NAME` tries one.\n"
			    "#\n"
			    "# [escalation.channels.tracker]\n"
			    "# type = \"gitea\"\n"
			    "# url = \"https://git.example.org\"\n"
			    "# repo = \"owner/name\"\n"
			    "# token_file = \"~/.config/gitea/token\"\n"));
	buf_adds(out,
			STR("\n# What tokens cost, for agents that do not tell it themselves.\n"
			    "# \"*\" at the end of a name stands for any rest of it. The numbers "
			    "only show the form.\n"
			    "#\n"
			    "# [prices.\"some-model-*\"]\n"
			    "# input_usd_per_mtok = 1.00\n"
			    "# output_usd_per_mtok = 4.00\n"
			    "# cache_read_usd_per_mtok = 0.10\n"
			    "# cache_write_usd_per_mtok = 1.25\n"));
}
