#pragma once
/* What programs write to a terminal, as text. Pure; owns nothing. */
#include "base/ov.h"

/* Text that can be read from its beginning to its end: without orders to the terminal, and control
 * characters other than \n and \t. */
str terminal_text(struct arena *a, str s);
