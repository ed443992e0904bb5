#include "agent/table/formats.h"

#include "agent/format/tools.h"
#include "agent/launch/launch.h"
#include "agent/read/parsers.h"
#include "base/str.h"

/* Where it keeps what it knows, where its model is, and its key: none of it by a command line. */
#define PROXIES "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"
static const char *const env_claude[] = { "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN",
	"ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR",
	"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "NODE_EXTRA_CA_CERTS", PROXIES, NULL };
static const char *const env_codex[] = { "CODEX_HOME", "CODEX_API_KEY", "OPENAI_API_KEY",
	"OPENAI_BASE_URL", "SSL_CERT_FILE", PROXIES, NULL };
static const char *const env_gemini[] = { "GEMINI_API_KEY", "GOOGLE_API_KEY",
	"GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA",
	"GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS",
	"NODE_EXTRA_CA_CERTS", PROXIES, NULL };
static const char *const env_opencode[] = { "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY",
	"OPENROUTER_API_KEY", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "XDG_CONFIG_HOME",
	"XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "NODE_EXTRA_CA_CERTS", PROXIES, NULL };
#undef PROXIES

static const char *const modes_claude[] = { "acceptEdits", "auto", "bypassPermissions", "default",
	"dontAsk", "manual", "plan", NULL };
static const char *const modes_codex[] = { "workspace-write", "read-only", "danger-full-access",
	NULL };
static const char *const modes_gemini[] = { "yolo", "auto_edit", "default", "plan", NULL };
static const char *const modes_opencode[] = { "default", "auto", NULL };

const struct agent_format agent_formats[] = {
	{ .name = "raw", .title = "any command", .terminal = true, .launch = launch_raw },
	{ .name = "claude",
			.title = "Claude Code",
			.program = "claude",
			.probe = "--version",
			.oldest = "2.0.2",
			.line = claude_line,
			.error_line = claude_error_line,
			.transcript = claude_transcript_line,
			.terminal = true,
			.trust_answer = "Yes, I trust this folder",
			.structured = true,
			.resumes = true,
			.names_session = true,
			.hooks = true,
			.scoped = true,
			.costs = true,
			.interrupts = true,
			.limits_turns = true,
			.env_pass = env_claude,
			.permission_modes = modes_claude,
			.tools = tools_claude,
			.launch = launch_claude },
	{ .name = "codex",
			.title = "Codex",
			.program = "codex",
			.probe = "--version",
			.oldest = "0.131.0",
			.line = codex_line,
			.error_line = codex_error_line,
			.transcript = codex_rollout_line,
			.thread = codex_thread_line,
			.terminal = true,
			.starts_late = true,
			.input_mark = "\xe2\x80\xba",
			.structured = true,
			.resumes = true,
			.hooks = true,
			.scoped = true,
			.interrupts = true,
			.env_pass = env_codex,
			.permission_modes = modes_codex,
			.unboxed_mode = "danger-full-access",
			.tools = tools_codex,
			.launch = launch_codex },
	{ .name = "gemini",
			.title = "Gemini CLI",
			.program = "gemini",
			.probe = "--version",
			.oldest = "0.41.0",
			.line = gemini_line,
			.error_line = gemini_error_line,
			.end = gemini_end,
			.structured = true,
			.resumes = true,
			.names_session = true,
			.scoped = true,
			.interrupts = true,
			.env_pass = env_gemini,
			.permission_modes = modes_gemini,
			.tools = tools_gemini,
			.launch = launch_gemini },
	{ .name = "opencode",
			.title = "opencode",
			.program = "opencode",
			.probe = "--version",
			.oldest = "1.18.14",
			.line = opencode_line,
			.error_line = opencode_error_line,
			.structured = true,
			.tells_late = true,
			.resumes = true,
			.scoped = true,
			.costs = true,
			.interrupts = true,
			.env_pass = env_opencode,
			.permission_modes = modes_opencode,
			.tools = tools_opencode,
			.launch = launch_opencode },
};
const size_t agent_formats_n = ARRAY_LEN(agent_formats);
const char *const agent_format_names[] = { "raw", "claude", "codex", "gemini", "opencode", NULL };

const struct agent_format *format_find(str name)
{
	for (size_t i = 0; i < agent_formats_n; i++)
		if (str_is(name, agent_formats[i].name))
			return &agent_formats[i];
	return NULL;
}
