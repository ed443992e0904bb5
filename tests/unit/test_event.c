#include "tests/test.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/event/event.h"
#include "core/model/transition.h"
#include "data/value/json.h"
#include "tests/rng.h"

static value *sample(struct arena *a, const struct shape_field *f)
{
	value *list = value_array(a);

	switch (f->type) {
	case SHAPE_TEXT:
	case SHAPE_NOTE: return value_cstr(a, "t\"e\n\xc3\xa9");
	case SHAPE_NUM: return value_int(a, INT64_MIN + 7);
	case SHAPE_FLAG: return value_bool(a, true);
	case SHAPE_ENUM: return value_cstr(a, status_name(f->words, f->words->n - 1));
	case SHAPE_LIST: value_push(a, list, value_cstr(a, "x")); return list;
	case SHAPE_OBJECTS: value_push(a, list, value_object(a)); return list;
	case SHAPE_TIME: return value_time(a, 1800000000123);
	case SHAPE_NUMS: value_push(a, list, value_int(a, 7)); return list;
	case SHAPE_PARTS: return list;
	case SHAPE_OBJECT:
	case SHAPE_TALLY:
	case SHAPE_PART: break;
	}
	return value_object(a);
}

/* An event with all fields, or only those that must be. */
static struct event make(struct arena *a, enum event_kind kind, bool all)
{
	struct shape info = event_shape(kind);
	struct event e = { .seq = 7, .at = 1800000000123, .kind = kind, .data = value_object(a) };

	if (all) {
		e.actor = STR("human:x");
		e.goal = STR("goal_1");
		e.node = STR("T1");
		e.assignment = STR("A_1");
		e.run = STR("R_1");
	}
	for (size_t i = 0; i < info.n; i++)
		if (all || info.fields[i].need == REQ)
			value_put(a, e.data, info.fields[i].name, sample(a, &info.fields[i]));
	return e;
}

static str body_of(struct arena *a, const struct event *e)
{
	struct buf b = BUF_INIT;
	str s;

	json_write_canonical(&b, event_body(a, e));
	s = arena_str(a, buf_str(&b));
	buf_done(&b);
	return s;
}

static int decode(struct arena *a, enum event_kind kind, str body, struct event *ret,
		struct ov_err *err)
{
	return event_decode(a, 7, 1800000000123, str_from(event_name(kind)), body, ret, err);
}

TEST(round_trip)
{
	for (int kind = 0; kind < EVENT_KIND_COUNT; kind++)
		for (int all = 0; all < 2; all++) {
			struct arena a = ARENA_INIT;
			struct event e = make(&a, (enum event_kind)kind, all), back = { 0 };
			struct ov_err err = { 0 };

			assert_int_equal(event_check(&e, &err), 0);
			if (decode(&a, e.kind, body_of(&a, &e), &back, &err) < 0)
				fail_msg("%s", err.msg);
			assert_int_equal(back.kind, kind);
			assert_int_equal(back.seq, 7);
			assert_int_equal(back.at, e.at);
			assert_true(str_eq(back.actor, e.actor));
			assert_true(str_eq(back.goal, e.goal));
			assert_true(str_eq(back.node, e.node));
			assert_true(str_eq(back.assignment, e.assignment));
			assert_true(str_eq(back.run, e.run));
			assert_true(value_equal(back.data, e.data));
			assert_true(str_eq(body_of(&a, &e), body_of(&a, &back)));
			arena_done(&a);
		}
}

TEST(fields_are_checked)
{
	for (int kind = 0; kind < EVENT_KIND_COUNT; kind++) {
		struct shape info = event_shape((enum event_kind)kind);
		struct arena a = ARENA_INIT;
		struct event e = make(&a, (enum event_kind)kind, true), back;
		struct ov_err err = { 0 };

		value_put(&a, e.data, "no_such_field", value_int(&a, 1));
		assert_int_equal(event_check(&e, &err), OV_EINVALID);
		assert_non_null(strstr(err.msg, "no_such_field"));
		/* A newer program may have more: that is not damage. */
		assert_int_equal(decode(&a, e.kind, body_of(&a, &e), &back, &err), OV_ESTATE);
		assert_non_null(strstr(err.msg, "newer Overseer"));
		for (size_t i = 0; i < info.n; i++) {
			const struct shape_field *f = &info.fields[i];

			e = make(&a, (enum event_kind)kind, true);
			value_put(&a, e.data, f->name,
					f->type == SHAPE_NUM ? value_real(&a, 0.5)
							     : value_int(&a, 1));
			assert_int_equal(event_check(&e, &err), OV_EINVALID);
			assert_non_null(strstr(err.msg, f->name));
			assert_int_equal(decode(&a, e.kind, body_of(&a, &e), &back, &err),
					OV_EINVALID);
			if (shape_value_kind(f->type) == V_ARRAY) {
				value *list = value_array(&a);

				value_push(&a, list, value_int(&a, 1));
				value_put(&a, e.data, f->name, list);
				assert_int_equal(event_check(&e, &err), OV_EINVALID);
			}
		}
		arena_done(&a);
	}
}

TEST(missing_fields)
{
	for (int kind = 0; kind < EVENT_KIND_COUNT; kind++) {
		struct shape info = event_shape((enum event_kind)kind);

		for (size_t i = 0; i < info.n; i++) {
			struct arena a = ARENA_INIT;
			struct event e = make(&a, (enum event_kind)kind, false);
			struct ov_err err = { 0 };
			value *less = value_object(&a);

			for (size_t k = 0; k < e.data->object.n; k++)
				if (!str_is(e.data->object.members[k].key, info.fields[i].name))
					value_set(&a, less, e.data->object.members[k].key,
							e.data->object.members[k].value);
			e.data = less;
			assert_int_equal(event_check(&e, &err),
					info.fields[i].need == REQ ? OV_EINVALID : 0);
			if (info.fields[i].need == REQ)
				assert_non_null(strstr(err.msg, "is missing"));
			arena_done(&a);
		}
	}
}

TEST(junk)
{
	static const struct {
		const char *kind, *body;
		bool newer;
	} cases[] = {
		{ "run.started", "", false },
		{ "run.started", "null", false },
		{ "run.started", "[]", false },
		{ "run.started", "{}", false },
		{ "run.started", "{\"data\":[]}", false },
		{ "run.started", "{\"data\":null}", false },
		{ "run.started",
				"{\"data\":{}} "
				"x",
				false },
		{ "run.started", "{\"data\":{},\"data\":{}}", false },
		{ "run.started", "{\"data\":{},\"who\":\"me\"}", true },
		{ "run.started", "{\"data\":{},\"actor\":5}", false },
		{ "run.started", "{\"data\":{},\"goal\":null}", false },
		{ "run.started", "{\"data\":{},\"run\":{}}", false },
		{ "run.started", "{\"data\":{},\"run\":\"\xff\"}", false },
		{ "run.start", "{\"data\":{}}", true },
		{ "", "{\"data\":{}}", true },
		{ "RUN.STARTED", "{\"data\":{}}", true },
	};
	struct arena a = ARENA_INIT;
	struct event e = { .seq = 99 };

	assert_int_equal(event_decode(&a, 1, 2, STR("run.started"), STR("{\"data\":{}}"), &e, NULL),
			0);
	e.seq = 99;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct ov_err err = { 0 };
		int r = event_decode(&a, 1, 2, str_from(cases[i].kind), str_from(cases[i].body), &e,
				&err);

		if (r != (cases[i].newer ? OV_ESTATE : OV_EINVALID) || !strstr(err.msg, "event 1"))
			fail_msg("%s: %d %s", cases[i].body, r, err.msg);
		assert_int_equal(e.seq, 99);
	}
	arena_done(&a);
}

/* Bytes changed at random: refused or decoded, and what is decoded passes the check. */
TEST(mutations)
{
	struct rng rng = { 4 };

	for (int round = 0; round < 5000; round++) {
		struct arena a = ARENA_INIT;
		enum event_kind kind = (enum event_kind)rng_below(&rng, EVENT_KIND_COUNT);
		struct event e = make(&a, kind, rng_below(&rng, 2)), back;
		str body = body_of(&a, &e);
		char *p = arena_cstr(&a, body);

		for (size_t n = 1 + rng_below(&rng, 3); n > 0; n--)
			p[rng_below(&rng, body.n)] = (char)rng_next(&rng);
		if (decode(&a, kind, (str){ p, body.n }, &back, NULL) == 0)
			assert_int_equal(event_check(&back, NULL), 0);
		arena_done(&a);
	}
}

TEST(names)
{
	for (int kind = 0; kind < EVENT_KIND_COUNT; kind++) {
		struct shape info = event_shape((enum event_kind)kind);

		assert_int_equal(event_kind_parse(str_from(info.name)), kind);
		assert_true(event_help((enum event_kind)kind)[0]);
		for (size_t i = 0; i < info.n; i++)
			assert_true(info.fields[i].help[0]);
	}
	assert_int_equal(event_kind_parse(STR("goal")), -1);
}

TEST(view)
{
	struct arena a = ARENA_INIT;
	struct event e = make(&a, EV_RUN_STARTED, true);
	value *v = event_view(&a, &e);

	assert_int_equal(value_int_at(v, "seq"), 7);
	assert_true(str_is(value_str_at(v, "at"), "2027-01-15T08:00:00.123Z"));
	assert_true(str_is(value_str_at(v, "type"), "run.started"));
	assert_true(str_is(value_str_at(v, "run"), "R_1"));
	assert_int_equal(value_count(value_at(v, "data")), 0);
	arena_done(&a);
}

TEST_MAIN
