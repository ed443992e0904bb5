#pragma once
/*
 * Inside the rooms of git only: commands, and programs that git runs, which may write only what
 * they have to.
 */
#include "drive/git/git_call.h"

/*
 * The words before a command that may write only these folders; none where nothing can be confined.
 * programs: it may run some on what an agent wrote.
 */
void git_confined(struct git_call *c, bool programs, const char *folder, ...)
		__attribute__((sentinel));
bool git_runs_programs(struct git_call *c); /* in the worktree, by what was recorded */
int git_confine_script(struct git_call *c, struct ov_err *err); /* in c->own, up to date */
/* It failed for want of a sandbox for them. */
bool git_programs_failed(const struct git_call *c, const struct git_out *o);
bool git_is_program(str name); /* is this option a command? */
/* A note of what the recorded configuration has: commands at all, or even one for every file. */
int git_note_programs(struct git_call *c, bool some, bool any, struct ov_err *err);
/* The command of such an option, for the recorded configuration. */
str git_confine_program(struct git_call *c, str name, str command);
