#include "tests/test.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/model/model.h"
#include "data/value/json.h"
#include "tests/rng.h"

static const struct {
	const struct record_type *type;
	size_t size;
} types[] = {
	{ &goal_record, sizeof(struct goal) },
	{ &node_record, sizeof(struct node) },
	{ &assignment_record, sizeof(struct assignment) },
	{ &run_record, sizeof(struct run) },
	{ &worker_record, sizeof(struct worker) },
	{ &effect_record, sizeof(struct effect) },
	{ &escalation_record, sizeof(struct escalation) },
	{ &dispatch_record, sizeof(struct dispatch) },
	{ &lane_record, sizeof(struct lane) },
	{ &crystallization_record, sizeof(struct crystallization) },
};

static str random_text(struct arena *a, struct rng *rng)
{
	static const char *const pieces[] = { "a", "\"", "\\", "\n", "\xc3\xa9", "\xf0\x9f\x99\x82",
		"{", "]", " ", "\x01" };
	struct buf b = BUF_INIT;
	str s;

	for (size_t n = rng_below(rng, 12); n > 0; n--)
		buf_addf(&b, "%s", pieces[rng_below(rng, ARRAY_LEN(pieces))]);
	s = arena_str(a, buf_str(&b));
	buf_done(&b);
	return s;
}

static value *random_field(struct arena *a, struct rng *rng, const struct field *f)
{
	value *v;

	switch (f->type) {
	case F_TEXT: return value_str(a, random_text(a, rng));
	case F_NUM: return value_int(a, (int64_t)rng_next(rng));
	case F_FLAG: return value_bool(a, rng_below(rng, 2));
	case F_TIME:
	case F_CALENDAR:
	case F_STAMP: return value_time(a, (ov_time)rng_below(rng, 4000000000000));
	case F_STATUS:
		return value_cstr(a,
				status_name(f->table, (int)rng_below(rng, (size_t)f->table->n)));
	case F_LIST:
		v = value_array(a);
		for (size_t n = rng_below(rng, 4); n > 0; n--)
			value_push(a, v, value_str(a, random_text(a, rng)));
		return v;
	case F_COUNTS:
		v = value_object(a);
		for (int i = 0; i < f->table->n; i++)
			if (rng_below(rng, 2))
				value_put(a, v, f->table->names[i],
						value_int(a, 1 + (int64_t)rng_below(rng, INT32_MAX)));
		return v;
	case F_AMOUNTS:
		v = value_object(a);
		for (int i = 0; i < f->table->n; i++)
			if (rng_below(rng, 2))
				value_put(a, v, f->table->names[i],
						value_int(a, 1 + (int64_t)(rng_next(rng) >> 2)));
		return v;
	case F_JSON:
		v = value_object(a);
		value_put(a, v, "k", value_str(a, random_text(a, rng)));
		return rng_below(rng, 2) ? v : value_null(a);
	case F_SEQS:
		v = value_array(a);
		for (size_t n = rng_below(rng, 20); n > 0; n--)
			value_push(a, v, value_int(a, (int64_t)(rng_next(rng) >> 1)));
		return v;
	}
	return NULL;
}

static str canonical(struct arena *a, const value *v)
{
	struct buf b = BUF_INIT;
	str s;

	json_write_canonical(&b, v);
	s = arena_str(a, buf_str(&b));
	buf_done(&b);
	return s;
}

/* What is left out is zero anyway. */
static void packed_is_the_same(struct arena *a, const struct record_type *t, size_t size,
		const void *record)
{
	void *back = mem_zalloc(1, size);
	value *packed = record_pack(a, t, record), *whole = record_to_value(a, t, record);

	assert_true(value_count(packed) <= value_count(whole));
	assert_int_equal(record_from_value(t, back, packed, NULL), 0);
	assert_true(str_eq(canonical(a, whole), canonical(a, record_to_value(a, t, back))));
	record_done(t, back);
	mem_free(back);
}

TEST(round_trip)
{
	struct rng rng = { 1 };

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		for (int round = 0; round < 200; round++) {
			struct arena a = ARENA_INIT;
			void *record = mem_zalloc(1, types[i].size);
			value *in = value_object(&a), *out;
			struct ov_err err = { 0 };

			for (size_t k = 0; k < types[i].type->n; k++)
				value_put(&a, in, types[i].type->fields[k].name,
						random_field(&a, &rng, &types[i].type->fields[k]));
			/* By way of text, as snapshots are. */
			assert_int_equal(json_parse(&a, canonical(&a, in), NULL, &out, NULL), 0);
			if (record_from_value(types[i].type, record, out, &err) < 0)
				fail_msg("%s", err.msg);
			out = record_to_value(&a, types[i].type, record);
			assert_true(str_eq(canonical(&a, in), canonical(&a, out)));
			packed_is_the_same(&a, types[i].type, types[i].size, record);
			record_done(types[i].type, record);
			mem_free(record);
			arena_done(&a);
		}
}

/* An empty record reads back as one, and absent members stay as they were. */
TEST(empty)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct arena a = ARENA_INIT;
		char *record = mem_zalloc(1, types[i].size);
		value *v = record_to_value(&a, types[i].type, record);

		assert_int_equal(value_count(v), types[i].type->n);
		packed_is_the_same(&a, types[i].type, types[i].size, record);
		assert_int_equal(record_from_value(types[i].type, record, v, NULL), 0);
		assert_true(value_equal(v, record_to_value(&a, types[i].type, record)));
		record_done(types[i].type, record);
		assert_int_equal(record_from_value(types[i].type, record, value_object(&a), NULL),
				0);
		for (size_t k = 0; k < types[i].size; k++)
			assert_int_equal(record[k], 0);
		mem_free(record);
		arena_done(&a);
	}
}

static value *wrong_for(struct arena *a, enum field_type type)
{
	return type == F_NUM || type == F_FLAG ? value_cstr(a, "x") : value_int(a, 5);
}

TEST(wrong_type)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		for (size_t k = 0; k < types[i].type->n; k++) {
			const struct field *f = &types[i].type->fields[k];
			struct arena a = ARENA_INIT;
			void *record = mem_zalloc(1, types[i].size);
			value *v = value_object(&a);
			struct ov_err err = { 0 };

			value_put(&a, v, f->name, wrong_for(&a, f->type));
			if (f->type != F_JSON) { /* which takes anything */
				assert_int_equal(record_from_value(types[i].type, record, v, &err),
						OV_EINVALID);
				assert_non_null(strstr(err.msg, f->name));
				assert_non_null(strstr(err.msg, types[i].type->noun));
			}
			record_done(types[i].type, record);
			mem_free(record);
			arena_done(&a);
		}
}

TEST(bad_contents)
{
	static const struct {
		const struct record_type *type;
		size_t size;
		const char *json, *says;
	} cases[] = {
		{ &goal_record, sizeof(struct goal), "[]", "expected an object" },
		{ &goal_record, sizeof(struct goal), "{\"nope\":1}", "unknown field \"nope\"" },
		{ &goal_record, sizeof(struct goal), "{\"status\":\"lost\"}", "goal.status" },
		{ &goal_record, sizeof(struct goal), "{\"tags\":[1]}", "goal.tags" },
		{ &goal_record, sizeof(struct goal), "{\"created_at\":\"today\"}",
				"goal.created_at" },
		{ &node_record, sizeof(struct node), "{\"failures\":{\"bad\":1}}",
				"node.failures" },
		{ &node_record, sizeof(struct node), "{\"failures\":{\"run\":-1}}",
				"node.failures" },
		{ &node_record, sizeof(struct node), "{\"failures\":{\"run\":2147483648}}",
				"node.failures" },
		{ &node_record, sizeof(struct node), "{\"history\":[\"1\"]}", "node.history" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena a = ARENA_INIT;
		void *record = mem_zalloc(1, cases[i].size);
		struct ov_err err = { 0 };
		value *v;

		assert_int_equal(json_parse(&a, str_from(cases[i].json), NULL, &v, NULL), 0);
		assert_int_equal(record_from_value(cases[i].type, record, v, &err), OV_EINVALID);
		assert_non_null(strstr(err.msg, cases[i].says));
		record_done(cases[i].type, record);
		mem_free(record);
		arena_done(&a);
	}
}

TEST(set_from_itself)
{
	struct worker w = { 0 };

	record_set_str(&w.name, STR("abc"));
	record_set_str(&w.name, w.name);
	assert_true(str_is(w.name, "abc"));
	record_set_str(&w.name, str_sub(w.name, 1, 2));
	assert_true(str_is(w.name, "bc"));
	assert_int_equal(w.name.p[2], '\0');
	record_done(&worker_record, &w);
	assert_null(w.name.p);
}

TEST_MAIN
