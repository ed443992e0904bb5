#pragma once
/* What the commands that show entries of the inbox share. */
#include "cli/command.h"

/* What happens to an entry by itself: "default in 39m: in-process", "waits for you". */
str inbox_unanswered(struct out *o, const value *x);
/* cmd_work.c: what follows from a word about a task: who can begin now, what stays unmerged. */
void show_consequences(struct out *o, const value *res);
/* "12" or "#12". */
int inbox_number(str text, int64_t *ret, struct ov_err *err);
