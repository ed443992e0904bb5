#include "agent/format.h"

#include "base/str.h"

const struct agent_format agent_formats[] = {
	{ .name = "raw", .title = "any command" },
	{ .name = "claude",
			.title = "Claude Code",
			.program = "claude",
			.probe = "--version",
			.structured = true,
			.resumes = true,
			.names_session = true,
			.hooks = true,
			.scoped = true,
			.costs = true,
			.interrupts = true },
	{ .name = "codex",
			.title = "Codex",
			.program = "codex",
			.probe = "--version",
			.structured = true,
			.resumes = true,
			.hooks = true,
			.scoped = true,
			.interrupts = true },
	{ .name = "gemini",
			.title = "Gemini CLI",
			.program = "gemini",
			.probe = "--version",
			.structured = true,
			.resumes = true,
			.names_session = true,
			.scoped = true,
			.interrupts = true },
	{ .name = "opencode",
			.title = "opencode",
			.program = "opencode",
			.probe = "--version",
			.structured = true,
			.resumes = true,
			.scoped = true,
			.costs = true,
			.interrupts = true },
};
const size_t agent_formats_n = ARRAY_LEN(agent_formats);

const struct agent_format *format_find(str name)
{
	for (size_t i = 0; i < agent_formats_n; i++)
		if (str_is(name, agent_formats[i].name))
			return &agent_formats[i];
	return NULL;
}
