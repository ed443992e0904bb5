#include "agent/table/gaps.h"

const struct agent_gap agent_gaps[] = {
	{ "raw", NULL, GAP_SUB_AGENT_LOOP, "its output is text that nobody parses" },
	{ "raw", NULL, GAP_OVERFLOW,
			"its output is text that nobody parses; the run has failed by its exit "
			"status" },
	{ "raw", NULL, GAP_PERMISSION, "its output is text that nobody parses; it is a hang" },
	{ "raw", NULL, GAP_USAGE,
			"its output is text that nobody parses; budgets of runs and time hold, "
			"those of tokens and cost do not" },
	{ "claude", "tmux", GAP_RETRY_STATUS,
			"its session file tells that it makes a request again, not why; its "
			"screen does" },
	{ "claude", "tmux", GAP_SUB_AGENT_USAGE,
			"only the file of the session itself is read; budgets do not count what "
			"sub-agents use" },
	{ "claude", "tmux", GAP_COST, "no session file tells it; it is computed from [prices]" },
	{ "codex", "tmux", GAP_RETRY_STATUS,
			"its session file tells of a failed request only when it gives up: until "
			"then it shows as working" },
	{ "codex", "exec", GAP_DENIED_COMMAND, "it says what was denied of patches only" },
	{ "codex", NULL, GAP_COST, "it tells tokens only; it is computed from [prices]" },
	{ "gemini", NULL, GAP_SUB_AGENT_LOOP,
			"its stream shows a sub-agent as one call; it stops loops itself" },
	{ "gemini", NULL, GAP_COST, "it tells tokens only; it is computed from [prices]" },
	{ "opencode", NULL, GAP_RETRY_STATUS,
			"it tells no status and repeats it for ever: a usage limit of its model "
			"becomes a stall" },
};
const size_t agent_gaps_n = ARRAY_LEN(agent_gaps);

value *gaps_view(struct arena *a, str format, str runtime)
{
#define GAP_WORDS(sym, name, about) { name, about },
	static const char *const words[][2] = { GAP_KINDS(GAP_WORDS) };
#undef GAP_WORDS
	value *list = value_array(a);

	for (int kind = 0; kind < GAP_KIND_COUNT; kind++)
		for (size_t i = 0; i < agent_gaps_n; i++) {
			const struct agent_gap *g = &agent_gaps[i];
			value *v;

			if ((int)g->kind != kind || !str_is(format, g->format) ||
					(g->runtime && !str_is(runtime, g->runtime)))
				continue;
			v = value_object(a);
			value_put(a, v, "what", value_cstr(a, words[kind][0]));
			value_put(a, v, "about", value_cstr(a, words[kind][1]));
			value_put(a, v, "why", value_cstr(a, g->why));
			value_push(a, list, v);
		}
	return list;
}
