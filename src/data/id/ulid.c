#include "data/id/ulid.h"

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

enum { TIME_LEN = 10 }; /* characters of time; the other 16 are entropy */
static const ov_time time_max = ((ov_time)1 << 48) - 1;

static int digit_value(char c)
{
	const char *p = c ? strchr(digits, c) : NULL;

	return p ? (int)(p - digits) : -1;
}

void ulid_format(ov_time at, const uint8_t entropy[static ULID_ENTROPY],
		char ret[static ULID_LEN + 1])
{
	uint64_t t = (uint64_t)MIN(MAX(at, 0), time_max), high = 0, low = 0;

	for (int i = TIME_LEN - 1; i >= 0; i--, t >>= 5)
		ret[i] = digits[t & 31];
	/* 80 bits as two halves of 40, each eight characters. */
	for (int i = 0; i < ULID_ENTROPY / 2; i++) {
		high = high << 8 | entropy[i];
		low = low << 8 | entropy[i + ULID_ENTROPY / 2];
	}
	for (int i = 7; i >= 0; i--, high >>= 5, low >>= 5) {
		ret[TIME_LEN + i] = digits[high & 31];
		ret[TIME_LEN + 8 + i] = digits[low & 31];
	}
	ret[ULID_LEN] = '\0';
}

bool ulid_valid(str s)
{
	/* The first character carries only three bits: 26 characters hold 130, an id has 128. */
	if (s.n != ULID_LEN || digit_value(s.p[0]) > 7)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (digit_value(s.p[i]) < 0)
			return false;
	return true;
}

ov_time ulid_time(str s)
{
	ov_time t = 0;

	if (!ulid_valid(s))
		return 0;
	for (size_t i = 0; i < TIME_LEN; i++)
		t = t << 5 | digit_value(s.p[i]);
	return t;
}
