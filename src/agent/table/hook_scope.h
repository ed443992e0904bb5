#pragma once
/*
 * The scope that a run's hooks judge tools by, read back: runs/<run>/hooks/scope.json
 * (agent/read/hook.h writes it).
 */
#include "agent/read/hook.h"

int hook_scope_read(struct arena *a, str text, const struct agent_format **ret_format,
		struct tool_scope *ret, struct ov_err *err);
