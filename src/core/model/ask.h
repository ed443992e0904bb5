#pragma once
/*
 * What people are asked, and what they can answer: the ids. All about them is in
 * core/model/asks.def.
 */

/*
 * Answers of people that stand for something by themselves; any other is a text. What they are to
 * each kind of question is in core/model/asks.def.
 */
#define SAYS(X)                          \
	X(SAY_TEXT, "")                  \
	X(SAY_RETRY, "retry")            \
	X(SAY_DONE, "done")              \
	X(SAY_CANCEL, "cancel")          \
	X(SAY_RESUME, "resume")          \
	X(SAY_ABORT, "abort")            \
	X(SAY_REOPEN, "reopen")          \
	X(SAY_RAISE, "raise")            \
	X(SAY_STOP, "stop")              \
	X(SAY_LIFT, "lift")              \
	X(SAY_HANG, "hang")              \
	X(SAY_KEEP, "keep")              \
	X(SAY_ACCEPT, "accept")          \
	X(SAY_REJECT, "reject: WHY")     \
	X(SAY_CHECK, "check")            \
	X(SAY_TRY_AGAIN, "try again")    \
	X(SAY_RUN_AGAIN, "run again")    \
	X(SAY_BACK, "back to its agent") \
	X(SAY_GO_ON, "go on")            \
	X(SAY_TAKE_BACK, "take back")

#define SAY_ENUM(sym, word) sym,
enum say { SAYS(SAY_ENUM) SAY_COUNT };
#undef SAY_ENUM

/* What a person is asked. ASK_OTHER is one of an old log that nobody knows any more. */
enum ask {
	ASK_OTHER,
#define ASK(sym, word, ...) sym,
#define ASK_TOO(sym, ...)
#define ASK_PLAIN(sym, word) sym,
#include "core/model/asks.def"
	ASK_COUNT
};
