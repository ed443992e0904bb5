#pragma once
/*
 * Inside the rooms of git only: for which files filters and merge drivers run (git_programs.c
 * says why).
 */
#include "drive/git/git_call.h"
#include "drive/gitrules/git_attributes.h"

enum { GIT_ATTRIBUTES_FILES = 4096 };

/* git_programs.c */
/* names: one in a line, as the note GIT_FILTERS has them. */
bool git_filter_listed(str names, str name);
bool git_filter_named(str names, str token, str *ret); /* is it "filter=" and one of them? */
/* The command that lists the files of attributes of a commit, or of two (or NULL). */
int git_attributes_list(struct git_call *c, const char *commit, const char *other);
/* Of what it says, all that counts in this commit; the first and the last are the user's. */
size_t git_attributes_of(struct git_call *c, str out, const char *commit,
		struct git_attributes **ret);

/* git_filters.c: work that changes for which files a filter of the user's runs */
extern const struct git_step git_filters_harvest_steps[]; /* c->res.refused */
extern const struct git_step git_filters_move_steps[];    /* or the call ends with GIT_REFUSED */
