#pragma once
/*
 * SHA-256 (FIPS 180-4), for the event chain, instruction hashes and derived ids. It is here, and
 * not in a crypto library, so that the pure core can hash: see docs/decisions.
 */
#include "base/ov.h"

enum { SHA256_LEN = 32, SHA256_HEX = 64 };

struct sha256 {
	uint32_t h[8];
	uint64_t total;
	uint8_t block[64];
};

void sha256_init(struct sha256 *c);
void sha256_add(struct sha256 *c, const void *p, size_t n);
void sha256_end(struct sha256 *c, uint8_t ret[static SHA256_LEN]);
void sha256(const void *p, size_t n, uint8_t ret[static SHA256_LEN]);
/* Lower-case hexadecimal of n bytes, NUL-terminated: ret holds 2n + 1. */
void hex_format(const uint8_t *p, size_t n, char *ret);
str sha256_hex(struct arena *a, str s);
