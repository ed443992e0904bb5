#pragma once
/*
 * The kinds of entries of the inbox, as one table: how pressing each is, why a person is needed, what
 * can be answered, and what it means to approve or deny it. What an answer does is core/answer/answer's,
 * how an entry is shown core/view/view_inbox's. Pure; nothing is kept here.
 */
#include "base/ov.h"
#include "core/model/model.h"

/* Kinds of oversight: nothing goes on until a person says so. */
#define ASK_PAUSED "paused"
#define ASK_ABORTED "aborted"
/* Auto mode is paused; a task of the pool used up its own budget, or could not be taken. */
#define ASK_AUTO "auto_paused"
#define ASK_TASK_BUDGET "task_budget"
#define ASK_REFUSED "task_refused"
/* An agent fails again and again, and is given no more work. */
#define ASK_FAILING "agent_failing"
/* An agent says that it is out of quota for very long. */
#define ASK_LIMIT "agent_limited"
/* Kinds of escalations about the queue. The first two hold it up until they are answered. */
#define ASK_PRE "pre_accept"
#define ASK_POST "post_accept"
#define ASK_POST_WARNING "post_accept_warning"
#define ASK_REVIEW "review"
/* Finished work waits for something in the user's checkout; closes itself. */
#define ASK_CHECKOUT "checkout"
/* Something that is neither Overseer nor the user moved the target branch. */
#define ASK_TARGET "target_moved"

enum inbox_about { ABOUT_ANY, ABOUT_GOAL, ABOUT_NODE };

struct inbox_kind {
	const char *kind;       /* NULL: of those that are not in the table */
	enum inbox_about about; /* holds only for one that is about at least this */
	enum urgency urgency;
	const char *why;   /* a person is needed */
	const char *words; /* what can be answered, "a|b"; NULL: its options */
	bool closed;       /* and nothing else */
	bool holds;        /* others wait for the answer: it cannot be dismissed */
	/* The answers that these stand for, "%" being the reason; NULL: they stand for none. */
	const char *approve, *deny;
};

const struct inbox_kind *inbox_kind_of(const struct escalation *x);
/* How loudly people are told of a question of this kind. */
enum urgency inbox_urgency(str kind, bool about_node);
/* What may stand after "inbox answer N", for people: "redis|in-process|TEXT". */
str inbox_words(struct arena *a, const struct escalation *x);
/* An answer with this before it is a text for the agent, whatever it says. */
#define INBOX_TEXT "text:"

/* Why a text is no guidance for an agent: it may be meant as a command, and an agent costs money. */
enum inbox_doubt {
	DOUBT_NONE,
	DOUBT_WORD,    /* one word, or a word that is an answer to other entries and one more */
	DOUBT_ENTRIES, /* it begins with entries: "9,8-12 cancel" */
};

/* One of the answers that this entry has, as it stands in the table. */
bool inbox_has_answer(const struct escalation *x, str text);
enum inbox_doubt inbox_doubt_of(str text);
/* The entries at the beginning of the text as one list, "9,8-12"; the rest of it is what they get. */
str inbox_entries(struct arena *a, str text, str *ret_rest);
/* All kinds of the table, for tests; NULL at the end. */
const struct inbox_kind *inbox_kind_at(size_t i);
