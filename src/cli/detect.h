#pragma once
/* What `init` finds out about a repository and a machine, without changing either. */
#include "base/ov.h"

struct repo {
	const char *top;        /* of the work tree */
	const char *common_dir; /* of git, shared by all work trees */
	str branch;             /* empty: detached */
	bool clean, has_commit;
};

/* Of the repository that `from` (NULL: the working folder) is in; OV_ENOTFOUND outside of one. */
int repo_detect(struct arena *a, const char *from, struct repo *ret, struct ov_err *err);

struct known_agent {
	const char *name;
	const char *command; /* as TOML, for config.toml */
};

extern const struct known_agent known_agents[];
extern const size_t known_agents_n;

/* The command that tests the repository and the file that says so; empty when none is known. */
str check_detect(struct arena *a, const char *top, const char **ret_file);
