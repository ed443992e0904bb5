#include "tests/test.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "data/message/vital.h"
#include "data/value/json.h"

#define INSTANCE "0123456789abcdef"

TEST(a_beat_is_read_back_and_a_torn_one_is_not)
{
	struct heartbeat h = { INSTANCE, 12, 34, true, false, 1234567890123 }, back;
	struct buf b = BUF_INIT;

	heartbeat_write(&h, &b);
	assert_int_equal(b.n, HEARTBEAT_BYTES);
	assert_true(heartbeat_read(buf_str(&b), &back));
	assert_memory_equal(&h, &back, sizeof(h));
	for (size_t n = 0; n < b.n; n++)
		assert_false(heartbeat_read((str){ b.p, n }, &back));
	memset(b.p, 0, 10);
	assert_false(heartbeat_read(buf_str(&b), &back));
	buf_done(&b);
}

TEST(the_largest_beat_fits)
{
	struct heartbeat h = { INSTANCE, INT64_MAX, INT64_MAX, false, false, INT64_MAX };
	struct buf b = BUF_INIT;

	heartbeat_write(&h, &b);
	assert_int_equal(b.n, HEARTBEAT_BYTES);
	buf_done(&b);
}

TEST(lines_of_health_are_read_back)
{
	struct buf b = BUF_INIT;

	for (int k = 0; k < HEALTH_COUNT; k++) {
		struct health h = { (enum health_kind)k, INSTANCE, 1234567890123, "a \"text\"\n" },
			      back = { 0 };

		buf_clear(&b);
		health_write(&h, &b);
		assert_int_equal(b.p[b.n - 1], '\n');
		assert_true(health_read((str){ b.p, b.n - 1 }, &back));
		assert_int_equal(back.kind, h.kind);
		assert_string_equal(back.instance, h.instance);
		assert_string_equal(back.text, h.text);
		assert_true(back.at == h.at);
	}
	buf_done(&b);
}

TEST(acts_are_read_back)
{
	struct buf b = BUF_INIT;

	for (int k = 0; k < ACT_COUNT; k++)
		for (int f = 0; f < FAILURE_COUNT; f++) {
			struct act x = { 7, (enum act_kind)k, (enum failure)f, INSTANCE, "",
				1234567890123, "text" },
				   back = { 0 };

			buf_clear(&b);
			act_write(&x, &b);
			assert_true(act_read((str){ b.p, b.n - 1 }, &back));
			assert_int_equal(back.n, 7);
			assert_int_equal(back.kind, k);
			assert_int_equal(back.failure, f);
			assert_string_equal(back.instance, "");
		}
	buf_done(&b);
}

TEST(what_is_none_of_ours_is_refused)
{
	static const char *const lines[] = { "", "{}", "[]", "null", "{\"kind\":\"started\"}",
		"{\"time\":\"2026-01-01T00:00:00Z\",\"instance\":\"x\",\"kind\":\"started\","
		"\"text\":\"\"}",
		"{\"time\":\"2026-01-01T00:00:00Z\",\"instance\":\"" INSTANCE
		"\",\"kind\":\"odd\",\"text\":\"\"}",
		"{\"n\":0,\"time\":\"2026-01-01T00:00:00Z\",\"watch\":\"" INSTANCE
		"\",\"kind\":\"left\",\"failure\":\"none\"}" };
	struct health h;
	struct act x;

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		assert_false(health_read(str_from(lines[i]), &h));
		assert_false(act_read(str_from(lines[i]), &x));
	}
}

TEST(a_long_text_is_cut_between_characters)
{
	struct health h = { HEALTH_FAILED, INSTANCE, 1, "" }, back;
	struct buf b = BUF_INIT;

	buf_adds(&b,
			STR("{\"time\":\"2026-01-01T00:00:00Z\",\"instance\":\"" INSTANCE
			    "\",\"kind\":\"failed\",\"text\":\"x"));
	for (int i = 0; i < 300; i++)
		buf_adds(&b, STR("\xc3\xa4"));
	buf_adds(&b, STR("\"}"));
	assert_true(health_read(buf_str(&b), &back));
	assert_int_equal(strlen(back.text), VITAL_TEXT - 1);
	assert_int_equal(back.kind, h.kind);
	buf_done(&b);
}

TEST(who_it_is)
{
	struct identity id = { 42, 4711, "01234567-89ab-cdef-0123-456789abcdef", INSTANCE }, back;
	struct arena a = ARENA_INIT;
	value *v = value_object(&a);

	identity_put(&a, v, &id);
	assert_true(identity_read(v, &back));
	assert_true(identity_eq(&id, &back));
	back.start_time++;
	assert_false(identity_eq(&id, &back));
	value_put(&a, v, "pid", value_int(&a, 0));
	assert_false(identity_read(v, &back));
	assert_false(identity_read(value_object(&a), &back));
	arena_done(&a);
}

TEST(every_exit_status_has_a_text)
{
	assert_string_equal(daemon_exit_text(20), "auto mode cannot go on: a command of it failed");
	assert_string_equal(daemon_exit_text(8), "input or output failed");
	assert_string_equal(daemon_exit_text(99), "not a status of the daemon's");
}

TEST_MAIN
