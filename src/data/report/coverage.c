#include "data/report/coverage.h"

#include "base/str.h"
#include "data/report/xmlscan.h"

enum { WHOLE = 10000 };

static const int64_t most_lines = INT64_C(1000000000000);

static int64_t rate(int64_t covered, int64_t lines)
{
	return MIN(covered, lines) * WHOLE / lines;
}

static bool number_after(str line, const char *key, int64_t *sum)
{
	str k = str_from(key);
	int64_t n;

	if (!str_starts(line, k) || !str_to_i64(str_trim(str_sub(line, k.n, line.n)), &n) || n < 0)
		return false;
	*sum = MIN(*sum + MIN(n, most_lines), most_lines);
	return true;
}

static bool lcov_parse(str text, struct coverage *ret)
{
	struct coverage c = { .format = "lcov" };
	bool record = false;
	str line;

	while (str_split(&text, '\n', &line)) {
		record |= str_starts(line, STR("SF:"));
		if (!number_after(line, "LF:", &c.lines))
			(void)number_after(line, "LH:", &c.covered);
	}
	if (!record || !c.lines)
		return false;
	c.centi = rate(c.covered, c.lines);
	*ret = c;
	return true;
}

/* "0.8571" as hundredths of a percent; the digits that follow are cut. */
static bool fraction(str s, int64_t *ret)
{
	size_t dot = str_find_byte(s, '.');
	int64_t whole, part = 0, digit = WHOLE / 10;

	if (!str_to_i64(str_sub(s, 0, dot), &whole) || whole < 0 || whole > 1)
		return false;
	for (size_t i = dot + 1; i < s.n; i++, digit /= 10) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		part += digit * (s.p[i] - '0');
	}
	*ret = MIN(whole * WHOLE + part, (int64_t)WHOLE);
	return true;
}

static bool cobertura_parse(str text, struct coverage *ret)
{
	struct xml_scan scan = { text };
	struct coverage c = { .format = "cobertura" };
	struct xml_tag t;
	str covered, lines, line_rate;

	if (!xml_next(&scan, &t) || !str_is(t.name, "coverage") || t.end)
		return false;
	if (xml_attribute(&t, "lines-covered", &covered) &&
			xml_attribute(&t, "lines-valid", &lines) &&
			str_to_i64(covered, &c.covered) && str_to_i64(lines, &c.lines) &&
			c.covered >= 0 && c.lines > 0 && c.lines <= most_lines) {
		c.centi = rate(c.covered, c.lines);
		*ret = c;
		return true;
	}
	c.covered = c.lines = 0;
	if (!xml_attribute(&t, "line-rate", &line_rate) || !fraction(line_rate, &c.centi))
		return false;
	*ret = c;
	return true;
}

bool coverage_parse(str text, struct coverage *ret)
{
	return lcov_parse(text, ret) || cobertura_parse(text, ret);
}

void coverage_add(struct coverage *sum, const struct coverage *more)
{
	if (!sum->format) {
		*sum = *more;
		return;
	}
	if (!more->lines || !sum->lines || !str_is(str_from(more->format), sum->format))
		return;
	sum->covered = MIN(sum->covered + MIN(more->covered, most_lines), most_lines);
	sum->lines = MIN(sum->lines + more->lines, most_lines);
	sum->centi = rate(sum->covered, sum->lines);
}
