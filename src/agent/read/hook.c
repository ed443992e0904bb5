#include "agent/read/hook.h"

#include "agent/read/parsers.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "data/value/json.h"

/* Every byte of a text may take six in JSON; with these a line stays below HOOK_LINE_MAX. */
enum { TEXT_MAX = 1400, NAME_BYTES = 128, INPUT_MEMBERS = 8 };

/* What a call means, whoever makes it. `of`: which member of the call is its text. */
enum text_of { OF_NOTHING, OF_INPUT, OF_MESSAGE, OF_ERROR, OF_REASON, OF_SOURCE };

static const struct meaning {
	const char *event;
	enum fact_kind kind;
	enum text_of of;
	bool failed;
	bool output; /* a structured output says the same, and better */
} meanings[] = {
	{ "SessionStart", FACT_READY, OF_SOURCE, false, false },
	{ "UserPromptSubmit", FACT_TURN_STARTED, OF_NOTHING, false, true },
	{ "PreToolUse", FACT_TOOL_STARTED, OF_INPUT, false, true },
	{ "PostToolUse", FACT_TOOL_ENDED, OF_NOTHING, false, true },
	{ "PostToolUseFailure", FACT_TOOL_ENDED, OF_ERROR, true, true },
	{ "PostToolBatch", FACT_TOOL_ENDED, OF_NOTHING, false, true },
	{ "PermissionRequest", FACT_PERMISSION_WANTED, OF_INPUT, false, false },
	{ "PermissionDenied", FACT_PERMISSION_DENIED, OF_REASON, false, false },
	{ "PreCompact", FACT_COMPACTION_STARTED, OF_NOTHING, false, false },
	{ "PostCompact", FACT_COMPACTION_ENDED, OF_NOTHING, false, false },
	{ "Stop", FACT_TURN_ENDED, OF_MESSAGE, false, true },
	{ "StopFailure", FACT_TURN_ENDED, OF_MESSAGE, true, true },
	{ "SubagentStart", FACT_TURN_STARTED, OF_NOTHING, false, true },
	{ "SubagentStop", FACT_TURN_ENDED, OF_MESSAGE, false, true },
	{ "SessionEnd", FACT_SESSION_ENDED, OF_REASON, false, false },
};

/* Notifications that tell of a person who is waited for; the others are notices. */
static const char *const waiting[] = { "permission_prompt", "elicitation_dialog" };

/* Why a turn failed, as StopFailure says it. */
static const struct {
	const char *error;
	enum trouble trouble;
} troubles[] = {
	{ "rate_limit", TROUBLE_RATE_LIMITED },
	{ "authentication_failed", TROUBLE_LOGIN },
	{ "oauth_org_not_allowed", TROUBLE_LOGIN },
	{ "billing_error", TROUBLE_LOGIN },
	{ "overloaded", TROUBLE_OVERLOADED },
	{ "server_error", TROUBLE_OVERLOADED },
	{ "invalid_request", TROUBLE_REFUSED },
	{ "model_not_found", TROUBLE_REFUSED },
};

static const struct meaning *meaning_of(str event)
{
	for (size_t i = 0; i < ARRAY_LEN(meanings); i++)
		if (str_is(event, meanings[i].event))
			return &meanings[i];
	return NULL;
}

int hook_read(struct arena *a, str json, str event, struct hook_call *ret, struct ov_err *err)
{
	static const struct json_limits limits = { .max_bytes = HOOK_INPUT_MAX };
	struct hook_call c = { 0 };
	value *v;
	int r = json_parse(a, json, &limits, &v, err);

	if (r < 0)
		return r;
	if (v->kind != V_OBJECT)
		return ov_fail(err, OV_EINVALID, "a hook's call is an object, not %s",
				value_kind_name(v->kind));
	c.event = value_str_or(value_at(v, "hook_event_name"), event);
	if (c.event.n == 0)
		return ov_fail(err, OV_EINVALID, "a hook's call names no event");
	c.session = value_str_at(v, "session_id");
	c.tool = value_str_at(v, "tool_name");
	c.tool_id = value_str_at(v, "tool_use_id");
	c.message = value_str_or(value_at(v, "last_assistant_message"), value_str_at(v, "message"));
	c.notification = value_str_at(v, "notification_type");
	c.reason = value_str_at(v, "reason");
	c.source = value_str_at(v, "source");
	c.model = value_str_at(v, "model");
	c.error = value_str_at(v, "error");
	c.child = value_str_at(v, "agent_id");
	c.input = value_at(v, "tool_input");
	c.answer = value_at(v, "tool_response");
	c.transcript = value_str_at(v, "transcript_path");
	c.stop_hook_active = value_bool_at(v, "stop_hook_active");
	*ret = c;
	return 0;
}

bool hook_may_go_on(const struct hook_call *c)
{
	return str_is(c->event, "Stop") && c->child.n == 0;
}

/* A list of a scope for people, without end. */
static str entries(struct arena *a, const str *p, size_t n)
{
	enum { SHOWN = 16 };
	struct buf b = BUF_INIT;
	str s;

	for (size_t i = 0; i < n && i < SHOWN; i++) {
		buf_adds(&b, i ? STR(", ") : STR(""));
		buf_adds(&b, utf8_truncate(p[i], NAME_BYTES));
	}
	if (n > SHOWN)
		buf_addf(&b, " and %zu more", n - SHOWN);
	s = arena_str(a, buf_str(&b));
	buf_done(&b);
	return s;
}

static str denial(struct arena *a, str tool, const struct tool_scope *s)
{
	struct buf b = BUF_INIT;
	str text;

	tool = tool.n ? utf8_truncate(tool, NAME_BYTES) : STR("this");
	if (!s) {
		buf_addf(&b,
				"Overseer: the tool scope of this task cannot be read, so " STR_FMT
				" is not permitted. Report this and stop.",
				STR_ARG(tool));
	} else {
		buf_addf(&b,
				"Overseer: the tool " STR_FMT
				" is outside the tool scope of this task",
				STR_ARG(tool));
		buf_addf(&b, " (allowed: " STR_FMT,
				STR_ARG(s->allow ? entries(a, s->allow, s->allow_n) : STR("all")));
		if (s->deny_n)
			buf_addf(&b, "; denied: " STR_FMT, STR_ARG(entries(a, s->deny, s->deny_n)));
		buf_adds(&b,
				STR("). Go on without it; if the task cannot be done so, say that "
				    "and stop."));
	}
	text = arena_str(a, buf_str(&b));
	buf_done(&b);
	return text;
}

static bool has_tool(const struct agent_format *f, const char *name)
{
	for (const struct tool_name *t = f->tools; t && t->name; t++)
		if (str_is(str_from(name), t->name))
			return true;
	return false;
}

/*
 * Codex edits files by a word of its shell too. A call of that is a call of the tool of the same
 * name, wherever an agent has such a tool.
 */
static str hidden_tool(const struct hook_call *c, const struct agent_format *f)
{
	static const char patch[] = "apply_patch";
	str command = str_trim(value_str_at(c->input, "command"));

	return has_tool(f, patch) && str_starts(command, (str){ patch, sizeof(patch) - 1 })
			? (str){ patch, sizeof(patch) - 1 }
			: STR("");
}

/* What Codex calls Bash towards its hooks has other names towards its model, and so in scopes. */
static const char *const shells[] = { "exec_command", "shell", "shell_command", "local_shell" };

/* By any of its names: allowed when one is, denied when one is. */
static bool permitted(const struct agent_format *f, const struct tool_scope *s, str tool)
{
	struct tool_scope allow = { .allow = s->allow, .allow_n = s->allow_n };
	struct tool_scope deny = { .deny = s->deny, .deny_n = s->deny_n };
	bool allowed = tool_permitted(f, &allow, tool), denied = !tool_permitted(f, &deny, tool);

	for (size_t i = 0; str_is(tool, "Bash") && i < ARRAY_LEN(shells); i++) {
		if (!has_tool(f, shells[i]))
			continue;
		allowed = allowed || tool_permitted(f, &allow, str_from(shells[i]));
		denied = denied || !tool_permitted(f, &deny, str_from(shells[i]));
	}
	return allowed && !denied;
}

static struct hook_reply deny(struct arena *a, str tool, const struct tool_scope *s)
{
	value *v = value_object(a), *o = value_object(a);

	value_put(a, o, "hookEventName", value_cstr(a, "PreToolUse"));
	value_put(a, o, "permissionDecision", value_cstr(a, "deny"));
	value_put(a, o, "permissionDecisionReason", value_str(a, denial(a, tool, s)));
	value_put(a, v, "hookSpecificOutput", o);
	return (struct hook_reply){ .denied = true, .text = json_text(a, v) };
}

struct hook_reply hook_answer(struct arena *a, const struct hook_call *c,
		const struct agent_format *f, const struct tool_scope *s, str next)
{
	if (str_is(c->event, "PreToolUse")) {
		bool narrowed = s && (s->allow || s->deny_n);
		str hidden = narrowed ? hidden_tool(c, f) : STR("");

		if (!s || (narrowed && (c->tool.n == 0 || !permitted(f, s, c->tool))))
			return deny(a, c->tool, s);
		if (hidden.n && !permitted(f, s, hidden))
			return deny(a, hidden, s);
	} else if (next.n && hook_may_go_on(c)) {
		value *v = value_object(a);

		value_put(a, v, "decision", value_cstr(a, "block"));
		value_put(a, v, "reason", value_str(a, next));
		return (struct hook_reply){ .text = json_text(a, v) };
	}
	return (struct hook_reply){ 0 };
}

/* What a tool is called with, short: a file that is written must not be written out here again. */
static str input_text(struct arena *a, const value *input)
{
	value *v = value_object(a);

	for (size_t i = 0;
			input && input->kind == V_OBJECT && i < MIN(input->object.n, INPUT_MEMBERS);
			i++) {
		const struct member *m = &input->object.members[i];

		if (m->value->kind == V_STR)
			value_append_member(a, v, utf8_truncate(m->key, NAME_BYTES),
					value_str(a, utf8_truncate(m->value->s, TEXT_MAX)));
		else if (m->value->kind < V_STR)
			value_append_member(a, v, utf8_truncate(m->key, NAME_BYTES), m->value);
	}
	return v->object.n ? json_text(a, v) : STR("");
}

static str text_of(struct arena *a, const struct hook_call *c, const struct meaning *m)
{
	if (!m)
		return c->message;
	switch (m->of) {
	case OF_INPUT: return input_text(a, c->input);
	case OF_MESSAGE: return c->message;
	case OF_ERROR: return c->error;
	case OF_REASON: return c->reason;
	case OF_SOURCE: return c->source;
	case OF_NOTHING: break;
	}
	return STR("");
}

/* The text is short: it does not tell whether two calls or answers are the same. */
static str digest_of(struct arena *a, const struct hook_call *c, const struct meaning *m)
{
	if (m && m->kind == FACT_TOOL_STARTED && c->input)
		return call_digest(a, c->tool, c->input);
	if (m && m->kind == FACT_TOOL_ENDED && c->answer)
		return call_digest(a, c->tool, c->answer);
	return STR("");
}

static void hook_put(struct arena *a, value *line, const char *key, str s, size_t max)
{
	if (s.n)
		value_put(a, line, key, value_str(a, utf8_truncate(s, max)));
}

str hook_line(struct arena *a, const struct hook_call *c, ov_time now, bool denied, str taken)
{
	value *v = value_object(a);
	str s;

	value_put(a, v, "at_ms", value_int(a, now));
	hook_put(a, v, "event", c->event, NAME_BYTES);
	hook_put(a, v, "taken", taken, HOOK_DISPATCH_MAX);
	hook_put(a, v, "session", c->session, NAME_BYTES);
	hook_put(a, v, "model", c->model, NAME_BYTES);
	hook_put(a, v, "tool", c->tool, NAME_BYTES);
	hook_put(a, v, "tool_id", c->tool_id, NAME_BYTES);
	hook_put(a, v, "notification", c->notification, NAME_BYTES);
	hook_put(a, v, "error", c->error, NAME_BYTES);
	hook_put(a, v, "child", c->child, NAME_BYTES);
	/* Where it is said once, it is known. */
	if (str_is(c->event, "SessionStart") && c->transcript.n <= HOOK_PATH_MAX)
		hook_put(a, v, "transcript", c->transcript, HOOK_PATH_MAX);
	if (denied)
		value_put(a, v, "denied", value_bool(a, true));
	hook_put(a, v, "text", text_of(a, c, meaning_of(c->event)), TEXT_MAX);
	hook_put(a, v, "digest", digest_of(a, c, meaning_of(c->event)), NAME_BYTES);
	s = json_text(a, v);
	assert(s.n < HOOK_LINE_MAX);
	return s;
}

str hook_line_dropped(struct arena *a, ov_time now)
{
	value *v = value_object(a);

	value_put(a, v, "at_ms", value_int(a, now));
	value_put(a, v, "event", value_cstr(a, "dropped"));
	value_put(a, v, "text", value_cstr(a, "more was said by hooks than is kept"));
	return json_text(a, v);
}

/* A request that was refused may have been too long: only the words for people tell that. */
static enum trouble trouble_of(str error, str text)
{
	enum trouble t = TROUBLE_OTHER;

	for (size_t i = 0; i < ARRAY_LEN(troubles); i++)
		if (str_is(error, troubles[i].error))
			t = troubles[i].trouble;
	if ((t == TROUBLE_OTHER || t == TROUBLE_REFUSED) &&
			trouble_of_text(text, NULL) == TROUBLE_CONTEXT)
		return TROUBLE_CONTEXT;
	return t;
}

static bool waits(str notification)
{
	for (size_t i = 0; i < ARRAY_LEN(waiting); i++)
		if (str_is(notification, waiting[i]))
			return true;
	return false;
}

static void fact_fill(struct fact *f, const value *v, const struct meaning *m, bool structured)
{
	str notification = value_str_at(v, "notification");

	f->kind = m ? m->kind : waits(notification) ? FACT_PERMISSION_WANTED : FACT_NOTICE;
	f->name = value_str_at(v, "tool");
	if (f->kind == FACT_TOOL_STARTED && value_bool_at(v, "denied"))
		f->kind = FACT_PERMISSION_DENIED;
	else if (m && m->output && structured)
		f->kind = FACT_NOTICE;
	/* Whoever waits, waits for something. */
	if (f->kind == FACT_PERMISSION_WANTED && f->name.n == 0)
		f->name = notification.n ? notification : STR("permission");
	if (f->kind != FACT_NOTICE && m && m->failed) {
		f->failed = true;
		if (f->kind == FACT_TURN_ENDED)
			f->trouble = trouble_of(value_str_at(v, "error"), value_str_at(v, "text"));
	}
}

bool hook_fact(struct arena *a, str line, const struct agent_format *format, struct fact *ret,
		str *ret_taken)
{
	static const struct json_limits limits = { .max_bytes = HOOK_LINE_MAX };
	struct fact f = { .cost_microusd = COST_UNKNOWN };
	str event;
	value *v;

	if (json_parse(a, line, &limits, &v, NULL) < 0)
		return false;
	event = value_str_at(v, "event");
	if (event.n == 0)
		return false;
	fact_fill(&f, v, meaning_of(event), format && format->structured);
	f.at = MAX(value_int_at(v, "at_ms"), 0);
	f.session = value_str_at(v, "session");
	f.model = value_str_at(v, "model");
	f.id = value_str_at(v, "tool_id");
	f.thread = value_str_at(v, "child");
	f.child = f.thread.n > 0;
	f.text = value_str_at(v, "text");
	f.digest = value_str_at(v, "digest");
	if (f.kind == FACT_NOTICE && f.text.n == 0)
		f.text = event;
	*ret = f;
	*ret_taken = value_str_at(v, "taken");
	return true;
}

str hook_transcript(struct arena *a, str line)
{
	static const struct json_limits limits = { .max_bytes = HOOK_LINE_MAX };
	value *v;

	return json_parse(a, line, &limits, &v, NULL) < 0 ? STR("") : value_str_at(v, "transcript");
}

str hook_scope_text(struct arena *a, const struct agent_format *f, const struct tool_scope *s)
{
	static const struct tool_scope all = { 0 };
	value *v = tool_scope_value(a, s ? s : &all);

	value_put(a, v, "format", value_cstr(a, f->name));
	return json_text(a, v);
}

static bool dispatch_name_ok(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!(s.p[i] >= 'a' && s.p[i] <= 'z') && !(s.p[i] >= 'A' && s.p[i] <= 'Z') &&
				!(s.p[i] >= '0' && s.p[i] <= '9') && s.p[i] != '_' && s.p[i] != '-')
			return false;
	return s.n > 0 && s.n <= HOOK_DISPATCH_MAX;
}

int hook_next_text(struct arena *a, str dispatch, str text, str *ret, struct ov_err *err)
{
	value *v = value_object(a);
	str s;

	if (!dispatch_name_ok(dispatch) || text.n == 0)
		return ov_fail(err, OV_EINVALID, "an instruction needs a name and a text");
	value_put(a, v, "dispatch", value_str(a, dispatch));
	value_put(a, v, "text", value_str(a, text));
	s = json_text(a, v);
	if (s.n > HOOK_FILE_MAX)
		return ov_fail(err, OV_ELIMIT, "an instruction of %zu bytes is too long for a hook",
				text.n);
	*ret = s;
	return 0;
}

int hook_next_read(struct arena *a, str json, str *ret_dispatch, str *ret_text, struct ov_err *err)
{
	static const struct json_limits limits = { .max_bytes = HOOK_FILE_MAX };
	str dispatch, text;
	value *v;
	int r = json_parse(a, json, &limits, &v, err);

	if (r < 0)
		return r;
	dispatch = value_str_at(v, "dispatch");
	text = value_str_at(v, "text");
	if (!dispatch_name_ok(dispatch) || text.n == 0)
		return ov_fail(err, OV_EINVALID, "no instruction with a name and a text");
	*ret_dispatch = dispatch;
	*ret_text = text;
	return 0;
}
