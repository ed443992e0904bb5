#pragma once
/* What the commands about goals share. */
#include "cli/call/command.h"

/* Its status for people, who need one word: an aborted goal is paused, but called aborted. */
str goal_status_word(const value *g);
