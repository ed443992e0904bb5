/* Every row of the table of operations: what must be in it, and that its example fits it. */
#include <stdio.h>

#include "base/str.h"
#include "cli/call/command.h"
#include "core/policy/caller.h"
#include "data/value/json.h"
#include "tests/test.h"

TEST_MAIN

enum { WORDS_MAX = 32 };

static const char *row_name(const struct op *op)
{
	static char text[100];

	snprintf(text, sizeof(text), "%s%s%s", op->name ? op->name : op->noun,
			op->name || !op->verb ? "" : " ", op->name || !op->verb ? "" : op->verb);
	return text;
}

TEST(each_row_is_whole)
{
	for (size_t i = 0; i < OP_COUNT; i++) {
		const struct op *op = &op_rows[i];

		if (!op->name != (op->kind == OP_NOTHING) || !op->name != !op->help ||
				!op->name != !op->callers)
			fail_msg("%s: an operation has a name, help and callers", row_name(op));
		if (!op->name && !op->noun)
			fail_msg("row %zu is neither an operation nor a command", i);
		if (!op->noun != !op->summary || !op->example)
			fail_msg("%s has no summary or no example", row_name(op));
		if (op->noun && str_ends(str_from(op->summary), STR(".")))
			fail_msg("%s: a summary has no full stop", row_name(op));
		if (op->variant && !op_rows[op->variant].name)
			fail_msg("%s calls no operation", row_name(op));
	}
}

TEST(names_are_there_once)
{
	for (size_t i = 0; i < OP_COUNT; i++)
		for (size_t k = i + 1; k < OP_COUNT; k++) {
			const struct op *x = &op_rows[i], *y = &op_rows[k];

			if (x->name && y->name && strcmp(x->name, y->name) == 0)
				fail_msg("%s is there twice", x->name);
			if (x->noun && y->noun && strcmp(x->noun, y->noun) == 0 &&
					strcmp(x->verb ? x->verb : "", y->verb ? y->verb : "") == 0)
				fail_msg("overseer %s is there twice", row_name(x));
		}
}

TEST(each_parameter_is_whole)
{
	for (size_t i = 0; i < OP_COUNT; i++)
		for (size_t k = 0; k < op_rows[i].params_n; k++) {
			const struct op_param *p = &op_rows[i].params[k];

			if (!p->help || !*p->help || (!p->name && !p->flag && !p->place))
				fail_msg("%s: parameter %zu has no name or no help",
						row_name(&op_rows[i]), k);
			if (p->flag && (p->type == SHAPE_FLAG) != !p->word)
				fail_msg("%s: --%s", row_name(&op_rows[i]), p->flag);
			for (size_t j = k + 1; p->name && j < op_rows[i].params_n; j++)
				if (op_rows[i].params[j].name &&
						strcmp(op_rows[i].params[j].name, p->name) == 0)
					fail_msg("%s: %s is there twice", row_name(&op_rows[i]),
							p->name);
		}
}

/* "goal create --title \"two words\"" as a shell would take it apart. */
static int split_words(struct arena *a, const char *text, char **argv)
{
	char *p = (char *)arena_cstr(a, str_from(text));
	int n = 0;

	argv[n++] = (char *)"overseer";
	while (*p) {
		bool quoted = *p == '"';
		char end = quoted ? '"' : ' ';

		assert_true(n < WORDS_MAX - 1);
		argv[n++] = p += quoted;
		while (*p && *p != end)
			p++;
		if (*p)
			*p++ = '\0';
		while (*p == ' ')
			p++;
	}
	argv[n] = NULL;
	return n;
}

/* The parameters that the example stands for. */
static value *example_params(struct cli *c, const struct op *op)
{
	struct ov_err err = { 0 };
	char *argv[WORDS_MAX];
	value *params = NULL;

	if (!op->noun) {
		assert_int_equal(json_parse(c->arena, str_from(op->example), NULL, &params, NULL),
				0);
		return params;
	}
	if (args_parse(c, split_words(c->arena, op->example, argv), argv, &err) < 0)
		fail_msg("overseer %s: %s", op->example, err.msg);
	if (c->command != op)
		fail_msg("overseer %s is not an example of %s", op->example, row_name(op));
	if (cli_params(c, &params, &err) < 0)
		fail_msg("overseer %s: %s", op->example, err.msg);
	return params;
}

TEST(each_example_fits_its_row)
{
	for (size_t i = 0; i < OP_COUNT; i++) {
		struct arena a = ARENA_INIT;
		struct cli c = { .arena = &a, .timeout_ms = OV_SECOND };
		const struct op *op = &op_rows[i],
				*called = op->variant ? &op_rows[op->variant] : op;
		struct ov_err err = { 0 };
		value *params;

		c.out.arena = &a;
		params = example_params(&c, op);
		/* What the command itself puts in is not in the words. */
		for (size_t k = 0; k < called->params_n; k++) {
			const struct op_param *p = &called->params[k];
			bool own = p->form == FORM_OWN || (op->noun && !p->flag && !p->place);

			if (own && p->name && p->type == SHAPE_OBJECT)
				value_put(&a, params, p->name, value_object(&a));
			else if (own && p->name && p->type == SHAPE_NUM)
				value_put(&a, params, p->name, value_int(&a, 1));
			else if (own && p->required && !value_at(params, p->name))
				value_put(&a, params, p->name, value_cstr(&a, "x"));
		}
		if (called->name && op_check_params(called, params, &err) < 0)
			fail_msg("%s: %s", row_name(op), err.msg);
		arena_done(&a);
	}
}

static void refused(const char *op, const char *params, const char *words)
{
	struct arena a = ARENA_INIT;
	struct ov_err err = { 0 };
	const struct op *found;
	value *v;

	assert_int_equal(json_parse(&a, str_from(params), NULL, &v, NULL), 0);
	assert_true(op_find(str_from(op), v, &found, &err) < 0);
	if (!str_contains(str_from(err.msg), str_from(words)))
		fail_msg("%s %s: \"%s\" does not say \"%s\"", op, params, err.msg, words);
	arena_done(&a);
}

TEST(bad_parameters_are_named)
{
	refused("goal.create", "{}", "goal.create: title: missing");
	refused("goal.create", "{\"title\":1}", "title: expected string, got integer");
	refused("goal.create", "{\"titel\":\"x\"}",
			"unknown key \"titel\" (did you mean \"title\"?)");
	refused("goal.create", "{\"title\":\"x\",\"tags\":[1]}", "item 0: tags: expected string");
	refused("goal.create", "{\"title\":\"x\",\"risks\":[\"y\"]}", "risks: expected object");
	refused("goal.create", "{\"title\":\"x\",\"no_plan\":null}", "no_plan: expected boolean");
	refused("events.list", "{\"limit\":1001}", "limit: 1001 must be at most 1000");
	refused("events.list", "{\"after\":-1}", "after: -1 must be at least 0");
	refused("events.list", "{\"after\":1.5}", "after: expected integer");
	refused("events.list", "[]", "expected object, got array");
	refused("goal.craete", "{}", "did you mean \"goal.create\"?");
	refused("up", "{}", "there is no operation \"up\"");
}

TEST(options_of_the_command_are_no_parameters)
{
	refused("status.get", "{\"watch\":true}", "unknown key \"watch\"");
	refused("goal.update", "{\"goal\":\"x\",\"clear\":[]}", "unknown key \"clear\"");
}

TEST(limits_hold_at_their_edge)
{
	struct arena a = ARENA_INIT;
	value *params = value_object(&a);
	char text[201];
	struct ov_err err = { 0 };

	memset(text, 'x', sizeof(text));
	value_put(&a, params, "title", value_str(&a, (str){ text, 200 }));
	assert_int_equal(op_check_params(&op_rows[OP_goal_create], params, NULL), 0);
	value_put(&a, params, "title", value_str(&a, (str){ text, 201 }));
	assert_int_equal(op_check_params(&op_rows[OP_goal_create], params, &err), OV_ELIMIT);
	arena_done(&a);
}

TEST(aliases_lead_to_operations)
{
	const struct op *op = NULL;

	assert_int_equal(op_find(STR("overseer.goal.list"), NULL, &op, NULL), 0);
	assert_int_equal(op_id(op), OP_goal_list);
	assert_int_equal(op_find(STR("overseer.status"), NULL, &op, NULL), 0);
	assert_int_equal(op_id(op), OP_status_get);
	assert_int_equal(op_find(STR("overseer.wake"), NULL, &op, NULL), 0);
	assert_int_equal(op_id(op), OP_tick_now);
}

static void words_of(enum op_id id, const char *text, int min, int max)
{
	struct arena a = ARENA_INIT;
	int from, to;
	str s = op_args(&a, &op_rows[id], &from, &to);

	if (!str_is(s, text) || from != min || to != max)
		fail_msg("%.*s from %d to %d", STR_ARG(s), from, to);
	arena_done(&a);
}

TEST(words_of_a_command)
{
	words_of(OP_goal_list, "", 0, 0);
	words_of(OP_goal_show, "ID", 1, 1);
	words_of(OP_plan_diff, "GOAL [V1 [V2]]", 1, 3);
	words_of(OP_worker_message, "NAME TEXT", 2, OP_ARGS_MAX);
	words_of(OP_config_check, "[FILE]", 0, 1);
	words_of(OP_inbox_approve, "N[,N-N...]", 0, OP_ARGS_MAX);
}

/* What is published says the same as what is checked. */
TEST(the_schema_is_that_of_the_row)
{
	struct arena a = ARENA_INIT;
	const value *all = op_schemas(&a), *schema = NULL;

	for (size_t i = 0; i < value_count(all); i++)
		if (str_is(value_str_at(value_item(all, i), "name"), "rescue.list"))
			schema = value_at(value_item(all, i), "parameters");
	assert_non_null(schema);
	assert_string_equal(json_text(&a, schema).p,
			"{\"type\":\"object\",\"properties\":{"
			"\"worker\":{\"type\":\"string\",\"description\":\"only what was in this "
			"worker's worktree\"},"
			"\"node\":{\"type\":\"string\",\"description\":\"only of this node, or "
			"GOAL/NODE\"},"
			"\"limit\":{\"type\":\"integer\",\"description\":\"at most so many, the "
			"newest "
			"(50)\",\"minimum\":0,\"maximum\":1000}},"
			"\"additionalProperties\":false}");
	arena_done(&a);
}
