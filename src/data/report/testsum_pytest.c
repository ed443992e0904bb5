/* pytest: "==== 1 failed, 2 passed in 0.10s ====", with -q without the frame. */
#include "base/str.h"
#include "data/report/testsum_impl.h"

static void session_end(struct testsum_reading *r)
{
	reading_add(&r->sum.passed, r->passed);
	reading_add(&r->sum.failed, r->failed);
	reading_add(&r->sum.skipped, r->skipped);
	r->passed = r->failed = r->skipped = 0;
}

static str unframed(str line)
{
	while (line.n && line.p[0] == '=')
		line = str_sub(line, 1, line.n);
	while (line.n && line.p[line.n - 1] == '=')
		line.n--;
	return str_trim(line);
}

struct totals {
	int64_t passed, failed, skipped;
	bool any;
};

/* "3 failed"; what else is counted (warnings, deselected) is no test that ran. */
static bool item(str s, struct totals *t)
{
	const struct {
		const char *word;
		int64_t *sum;
	} words[] = { { " passed", &t->passed }, { " failed", &t->failed },
		{ " error", &t->failed }, { " errors", &t->failed }, { " skipped", &t->skipped },
		{ " xfailed", &t->skipped }, { " xpassed", &t->passed }, { " deselected", NULL },
		{ " warning", NULL }, { " warnings", NULL }, { " rerun", NULL },
		{ " reruns", NULL } };
	int64_t n;

	if (!take_number(&s, &n))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (str_is(s, words[i].word)) {
			if (words[i].sum)
				reading_add(words[i].sum, n);
			t->any = true;
			return true;
		}
	/* A word of a plugin's. */
	return s.n > 1 && s.p[0] == ' ';
}

/* "0.10s", and "75.02s (0:01:15)". */
static bool is_time(str s)
{
	int64_t n;

	if (!take_number(&s, &n) || !take_word(&s, ".") || !take_number(&s, &n) ||
			!take_word(&s, "s"))
		return false;
	return !s.n || str_starts(s, STR(" ("));
}

static bool summary(str line, struct totals *ret)
{
	size_t at = str_find(line, STR(" in "));
	str items = str_sub(line, 0, at), part;
	struct totals t = { 0 };

	if (at == line.n || !is_time(str_sub(line, at + 4, line.n)))
		return false;
	if (str_is(items, "no tests ran")) {
		*ret = t;
		return true;
	}
	while (str_split(&items, ',', &part))
		if (!item(str_trim(part), &t))
			return false;
	*ret = t;
	return t.any;
}

static void pytest_line(struct testsum_reading *r, str line)
{
	struct totals t;

	if (line.p[0] == '=' && str_contains(line, STR(" test session starts "))) {
		session_end(r);
		r->found = true;
		r->begun = true;
		return;
	}
	if (take_word(&line, "FAILED ") || take_word(&line, "ERROR ")) {
		/* Their order is that of the list; what follows " - " is why. */
		if (str_contains(line, STR("::")) || str_contains(line, STR(".py")))
			reading_name(r, str_sub(line, 0, str_find(line, STR(" - "))));
		return;
	}
	if (!(line.p[0] == '=' || (line.p[0] >= '0' && line.p[0] <= '9') || line.p[0] == 'n') ||
			!summary(unframed(line), &t))
		return;
	r->found = r->full = true;
	r->begun = false;
	r->passed = t.passed;
	r->failed = t.failed;
	r->skipped = t.skipped;
}

static void pytest_end(struct testsum_reading *r)
{
	session_end(r);
	r->sum.broken = r->begun; /* a session without its total */
}

const struct testsum_reader pytest_reader = { "pytest", pytest_line, NULL, pytest_end };
