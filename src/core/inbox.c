#include "core/inbox.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/accept.h"

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
	{ "login", ABOUT_ANY, URGENCY_CRITICAL, "an agent is logged out", NULL, true, true, NULL,
			NULL },
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
	{ "planner_key", ABOUT_ANY, URGENCY_CRITICAL, "the planner cannot be asked", NULL, false,
			false, NULL, NULL },
	{ ASK_REVIEW, ABOUT_NODE, URGENCY_WARNING, "its work waits for a review",
			"accept|reject: WHY", true, true, "accept", "reject: %" },
	{ ASK_CHECKOUT, ABOUT_NODE, URGENCY_WARNING, "its finished work waits for your checkout",
			NULL, true, false, "try again", NULL },
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

static const struct inbox_kind *find(str kind, enum inbox_about about)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_is(kind, kinds[i].kind) && about >= kinds[i].about)
			return &kinds[i];
	return about == ABOUT_NODE ? &of_node : &of_none;
}

const struct inbox_kind *inbox_kind_of(const struct escalation *x)
{
	return find(x->kind, x->node_id.n ? ABOUT_NODE : x->goal_id.n ? ABOUT_GOAL : ABOUT_ANY);
}

enum urgency inbox_urgency(str kind, bool about_node)
{
	return find(kind, about_node ? ABOUT_NODE : ABOUT_GOAL)->urgency;
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
		words = STR("retry|done|cancel");
	return arena_printf(a, STR_FMT "%sTEXT", STR_ARG(words), words.n ? "|" : "");
}

const struct inbox_kind *inbox_kind_at(size_t i)
{
	return i < ARRAY_LEN(kinds) ? &kinds[i] : NULL;
}
