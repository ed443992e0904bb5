#pragma once
/*
 * How git is called by our programs, whoever calls it: what of the environment it gets, and the
 * configuration that our bookkeeping does not follow. Loop-free; tables and one question.
 */
#include "base/ov.h"

/* For -c, of every command. */
extern const char *const git_options[];
extern const size_t git_options_n;
/* The same where the program of git-lfs is not there: its filter is passed over. */
extern const char *const git_no_lfs[];
extern const size_t git_no_lfs_n;
/* Variables that it gets in any case, after what passes of ours. */
extern const char *const git_env_fixed[];
extern const size_t git_env_fixed_n;
/* For commands that must not fetch what an incomplete repository lacks. */
extern const char *const git_env_no_fetch[];
extern const size_t git_env_no_fetch_n;

/* Is this entry ("NAME=VALUE") of our own environment handed on to git? */
bool git_env_passes(const char *entry);
