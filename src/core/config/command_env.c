#include "core/config/command_env.h"

#include "base/str.h"

static str name_of(const char *entry)
{
	str s = str_from(entry);

	return str_sub(s, 0, str_find_byte(s, '='));
}

/* What we read a key from ourselves. */
static bool is_token(const struct config *c, str name)
{
	bool needed;

	if (str_eq(config_planner_key_env(c, &needed), name))
		return true;
	for (size_t i = 0; i < c->channels_n; i++) {
		const struct config_channel *ch = &c->channels[i];

		if (str_eq(ch->url_env, name) || str_eq(ch->token_env, name) ||
				str_eq(ch->secret_env, name))
			return true;
	}
	return false;
}

static bool passes(const struct config *c, str name)
{
	bool by_pattern = false;

	for (size_t i = 0; i < c->commands_env_pass_n; i++) {
		str one = c->commands_env_pass[i];

		if (str_eq(one, name))
			return true;
		by_pattern |= str_ends(one, STR("*")) &&
				str_starts(name, str_sub(one, 0, one.n - 1));
	}
	return by_pattern && !is_token(c, name);
}

static bool is_own(str name, const char *const *own, size_t own_n)
{
	for (size_t i = 0; i < own_n; i++)
		if (str_eq(name_of(own[i]), name))
			return true;
	return false;
}

static const char *const *collect(struct arena *a, const struct config *c, const char *const *all,
		const char *const *own, size_t own_n)
{
	const char **env;
	size_t n = 0, kept = 0;

	while (all[n])
		n++;
	env = arena_array(a, const char *, n + own_n + 1);
	for (size_t i = 0; i < n; i++)
		if ((!c || passes(c, name_of(all[i]))) && !is_own(name_of(all[i]), own, own_n))
			env[kept++] = all[i];
	for (size_t i = 0; i < own_n; i++)
		env[kept++] = own[i];
	return env;
}

const char *const *command_env(struct arena *a, const struct config *c, char *const *all,
		const char *const *own, size_t own_n)
{
	return collect(a, c, (const char *const *)all, own, own_n);
}

const char *const *env_with(struct arena *a, const char *const *all, const char *const *own,
		size_t own_n)
{
	return collect(a, NULL, all, own, own_n);
}
