#include "tests/test.h"

#include "base/alloc.h"

TEST(zero_bytes_are_a_block)
{
	void *p = mem_alloc(0), *z = mem_zalloc(0, 0);

	assert_non_null(p);
	assert_non_null(z);
	p = mem_realloc(p, 0);
	assert_non_null(p);
	mem_free(p);
	mem_free(z);
	mem_free(NULL);
}

TEST(zalloc_clears_and_realloc_keeps)
{
	unsigned char *p = mem_zalloc(100, 10);

	for (int i = 0; i < 1000; i++)
		assert_int_equal(p[i], 0);
	memset(p, 7, 1000);
	p = mem_realloc(p, 100000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(p[i], 7);
	mem_free(p);
}

TEST(dup_terminates)
{
	_cleanup_(mem_freep) char *p = mem_dup("abcdef", 3);
	_cleanup_(mem_freep) char *empty = mem_dup(NULL, 0);

	assert_string_equal(p, "abc");
	assert_string_equal(empty, "");
}

TEST_MAIN
