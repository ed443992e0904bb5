/* [planner], [watch] and [prices."MODEL"]: sections that mean something only as wholes. */
#include "base/arena.h"
#include "base/str.h"
#include "core/config/config_impl.h"
#include "core/model/limits.h"
#include "core/text/url_check.h"

/* ---- [planner] ---- */

static const struct {
	const char *name, *url, *key_env;
} providers[] = {
	[PROVIDER_NONE] = { "none", "", "" },
	[PROVIDER_ANTHROPIC] = { "anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY" },
	[PROVIDER_OPENAI] = { "openai", "https://api.openai.com", "OPENAI_API_KEY" },
	[PROVIDER_COMMAND] = { "command", "", "" },
};

void config_check_planner(struct config_reader *r)
{
	const struct config *c = r->c;
	enum planner_provider p = c->planner_provider;
	bool api = p == PROVIDER_ANTHROPIC || p == PROVIDER_OPENAI;

	if (api && c->planner_model.n == 0)
		config_problem(r, STR("planner.model"), "provider \"%s\" needs a model",
				providers[p].name);
	if (p == PROVIDER_ANTHROPIC && str_starts(c->planner_model, STR("openai/")))
		config_problem(r, STR("planner.model"), "\"" STR_FMT "\" is not a model of %s",
				STR_ARG(c->planner_model), providers[p].name);
	if (p == PROVIDER_COMMAND && str_trim(c->planner_command).n == 0)
		config_problem(r, STR("planner.command"), "provider \"command\" needs one");
	if (p != PROVIDER_COMMAND && c->planner_command.n)
		config_problem(r, STR("planner.command"),
				"needs planner.provider = \"command\", which is \"%s\"",
				providers[p].name);
	if (!api && c->planner_base_url.n)
		config_problem(r, STR("planner.base_url"),
				"needs the provider \"anthropic\" or \"openai\"");
	else if (c->planner_base_url.n && config_url_problem(c->planner_base_url, false))
		config_problem(r, STR("planner.base_url"), "%s",
				config_url_problem(c->planner_base_url, false));
	if (!api && c->planner_api_key_env.n)
		config_problem(r, STR("planner.api_key_env"),
				"needs the provider \"anthropic\" or \"openai\"");
	/* Not repeated in the message: it may well be the key itself. */
	if (c->planner_api_key_env.n && !config_env_name_valid(c->planner_api_key_env))
		config_problem(r, STR("planner.api_key_env"),
				"must be the name of an environment variable, not the key");
	if (p == PROVIDER_NONE && c->policy.diagnose)
		config_problem(r, STR("planner.diagnose"), "needs a planner.provider");
}

str config_planner_url(const struct config *c)
{
	str url = c->planner_base_url.n ? c->planner_base_url
					: str_from(providers[c->planner_provider].url);

	while (str_ends(url, STR("/")))
		url = str_sub(url, 0, url.n - 1);
	return url;
}

str config_planner_model(const struct config *c)
{
	str provider = str_from(providers[c->planner_provider].name), model = c->planner_model;

	if (str_starts(model, provider) && model.n > provider.n + 1 && model.p[provider.n] == '/')
		return str_sub(model, provider.n + 1, SIZE_MAX);
	return model;
}

str config_planner_ref(struct arena *a, const struct config *c)
{
	str model = config_planner_model(c);

	return arena_printf(a, "%s%s" STR_FMT, providers[c->planner_provider].name,
			model.n ? "/" : "", STR_ARG(model));
}

str config_planner_key_env(const struct config *c, bool *ret_needed)
{
	*ret_needed = false;
	if (c->planner_api_key_env.n) {
		*ret_needed = true;
		return c->planner_api_key_env;
	}
	if (config_planner_url(c).n)
		*ret_needed = !config_url_local(config_planner_url(c));
	return str_from(providers[c->planner_provider].key_env);
}

/* ---- [watch]: who repairs ---- */

void config_check_watch(struct config_reader *r)
{
	const struct config_watch *w = &r->c->watch;
	const struct config_agent *agent = config_agent(r->c, w->remediation_agent);

	if (!w->remediation_agent.n)
		return;
	if (w->remediation_command.n)
		config_problem(r, STR("watch.remediation_command"),
				"stands in place of an agent: leave one of the two out");
	config_check_agent(r, STR("watch.remediation_agent"), w->remediation_agent);
	if (agent && !str_is(agent->runtime, "exec"))
		config_problem(r, STR("watch.remediation_agent"),
				"\"" STR_FMT
				"\" runs in a terminal; it must be one with runtime exec",
				STR_ARG(agent->name));
	/* auto: it is started by the watchdog, and that is without one. */
	if (agent && (agent->sandbox == SANDBOX_FENCE || agent->sandbox == SANDBOX_BWRAP))
		config_problem(r, STR("watch.remediation_agent"),
				"\"" STR_FMT
				"\" runs in a sandbox, in which it cannot repair anything; set "
				"its sandbox = \"none\"",
				STR_ARG(agent->name));
}

/* ---- [prices]: what a million tokens of a model cost, where its agent does not say it ---- */

enum { MAX_PRICES = 1000 };
#define DOLLARS ((int64_t)1000 * 1000)
#define AT(member) .offset = offsetof(struct price, member)

static const struct option price_options[] = {
	{ "input_usd_per_mtok", OPT_USD, 0, DOLLARS *DOLLARS, NULL,
			"What a million tokens of input cost that were not cached, in dollars.",
			AT(input) },
	{ "output_usd_per_mtok", OPT_USD, 0, DOLLARS *DOLLARS, NULL,
			"What a million tokens of output cost.", AT(output) },
	{ "cache_read_usd_per_mtok", OPT_USD, 0, DOLLARS *DOLLARS, NULL,
			"What a million tokens of input cost that were read from the cache; where "
			"it is left out, the cost of a run that used some is unknown.",
			AT(cache_read), .optional = true },
	{ "cache_write_usd_per_mtok", OPT_USD, 0, DOLLARS *DOLLARS, NULL,
			"What a million tokens of input cost that were written to the cache; the "
			"same.",
			AT(cache_write), .optional = true },
};

struct options config_price_options(void)
{
	return (struct options){ price_options, ARRAY_LEN(price_options) };
}

/* A star stands for the rest of a name, so only at its end. */
static bool model_valid(str s)
{
	return s.n > 0 && s.n <= LIMIT_NAME && str_find_byte(s, '*') >= s.n - 1 &&
			str_find_byte(s, '\0') == s.n;
}

static void read_price(struct config_reader *r, const struct member *m, struct price *price)
{
	struct arena *a = &r->c->arena;
	str path = arena_printf(a, "prices.\"" STR_FMT "\"", STR_ARG(m->key));

	*price = (struct price){ m->key, PRICE_UNKNOWN, PRICE_UNKNOWN, PRICE_UNKNOWN,
		PRICE_UNKNOWN };
	if (!model_valid(m->key))
		config_problem(r, path,
				"a model's name has 1 to %d bytes, with \"*\" only at its end",
				LIMIT_NAME);
	if (!config_want(r, path, m->value, V_OBJECT))
		return;
	config_read_section(r, path, m->value, config_price_options(), price);
}

void config_read_prices(struct config_reader *r, const value *v)
{
	struct price *prices;

	if (!v || !config_want(r, STR("prices"), v, V_OBJECT))
		return;
	if (v->object.n > MAX_PRICES) {
		config_problem(r, STR("prices"), "%zu models, at most %d are allowed", v->object.n,
				MAX_PRICES);
		return;
	}
	prices = arena_array(&r->c->arena, struct price, v->object.n + 1);
	for (size_t i = 0; i < v->object.n; i++)
		read_price(r, &v->object.members[i], &prices[i]);
	r->c->policy.prices = (struct prices){ prices, v->object.n };
}
