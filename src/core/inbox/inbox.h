#pragma once
/*
 * The kinds of entries of the inbox (core/model/asks.def): how pressing each is, why a person is
 * needed, what can be answered, and what it means to approve or deny it; and what a person's words
 * stand for. What an answer does is core/answer/answer's, how an entry is shown
 * core/view/view_inbox's. Pure; nothing is kept here.
 */
#include "base/ov.h"
#include "core/model/model.h"
#include "core/shape/shape.h"

enum inbox_about { ABOUT_ANY, ABOUT_GOAL, ABOUT_NODE };

/* What an answer that is none of the entry's own may be. */
enum inbox_takes {
	TAKES_ABOUT,    /* by what it is about: guidance of a node, else a note */
	TAKES_GUIDANCE, /* words for an agent, which goes on: nothing that may be a command */
	TAKES_NOTE,     /* it starts nothing */
	TAKES_ANY,      /* the agent asked */
};

enum { SAYS_MAX = 4 };

struct inbox_kind {
	enum ask ask;
	enum inbox_about about; /* holds only for one that is about at least this */
	enum urgency urgency;
	const char *why;           /* a person is needed */
	enum say offers[SAYS_MAX]; /* its options, where who asks names no others */
	enum say says[SAYS_MAX];   /* what can be answered; none: its options */
	bool closed;               /* and nothing else */
	bool holds;                /* others wait for the answer: it cannot be dismissed */
	enum inbox_takes takes;
	enum say approve, deny; /* the answers that these stand for; SAY_TEXT: none */
};

const struct inbox_kind *inbox_kind_of(const struct escalation *x);
/* Of a question that is opened now, about at least a goal. */
const struct inbox_kind *inbox_kind_for(enum ask ask, bool about_node);
/* What may stand after "inbox answer N", for people: "redis|in-process|TEXT". */
str inbox_words(struct arena *a, const struct escalation *x);
/* What a person said: the answer that it stands for, and of "reject: WHY" why. */
enum say inbox_say(str text, str *ret_why);
/* The answer as people write it; empty: it needs a reason, and there is none. */
str inbox_said(struct arena *a, enum say say, str why);
bool inbox_needs_why(enum say say);
/* Answers as the options of an entry; ends with SAY_TEXT. */
struct texts inbox_options(struct arena *a, const enum say *list);
/* The text is one of its options. */
bool inbox_offers(const struct escalation *x, str text);
/* An answer with this before it is a text for the agent, whatever it says. */
#define INBOX_TEXT "text:"

/*
 * Why a text is no guidance for an agent: it may be meant as a command, and an agent costs money.
 */
enum inbox_doubt {
	DOUBT_NONE,
	DOUBT_WORD,    /* one word, or a word that is an answer to other entries and one more */
	DOUBT_ENTRIES, /* it begins with entries: "9,8-12 cancel" */
};

/* One of the answers that this entry has, by the table. */
bool inbox_has_answer(const struct escalation *x, enum say say);
enum inbox_doubt inbox_doubt_of(str text);
/*
 * The entries at the beginning of the text as one list, "9,8-12"; the rest of it is what they get.
 */
str inbox_entries(struct arena *a, str text, str *ret_rest);
/* All kinds of the table, for tests; NULL at the end. */
const struct inbox_kind *inbox_kind_at(size_t i);
