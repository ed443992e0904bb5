#include "agent/launch/environment.h"

#include "base/arena.h"
#include "base/str.h"

struct env_list {
	struct arena *a;
	const char **p;
	size_t n;
};

/* A name stands there once: who reads it would find the first, who starts a program the last. */
static void env_add(struct env_list *l, str name, str val)
{
	str entry = arena_printf(l->a, STR_FMT "=" STR_FMT, STR_ARG(name), STR_ARG(val));
	str prefix = str_sub(entry, 0, name.n + 1);
	size_t i = 0;

	while (i < l->n && !str_starts(str_from(l->p[i]), prefix))
		i++;
	l->n += i == l->n;
	l->p[i] = entry.p;
}

static void env_add_all(struct env_list *l, const struct env_pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		env_add(l, pairs[i].name, pairs[i].value);
}

const char *const *environment_build(struct arena *a, const struct environment_ask *ask)
{
	size_t launch_n = ask->launch ? ask->launch->env_n : 0;
	struct env_list l = { .a = a };

	l.p = arena_array(a, const char *,
			ask->pass_n + launch_n + ask->configured_n + ask->own_n + 1);
	for (size_t i = 0; i < ask->pass_n; i++) {
		const char *v = ask->get(arena_cstr(a, ask->pass[i]));

		if (v)
			env_add(&l, ask->pass[i], str_from(v));
	}
	for (size_t i = 0; i < launch_n; i++)
		env_add(&l, str_from(ask->launch->env[i].name),
				str_from(ask->launch->env[i].value));
	env_add_all(&l, ask->configured, ask->configured_n);
	env_add_all(&l, ask->own, ask->own_n);
	return l.p;
}
