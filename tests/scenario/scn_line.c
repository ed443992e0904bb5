/* The language of scenarios: lines into words, words against patterns, and the order of lines. */
#include "tests/test.h"

#include <ctype.h>
#include <stdio.h>

#include "base/duration.h"
#include "tests/scenario/scn.h"

void scn_fail(struct scn *s, const char *fmt, ...)
{
	va_list ap;
	str text;

	va_start(ap, fmt);
	text = arena_vprintf(&s->f.arena, fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s%s:%d: " STR_FMT "%s\n", buf_cstr(&s->trace), s->file, s->line,
			STR_ARG(text), s->restarts ? " (with restarts after every line)" : "");
	fflush(stderr);
	fail_msg("%s:%d: " STR_FMT, s->file, s->line, STR_ARG(text));
	abort();
}

/* HH:MM or HH:MM:SS; hours may be more than a day. */
bool time_of_day(str text, ov_time *ret)
{
	static const ov_time units[] = { OV_HOUR, OV_MINUTE, OV_SECOND };
	ov_time at = 0;
	size_t n = 0;
	str part;

	while (str_split(&text, ':', &part)) {
		int64_t number;

		if (n == 3 || part.n != 2 || !str_to_i64(part, &number) || number < 0 ||
				(n && number > 59))
			return false;
		at += number * units[n++];
	}
	*ret = at;
	return n >= 2;
}

static bool word_fits(str pattern, const struct tok *t, bool *ret_takes)
{
	ov_time time;
	int64_t n;
	str part;

	*ret_takes = true;
	if (str_is(pattern, "TEXT"))
		return t->quoted;
	if (t->quoted)
		return false;
	if (str_is(pattern, "NUM"))
		return str_to_i64(t->s, &n);
	if (str_is(pattern, "DUR"))
		return duration_parse(t->s, &n);
	if (str_is(pattern, "TIME"))
		return time_of_day(t->s, &time);
	if (str_is(pattern, "NODE"))
		return t->s.n && !islower((unsigned char)t->s.p[t->s.n - 1]);
	if (str_is(pattern, "NAME"))
		return true;
	*ret_takes = str_find_byte(pattern, '|') < pattern.n;
	while (str_split(&pattern, '|', &part))
		if (str_eq(part, t->s))
			return true;
	return false;
}

static bool rule_fits(const char *pattern, const struct tok *toks, size_t n, struct args *ret)
{
	str rest = str_from(pattern), part;
	size_t i = 0;

	ret->n = 0;
	while (str_split(&rest, ' ', &part)) {
		bool optional = str_ends(part, STR("?")), takes;

		if (str_is(part, "...")) {
			for (; i < n && ret->n < SCN_ARGS; i++)
				ret->v[ret->n++] = toks[i];
			return i == n;
		}
		part.n -= optional;
		if (i == n || !word_fits(part, &toks[i], &takes)) {
			if (optional)
				continue;
			return false;
		}
		if (takes && ret->n < SCN_ARGS)
			ret->v[ret->n++] = toks[i];
		i++;
	}
	return i == n;
}

const struct rule *rule_match(const struct rule *rules, size_t n, const struct tok *toks,
		size_t toks_n, struct args *ret)
{
	for (size_t i = 0; i < n; i++)
		if (rule_fits(rules[i].pattern, toks, toks_n, ret))
			return &rules[i];
	return NULL;
}

static str pair_key(str word)
{
	return str_sub(word, 0, str_find_byte(word, '='));
}

str pair_value(struct scn *s, const struct args *a, size_t from, const char *key)
{
	(void)s;
	for (size_t i = from; i < a->n; i++)
		if (str_is(pair_key(a->v[i].s), key))
			return str_sub(a->v[i].s, strlen(key) + 1, a->v[i].s.n);
	return (str){ 0 };
}

void pairs_only(struct scn *s, const struct args *a, size_t from, const char *const *keys, size_t n)
{
	for (size_t i = from; i < a->n; i++) {
		str key = pair_key(a->v[i].s);
		bool known = false;

		for (size_t k = 0; k < n; k++)
			known |= str_is(key, keys[k]);
		if (!known || key.n == a->v[i].s.n)
			scn_fail(s, "\"" STR_FMT "\" is not understood here", STR_ARG(a->v[i].s));
	}
}

/* The words of a line into toks; the words after a "#" are no part of it. */
static size_t split_words(struct scn *s, str line, struct tok *toks, size_t max)
{
	size_t n = 0, i = 0;

	while (i < line.n) {
		size_t start = i;

		if (line.p[i] == ' ' || line.p[i] == '\t') {
			i++;
			continue;
		}
		if (line.p[i] == '#')
			break;
		if (n == max)
			scn_fail(s, "too many words");
		if (line.p[i] == '"') {
			size_t end = str_find_byte(str_sub(line, i + 1, line.n), '"');

			if (i + 1 + end >= line.n)
				scn_fail(s, "a text has no closing quote");
			toks[n++] = (struct tok){ str_sub(line, i + 1, end), true };
			i += end + 2;
			continue;
		}
		while (i < line.n && line.p[i] != ' ' && line.p[i] != '\t' && line.p[i] != ';')
			i++;
		if (i == start)
			i++;
		toks[n++] = (struct tok){ str_sub(line, start, i - start), false };
	}
	return n;
}

static void move_to(struct scn *s, ov_time at)
{
	if (at < s->line_at)
		scn_fail(s, "time runs backwards");
	if (at > s->line_at)
		s->before_at = s->line_at;
	s->line_at = at;
	if (!s->begun)
		world_begin(s);
	world_advance(s, at);
	if (!s->by)
		facts_unexpected(s, at);
}

static void timed_line(struct scn *s, const struct tok *toks, size_t n)
{
	const struct rule *r;
	struct args args;
	ov_time at;

	s->by = str_is(toks[0].s, "by");
	toks += s->by;
	n -= s->by;
	if (n < 2 || !time_of_day(toks[0].s, &at))
		scn_fail(s, "a time and what happens then is wanted here");
	move_to(s, at);
	if (str_is(toks[1].s, "expect")) {
		expect_line(s, toks + 2, n - 2);
		return;
	}
	if (s->by)
		scn_fail(s, "\"by\" needs an \"expect\"");
	r = rule_match(happen_rules, happen_rules_n, toks + 1, n - 1, &args);
	if (!r)
		r = rule_match(people_rules, people_rules_n, toks + 1, n - 1, &args);
	if (!r)
		scn_fail(s, "nothing that can happen is written like this");
	r->fn(s, &args);
	world_advance(s, at);
}

static void play_line(struct scn *s, str line)
{
	struct tok toks[64];
	size_t n = split_words(s, line, toks, ARRAY_LEN(toks));
	const struct rule *r;
	struct args args;

	if (n == 0)
		return;
	buf_addf(&s->trace, "%4d  " STR_FMT "\n", s->line, STR_ARG(str_trim(line)));
	if (isdigit((unsigned char)toks[0].s.p[0]) || str_is(toks[0].s, "by")) {
		timed_line(s, toks, n);
		if (s->restarts)
			world_restart(s);
		return;
	}
	r = rule_match(given_rules, given_rules_n, toks, n, &args);
	if (!r)
		scn_fail(s, "no line begins like this");
	if (s->begun)
		scn_fail(s, "what is given stands before the first time");
	r->fn(s, &args);
}

void scn_play(const char *file, str text, bool restarts, bool verbose)
{
	struct scn s = { .file = file, .restarts = restarts, .verbose = verbose, .line_at = -1 };
	str line;

	fixture_init(&s.f);
	map_init(&s.lives, 1);
	s.base = s.f.now;
	given_default(&s);
	if (!str_starts(text, STR("# ")))
		scn_fail(&s, "the first line is a comment that states the rule");
	while (str_split(&text, '\n', &line)) {
		s.line++;
		play_line(&s, line);
	}
	if (s.expectations == 0)
		scn_fail(&s, "nothing is expected, so nothing could fail");
	facts_unexpected(&s, OV_TIME_MAX);
	if (verbose)
		fprintf(stderr, "%s", buf_cstr(&s.trace));
	world_done(&s);
	vec_done(&s.goals);
	vec_done(&s.facts);
	vec_done(&s.ignored);
	buf_done(&s.trace);
	fixture_done(&s.f);
}

static void print_rules(const char *title, const char *before, const struct rule *rules, size_t n)
{
	printf("%s\n", title);
	for (size_t i = 0; i < n; i++)
		printf("  %s%-42s %s\n", before, rules[i].pattern, rules[i].help);
}

void scn_words(void)
{
	print_rules("Given, before the first time:", "", given_rules, given_rules_n);
	print_rules("Happenings, after a time:", "", happen_rules, happen_rules_n);
	print_rules("Said by people, agents and planners, after a time:", "", people_rules,
			people_rules_n);
	print_rules("Expectations about how things stand, after a time:", "expect ", expect_rules,
			expect_rules_n);
	facts_words();
}
