#include "agent/launch/project.h"

#include "base/arena.h"
#include "base/str.h"
#include "data/value/json.h"
#include "data/value/toml.h"

#define PROJECTS "projects"

bool project_claude_trusted(str text, const char *project)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const value *entry;
	value *file;

	if (json_parse(&a, text, NULL, &file, NULL) < 0)
		return false;
	entry = value_at(value_at(file, PROJECTS), project);
	return value_bool_or(value_at(entry, "hasTrustDialogAccepted"), false);
}

bool project_codex_trusted(str text, const char *project)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const value *entry;
	value *file;

	if (toml_parse(&a, text, &file, NULL) < 0)
		return false;
	entry = value_at(value_at(file, PROJECTS), project);
	return str_is(value_str_or(value_at(entry, "trust_level"), STR("")), "trusted");
}

str project_claude_share(struct arena *a, str text, const char *repo, const char *worktree)
{
	_cleanup_(arena_done) struct arena tree = ARENA_INIT;
	const value *entry;
	value *file, *projects;

	if (json_parse(&tree, text, NULL, &file, NULL) < 0)
		return text;
	entry = value_at(value_at(file, PROJECTS), repo);
	if (!entry)
		return text;
	projects = value_copy(&tree, value_at(file, PROJECTS));
	value_set(&tree, projects, str_from(worktree), value_copy(&tree, entry));
	value_put(&tree, file, PROJECTS, projects);
	return json_text(a, file);
}
