/*
 * JUnit XML, as many tools write it: its test cases are counted, however their suites are nested. A
 * report without cases is believed in what its outermost suites say.
 */
#include "base/str.h"
#include "data/report/testsum_impl.h"
#include "data/report/xmlscan.h"

struct testcase {
	bool open, failed, skipped;
	str name, classname;
};

static void case_end(struct testsum_reading *r, struct testcase *c)
{
	if (!c->open)
		return;
	/* Both: it was expected to fail. */
	if (c->skipped)
		reading_add(&r->sum.skipped, 1);
	else
		reading_add(c->failed ? &r->sum.failed : &r->sum.passed, 1);
	if (c->failed && !c->skipped) {
		str name = xml_text(r->a, c->name), classname = xml_text(r->a, c->classname);

		reading_name(r,
				classname.n && !str_eq(classname, name)
						? arena_printf(r->a, STR_FMT "." STR_FMT,
								  STR_ARG(classname), STR_ARG(name))
						: name);
	}
	reading_add(&r->seen, 1);
	*c = (struct testcase){ 0 };
}

static void case_begin(struct testsum_reading *r, struct testcase *c, const struct xml_tag *t)
{
	str status = { 0 };

	case_end(r, c);
	*c = (struct testcase){ .open = true };
	(void)xml_attribute(t, "name", &c->name);
	(void)xml_attribute(t, "classname", &c->classname);
	if (xml_attribute(t, "status", &status))
		c->skipped = str_is(status, "disabled");
	c->name = str_sub(c->name, 0, TESTSUM_NAME_BYTES * 4);
	c->classname = str_sub(c->classname, 0, TESTSUM_NAME_BYTES * 4);
	if (t->empty)
		case_end(r, c);
}

static int64_t junit_count(const struct xml_tag *t, const char *name)
{
	int64_t n;
	str s;

	return xml_attribute(t, name, &s) && str_to_i64(s, &n) && n > 0 ? n : 0;
}

static void suite_totals(struct testsum_reading *r, const struct xml_tag *t)
{
	int64_t failed = junit_count(t, "failures") + junit_count(t, "errors"),
		skipped = junit_count(t, "skipped") + junit_count(t, "disabled");

	reading_add(&r->failed, failed);
	reading_add(&r->skipped, skipped);
	reading_add(&r->passed, MAX(junit_count(t, "tests") - failed - skipped, 0));
}

/* How the suites around stand: how many are open, and within which one the numbers were taken. */
struct suites {
	size_t open, told;
};

static void suite(struct testsum_reading *r, struct suites *s, const struct xml_tag *t)
{
	r->found = true;
	if (t->end) {
		s->open -= s->open > 0;
		if (s->told > s->open)
			s->told = 0;
		return;
	}
	/* One around all may give no numbers; what is within one that does is in them already. */
	if (!s->told && str_contains(t->attributes, STR("tests="))) {
		suite_totals(r, t);
		s->told = t->empty ? 0 : s->open + 1;
	}
	s->open += !t->empty;
}

static void junit_text(struct testsum_reading *r, str text)
{
	struct xml_scan scan = { str_sub(text, str_find(text, STR("<testsuite")), text.n) };
	struct testcase c = { 0 };
	struct suites s = { 0 };
	struct xml_tag t;

	while (xml_next(&scan, &t)) {
		if (str_is(t.name, "testsuite") || str_is(t.name, "testsuites")) {
			suite(r, &s, &t);
		} else if (str_is(t.name, "testcase")) {
			if (t.end)
				case_end(r, &c);
			else
				case_begin(r, &c, &t);
		} else if (c.open && !t.end) {
			c.failed |= str_is(t.name, "failure") || str_is(t.name, "error");
			c.skipped |= str_is(t.name, "skipped");
		}
	}
	/* It breaks off in the middle. */
	r->sum.broken = s.open || c.open;
	r->full = r->found && !r->sum.broken;
	case_end(r, &c);
}

static void junit_end(struct testsum_reading *r)
{
	if (r->seen)
		return;
	r->sum.passed = r->passed;
	r->sum.failed = r->failed;
	r->sum.skipped = r->skipped;
}

const struct testsum_reader junit_reader = { "junit", NULL, junit_text, junit_end };
