#pragma once
/*
 * ULIDs: 26 characters of Crockford's base 32, sortable by time. The caller gives time and
 * randomness, so that the same inputs make the same ids.
 */
#include "base/ov.h"

enum { ULID_LEN = 26, ULID_ENTROPY = 10 };

/*
 * Writes 26 characters and a NUL. Times that do not fit 48 bits are taken as the nearest that do.
 */
void ulid_format(ov_time at, const uint8_t entropy[static ULID_ENTROPY],
		char ret[static ULID_LEN + 1]);
bool ulid_valid(str s) _pure_;
/* The time in a valid ULID; 0 for an invalid one. */
ov_time ulid_time(str s) _pure_;
