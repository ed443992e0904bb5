#pragma once
/* What the commands that show entries of the inbox share. */
#include "cli/command.h"

/* What happens to an entry by itself: "default in 39m: in-process", "waits for you". */
str inbox_unanswered(struct out *o, const value *x);
/* "12" or "#12". */
int inbox_number(str text, int64_t *ret, struct ov_err *err);
