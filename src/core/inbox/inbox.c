#include "core/inbox/inbox.h"

#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/str.h"

static const struct inbox_kind kinds[] = {
	{ ASK_PAUSED, ABOUT_NODE, URGENCY_CRITICAL, "oversight paused the work on it",
			"resume|cancel", false, true, "resume", "cancel" },
	{ ASK_PAUSED, ABOUT_GOAL, URGENCY_CRITICAL, "oversight paused the goal", "resume|abort",
			false, true, "resume", "abort" },
	{ ASK_ABORTED, ABOUT_GOAL, URGENCY_EMERGENCY, "oversight aborted the goal", "reopen|cancel",
			false, true, "reopen", "cancel" },
	{ "question", ABOUT_NODE, URGENCY_WARNING, "its agent asks", NULL, false, false, NULL,
			NULL },
	{ "budget", ABOUT_GOAL, URGENCY_CRITICAL, "its budget is spent: nothing new is started",
			"raise|cancel", true, true, "raise", "cancel" },
	{ "planner", ABOUT_GOAL, URGENCY_WARNING, "no planner made a good plan for it", NULL, false,
			true, NULL, "cancel" },
	{ "reopened", ABOUT_GOAL, URGENCY_WARNING, "it has nothing to do", "cancel", true, true,
			NULL, "cancel" },
	{ "login", ABOUT_ANY, URGENCY_CRITICAL, "an agent is said to be logged out", NULL, true,
			true, NULL, NULL },
	{ "outage", ABOUT_ANY, URGENCY_CRITICAL, "many runs fell silent at once", NULL, true, true,
			NULL, NULL },
	{ "internal", ABOUT_ANY, URGENCY_WARNING, "something is wrong inside of the daemon", NULL,
			false, false, NULL, NULL },
	{ "daemon", ABOUT_ANY, URGENCY_EMERGENCY, "the daemon could not go on", NULL, false, false,
			NULL, NULL },
	{ "auto", ABOUT_ANY, URGENCY_CRITICAL, "auto mode stopped", NULL, false, false, NULL,
			NULL },
	{ ASK_AUTO, ABOUT_ANY, URGENCY_CRITICAL, "auto mode is paused", NULL, true, true, "resume",
			"stop" },
	{ ASK_TASK_BUDGET, ABOUT_NODE, URGENCY_WARNING, "its budget is used up", NULL, false, false,
			"retry", "cancel" },
	{ ASK_REFUSED, ABOUT_ANY, URGENCY_WARNING, "a task of the pool was not taken", NULL, false,
			false, NULL, NULL },
	{ ASK_FAILING, ABOUT_ANY, URGENCY_CRITICAL, "an agent fails again and again", NULL, true,
			true, "resume", NULL },
	{ ASK_LIMIT, ABOUT_ANY, URGENCY_WARNING, "an agent is out of quota for long", NULL, true,
			false, "lift", NULL },
	{ "planner_key", ABOUT_ANY, URGENCY_CRITICAL, "the planner cannot be asked", NULL, false,
			false, NULL, NULL },
	{ ASK_REVIEW, ABOUT_NODE, URGENCY_WARNING, "its work waits for a review",
			"accept|reject: WHY", true, true, "accept", "reject: %" },
	{ ASK_CHECKOUT, ABOUT_NODE, URGENCY_WARNING, "its finished work waits for your checkout",
			NULL, true, false, "try again", NULL },
	{ ASK_TARGET, ABOUT_ANY, URGENCY_CRITICAL,
			"the target branch was moved by neither Overseer nor you", NULL, false,
			false, "keep", NULL },
	{ ASK_PRE, ABOUT_NODE, URGENCY_CRITICAL, "nothing more is accepted until this is settled",
			NULL, true, true, "try again", "back to its agent" },
	{ ASK_POST, ABOUT_NODE, URGENCY_CRITICAL, "nothing more is accepted until this is settled",
			NULL, true, true, "go on", "take back" },
	{ ASK_POST_WARNING, ABOUT_NODE, URGENCY_WARNING, "the post_accept command failed", NULL,
			false, false, NULL, NULL },
	{ "stalled", ABOUT_NODE, URGENCY_WARNING, "nothing got its run to go on", NULL, false,
			false, NULL, NULL },
	{ "failed", ABOUT_NODE, URGENCY_WARNING, "all attempts at it failed", NULL, false, false,
			NULL, NULL },
	{ "overdue", ABOUT_NODE, URGENCY_WARNING, "its run takes too long", NULL, false, false,
			NULL, NULL },
	{ "mute", ABOUT_NODE, URGENCY_WARNING, "its run is busy and shows nothing of it", NULL,
			false, false, NULL, NULL },
	{ ASK_PERMISSION, ABOUT_NODE, URGENCY_CRITICAL, "its agent waits for a permission",
			"retry|done|cancel", true, false, NULL, NULL },
	{ "no_agent", ABOUT_NODE, URGENCY_WARNING, "no configured agent can take it", NULL, false,
			false, NULL, NULL },
	{ "no_worker", ABOUT_NODE, URGENCY_WARNING, "the worker that it was given to is gone", NULL,
			false, false, NULL, NULL },
	{ "reverted", ABOUT_NODE, URGENCY_WARNING, "what was accepted of it was taken back", NULL,
			false, false, NULL, NULL },
};

static const struct inbox_kind of_node = { NULL, ABOUT_NODE, URGENCY_WARNING,
	"it cannot go on by itself", NULL, false, false, NULL, NULL },
			       of_none = { NULL, ABOUT_ANY, URGENCY_WARNING,
				       "somebody has to know of it", NULL, false, false, NULL,
				       NULL };

/* Answers that every entry about a node has. */
static const char node_words[] = "retry|done|cancel";

static const struct inbox_kind *inbox_find(str kind, enum inbox_about about)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_is(kind, kinds[i].kind) && about >= kinds[i].about)
			return &kinds[i];
	return about == ABOUT_NODE ? &of_node : &of_none;
}

const struct inbox_kind *inbox_kind_of(const struct escalation *x)
{
	return inbox_find(x->kind,
			x->node_id.n                   ? ABOUT_NODE
					: x->goal_id.n ? ABOUT_GOAL
						       : ABOUT_ANY);
}

enum urgency inbox_urgency(str kind, bool about_node)
{
	return inbox_find(kind, about_node ? ABOUT_NODE : ABOUT_GOAL)->urgency;
}

str inbox_words(struct arena *a, const struct escalation *x)
{
	const struct inbox_kind *k = inbox_kind_of(x);
	str words = k->words ? str_from(k->words) : STR("");

	for (size_t i = 0; !k->words && i < x->options.n; i++)
		words = arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(words), words.n ? "|" : "",
				STR_ARG(x->options.p[i]));
	if (k->closed && words.n)
		return words;
	if (!words.n && x->node_id.n)
		words = str_from(node_words);
	return arena_printf(a, STR_FMT "%sTEXT", STR_ARG(words), words.n ? "|" : "");
}

/* Further words that decide something when they stand alone: commands of the inbox, yes and no. */
static const char other_words[] = "retry|done|cancel|approve|deny|dismiss|snooze|accept|reject|"
				  "resume|reopen|abort|stop|start|pause|raise|hang|skip|ignore|"
				  "run again|yes|no|ok|y|n";

static bool same(str a, str b)
{
	return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

static bool is_among(const char *words, str text)
{
	str rest = str_from(words), part;

	while (words && str_split(&rest, '|', &part))
		if (same(part, text))
			return true;
	return false;
}

bool inbox_has_answer(const struct escalation *x, str text)
{
	const struct inbox_kind *k = inbox_kind_of(x);
	const char *const lists[] = { k->words, k->approve, k->deny,
		x->node_id.n ? node_words : NULL };

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		str rest = str_from(lists[i]), part;

		while (lists[i] && str_split(&rest, '|', &part))
			if (str_eq(part, text))
				return true;
	}
	return false;
}

/* An answer to some entry. */
static bool is_command(str text)
{
	if (is_among(other_words, text))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (is_among(kinds[i].words, text) || is_among(kinds[i].approve, text) ||
				is_among(kinds[i].deny, text))
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
