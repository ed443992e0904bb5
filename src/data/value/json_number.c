#include "data/value/json_number_impl.h"

#include <math.h>
#include <stdlib.h>

#include "base/buf.h"

const char json_out_of_range[] = "number out of range";

struct number {
	const char *start, *end;
	uint64_t digits_value; /* exact while digits <= 19 */
	size_t digits;         /* from the first that is not zero */
	int64_t exponent;      /* of ten, for all digits taken as an integer */
	bool negative, real;
};

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *take_digits(struct number *n, const char *p)
{
	for (; is_digit(*p); p++) {
		n->digits += n->digits || *p != '0';
		if (n->digits <= 19)
			n->digits_value = n->digits_value * 10 + (uint64_t)(*p - '0');
	}
	return p;
}

static const char *take_exponent(struct number *n, const char *p)
{
	/* Far beyond any text's length, so that adding the place of the point cannot overflow. */
	const int64_t saturated = (int64_t)1 << 40;
	bool negative = *p == '-';
	int64_t e = 0;

	p += *p == '-' || *p == '+';
	n->end = p;
	if (!is_digit(*p))
		return "expected a digit in the exponent";
	for (; is_digit(*p); p++)
		e = MIN(e * 10 + (*p - '0'), saturated);
	n->exponent += negative ? -e : e;
	n->end = p;
	return NULL;
}

/* NULL or what is wrong; n->end is where. */
static const char *scan(struct number *n)
{
	const char *p = n->start, *fraction;

	n->negative = *p == '-';
	n->end = p += n->negative;
	if (!is_digit(*p))
		return "expected a digit";
	if (*p == '0' && is_digit(p[1]))
		return "number with a leading zero";
	p = take_digits(n, p);
	if (*p == '.') {
		n->real = true;
		fraction = ++p;
		n->end = p = take_digits(n, p);
		n->exponent = fraction - p;
		if (p == fraction)
			return "expected a digit after the point";
	}
	n->end = p;
	if (*p == 'e' || *p == 'E') {
		n->real = true;
		return take_exponent(n, p + 1);
	}
	return NULL;
}

/*
 * The C library rounds correctly, but reads the point of its locale: it gets the digits without a
 * point and an exponent instead.
 */
static double convert_slowly(const struct number *n)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	for (const char *p = n->start; p < n->end && *p != 'e' && *p != 'E'; p++)
		if (*p != '.')
			buf_addc(&text, *p);
	buf_addf(&text, "e%lld", (long long)n->exponent);
	return strtod(text.p, NULL);
}

static double convert_real(const struct number *n)
{
	static const double tens[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
		1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
	const int64_t exact = ARRAY_LEN(tens) - 1;
	double m;

	/* Both operands are exact, so one operation rounds once, and correctly. */
	if (n->digits > 19 || n->digits_value > (uint64_t)1 << 53 || n->exponent > exact ||
			n->exponent < -exact)
		return convert_slowly(n);
	m = n->negative ? -(double)n->digits_value : (double)n->digits_value;
	return n->exponent < 0 ? m / tens[-n->exponent] : m * tens[n->exponent];
}

const char *json_read_number(const char *p, struct json_number *ret, const char **ret_end)
{
	struct number n = { .start = p };
	const char *wrong = scan(&n);

	*ret_end = n.end;
	if (wrong)
		return wrong;
	ret->real = n.real;
	if (n.real) {
		ret->r = convert_real(&n);
		return isfinite(ret->r) ? NULL : json_out_of_range;
	}
	if (n.digits > 19 || n.digits_value > (uint64_t)INT64_MAX + n.negative)
		return json_out_of_range;
	ret->i = (int64_t)(n.negative ? 0 - n.digits_value : n.digits_value);
	return NULL;
}
