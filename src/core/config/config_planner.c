/* [planner]: what its options mean together. */
#include "base/arena.h"
#include "base/str.h"
#include "core/config/config_impl.h"
#include "core/text/url_check.h"

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
	if (p == PROVIDER_NONE && c->planner_diagnose)
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
