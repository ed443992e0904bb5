#pragma once
/* HMAC-SHA-256 (RFC 2104): by it who gets a request knows that whoever sent it has the secret. */
#include "data/id/sha256.h"

void hmac_sha256(str key, str message, uint8_t ret[static SHA256_LEN]);
/* Lower-case hexadecimal, in the arena. */
str hmac_sha256_hex(struct arena *a, str key, str message);
