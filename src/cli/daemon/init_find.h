#pragma once
/* What `init` finds out about a repository and a machine, without changing either. */
#include "agent/format/format.h"
#include "base/ov.h"

struct repo {
	const char *top;        /* of the work tree */
	const char *common_dir; /* of git, shared by all work trees */
	str branch;             /* empty: detached */
	bool clean, has_commit;
};

/* Of the repository that `from` (NULL: the working folder) is in; OV_ENOTFOUND outside of one. */
int repo_detect(struct arena *a, const char *from, struct repo *ret, struct ov_err *err);

/* An agent that we know and that is installed. */
struct found_agent {
	const struct agent_format *format;
	const char *path;
	str version; /* "2.1.325"; empty: it did not say */
	str problem; /* why it cannot be used; empty: it can */
	str warning; /* what will not work here, and the setting that helps; empty: nothing */
};

/* Those in PATH, in the order of agent_formats. Each is asked for its version, for 3 s at most. */
size_t agents_detect(struct arena *a, const struct found_agent **ret);

/* The command that tests the repository and the file that says so; empty when none is known. */
str check_detect(struct arena *a, const char *top, const char **ret_file);
