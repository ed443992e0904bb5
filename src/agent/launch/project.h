#pragma once
/*
 * What agents keep of a project in the user's home, by the project's folder. Of Claude Code, in
 * ~/.claude.json: whether the user trusts it, the MCP servers that were added for it alone, those
 * of its .mcp.json that were approved. Of Codex, in its config.toml: whether the user trusts it, by
 * which the project's own configuration counts. They know a worktree's repository only by git's
 * linked worktrees, which ours are not: so it is we who say it. Text in, text out.
 */
#include "base/ov.h"

/* Whether the user trusts the project, by the text of the file. */
bool project_claude_trusted(str text, const char *project);
bool project_codex_trusted(str text, const char *project);
/*
 * The text of a ~/.claude.json in which the worktree is known as its repository is. The text itself
 * when it says nothing of the repository, or cannot be read.
 */
str project_claude_share(struct arena *a, str text, const char *repo, const char *worktree);
