#include "tests/test.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "data/id/sha256.h"
#include "tests/rng.h"

/* FIPS 180-4's examples and others whose sums sha256sum gives. */
TEST(known_sums)
{
	static const struct {
		const char *text, *sum;
	} cases[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
				"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c"
				"1" },
		{ "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopq"
		  "klmn"
		  "opqrlmnopqrsmnopqrstnopqrstu",
				"cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d"
				"1" },
		{ "The quick brown fox jumps over the lazy dog",
				"d7a8fbb307d7809469ca9abcb0082e4f8d5651e46d3cdb762d02d0bf37c9e59"
				"2" },
	};
	struct arena a = ARENA_INIT;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(sha256_hex(&a, str_from(cases[i].text)).p, cases[i].sum);
	arena_done(&a);
}

TEST(a_million_a)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;

	buf_reserve(&b, 1000000);
	for (int i = 0; i < 1000000; i++)
		buf_addc(&b, 'a');
	assert_string_equal(sha256_hex(&a, buf_str(&b)).p,
			"cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	buf_done(&b);
	arena_done(&a);
}

/*
 * All lengths around the block size at once: the sum of the sums of 0, 1, ... 299 bytes "x",
 * made with sha256sum.
 */
TEST(every_length)
{
	struct arena a = ARENA_INIT;
	struct buf sums = BUF_INIT;
	char text[300];

	memset(text, 'x', sizeof(text));
	for (size_t n = 0; n < 300; n++)
		buf_adds(&sums, sha256_hex(&a, (str){ text, n }));
	assert_string_equal(sha256_hex(&a, buf_str(&sums)).p,
			"3d495ac8356e73941898cd69a28db2416d82a39572f771b3306e99afe7e013e0");
	buf_done(&sums);
	arena_done(&a);
}

TEST(pieces_make_no_difference)
{
	struct rng r = { 2 };
	uint8_t whole[SHA256_LEN], pieces[SHA256_LEN];
	char text[1000];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)rng_next(&r);
	for (int round = 0; round < 500; round++) {
		size_t n = rng_below(&r, sizeof(text)), at = 0;
		struct sha256 c;

		sha256(text, n, whole);
		sha256_init(&c);
		while (at < n) {
			size_t k = rng_up_to(&r, 150, n - at);

			sha256_add(&c, text + at, k);
			at += k;
		}
		sha256_add(&c, NULL, 0);
		sha256_end(&c, pieces);
		assert_memory_equal(whole, pieces, SHA256_LEN);
	}
}

TEST(hexadecimal)
{
	static const uint8_t bytes[] = { 0x00, 0x0f, 0xf0, 0xff, 0xa5 };
	char text[11];

	hex_format(bytes, 5, text);
	assert_string_equal(text, "000ff0ffa5");
	hex_format(bytes, 0, text);
	assert_string_equal(text, "");
}

TEST_MAIN
