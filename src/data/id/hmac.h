#pragma once
/* HMAC-SHA-256 (RFC 2104): by it who gets a request knows that whoever sent it has the secret. */
#include "data/id/sha256.h"

/* Lower-case hexadecimal, in the arena. */
str hmac_sha256_hex(struct arena *a, str key, str message);
