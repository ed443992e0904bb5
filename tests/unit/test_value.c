#include "tests/test.h"

#include <math.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/value.h"
#include "tests/json_gen.h"

TEST(building_and_reading)
{
	struct arena a = ARENA_INIT;
	value *o = value_object(&a), *list = value_array(&a);

	for (int i = 0; i < 100; i++)
		value_push(&a, list, value_int(&a, i));
	value_put(&a, o, "name", value_cstr(&a, "x"));
	value_put(&a, o, "list", list);
	value_put(&a, o, "ok", value_bool(&a, true));
	value_put(&a, o, "name", value_strf(&a, "%s-%d", "y", 2)); /* replaces, in place */
	assert_int_equal(value_count(o), 3);
	assert_true(str_is(o->object.members[0].key, "name"));
	assert_true(str_is(value_str_at(o, "name"), "y-2"));
	assert_int_equal(value_count(value_at(o, "list")), 100);
	assert_int_equal(value_int_or(value_item(value_at(o, "list"), 99), -1), 99);
	assert_true(value_bool_at(o, "ok"));
	assert_int_equal(value_time(&a, 0)->kind, V_NULL);
	assert_true(str_is(value_time(&a, 1)->s, "1970-01-01T00:00:00.001Z"));
	assert_non_null(value_cstr(&a, NULL)->s.p);
	arena_done(&a);
}

TEST(reading_what_is_not_there)
{
	struct arena a = ARENA_INIT;
	value *n = value_int(&a, 7), *real = value_real(&a, 1.5);

	assert_null(value_at(NULL, "x"));
	assert_null(value_at(n, "x"));
	assert_null(value_item(NULL, 0));
	assert_null(value_item(n, 0));
	assert_null(value_item(value_array(&a), 0));
	assert_int_equal(value_count(NULL) + value_count(n), 0);
	assert_true(str_is(value_str_or(n, STR("d")), "d"));
	assert_true(str_is(value_str_at(NULL, "x"), ""));
	assert_int_equal(value_int_or(real, 3), 3);
	assert_int_equal(value_int_at(NULL, "x"), 0);
	assert_true(value_bool_or(NULL, true));
	assert_false(value_bool_at(n, "x"));
	assert_true(value_real_or(n, 0) == 7.0);
	assert_true(value_real_or(real, 0) == 1.5);
	assert_true(value_real_or(NULL, 2.5) == 2.5);
	arena_done(&a);
}

TEST(numbers_are_equal_by_value)
{
	static const struct {
		int64_t i;
		double r;
		bool equal;
	} cases[] = {
		{ 1, 1.0, true },
		{ 0, -0.0, true },
		{ 1, 1.5, false },
		{ INT64_MAX, 9223372036854775808.0, false }, /* the nearest double, but not equal */
		{ INT64_MIN, -9223372036854775808.0, true },
		{ 9007199254740993, 9007199254740992.0, false },
		{ 0, NAN, false },
		{ INT64_MAX, INFINITY, false },
	};
	struct arena a = ARENA_INIT;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		value *x = value_int(&a, cases[i].i), *y = value_real(&a, cases[i].r);

		assert_int_equal(value_equal(x, y), cases[i].equal);
		assert_int_equal(value_equal(y, x), cases[i].equal);
	}
	assert_true(value_equal(value_real(&a, NAN), value_real(&a, NAN)));
	arena_done(&a);
}

/* The members of v in another order, deeply. */
static value *shuffled(struct arena *a, struct rng *r, const value *v)
{
	value *c = value_copy(a, v);

	if (v->kind == V_ARRAY)
		for (size_t i = 0; i < v->array.n; i++)
			c->array.items[i] = shuffled(a, r, v->array.items[i]);
	for (size_t i = 0; v->kind == V_OBJECT && i < v->object.n; i++) {
		size_t k = rng_below(r, i + 1);
		struct member m = c->object.members[i];

		m.value = shuffled(a, r, m.value);
		c->object.members[i] = c->object.members[k];
		c->object.members[k] = m;
	}
	return c;
}

TEST(copies_and_reorderings_are_equal)
{
	struct rng r = { 21 };

	for (int i = 0; i < 3000; i++) {
		struct arena a = ARENA_INIT, b = ARENA_INIT;
		value *v = gen_value(&a, &r, 4), *c = value_copy(&b, v);

		assert_true(value_equal(v, v));
		assert_true(value_equal(v, c));
		assert_true(value_equal(shuffled(&a, &r, v), v));
		arena_done(&a); /* the copy shares nothing with its source */
		assert_true(value_equal(c, value_copy(&b, c)));
		arena_done(&b);
	}
}

TEST(different_values_differ)
{
	struct arena a = ARENA_INIT;
	value *all[] = { value_null(&a), value_bool(&a, false), value_bool(&a, true),
		value_int(&a, 0), value_int(&a, 1), value_real(&a, 0.5), value_cstr(&a, ""),
		value_cstr(&a, "0"), value_array(&a), value_object(&a), value_array(&a),
		value_object(&a), value_object(&a), value_object(&a), value_cstr(&a, "0") };

	all[14]->kind = V_DATETIME;
	value_push(&a, all[10], value_null(&a));
	value_put(&a, all[11], "a", value_null(&a));
	value_put(&a, all[12], "b", value_null(&a));
	value_put(&a, all[13], "a", value_int(&a, 1));
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		for (size_t k = 0; k < ARRAY_LEN(all); k++)
			assert_int_equal(value_equal(all[i], all[k]), i == k);
	arena_done(&a);
}

/* Quadratic comparing would take minutes here. */
TEST(big_objects_in_opposite_orders_compare_fast)
{
	enum { N = 200000 };
	struct arena a = ARENA_INIT;
	value *x = value_object(&a), *y = value_object(&a);

	for (int i = 0; i < N; i++) {
		value_append_member(&a, x, arena_printf(&a, "k%d", i), value_int(&a, i));
		value_append_member(&a, y, arena_printf(&a, "k%d", N - 1 - i),
				value_int(&a, N - 1 - i));
	}
	assert_true(value_equal(x, y));
	y->object.members[5].value->i++;
	assert_false(value_equal(x, y));
	arena_done(&a);
}

TEST(checked_reading)
{
	struct arena a = ARENA_INIT;
	value *o = value_object(&a);
	const value *v = NULL;
	struct ov_err e = { 0 };
	int64_t n = 5;
	bool b;
	str s;

	value_put(&a, o, "name", value_cstr(&a, "x"));
	value_put(&a, o, "n", value_int(&a, 3));
	value_put(&a, o, "list", value_array(&a));
	value_put(&a, o, "o", value_object(&a));
	value_put(&a, o, "b", value_bool(&a, true));
	assert_int_equal(value_need_str(o, STR(""), "name", &s, &e), 0);
	assert_int_equal(value_need_int(o, STR(""), "n", &n, &e), 0);
	assert_int_equal(value_need_bool(o, STR(""), "b", &b, &e), 0);
	assert_int_equal(value_need_array(o, STR(""), "list", &v, &e), 0);
	assert_int_equal(value_need_object(o, STR(""), "o", &v, &e), 0);
	assert_true(str_is(s, "x") && n == 3 && b && v->kind == V_OBJECT);

	assert_int_equal(value_need_int(o, STR("phases[1]"), "name", &n, &e), OV_EINVALID);
	assert_string_equal(e.msg, "phases[1].name: expected integer, got string");
	assert_int_equal(n, 3); /* untouched */
	assert_int_equal(value_need_str(o, STR(""), "title", &s, &e), OV_EINVALID);
	assert_string_equal(e.msg, "title: missing (string expected)");
	assert_int_equal(value_need_bool(NULL, STR("x"), "b", &b, &e), OV_EINVALID);
	assert_int_equal(value_need_array(o, STR(""), "o", &v, NULL), OV_EINVALID);
	assert_int_equal(value_need_object(o, STR(""), "list", &v, &e), OV_EINVALID);
	arena_done(&a);
}

TEST(unknown_keys_are_named_with_the_nearest)
{
	static const char *const known[] = { "title", "status" };
	struct arena a = ARENA_INIT;
	value *o = value_object(&a);
	struct ov_err e = { 0 };

	value_put(&a, o, "title", value_null(&a));
	assert_int_equal(value_only_keys(o, STR(""), known, 2, &e), 0);
	assert_int_equal(value_only_keys(NULL, STR(""), known, 2, &e), 0);
	value_put(&a, o, "satus", value_null(&a));
	assert_int_equal(value_only_keys(o, STR("tasks[0]"), known, 2, &e), OV_EINVALID);
	assert_string_equal(e.msg, "tasks[0]: unknown key \"satus\" (did you mean \"status\"?)");
	o->object.members[1].key = STR("\x1b[31m");
	assert_int_equal(value_only_keys(o, STR(""), known, 2, &e), OV_EINVALID);
	assert_string_equal(e.msg, "unknown key \"\xef\xbf\xbd[31m\"");
	arena_done(&a);
}

TEST(every_kind_has_a_name)
{
	for (int k = V_NULL; k <= V_OBJECT; k++)
		assert_true(strlen(value_kind_name((enum value_kind)k)) > 0);
}

TEST_MAIN
