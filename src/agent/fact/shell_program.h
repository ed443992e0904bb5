#pragma once
/*
 * What a call of a shell is about, in a few words: `pytest`, `cargo build`, `npm test && git push`.
 * How long a call takes depends on that, not on the shell. Pure.
 *
 * The command is an agent's text: nothing is run, expanded or believed. What is not plain (a loop,
 * a variable in place of a program) has no name, and is then known by its tool alone.
 */
#include "base/ov.h"

enum { SHELL_PROGRAM_MAX = 32 };

/*
 * tool: as the agent calls it; text: what it was called with, the command or JSON with it. Empty
 * for every other tool. Cut at so many bytes, NUL included.
 */
void shell_program(str tool, str text, char ret[static SHELL_PROGRAM_MAX]);
