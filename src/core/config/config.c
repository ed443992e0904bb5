#include "core/config/config.h"

#include "agent/table/formats.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/str.h"
#include "core/config/config_impl.h"
#include "core/model/limits.h"
#include "core/policy/scope.h"
#include "data/value/toml.h"

enum {
	MAX_BYTES = 1024 * 1024, /* of the file */
	MAX_AGENTS = 256,
	MAX_ROLES = 256,
};

const value *config_lookup(const value *doc, str key)
{
	str part;

	while (doc && str_split(&key, '.', &part))
		doc = value_get(doc, part);
	return doc;
}

/*
 * The next part of an option's key below a table: "backoff" for "supervisor" and its backoff.base.
 */
static bool part_below(const struct option *o, str table, str *ret, bool *ret_deeper)
{
	str key = str_from(o->key);

	if (table.n) {
		if (!str_starts(key, table) || key.n <= table.n || key.p[table.n] != '.')
			return false;
		key = str_sub(key, table.n + 1, key.n);
	}
	*ret_deeper = str_find_byte(key, '.') < key.n;
	*ret = str_sub(key, 0, str_find_byte(key, '.'));
	return true;
}

/* Tables of tables, which have readers of their own. */
static const struct {
	const char *path, *name;
} own_readers[] = { { "", "agents" }, { "", "roles" }, { "", "prices" },
	{ "escalation", "channels" } };

static bool is_obsolete(str table, str key)
{
	size_t n;
	const struct obsolete_option *all = config_obsolete(&n);

	for (size_t i = 0; i < n; i++) {
		str known = str_from(all[i].key);

		if (known.n == table.n + 1 + key.n && str_starts(known, table) &&
				str_ends(known, key) && known.p[table.n] == '.')
			return true;
	}
	return false;
}

static void note_obsolete(struct config *c)
{
	size_t n;
	const struct obsolete_option *all = config_obsolete(&n);
	str *list = arena_array(&c->arena, str, n + 1);

	c->obsolete = list;
	for (size_t i = 0; i < n; i++)
		if (config_lookup(c->doc, str_from(all[i].key)))
			list[c->obsolete_n++] = arena_printf(&c->arena,
					"%s is obsolete and ignored: %s", all[i].key, all[i].why);
}

/* Tables and the keys in them. */
static void check_table(struct config_reader *r, str path, const value *v)
{
	size_t most = config_options_n() + ARRAY_LEN(own_readers), n = 0;
	const char **names = arena_array(&r->c->arena, const char *, most);
	bool *deeper = arena_array(&r->c->arena, bool, most);
	const struct option *o;
	str part;

	if (!config_want(r, path, v, V_OBJECT))
		return;
	for (size_t i = 0; i < ARRAY_LEN(own_readers); i++)
		if (str_is(path, own_readers[i].path))
			names[n++] = own_readers[i].name;
	for (size_t i = 0; (o = config_option_at(i)); i++)
		if (part_below(o, path, &part, &deeper[n]) &&
				(n == 0 || !str_is(part, names[n - 1])))
			names[n++] = arena_cstr(&r->c->arena, part);
	for (size_t i = 0; i < v->object.n; i++) {
		const struct member *m = &v->object.members[i];
		size_t k = 0;

		while (k < n && !str_is(m->key, names[k]))
			k++;
		if (k == n && is_obsolete(path, m->key))
			continue;
		if (k == n)
			config_unknown(r, path, m->key, names, n);
		else if (deeper[k])
			check_table(r,
					arena_printf(&r->c->arena, STR_FMT "%s" STR_FMT,
							STR_ARG(path), path.n ? "." : "",
							STR_ARG(m->key)),
					m->value);
	}
}

bool config_name_valid(str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-'))
			return false;
	}
	return s.n > 0 && s.n <= LIMIT_ID;
}

/*
 * The prompt is one word of the command, whatever it holds: to the shell it is "$1" and never a
 * part of the text, so nothing in a prompt can be run.
 */
static void place_prompt(struct config_reader *r, str key, struct config_agent *agent, bool shell)
{
	static const char *const places[] = { "", "{prompt}", "{prompt_file}" };
	str place = str_from(places[agent->prompt_by]);
	str *argv = (str *)agent->command; /* made by read_command, with room for two words more */
	bool placed = false;

	for (size_t i = 0; i < agent->command_n; i++)
		for (size_t k = 1; k < ARRAY_LEN(places); k++) {
			if (!str_contains(argv[i], str_from(places[k])))
				continue;
			if (shell)
				config_problem(r, key,
						"write \"$1\" instead of %s in a text for the "
						"shell",
						places[k]);
			else if (k != agent->prompt_by)
				config_problem(r, key, "%s needs prompt = \"%s\"", places[k],
						k == PROMPT_ARG ? "arg" : "file");
			placed |= k == agent->prompt_by;
		}
	if (agent->prompt_by == PROMPT_STDIN || placed || !argv)
		return;
	if (shell)
		argv[agent->command_n++] = STR("sh");
	argv[agent->command_n++] = place;
}

/* Where one option of an agent must fit another. */
static void check_agent_ways(struct config_reader *r, str path, const struct config_agent *agent)
{
	struct arena *a = &r->c->arena;

	if (agent->input == INPUT_STDIN && agent->prompt_by == PROMPT_STDIN)
		config_problem(r, arena_printf(a, STR_FMT ".input", STR_ARG(path)),
				"\"stdin\" needs prompt = \"arg\" or \"file\": standard input that "
				"carries the prompt ends with it");
	if (agent->rate_limit_exit && agent->rate_limit_exit == agent->login_exit)
		config_problem(r, arena_printf(a, STR_FMT ".login_exit", STR_ARG(path)),
				"is the same as rate_limit_exit (%lld)",
				(long long)agent->login_exit);
}

/* A list that is there says something; a scope that nobody can keep is none. */
static void check_agent_tools(struct config_reader *r, str path, const value *section,
		const struct config_agent *agent)
{
	static const char *const keys[] = { "tools", "tools_deny" };
	const struct agent_format *f = format_find(agent->format);
	struct tool_scope s = { agent->tools_n ? agent->tools : NULL, agent->tools_n,
		agent->tools_deny, agent->tools_deny_n },
			  none = { 0 };
	struct ov_err err;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const value *list = value_at(section, keys[i]);
		str key = arena_printf(&r->c->arena, STR_FMT ".%s", STR_ARG(path), keys[i]);

		if (list && scope_list_check(list, &err) < 0) {
			config_problem(r, key, "%s", err.msg);
			return;
		}
		if (list && f && !f->scoped)
			config_problem(r, key, "the tools of format \"%s\" cannot be narrowed",
					f->name);
	}
	if (f && f->scoped && scope_meet(&r->c->arena, f, &s, &none, &s, &err) < 0)
		config_problem(r, path, "%s", err.msg);
}

void config_read_section(struct config_reader *r, str path, const value *v, struct options all,
		void *base)
{
	struct arena *a = &r->c->arena;
	const char **names = arena_array(a, const char *, all.n);

	for (size_t i = 0; i < all.n; i++) {
		str key = arena_printf(a, STR_FMT ".%s", STR_ARG(path), all.p[i].key);

		names[i] = all.p[i].key;
		config_read_option(r, key, &all.p[i], value_at(v, all.p[i].key), base);
	}
	for (size_t i = 0; i < v->object.n; i++) {
		str key = v->object.members[i].key;
		bool known = false;

		for (size_t k = 0; k < all.n; k++)
			known |= str_is(key, names[k]);
		if (!known)
			config_unknown(r, path, key, names, all.n);
	}
}

static void read_agent(struct config_reader *r, const struct member *m, struct config_agent *agent)
{
	struct arena *a = &r->c->arena;
	str path = arena_printf(a, "agents." STR_FMT, STR_ARG(m->key));

	agent->name = m->key;
	if (!config_name_valid(m->key))
		config_problem(r, path,
				"a name has 1 to %d characters of a-z, 0-9, \"-\" and \"_\"",
				LIMIT_ID);
	if (!config_want(r, path, m->value, V_OBJECT))
		return;
	config_read_section(r, path, m->value, config_agent_options(), agent);
	check_agent_ways(r, path, agent);
	config_check_format(r, path, agent, m->value);
	if (str_is(agent->format, "raw"))
		place_prompt(r, arena_printf(a, STR_FMT ".command", STR_ARG(path)), agent,
				value_str_at(m->value, "command").n > 0);
	check_agent_tools(r, path, m->value, agent);
}

static void read_agents(struct config_reader *r, const value *v)
{
	if (!v || !config_want(r, STR("agents"), v, V_OBJECT))
		return;
	if (v->object.n > MAX_AGENTS) {
		config_problem(r, STR("agents"), "%zu agents, at most %d are allowed", v->object.n,
				MAX_AGENTS);
		return;
	}
	r->c->agents = arena_array(&r->c->arena, struct config_agent, v->object.n + 1);
	r->c->agents_n = v->object.n;
	for (size_t i = 0; i < v->object.n; i++)
		read_agent(r, &v->object.members[i], &r->c->agents[i]);
}

void config_check_agent(struct config_reader *r, str key, str name)
{
	const struct config *c = r->c;
	const char **names = arena_array(&r->c->arena, const char *, c->agents_n + 1), *near;

	for (size_t i = 0; i < c->agents_n; i++) {
		if (str_eq(c->agents[i].name, name))
			return;
		names[i] = arena_cstr(&r->c->arena, c->agents[i].name);
	}
	near = str_nearest(name, names, c->agents_n);
	config_problem(r, key, "there is no [agents." STR_FMT "]%s%s%s", STR_ARG(name),
			near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "");
}

static void read_roles(struct config_reader *r, const value *v)
{
	struct policy_role *roles;

	if (!v || !config_want(r, STR("roles"), v, V_OBJECT))
		return;
	if (v->object.n > MAX_ROLES) {
		config_problem(r, STR("roles"), "%zu roles, at most %d are allowed", v->object.n,
				MAX_ROLES);
		return;
	}
	roles = arena_array(&r->c->arena, struct policy_role, v->object.n + 1);
	r->c->policy.roles = roles;
	r->c->policy.roles_n = v->object.n;
	for (size_t i = 0; i < v->object.n; i++) {
		const struct member *m = &v->object.members[i];
		str key = arena_printf(&r->c->arena, "roles." STR_FMT, STR_ARG(m->key));
		struct policy_role *role = &roles[i];

		role->name = m->key;
		if (m->key.n == 0 || m->key.n > LIMIT_NAME)
			config_problem(r, key, "a role's name has 1 to %d bytes", LIMIT_NAME);
		if (config_read_text(r, key, m->value, LIMIT_NAME, &role->agent))
			config_check_agent(r, key, role->agent);
	}
}

/* What git would refuse as the name of a branch, in the main. */
static bool branch_valid(str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c <= ' ' || c == 127 || strchr("~^:?*[\\", c))
			return false;
	}
	return !str_starts(s, STR("-")) && !str_starts(s, STR("/")) && !str_ends(s, STR("/")) &&
			!str_ends(s, STR(".lock")) && !str_ends(s, STR(".")) &&
			!str_contains(s, STR("..")) && !str_contains(s, STR("//")) &&
			!str_contains(s, STR("@{"));
}

static ov_time scaled(const struct policy *p, ov_time wait)
{
	ov_time usual = 15 * OV_MINUTE;

	return MAX((wait * p->idle_after + usual - 1) / usual, (ov_time)10);
}

/*
 * The waits of recovery are parts of idle_after: who wants to hear of a stall after 20 seconds does
 * not want to wait for nine minutes after that. What the file sets is left as it is, and a wait
 * that is not set gives way to one that is. An agent's limit has nothing to do with that: its waits
 * do not scale.
 */
static void scale_waits(struct config *c)
{
	struct policy *p = &c->policy;
	bool base = config_lookup(c->doc, STR("supervisor.backoff.base")),
	     max = config_lookup(c->doc, STR("supervisor.backoff.max"));

	p->limit_base = max ? MIN(p->backoff_base, p->backoff_max) : p->backoff_base;
	p->limit_max = MAX(p->backoff_max, p->limit_base);
	if (!config_lookup(c->doc, STR("supervisor.min_resend_interval")))
		p->min_resend_interval = scaled(p, p->min_resend_interval);
	if (!base)
		p->backoff_base = scaled(p, p->backoff_base);
	if (!max)
		p->backoff_max = scaled(p, p->backoff_max);
	if (!base)
		p->backoff_base = MIN(p->backoff_base, p->backoff_max);
	if (!max)
		p->backoff_max = MAX(p->backoff_base, p->backoff_max);
}

/* Where one option must fit another. */
static void check_together(struct config_reader *r)
{
	const struct config *c = r->c;

	if (c->policy.default_agent.n)
		config_check_agent(r, STR("defaults.agent"), c->policy.default_agent);
	if (!branch_valid(c->accept_target))
		config_problem(r, STR("accept.target"),
				"\"" STR_FMT "\" cannot be the name of a branch",
				STR_ARG(c->accept_target));
	config_check_planner(r);
	config_check_watch(r);
	if (c->policy.backoff_base > c->policy.backoff_max)
		config_problem(r, STR("supervisor.backoff.base"),
				"must not exceed supervisor.backoff.max");
}

static int read_all(struct config *c, str toml, const char *const *sets, size_t sets_n,
		struct ov_err *err)
{
	_cleanup_(buf_done) struct buf problems = BUF_INIT;
	struct config_reader r = { .c = c };
	const struct option *o;
	value *doc;
	int e;

	if (toml.n > MAX_BYTES)
		return ov_fail(err, OV_ELIMIT, "%zu bytes, at most %d are allowed", toml.n,
				MAX_BYTES);
	e = toml_parse_parts(&c->arena, arena_str(&c->arena, toml), &doc, err);
	for (size_t i = 0; e == 0 && i < sets_n; i++)
		e = config_put_set(&c->arena, doc, arena_str(&c->arena, str_from(sets[i])), err);
	if (e < 0)
		return e;
	c->doc = doc;
	note_obsolete(c);
	config_fill_preset(c);
	check_table(&r, STR(""), doc);
	for (size_t i = 0; (o = config_option_at(i)); i++)
		config_read_option(&r, str_from(o->key), o, config_lookup(doc, str_from(o->key)),
				c);
	read_agents(&r, value_at(doc, "agents"));
	read_roles(&r, value_at(doc, "roles"));
	config_read_prices(&r, value_at(doc, "prices"));
	config_read_channels(&r, config_lookup(doc, STR("escalation.channels")));
	if (!c->policy.default_agent.n && c->agents_n == 1)
		c->policy.default_agent = c->agents[0].name; /* there is nothing to choose */
	scale_waits(c);
	check_together(&r);
	config_check_policy(&r);
	problems = r.problems;
	if (problems.n)
		return ov_fail(err, OV_EINVALID, "%s", buf_cstr(&problems));
	config_fill_policy(c);
	return 0;
}

int config_parse(str toml, struct config **ret, struct ov_err *err)
{
	return config_parse_with(toml, NULL, 0, ret, err);
}

int config_parse_with(str toml, const char *const *sets, size_t sets_n, struct config **ret,
		struct ov_err *err)
{
	struct config *c = mem_zalloc(1, sizeof(*c));
	int r = read_all(c, toml, sets, sets_n, err);

	if (r < 0) {
		config_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

const struct config_agent *config_agent(const struct config *c, str name)
{
	for (size_t i = 0; i < c->agents_n; i++)
		if (str_eq(c->agents[i].name, name))
			return &c->agents[i];
	return NULL;
}

struct config *config_free(struct config *c)
{
	if (c)
		arena_done(&c->arena);
	mem_free(c);
	return NULL;
}
