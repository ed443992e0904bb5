#pragma once
/* What the commands that show entries of the inbox share. */
#include "cli/call/command.h"

/* What happens to an entry by itself: "default in 39m: in-process", "waits for you". */
str inbox_unanswered(struct out *o, const value *x);
/* cmd_notice.c: "desktop: waiting (quiet hours, in 4h)" */
str notice_standing(struct out *o, const value *x);
/* What an entry or a notice is about. */
#define ABOUT_TEXT "[{goal_id:id}[{?node_id}/{node_id}]|-]"
