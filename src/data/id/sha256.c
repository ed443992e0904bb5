#include "data/id/sha256.h"

#include "base/arena.h"

static const uint32_t k[64] = {
	0x428a2f98,
	0x71374491,
	0xb5c0fbcf,
	0xe9b5dba5,
	0x3956c25b,
	0x59f111f1,
	0x923f82a4,
	0xab1c5ed5,
	0xd807aa98,
	0x12835b01,
	0x243185be,
	0x550c7dc3,
	0x72be5d74,
	0x80deb1fe,
	0x9bdc06a7,
	0xc19bf174,
	0xe49b69c1,
	0xefbe4786,
	0x0fc19dc6,
	0x240ca1cc,
	0x2de92c6f,
	0x4a7484aa,
	0x5cb0a9dc,
	0x76f988da,
	0x983e5152,
	0xa831c66d,
	0xb00327c8,
	0xbf597fc7,
	0xc6e00bf3,
	0xd5a79147,
	0x06ca6351,
	0x14292967,
	0x27b70a85,
	0x2e1b2138,
	0x4d2c6dfc,
	0x53380d13,
	0x650a7354,
	0x766a0abb,
	0x81c2c92e,
	0x92722c85,
	0xa2bfe8a1,
	0xa81a664b,
	0xc24b8b70,
	0xc76c51a3,
	0xd192e819,
	0xd6990624,
	0xf40e3585,
	0x106aa070,
	0x19a4c116,
	0x1e376c08,
	0x2748774c,
	0x34b0bcb5,
	0x391c0cb3,
	0x4ed8aa4a,
	0x5b9cca4f,
	0x682e6ff3,
	0x748f82ee,
	0x78a5636f,
	0x84c87814,
	0x8cc70208,
	0x90befffa,
	0xa4506ceb,
	0xbef9a3f7,
	0xc67178f2,
};

static inline uint32_t rotr(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static inline uint32_t load_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void store_be32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

/* One round; the caller renames the eight variables instead of moving them. */
#define ROUND(a, b, c, d, e, f, g, h, i, x)                                                        \
	do {                                                                                       \
		uint32_t t1 = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + (g ^ (e & (f ^ g))) + \
				k[i] + (x);                                                        \
		uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) +                           \
				((a & b) | (c & (a | b)));                                         \
		d += t1;                                                                           \
		h = t1 + t2;                                                                       \
	} while (0)

/* The schedule lives in a ring of 16 words: W[i] replaces W[i - 16]. */
#define NEXT(w, i)                                                                     \
	(w[(i)&15] += (rotr(w[((i) + 1) & 15], 7) ^ rotr(w[((i) + 1) & 15], 18) ^      \
				      w[((i) + 1) & 15] >> 3) +                        \
					w[((i) + 9) & 15] +                            \
					(rotr(w[((i) + 14) & 15], 17) ^                \
							rotr(w[((i) + 14) & 15], 19) ^ \
							w[((i) + 14) & 15] >> 10))

#define ROUNDS8(W, i)                                               \
	do {                                                        \
		ROUND(a, b, c, d, e, f, g, h, (i), W(i));           \
		ROUND(h, a, b, c, d, e, f, g, (i) + 1, W((i) + 1)); \
		ROUND(g, h, a, b, c, d, e, f, (i) + 2, W((i) + 2)); \
		ROUND(f, g, h, a, b, c, d, e, (i) + 3, W((i) + 3)); \
		ROUND(e, f, g, h, a, b, c, d, (i) + 4, W((i) + 4)); \
		ROUND(d, e, f, g, h, a, b, c, (i) + 5, W((i) + 5)); \
		ROUND(c, d, e, f, g, h, a, b, (i) + 6, W((i) + 6)); \
		ROUND(b, c, d, e, f, g, h, a, (i) + 7, W((i) + 7)); \
	} while (0)

#define FIRST_WORD(i) (w[i] = load_be32(p + 4 * (i)))
#define LATER_WORD(i) NEXT(w, i)

static void add_block(uint32_t s[8], const uint8_t *p)
{
	uint32_t a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
	uint32_t w[16];

	ROUNDS8(FIRST_WORD, 0);
	ROUNDS8(FIRST_WORD, 8);
	for (int i = 16; i < 64; i += 16) {
		ROUNDS8(LATER_WORD, i);
		ROUNDS8(LATER_WORD, i + 8);
	}
	s[0] += a;
	s[1] += b;
	s[2] += c;
	s[3] += d;
	s[4] += e;
	s[5] += f;
	s[6] += g;
	s[7] += h;
}

void sha256_init(struct sha256 *c)
{
	*c = (struct sha256){
		.h = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
				0x1f83d9ab, 0x5be0cd19 },
	};
}

void sha256_add(struct sha256 *c, const void *p, size_t n)
{
	const uint8_t *in = p;
	size_t have = c->total % 64, take;

	if (n == 0)
		return;
	c->total += n;
	if (have) {
		take = MIN(64 - have, n);
		memcpy(c->block + have, in, take);
		in += take;
		n -= take;
		if (have + take < 64)
			return;
		add_block(c->h, c->block);
	}
	for (; n >= 64; in += 64, n -= 64)
		add_block(c->h, in);
	if (n)
		memcpy(c->block, in, n);
}

void sha256_end(struct sha256 *c, uint8_t ret[static SHA256_LEN])
{
	uint64_t bits = c->total * 8;
	size_t have = c->total % 64;

	c->block[have++] = 0x80;
	if (have > 56) {
		memset(c->block + have, 0, 64 - have);
		add_block(c->h, c->block);
		have = 0;
	}
	memset(c->block + have, 0, 56 - have);
	store_be32(c->block + 56, (uint32_t)(bits >> 32));
	store_be32(c->block + 60, (uint32_t)bits);
	add_block(c->h, c->block);
	for (int i = 0; i < 8; i++)
		store_be32(ret + 4 * i, c->h[i]);
}

void sha256(const void *p, size_t n, uint8_t ret[static SHA256_LEN])
{
	struct sha256 c;

	sha256_init(&c);
	sha256_add(&c, p, n);
	sha256_end(&c, ret);
}

void hex_format(const uint8_t *p, size_t n, char *ret)
{
	for (size_t i = 0; i < n; i++) {
		ret[2 * i] = "0123456789abcdef"[p[i] >> 4];
		ret[2 * i + 1] = "0123456789abcdef"[p[i] & 15];
	}
	ret[2 * n] = '\0';
}

str sha256_hex(struct arena *a, str s)
{
	uint8_t sum[SHA256_LEN];
	char *hex = arena_alloc(a, SHA256_HEX + 1);

	sha256(s.p, s.n, sum);
	hex_format(sum, SHA256_LEN, hex);
	return (str){ hex, SHA256_HEX };
}
