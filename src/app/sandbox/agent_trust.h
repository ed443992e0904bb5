#pragma once
/*
 * Whether the user trusts the repository, by what an agent of this format keeps of it in the user's
 * own home. Only read: nothing is said there in the user's name.
 */
#include "base/ov.h"

/* The repository as agents know it: its folder, or a bare one itself. NULL: there is none. */
const char *agent_project(struct arena *a, const char *git_common);
/* format: the name; env: of the agent; project: as above. */
bool agent_trusts(str format, const char *const *env, const char *project);
