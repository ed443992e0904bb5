#pragma once
/*
 * What Claude Code knows of a project, in ~/.claude.json under "projects", by the project's folder: whether
 * the user trusts it, the MCP servers that were added for it alone, those of its .mcp.json that were
 * approved. It looks for a worktree's repository only where git's linked worktrees name it, which ours
 * do not. Text in, text out.
 */
#include "base/ov.h"

/* Whether the user trusts the project, by the text of the file. */
bool claude_project_trusted(str text, const char *project);
/*
 * The text of a file in which the worktree is known as its repository is. The text itself when it says
 * nothing of the repository, or cannot be read.
 */
str claude_project_share(struct arena *a, str text, const char *repo, const char *worktree);
