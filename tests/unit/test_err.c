#include "tests/test.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

TEST(the_table_is_whole)
{
	for (int code = -1; code > -OV_CODE_COUNT; code--) {
		const struct ov_code_info *info = ov_code_info(code);

		assert_int_equal(ov_code_from_name(str_from(info->name)), code);
		assert_int_equal(ov_code_from_rpc(info->rpc_code), code);
		assert_in_range(info->http_status, 400, 599);
		assert_in_range(info->exit_status, 2, 70);
		assert_memory_equal(info->name, "E_", 2);
	}
	assert_int_equal(ov_code_info(0)->exit_status, 0);
}

TEST(unknown_codes_are_internal)
{
	assert_string_equal(ov_code_info(12)->name, "E_INTERNAL");
	assert_string_equal(ov_code_info(-999)->name, "E_INTERNAL");
	assert_int_equal(ov_code_from_name(STR("E_NONSENSE")), OV_EINTERNAL);
	assert_int_equal(ov_code_from_rpc(-1), OV_EINTERNAL);
}

TEST(messages_grow_context)
{
	struct ov_err e = { 0 };

	assert_int_equal(ov_fail(&e, OV_ENOTFOUND, "no goal \"%s\"", "g1"), OV_ENOTFOUND);
	assert_int_equal(ov_next(&e, "overseer goal list"), OV_ENOTFOUND);
	assert_int_equal(ov_wrap(&e, OV_ENOTFOUND, "plan apply"), OV_ENOTFOUND);
	assert_string_equal(e.msg, "plan apply: no goal \"g1\"");
	assert_string_equal(e.next, "overseer goal list");
	assert_int_equal(ov_wrap(&e, OV_ESTATE, "again"), OV_ESTATE);
	assert_int_equal(e.code, OV_ESTATE);
	ov_fail(&e, OV_EIO, "new"); /* an old hint does not stay */
	assert_string_equal(e.next, "");
}

TEST(errno_is_named)
{
	struct ov_err e = { 0 };

	assert_int_equal(ov_fail_errno(&e, ENOENT, "open %s", "x"), OV_EIO);
	assert_non_null(strstr(e.msg, "open x: "));
	assert_true(strlen(e.msg) > strlen("open x: "));
}

TEST(an_error_nobody_wants)
{
	assert_int_equal(ov_fail(NULL, OV_EIO, "x"), OV_EIO);
	assert_int_equal(ov_wrap(NULL, OV_ELIMIT, "x"), OV_ELIMIT);
	assert_int_equal(ov_fail_errno(NULL, EIO, "x"), OV_EIO);
}

TEST(long_messages_say_that_they_are_cut)
{
	struct ov_err e = { 0 };

	ov_fail(&e, OV_EIO, "%*d", 5000, 1);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
	assert_string_equal(e.msg + sizeof(e.msg) - 4, "...");
	ov_wrap(&e, OV_EIO, "context");
	assert_memory_equal(e.msg, "context: ", 9);
	assert_string_equal(e.msg + sizeof(e.msg) - 4, "...");
}

TEST_MAIN
