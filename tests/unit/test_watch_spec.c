/* What a watchdog is told: read whole, or refused with the member's name. */
#include "tests/test.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "watch/guard/spec.h"

TEST_MAIN

#define TIMES                                                                              \
	"\"registration_timeout_ms\":1,\"heartbeat_timeout_ms\":2,\"stall_timeout_ms\":3," \
	"\"grace_ms\":4,\"restart_cooldown_ms\":5,\"remediation_timeout_ms\":6"
#define WATCH "\"watch\":{" TIMES ",\"max_restarts\":7,\"remediation_prompt\":\"mend\"}"
#define HEAD "{\"dir\":\"/d\",\"repo\":\"/r\",\"overseer\":null,\"start_command\":\"run\","

TEST(a_whole_one_is_read)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct spec s;

	assert_int_equal(spec_read(&a, STR(HEAD WATCH ",\"remedy\":null}"), &s, NULL), 0);
	assert_string_equal(s.dir, "/d");
	assert_null(s.overseer);
	assert_int_equal(s.registration_timeout, 1);
	assert_int_equal(s.remediation_timeout, 6);
	assert_int_equal(s.max_restarts, 7);
	assert_null(s.remedy_name);
	assert_null(s.remedy.argv);
}

TEST(somebody_who_mends_is_read)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct spec s;

	assert_int_equal(spec_read(&a,
					 STR(HEAD WATCH ",\"remedy\":{\"name\":\"claude\",\"argv\":"
							"[\"c\",\"-p\"],\"env\":[\"A=b\"],\"cwd\":"
							"\"/r\",\"prompt_on_stdin\":true,"
							"\"prompt_file\":\"/p\"}}"),
					 &s, NULL),
			0);
	assert_string_equal(s.remedy_name, "claude");
	assert_string_equal(s.remedy.argv[1], "-p");
	assert_null(s.remedy.argv[2]);
	assert_string_equal(s.remedy.env[0], "A=b");
	assert_true(s.remedy.prompt_on_stdin);
	assert_string_equal(s.remedy.prompt_file, "/p");
}

TEST(what_is_wrong_is_refused_by_name)
{
	static const struct {
		str text;
		const char *says;
	} cases[] = {
		{ STR("[]"), "not an object" },
		{ STR("{"), "what the watchdog is to do" },
		{ STR("{\"dir\":\"d\"}"), "absolute" },
		{ STR("{\"dri\":\"/d\"}"), "dri" },
		{ STR(HEAD "\"watch\":{},\"remedy\":null}"), "registration_timeout_ms" },
		{ STR(HEAD WATCH "}"), "remedy" },
		{ STR(HEAD WATCH ",\"remedy\":{}}"), "name" },
		{ STR(HEAD WATCH ",\"remedy\":{\"name\":\"n\",\"argv\":[],\"env\":[],"
				 "\"cwd\":\"/\",\"prompt_on_stdin\":true,"
				 "\"prompt_file\":null}}"),
				"argv" },
		{ STR(HEAD "\"watch\":{" TIMES ",\"max_restarts\":0,"
			   "\"remediation_prompt\":\"\"},\"remedy\":null}"),
				"max_restarts" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(arena_done) struct arena a = ARENA_INIT;
		struct ov_err err = { 0 };
		struct spec s;

		assert_int_equal(spec_read(&a, cases[i].text, &s, &err), OV_EINVALID);
		if (!str_contains(str_from(err.msg), str_from(cases[i].says)))
			fail_msg("%s: not a word of %s", err.msg, cases[i].says);
	}
}
