#pragma once
/* For commands_*.c, which have the rows of one subject each: how options are written there. */
#include "cli/command.h"

struct command_list {
	const struct command *p;
	size_t n;
};
extern const struct command_list commands_daemon;
extern const struct command_list commands_goal;
extern const struct command_list commands_work;
extern const struct command_list commands_worker;
extern const struct command_list commands_inbox;
extern const struct command_list commands_upkeep;

#define BOOL(name, help)                           \
	{                                          \
		name, NULL, help, FLAG_BOOL, false \
	}
#define TEXT(name, arg, help)                     \
	{                                         \
		name, arg, help, FLAG_TEXT, false \
	}
#define NEED(name, arg, help)                    \
	{                                        \
		name, arg, help, FLAG_TEXT, true \
	}
#define LIST(name, arg, help)                     \
	{                                         \
		name, arg, help, FLAG_LIST, false \
	}
#define TIME(name, help, required)                      \
	{                                               \
		name, "TIME", help, FLAG_TIME, required \
	}
#define INT(name, help)                          \
	{                                        \
		name, "N", help, FLAG_INT, false \
	}
#define GOAL TEXT("goal", "ID", "only this goal (an id, or a unique prefix of one)")
#define OF_GOAL \
	TEXT("goal", "ID", "the goal that the node belongs to, when several have such a node")
#define WHY TEXT("reason", "TEXT", "why; recorded with your name")
#define REASON NEED("reason", "TEXT", "why; recorded with your name")

#define NO_FLAGS NULL, 0
#define FLAGS(f) f, ARRAY_LEN(f)
