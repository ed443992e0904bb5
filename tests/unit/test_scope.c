#include "tests/test.h"

#include <string.h>

#include "agent/table/formats.h"
#include "core/config/config.h"
#include "core/policy/scope.h"
#include "data/value/json.h"
#include "tests/unit/core_fixture.h"

static struct arena arena;

/* "read,edit|Bash": what is allowed, and what is denied; "|" alone is everything. */
static struct tool_scope scope(const char *text)
{
	str all = str_from(text), rest = str_sub(all, 0, str_find_byte(all, '|')), part;
	struct tool_scope s = { 0 };
	str *allow = arena_array(&arena, str, 64), *deny = arena_array(&arena, str, 64);

	while (rest.n && str_split(&rest, ',', &part))
		allow[s.allow_n++] = part;
	rest = str_sub(all, str_find_byte(all, '|') + 1, all.n);
	while (rest.n && str_split(&rest, ',', &part))
		deny[s.deny_n++] = part;
	s.allow = s.allow_n ? allow : NULL;
	s.deny = deny;
	return s;
}

static str text(const struct tool_scope *s)
{
	str t = STR("");

	for (size_t i = 0; i < s->allow_n; i++)
		t = arena_printf(&arena, STR_FMT "%s" STR_FMT, STR_ARG(t), i ? "," : "",
				STR_ARG(s->allow[i]));
	t = arena_printf(&arena, STR_FMT "|", STR_ARG(t));
	for (size_t i = 0; i < s->deny_n; i++)
		t = arena_printf(&arena, STR_FMT "%s" STR_FMT, STR_ARG(t), i ? "," : "",
				STR_ARG(s->deny[i]));
	return t;
}

static const struct agent_format *claude(void)
{
	return format_find(STR("claude"));
}

/* What there is, what is asked for, what comes of it; NULL: refused, with these words. */
static const struct {
	const char *base, *more, *both, *narrowed, *why;
} rows[] = {
	{ "|", "|", "|", "|", NULL },
	{ "|", "read|", "read|", "read|", NULL },
	{ "|", "|Bash", "|Bash", "|Bash", NULL },
	{ "|", "read,shell|Bash", "read,shell|Bash", "read,shell|Bash", NULL },
	{ "read,edit|", "read|", "read|", "read|", NULL },
	{ "read,edit|", "Read|", "Read|", "Read|", NULL },
	{ "Read|", "read|", "Read|", NULL, "\"read\" is not among" },
	{ "read,edit|", "Edit,Write|", "Edit,Write|", "Edit,Write|", NULL },
	{ "read,edit|", "|Write", "read,edit|Write", "read,edit|Write", NULL },
	{ "read,edit|", "shell|", NULL, NULL, "\"shell\" is not among" },
	{ "read,edit|", "read,shell|", "read|", NULL, "\"shell\" is not among" },
	{ "read,edit|", "Bash|", NULL, NULL, "\"Bash\" is not among" },
	{ "Bash|", "shell|", "Bash|", NULL, "\"shell\" is not among" },
	{ "|Bash", "|bash", "|Bash,bash", "|Bash,bash", NULL },
	{ "|shell", "Bash|", NULL, NULL, "\"Bash\" is denied already" },
	{ "|shell", "read|", "read|shell", "read|shell", NULL },
	{ "|Write", "edit|", "edit|Write", "edit|Write", NULL },
	{ "mcp|", "mcp__files__*|", "mcp__files__*|", "mcp__files__*|", NULL },
	{ "mcp__files__*|", "mcp__files__read|", "mcp__files__read|", "mcp__files__read|", NULL },
	{ "mcp__files__*|", "mcp__git__*|", NULL, NULL, "not among" },
	{ "mcp__files__*|", "mcp|", "mcp__files__*|", NULL, "\"mcp\" is not among" },
	{ "read|", "|read", NULL, NULL, "no tool would be left" },
	{ "read|", "|read,edit", NULL, NULL, "no tool would be left" },
	{ "Read|", "|Re*", NULL, NULL, "no tool would be left" },
};

TEST(two_scopes)
{
	arena = ARENA_INIT;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tool_scope base = scope(rows[i].base), more = scope(rows[i].more), both,
				  narrow;
		struct ov_err err = { 0 };
		int r, q;

		q = scope_meet(&arena, claude(), &base, &more, &both, NULL);
		if ((q == 0) != !!rows[i].both || (q == 0 && !str_is(text(&both), rows[i].both)))
			fail_msg("%s with %s: %s", rows[i].base, rows[i].more,
					q ? "refused" : arena_cstr(&arena, text(&both)));
		r = scope_narrow(&arena, claude(), &base, &more, &narrow, &err);
		if ((r == 0) != !!rows[i].narrowed ||
				(r == 0 && !str_is(text(&narrow), rows[i].narrowed)))
			fail_msg("%s narrowed by %s: %s", rows[i].base, rows[i].more,
					r ? err.msg : arena_cstr(&arena, text(&narrow)));
		if (r < 0 && !strstr(err.msg, rows[i].why))
			fail_msg("%s narrowed by %s: %s", rows[i].base, rows[i].more, err.msg);
	}
	arena_done(&arena);
}

/* Of all that can be written with these words: no tool is ever won, none is lost that both have. */
TEST(nothing_is_ever_won)
{
	static const char *const words[] = { "read", "edit", "shell", "mcp", "Bash", "Edit", "Read",
		"mcp__a__*", "mcp__a__b", "Unknown", "W*" };
	static const char *const tools[] = { "Read", "Grep", "Edit", "Write", "Bash", "WebFetch",
		"Task", "mcp__a__b", "mcp__a__c", "mcp__b__c", "Unknown", "unknown2", "WebSearch" };
	struct rng rng = { 7 };
	size_t met = 0;

	arena = ARENA_INIT;
	for (int round = 0; round < 20000; round++) {
		struct tool_scope s[3] = { 0 };
		str lists[3][2][3];

		for (size_t i = 0; i < 2; i++) {
			for (size_t k = 0; k < 6; k++)
				lists[i][k / 3][k % 3] = str_from(
						words[rng_below(&rng, ARRAY_LEN(words))]);
			s[i].allow_n = rng_below(&rng, 4);
			s[i].allow = s[i].allow_n ? lists[i][0] : NULL;
			s[i].deny = lists[i][1];
			s[i].deny_n = rng_below(&rng, 3);
		}
		if (scope_meet(&arena, claude(), &s[0], &s[1], &s[2], NULL) < 0)
			continue;
		met++;
		for (size_t k = 0; k < ARRAY_LEN(tools); k++) {
			str tool = str_from(tools[k]);
			bool x = tool_permitted(claude(), &s[0], tool),
			     y = tool_permitted(claude(), &s[1], tool),
			     z = tool_permitted(claude(), &s[2], tool);

			if (z && !(x && y))
				fail_msg("%s: %.*s with %.*s gives %.*s", tools[k],
						STR_ARG(text(&s[0])), STR_ARG(text(&s[1])),
						STR_ARG(text(&s[2])));
			/*
			 * Only what two patterns have in common by chance may be lost: W* and edit.
			 */
			if (!z && x && y && str_find_byte(text(&s[0]), '*') == text(&s[0]).n &&
					str_find_byte(text(&s[1]), '*') == text(&s[1]).n)
				fail_msg("%s is lost: %.*s with %.*s gives %.*s", tools[k],
						STR_ARG(text(&s[0])), STR_ARG(text(&s[1])),
						STR_ARG(text(&s[2])));
		}
		arena_reset(&arena);
	}
	assert_true(met > 5000);
	arena_done(&arena);
}

TEST(lists_from_outside)
{
	static const struct {
		const char *list, *why;
	} bad[] = {
		{ "[]", "is empty" },
		{ "'Bash'", "expected a list" },
		{ "[1]", "entry 1" },
		{ "['Bash', '']", "entry 2" },
		{ "['*']", "leave the list out" },
		{ "['a*b']", "may end with" },
		{ "['a b']", "letters, digits" },
		{ "['x\\n']", "letters, digits" },
		{ "['aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggggg']",
				"1 to 64" },
	};
	struct fixture f;
	struct ov_err err;

	fixture_init(&f);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_true(scope_list_check(json(&f, "%s", bad[i].list), &err) < 0);
		if (!strstr(err.msg, bad[i].why))
			fail_msg("%s: %s", bad[i].list, err.msg);
	}
	assert_int_equal(scope_list_check(json(&f, "['Bash', 'edit', 'mcp__x__*']"), &err), 0);
	fixture_done(&f);
}

/* ---- through the core */

static struct policy_agent team[2];

static void begin(struct fixture *f, const char *tools)
{
	fixture_init(f);
	arena = ARENA_INIT;
	memcpy(team, f->policy.agents, sizeof(team));
	team[0].format = claude();
	team[0].scope = scope(tools);
	f->policy.agents = team;
}

static void end(struct fixture *f)
{
	check_invariants(f->state, &f->policy);
	fixture_done(f);
	arena_done(&arena);
}

static void plan_of(struct fixture *f, const char *phase, const char *task)
{
	create_goal(f,
			json(f,
					"{'phases': [{'id': 'P1', 'name': 'p', %s 'tasks': [{'id': "
					"'T1', 'name': "
					"'t', %s 'acceptance': ['x']}]}]}",
					phase, task),
			NULL);
}

/* The run fails, and the next one begins. */
static void next_run(struct fixture *f)
{
	run_end(f, "T1", 1);
	settle(f);
	effect_end(f, "T1", FX_HARVEST, "ok", "", "'head': 'h', 'tree': 't'");
	f->now += OV_HOUR;
	bring_to(f, "T1", STAGE_RUNNING);
}

/* Somebody else takes it over. */
static void next_assignment(struct fixture *f)
{
	submit(f, "work.reassign", json(f, "{'node': 'T1', 'reason': 'r'}"));
	settle(f);
	effect_end(f, "T1", FX_RUN_STOP, "ok", "", "");
	run_end(f, "T1", 143);
	settle(f);
	if (effect_of(f, "T1")->kind == FX_HARVEST)
		effect_end(f, "T1", FX_HARVEST, "ok", "", "'head': 'h', 'tree': 't'");
	bring_to(f, "T1", STAGE_RUNNING);
}

#define DENY(what) "{'node': 'T1', 'reason': 'r', 'deny': ['" what "']}"

TEST(every_run_of_an_assignment_has_it)
{
	struct fixture f;
	const struct assignment *as;

	begin(&f, "read,edit,shell|WebFetch");
	plan_of(&f, "'toolsDeny': ['Write'],", "'toolsAllow': ['read', 'edit'],");
	bring_to(&f, "T1", STAGE_RUNNING);
	as = node_of(&f, "T1")->assignment;
	assert_string_equal(as->tools.p,
			"{\"allow\":[\"read\",\"edit\"],\"deny\":[\"WebFetch\","
			"\"Write\"]}");
	assert_string_equal(as->run->tools.p, as->tools.p);
	run_end(&f, "T1", 1);
	drain(&f);
	as = node_of(&f, "T1")->assignment;
	assert_null(as); /* the retry went well, and is accepted */
	assert_string_equal(json_text(&f.arena,
					    value_at(last_event(&f, EV_RUN_CREATED)->data, "tools"))
					    .p,
			"{\"allow\":[\"read\",\"edit\"],\"deny\":[\"WebFetch\",\"Write\"]}");
	assert_int_equal(value_int_at(last_event(&f, EV_RUN_CREATED)->data, "attempt"), 2);
	end(&f);
}

TEST(without_a_word_nothing_is_narrowed)
{
	struct fixture f;

	begin(&f, "|");
	plan_of(&f, "", "");
	bring_to(&f, "T1", STAGE_RUNNING);
	assert_int_equal(node_of(&f, "T1")->assignment->tools.n, 0);
	assert_null(value_at(last_event(&f, EV_RUN_CREATED)->data, "tools"));
	end(&f);
}

/*
 * A new configuration may take from a session that lives, and from the next one; it gives
 * neither back.
 */
TEST(a_live_session_is_never_widened)
{
	struct fixture f;

	begin(&f, "read,edit,shell|");
	plan_of(&f, "", "");
	bring_to(&f, "T1", STAGE_RUNNING);
	team[0].scope = scope("read,edit|");
	assert_string_equal(node_of(&f, "T1")->assignment->tools.p,
			"{\"allow\":[\"read\",\"edit\",\"shell\"],\"deny\":[]}");
	next_run(&f);
	assert_string_equal(node_of(&f, "T1")->assignment->tools.p,
			"{\"allow\":[\"read\",\"edit\"],\"deny\":[]}");
	team[0].scope = scope("|");
	next_run(&f);
	assert_int_equal(node_of(&f, "T1")->assignment->attempt, 3);
	assert_string_equal(node_of(&f, "T1")->assignment->tools.p,
			"{\"allow\":[\"read\",\"edit\"],\"deny\":[]}");
	/* Another session is another matter. */
	next_assignment(&f);
	assert_int_equal(node_of(&f, "T1")->assignment->tools.n, 0);
	end(&f);
}

TEST(a_plan_cannot_widen)
{
	struct fixture f;
	const struct node *n;

	begin(&f, "read,edit|");
	plan_of(&f, "", "'toolsAllow': ['read', 'shell'],");
	settle(&f);
	n = node_of(&f, "T1");
	assert_int_equal(n->status, NODE_BLOCKED);
	assert_int_equal(n->block.kind, BLOCK_NO_AGENT);
	assert_non_null(strstr(n->status_reason.p,
			"tools of node T1: \"shell\" is not among the tools that "
			"may be used (read, edit)"));
	assert_null(n->assignment);
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
	/* Put right, it goes on. */
	team[0].scope = scope("read,edit,shell|");
	submit(&f, "work.update", json(&f, "{'node': 'T1', 'status': 'queued', 'reason': 'r'}"));
	bring_to(&f, "T1", STAGE_RUNNING);
	assert_string_equal(node_of(&f, "T1")->assignment->tools.p,
			"{\"allow\":[\"read\",\"shell\"],\"deny\":[]}");
	end(&f);
}

TEST(parts_inherit)
{
	struct fixture f;

	begin(&f, "|");
	plan_of(&f, "'toolsAllow': ['read', 'edit'],", "'toolsAllow': ['shell'],");
	settle(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_BLOCKED);
	assert_non_null(strstr(node_of(&f, "T1")->status_reason.p, "\"shell\" is not among"));
	end(&f);
}

/* Better no run than one with tools that were to be taken from it. */
TEST(an_agent_that_cannot_be_narrowed)
{
	struct fixture f;

	begin(&f, "|");
	team[0].format = NULL;
	plan_of(&f, "", "'toolsDeny': ['Bash'],");
	settle(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_BLOCKED);
	assert_non_null(strstr(node_of(&f, "T1")->status_reason.p,
			"cannot be narrowed: its format is "
			"\"raw\""));
	refused(&f, "work.scope", json(&f, DENY("Bash")), OV_ESTATE);
	end(&f);
}

TEST(a_person_takes_away)
{
	struct fixture f;
	value *res;

	begin(&f, "read,edit,shell|");
	plan_of(&f, "", "");
	res = submit(&f, "work.scope", json(&f, DENY("Write")));
	assert_string_equal(json_text(&f.arena, value_at(res, "tools")).p,
			"{\"allow\":[\"read\",\"edit\",\"shell\"],\"deny\":[\"Write\"]}");
	bring_to(&f, "T1", STAGE_RUNNING);
	submit(&f, "work.scope",
			json(&f, "{'node': 'T1', 'reason': 'r', 'allow': ['read', 'Edit']}"));
	/* This run has what it has; the next one does not. */
	assert_non_null(strstr(node_of(&f, "T1")->assignment->tools.p, "shell"));
	next_run(&f);
	assert_string_equal(node_of(&f, "T1")->assignment->run->tools.p,
			"{\"allow\":[\"read\",\"Edit\"],\"deny\":[\"Write\"]}");
	assert_non_null(strstr(refused(&f, "work.scope",
					       json(&f,
							       "{'node': 'T1', 'reason': 'r', "
							       "'allow': ['shell']}"),
					       OV_EUNAUTHORIZED),
			"never widened"));
	refused(&f, "work.scope", json(&f, "{'node': 'T1', 'reason': 'r', 'allow': []}"),
			OV_EINVALID);
	refused(&f, "work.scope", json(&f, "{'node': 'T1', 'reason': 'r'}"), OV_EINVALID);
	refused(&f, "work.scope", json(&f, "{'node': 'T1', 'deny': ['Bash']}"), OV_EINVALID);
	refused(&f, "work.scope",
			json(&f, "{'node': 'T1', 'reason': 'r', 'deny': ['read', 'edit']}"),
			OV_ESTATE);
	/* Whoever takes it over, and whatever a later plan says, it stays taken away. */
	submit(&f, "plan.apply",
			json(&f,
					"{'goal': '%.*s', 'plan': {'phases': [{'id': 'P1', 'name': "
					"'p', 'tasks': [{"
					"'id': 'T1', 'name': 't2', 'acceptance': ['x']}]}]}}",
					STR_ARG(node_of(&f, "T1")->goal->id)));
	next_assignment(&f);
	assert_int_equal(node_of(&f, "T1")->work.epoch, 2);
	assert_string_equal(node_of(&f, "T1")->assignment->tools.p,
			"{\"allow\":[\"read\",\"Edit\"],\"deny\":[\"Write\"]}");
	end(&f);
}

/* A session whose tools the configuration took away altogether does not go on without any. */
TEST(a_session_without_tools_waits)
{
	struct fixture f;
	const struct node *n;

	begin(&f, "read|");
	plan_of(&f, "", "");
	bring_to(&f, "T1", STAGE_RUNNING);
	team[0].scope = scope("edit|");
	run_end(&f, "T1", 1);
	f.now += OV_HOUR;
	drain(&f);
	n = node_of(&f, "T1");
	assert_int_equal(n->status, NODE_BLOCKED);
	assert_non_null(strstr(n->status_reason.p, "no tool would be left"));
	assert_int_equal(n->assignment->status, AS_BLOCKED);
	assert_int_equal(count_events(&f, EV_RUN_CREATED), 1);
	end(&f);
}

TEST(configuration)
{
	static const struct {
		const char *lines, *why;
	} bad[] = {
		{ "format = \"claude\"\ntools = []", "agents.x.tools: is empty" },
		{ "format = \"claude\"\ntools_deny = []", "agents.x.tools_deny: is empty" },
		{ "format = \"claude\"\ntools = [\"a b\"]", "agents.x.tools: entry 1" },
		{ "tools = [\"read\"]",
				"agents.x.tools: the tools of format \"raw\" cannot be narrowed" },
		{ "format = \"claude\"\ntools = [\"read\"]\ntools_deny = [\"read\"]",
				"agents.x: no tool would be left" },
	};
	struct ov_err err;
	struct config *c;

	arena = ARENA_INIT;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		str toml = arena_printf(&arena, "[agents.x]\ncommand = [\"x\"]\n%s\n",
				bad[i].lines);

		assert_true(config_parse(toml, &c, &err) < 0);
		if (!strstr(err.msg, bad[i].why))
			fail_msg("%s: %s", bad[i].lines, err.msg);
	}
	assert_int_equal(config_parse(STR("[agents.x]\ncommand = [\"x\"]\nformat = "
					  "\"claude\"\ntools = "
					  "[\"read\", \"Edit\"]\ntools_deny = [\"Grep\"]\n"),
					 &c, &err),
			0);
	assert_string_equal(text(&c->policy.agents[0].scope).p, "read,Edit|Grep");
	config_free(c);
	assert_int_equal(config_parse(STR("[agents.x]\ncommand = [\"x\"]\n"), &c, &err), 0);
	assert_true(scope_is_all(&c->policy.agents[0].scope));
	config_free(c);
	arena_done(&arena);
}

TEST_MAIN
