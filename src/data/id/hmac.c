#include "data/id/hmac.h"

#include "base/arena.h"

enum { BLOCK = 64 };

static void hmac_begin(struct sha256 *c, const uint8_t key[static BLOCK], uint8_t pad)
{
	uint8_t block[BLOCK];

	for (size_t i = 0; i < BLOCK; i++)
		block[i] = key[i] ^ pad;
	sha256_init(c);
	sha256_add(c, block, BLOCK);
}

static void hmac_sha256(str key, str message, uint8_t ret[static SHA256_LEN])
{
	uint8_t block[BLOCK] = { 0 }, inner[SHA256_LEN];
	struct sha256 c;

	if (key.n > BLOCK)
		sha256(key.p, key.n, block);
	else if (key.n)
		memcpy(block, key.p, key.n);
	hmac_begin(&c, block, 0x36);
	sha256_add(&c, message.p, message.n);
	sha256_end(&c, inner);
	hmac_begin(&c, block, 0x5c);
	sha256_add(&c, inner, sizeof(inner));
	sha256_end(&c, ret);
}

str hmac_sha256_hex(struct arena *a, str key, str message)
{
	uint8_t mac[SHA256_LEN];
	char *hex = arena_alloc(a, SHA256_HEX + 1);

	hmac_sha256(key, message, mac);
	hex_format(mac, sizeof(mac), hex);
	return (str){ hex, SHA256_HEX };
}
