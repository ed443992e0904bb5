#pragma once
/* Where git keeps what belongs to a worktree of ours. Reads two small files; knows no git. */
#include "base/ov.h"

/* The worktree's own git folder, which its .git file names; NULL when it is none of git's. */
const char *worktree_admin(struct arena *a, str path);
/* The repository's common git folder, from that. */
const char *worktree_common(struct arena *a, const char *admin);
