#include "tests/test.h"

#include <malloc.h>

#include "base/arena.h"
#include "base/str.h"
#include "tests/rng.h"

TEST(blocks_are_aligned_and_apart)
{
	struct arena a = ARENA_INIT;
	struct rng r = { 1 };
	unsigned char *blocks[500];
	size_t sizes[500];

	for (size_t i = 0; i < 500; i++) {
		sizes[i] = rng_below(&r, i % 50 == 0 ? 40000 : 200);
		blocks[i] = arena_alloc(&a, sizes[i]);
		assert_int_equal((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
		memset(blocks[i], (int)(i & 0xff), sizes[i]);
	}
	for (size_t i = 0; i < 500; i++)
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(blocks[i][k], i & 0xff);
	assert_true(a.used > 0);
	arena_done(&a);
	assert_null(a.head);
	assert_int_equal(a.used, 0);
}

TEST(zeroed_even_when_reused)
{
	struct arena a = ARENA_INIT;

	memset(arena_alloc(&a, 1000), 0xff, 1000);
	arena_reset(&a);
	assert_int_equal(a.used, 0);
	for (int i = 0; i < 10; i++) {
		const char *p = arena_zalloc(&a, 100);

		for (int k = 0; k < 100; k++)
			assert_int_equal(p[k], 0);
	}
	arena_done(&a);
}

TEST(reset_keeps_one_chunk_for_reuse)
{
	struct arena a = ARENA_INIT;
	void *blocks[100], *kept;
	bool reused = false;

	for (size_t i = 0; i < ARRAY_LEN(blocks); i++)
		blocks[i] = arena_alloc(&a, 4096);
	arena_reset(&a);
	kept = arena_alloc(&a, 60 * 1024); /* the biggest that may be kept was */
	for (size_t i = 0; i < ARRAY_LEN(blocks); i++)
		reused |= blocks[i] == kept;
	assert_true(reused);
	arena_reset(&a);
	assert_ptr_equal(arena_alloc(&a, 16), kept);
	arena_done(&a);
	arena_reset(&a); /* an empty arena may be reset, too */
}

TEST(strings_are_copied_and_terminated)
{
	struct arena a = ARENA_INIT;
	char text[] = "hello";
	str s = arena_str(&a, (str){ text, 5 }), none = arena_str(&a, (str){ 0 });

	memset(text, 'x', 5);
	assert_string_equal(s.p, "hello");
	assert_int_equal(s.n, 5);
	assert_string_equal(none.p, "");
	assert_true(str_is(arena_printf(&a, "%d-%s", 7, "up"), "7-up"));
	arena_done(&a);
}

TEST(a_block_bigger_than_any_chunk)
{
	struct arena a = ARENA_INIT;
	char *p = arena_alloc(&a, 5 << 20);

	p[0] = p[(5 << 20) - 1] = 1;
	arena_done(&a);
}

/* A thousand objects with three short texts each must not cost a thousand chunks for a request. */
TEST(a_small_arena_takes_little)
{
	enum { MANY = 100, MOST = 512 };
	struct arena all[MANY];
	struct mallinfo2 before = mallinfo2();

	for (size_t i = 0; i < MANY; i++) {
		all[i] = ARENA_SMALL;
		arena_alloc(&all[i], 100);
		arena_done(&all[i]);
		arena_alloc(&all[i], 100); /* it is small again */
		arena_reset(&all[i]);
		assert_int_equal(all[i].used, 0);
		memset(arena_alloc(&all[i], 200), 1, 200);
	}
	assert_true(mallinfo2().uordblks < before.uordblks + (size_t)MANY * MOST);
	memset(arena_alloc(&all[0], 100000), 1, 100000); /* and grows as every other */
	for (size_t i = 0; i < MANY; i++)
		arena_done(&all[i]);
}

TEST_MAIN
