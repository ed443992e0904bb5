#include "tests/test.h"

#include "base/buf.h"
#include "base/str.h"
#include "tests/rng.h"

TEST(an_empty_buf_is_usable)
{
	struct buf b = BUF_INIT;

	assert_string_equal(buf_cstr(&b), "");
	assert_int_equal(buf_str(&b).n, 0);
	assert_non_null(buf_str(&b).p);
	buf_clear(&b);
	buf_consume(&b, 0);
	buf_add(&b, NULL, 0);
	assert_string_equal(buf_cstr(&b), "");
	buf_done(&b);
	buf_done(&b);
}

TEST(pieces_add_up)
{
	struct buf b = BUF_INIT;

	buf_adds(&b, STR("one"));
	buf_addc(&b, ' ');
	buf_addf(&b, "%d %s", 2, "three");
	assert_string_equal(b.p, "one 2 three");
	assert_int_equal(b.n, 11);
	buf_consume(&b, 4);
	assert_string_equal(b.p, "2 three");
	buf_consume(&b, b.n);
	assert_string_equal(b.p, "");
	buf_adds(&b, STR("again"));
	buf_clear(&b);
	assert_string_equal(b.p, "");
	assert_true(b.cap > 0);
	buf_done(&b);
	assert_null(b.p);
}

/* Against a plain array as the model; the NUL is there after every step. */
TEST(random_steps_agree_with_a_model)
{
	static char model[1 << 16];
	struct buf b = BUF_INIT;
	struct rng r = { 42 };
	size_t n = 0;

	for (int step = 0; step < 20000; step++) {
		size_t k = rng_below(&r, 300);
		char c = (char)('a' + rng_below(&r, 26));

		if (n + k < sizeof(model) && rng_below(&r, 3)) {
			buf_reserve(&b, k);
			for (size_t i = 0; i < k; i++) {
				buf_addc(&b, c);
				model[n++] = c;
			}
		} else {
			k = rng_below(&r, n + 1);
			buf_consume(&b, k);
			memmove(model, model + k, n - k);
			n -= k;
		}
		assert_int_equal(b.n, n);
		assert_int_equal(buf_cstr(&b)[n], 0);
	}
	assert_memory_equal(buf_cstr(&b), model, n);
	buf_done(&b);
}

TEST(formatting_longer_than_the_buffer)
{
	struct buf b = BUF_INIT;

	buf_addf(&b, "%*d", 5000, 1);
	assert_int_equal(b.n, 5000);
	assert_int_equal(b.p[4999], '1');
	buf_done(&b);
}

TEST(a_word_for_a_shell)
{
	struct buf b = BUF_INIT;

	buf_add_word(&b, STR("it's $HOME"));
	buf_addc(&b, ' ');
	buf_add_word(&b, STR(""));
	assert_string_equal(buf_cstr(&b), "'it'\\''s $HOME' ''");
	buf_done(&b);
}

TEST_MAIN
