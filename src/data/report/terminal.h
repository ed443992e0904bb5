#pragma once
/* What programs write to a terminal, as text. Pure; owns nothing. */
#include "base/ov.h"

/*
 * Text that can be read from its beginning to its end: without orders to the terminal, control
 * characters other than \n and \t, and characters that nobody sees or that turn the direction
 * of writing.
 */
str terminal_text(struct arena *a, str s);
