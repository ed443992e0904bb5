#include "core/inbox/inbox.h"

#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/str.h"

static const struct inbox_kind kinds[] = {
#define ASK(sym, word, ...) { sym, __VA_ARGS__ },
#define ASK_TOO(sym, ...) { sym, __VA_ARGS__ },
#define ASK_PLAIN(sym, word)
#include "core/model/asks.def"
};

static const struct inbox_kind of_node = { ASK_OTHER, ABOUT_NODE, URGENCY_WARNING,
	.why = "it cannot go on by itself" },
			       of_none = { ASK_OTHER, ABOUT_ANY, URGENCY_WARNING,
				       .why = "somebody has to know of it" };

/* Answers that every entry about a node has. */
static const enum say node_says[] = { SAY_RETRY, SAY_DONE, SAY_CANCEL, SAY_TEXT };

/* What follows an answer that is nothing without a reason. */
static const str needs_why = STR(" WHY");

static const struct inbox_kind *inbox_find(enum ask ask, enum inbox_about about)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (kinds[i].ask == ask && about >= kinds[i].about)
			return &kinds[i];
	return about == ABOUT_NODE ? &of_node : &of_none;
}

const struct inbox_kind *inbox_kind_of(const struct escalation *x)
{
	return inbox_find(x->ask,
			x->node_id.n                   ? ABOUT_NODE
					: x->goal_id.n ? ABOUT_GOAL
						       : ABOUT_ANY);
}

const struct inbox_kind *inbox_kind_for(enum ask ask, bool about_node)
{
	return inbox_find(ask, about_node ? ABOUT_NODE : ABOUT_GOAL);
}

static str say_word(enum say say)
{
	return str_from(status_name(&say_words, (int)say));
}

bool inbox_needs_why(enum say say)
{
	return str_ends(say_word(say), needs_why);
}

str inbox_said(struct arena *a, enum say say, str why)
{
	str word = say_word(say);

	if (!inbox_needs_why(say))
		return word;
	return why.n ? arena_printf(a, STR_FMT " " STR_FMT,
				       STR_ARG(str_sub(word, 0, word.n - needs_why.n)),
				       STR_ARG(why))
		     : STR("");
}

enum say inbox_say(str text, str *ret_why)
{
	*ret_why = STR("");
	for (int i = SAY_TEXT + 1; i < SAY_COUNT; i++) {
		str word = say_word((enum say)i),
		    start = str_sub(word, 0, word.n - MIN(word.n, needs_why.n));

		if (!inbox_needs_why((enum say)i)) {
			if (str_eq(text, word))
				return (enum say)i;
			continue;
		}
		if (str_starts(text, start))
			*ret_why = str_trim(str_sub(text, start.n, text.n));
		if (ret_why->n)
			return (enum say)i;
	}
	return SAY_TEXT;
}

struct texts inbox_options(struct arena *a, const enum say *list)
{
	struct texts t = { arena_array(a, str, SAYS_MAX), 0 };

	for (; t.n < SAYS_MAX && list[t.n] != SAY_TEXT; t.n++)
		t.p[t.n] = say_word(list[t.n]);
	return t;
}

bool inbox_offers(const struct escalation *x, str text)
{
	for (size_t i = 0; i < x->options.n; i++)
		if (str_eq(x->options.p[i], text))
			return true;
	return false;
}

static str joined(struct arena *a, const str *words, size_t n)
{
	str all = STR("");

	for (size_t i = 0; i < n; i++)
		all = arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(all), i ? "|" : "",
				STR_ARG(words[i]));
	return all;
}

str inbox_words(struct arena *a, const struct escalation *x)
{
	const struct inbox_kind *k = inbox_kind_of(x);
	struct texts own = inbox_options(a, k->says);
	str words = own.n ? joined(a, own.p, own.n) : joined(a, x->options.p, x->options.n);

	if (k->closed && words.n)
		return words;
	if (!words.n && x->node_id.n) {
		own = inbox_options(a, node_says);
		words = joined(a, own.p, own.n);
	}
	return arena_printf(a, STR_FMT "%sTEXT", STR_ARG(words), words.n ? "|" : "");
}

static bool is_in(const enum say *list, enum say say)
{
	for (size_t i = 0; i < SAYS_MAX && list[i] != SAY_TEXT; i++)
		if (list[i] == say)
			return true;
	return false;
}

bool inbox_has_answer(const struct escalation *x, enum say say)
{
	const struct inbox_kind *k = inbox_kind_of(x);

	return say != SAY_TEXT &&
			(is_in(k->says, say) || say == k->approve || say == k->deny ||
					(x->node_id.n && is_in(node_says, say)));
}

/* Further words that decide something when they stand alone: commands of the inbox, yes and no. */
static const char *const other_words[] = { "approve", "deny", "dismiss", "snooze", "reject",
	"start", "pause", "skip", "ignore", "yes", "no", "ok", "y", "n" };

static bool same(str a, const char *word)
{
	return a.n == strlen(word) && strncasecmp(a.p, word, a.n) == 0;
}

/* An answer to some entry. "check" is one of reviews alone, and how much guidance begins. */
static bool is_command(str text)
{
	for (int i = SAY_TEXT + 1; i < SAY_COUNT; i++)
		if (i != SAY_CHECK && same(text, status_name(&say_words, i)))
			return true;
	for (size_t i = 0; i < ARRAY_LEN(other_words); i++)
		if (same(text, other_words[i]))
			return true;
	return false;
}

static str next_word(str *rest)
{
	size_t n = 0;
	str word;

	*rest = str_trim(*rest);
	while (n < rest->n && !strchr(" \t\r\n\f\v", rest->p[n]))
		n++;
	word = str_sub(*rest, 0, n);
	*rest = str_trim(str_sub(*rest, n, rest->n));
	return word;
}

/* "cancel!" and "no," are these words. */
static str without_marks(str word)
{
	while (word.n && strchr(".,;:!?", word.p[word.n - 1]))
		word.n--;
	return word;
}

static bool is_entries(str word)
{
	size_t digits = 0;

	for (size_t i = 0; i < word.n; i++) {
		bool digit = word.p[i] >= '0' && word.p[i] <= '9';

		if (!digit && !strchr("#,-", word.p[i]))
			return false;
		digits += digit;
	}
	return digits > 0 && word.p[0] != '-';
}

enum inbox_doubt inbox_doubt_of(str text)
{
	str rest = text, first = next_word(&rest), second = next_word(&rest);

	if (is_entries(first))
		return DOUBT_ENTRIES;
	if (!second.n || is_command(text))
		return DOUBT_WORD;
	return !rest.n && is_command(without_marks(first)) ? DOUBT_WORD : DOUBT_NONE;
}

str inbox_entries(struct arena *a, str text, str *ret_rest)
{
	str list = STR(""), rest = text, word = next_word(&rest), part;

	*ret_rest = str_trim(text);
	while (is_entries(word)) {
		*ret_rest = rest;
		while (str_split(&word, ',', &part)) {
			if (str_starts(part, STR("#")))
				part = str_sub(part, 1, part.n);
			if (part.n)
				list = arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(list),
						list.n ? "," : "", STR_ARG(part));
		}
		word = next_word(&rest);
	}
	return list;
}

const struct inbox_kind *inbox_kind_at(size_t i)
{
	return i < ARRAY_LEN(kinds) ? &kinds[i] : NULL;
}
