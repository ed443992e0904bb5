/* The vectors of RFC 4231. */
#include "tests/test.h"

#include "base/arena.h"
#include "base/str.h"
#include "data/id/hmac.h"

static str filled(struct arena *a, char c, size_t n)
{
	char *p = arena_alloc(a, n);

	memset(p, c, n);
	return (str){ p, n };
}

static void is(struct arena *a, str key, str data, const char *hex)
{
	str got = hmac_sha256_hex(a, key, data);

	if (!str_is(got, hex))
		fail_msg(STR_FMT " is not %s", STR_ARG(got), hex);
}

TEST(vectors)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	char counted[25];

	for (size_t i = 0; i < sizeof(counted); i++)
		counted[i] = (char)(i + 1);
	is(&a, filled(&a, 0x0b, 20), STR("Hi There"),
			"b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	is(&a, STR("Jefe"), STR("what do ya want for nothing?"),
			"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	is(&a, filled(&a, (char)0xaa, 20), filled(&a, (char)0xdd, 50),
			"773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
	is(&a, (str){ counted, sizeof(counted) }, filled(&a, (char)0xcd, 50),
			"82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
	is(&a, filled(&a, (char)0xaa, 131),
			STR("Test Using Larger Than Block-Size Key - Hash Key First"),
			"60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
	is(&a, filled(&a, (char)0xaa, 131),
			STR("This is a test using a larger than block-size key and a larger than "
			    "block-size data. The key needs to be hashed before being used by the "
			    "HMAC algorithm."),
			"9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(nothing)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	is(&a, (str){ 0 }, (str){ 0 },
			"b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST_MAIN
