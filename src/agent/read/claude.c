/*
 * Claude Code, `--output-format stream-json`. One process may take several turns: each begins with
 * an init line and ends with a result, whose word "success" means little: is_error decides. Lines
 * of one message come one per block, with the same usage in each, which is not final: what was
 * told of it is set right by the result.
 */
#include "agent/read/parsers.h"

#include "agent/read/claude_usage_impl.h"
#include "base/duration.h"
#include "base/str.h"

enum { DENIED = 32 };

struct claude {
	struct claude_usage usage;
	char session[64], model[64];
	bool compacting;
	ov_time resets_at;    /* of the limit that was met last */
	enum trouble trouble; /* of the error that was told last in this turn */
	int status;
	uint64_t denied[DENIED]; /* calls whose denial was told */
	size_t denied_next;
	int64_t repeats; /* of the newest request, by the file of the session */
};

static struct claude *memory(struct agent_stream *s)
{
	return stream_memory(s, sizeof(struct claude));
}

static bool claude_keep(char *to, size_t size, str s)
{
	if (s.n >= size || str_is(s, to))
		return false;
	if (s.n)
		memcpy(to, s.p, s.n);
	to[s.n] = '\0';
	return true;
}

/* What every line may say: when, and of which sub-agent. */
static struct fact claude_begin(const value *v, enum fact_kind kind)
{
	struct fact f = { .kind = kind, .cost_microusd = COST_UNKNOWN };

	f.thread = value_str_at(v, "parent_tool_use_id");
	f.child = f.thread.n > 0;
	if (!time_parse(value_str_at(v, "timestamp"), &f.at))
		f.at = 0;
	return f;
}

/* ---- system ---- */

static void on_init(struct agent_stream *s, const value *v)
{
	struct claude *c = memory(s);
	struct fact f = claude_begin(v, FACT_READY);
	bool news;

	f.session = value_str_at(v, "session_id");
	f.model = value_str_at(v, "model");
	news = claude_keep(c->session, sizeof(c->session), f.session);
	news |= claude_keep(c->model, sizeof(c->model), f.model);
	c->trouble = TROUBLE_NONE;
	c->status = 0;
	if (news)
		stream_tell(s, f);
	stream_tell(s, claude_begin(v, FACT_TURN_STARTED));
}

static const struct word errors[] = {
	{ "authentication_failed", TROUBLE_LOGIN },
	{ "oauth_org_not_allowed", TROUBLE_LOGIN },
	{ "account_on_hold", TROUBLE_LOGIN },
	{ "verification_required", TROUBLE_LOGIN },
	{ "cloud_credential_error", TROUBLE_LOGIN },
	{ "billing_error", TROUBLE_RATE_LIMITED },
	{ "rate_limit", TROUBLE_RATE_LIMITED },
	{ "overloaded", TROUBLE_OVERLOADED },
	{ "server_error", TROUBLE_OVERLOADED },
	{ "invalid_request", TROUBLE_REFUSED },
	{ "model_not_found", TROUBLE_REFUSED },
};

/*
 * Its word for an error; a status says more than "unknown", and none at all is a line that is dead.
 */
static enum trouble error_of(str word, int status)
{
	int t = word_find(errors, ARRAY_LEN(errors), word, TROUBLE_NONE);

	if (t == TROUBLE_NONE && status)
		t = (int)trouble_of_status(status);
	return t == TROUBLE_NONE ? TROUBLE_NETWORK : (enum trouble)t;
}

static void on_retry(struct agent_stream *s, const value *v)
{
	struct fact f = claude_begin(v, FACT_RETRYING);

	f.status = (int)count_at(v, "error_status");
	f.trouble = error_of(value_str_at(v, "error"), f.status);
	f.text = value_str_at(v, "error");
	f.attempt = count_at(v, "attempt");
	f.wait_ms = count_at(v, "retry_delay_ms");
	stream_tell(s, f);
}

/*
 * By version and by who denied it, it is told in its own line, with the answer, or with the result.
 */
static void tell_denied(struct agent_stream *s, const value *v, const value *call, str text)
{
	struct claude *c = memory(s);
	struct fact f = claude_begin(v, FACT_PERMISSION_DENIED);
	uint64_t hash;

	f.name = value_str_at(call, "tool_name");
	f.id = value_str_at(call, "tool_use_id");
	if (!f.id.n)
		f.id = value_str_at(call, "id");
	f.text = text;
	hash = str_hash(f.id, 1);
	for (size_t i = 0; i < DENIED; i++)
		if (c->denied[i] == hash)
			return;
	c->denied[c->denied_next] = hash;
	c->denied_next = (c->denied_next + 1) % DENIED;
	stream_tell(s, f);
}

static void on_denied(struct agent_stream *s, const value *v)
{
	tell_denied(s, v, v, value_str_at(v, "message"));
}

/* It repeats "compacting" by a timer: only the first is a statement. */
static void on_status(struct agent_stream *s, const value *v)
{
	struct claude *c = memory(s);
	bool compacting = str_is(value_str_at(v, "status"), "compacting");

	if (compacting == c->compacting)
		return;
	c->compacting = compacting;
	stream_tell(s,
			claude_begin(v,
					compacting ? FACT_COMPACTION_STARTED
						   : FACT_COMPACTION_ENDED));
}

static void on_compacted(struct agent_stream *s, const value *v)
{
	struct claude *c = memory(s);
	struct fact f = claude_begin(v, FACT_CONTEXT);

	f.context_used = count_at(value_at(v, "compact_metadata"), "post_tokens");
	if (c->compacting)
		stream_tell(s, claude_begin(v, FACT_COMPACTION_ENDED));
	c->compacting = false;
	if (f.context_used)
		stream_tell(s, f);
}

static void on_notification(struct agent_stream *s, const value *v)
{
	struct fact f = claude_begin(v, FACT_NOTICE);

	f.text = value_str_at(v, "text");
	stream_tell(s, f);
}

static void on_system(struct agent_stream *s, const value *v)
{
	static const struct {
		const char *subtype;
		void (*fn)(struct agent_stream *s, const value *v);
	} kinds[] = {
		{ "init", on_init },
		{ "api_retry", on_retry },
		{ "permission_denied", on_denied },
		{ "status", on_status },
		{ "compact_boundary", on_compacted },
		{ "notification", on_notification },
	};
	str subtype = value_str_at(v, "subtype");

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_is(subtype, kinds[i].subtype))
			kinds[i].fn(s, v);
}

/* ---- messages ---- */

/* An answer that the program wrote itself, because the model gave none. */
static void on_error_message(struct agent_stream *s, const value *v, const value *message)
{
	struct claude *c = memory(s);
	const value *limit = value_at(value_at(v, "api_error_params"), "rate_limit_info");
	str text = content_text(stream_arena(s), value_at(message, "content"));
	struct fact f = trouble_fact(FACT_TROUBLE, text, (int)count_at(v, "api_error_status"));
	int t = word_find(errors, ARRAY_LEN(errors), value_str_at(v, "error"), TROUBLE_NONE);

	f.child = value_str_at(v, "parent_tool_use_id").n > 0;
	if (f.trouble == TROUBLE_OTHER && t != TROUBLE_NONE)
		f.trouble = (enum trouble)t;
	if (count_at(limit, "resetsAt"))
		f.resets_at = count_at(limit, "resetsAt") * 1000;
	if (!f.child) {
		c->trouble = f.trouble;
		c->status = f.status;
		if (f.resets_at)
			c->resets_at = f.resets_at;
	}
	stream_tell(s, f);
}

static void on_block(struct agent_stream *s, const value *v, const value *block)
{
	str type = value_str_at(block, "type");
	struct fact f = claude_begin(v, FACT_PROGRESS);

	if (str_is(type, "text")) {
		f.kind = FACT_MESSAGE;
		f.text = value_str_at(block, "text");
	} else if (str_is(type, "tool_use") || str_is(type, "server_tool_use")) {
		f.kind = FACT_TOOL_STARTED;
		f.id = value_str_at(block, "id");
		f.name = value_str_at(block, "name");
		f.text = call_text(stream_arena(s), value_at(block, "input"));
		f.digest = call_digest(stream_arena(s), f.name, value_at(block, "input"));
	} else if (value_str_at(block, "tool_use_id").n) { /* of a tool that the server ran */
		f.kind = FACT_TOOL_ENDED;
		f.id = value_str_at(block, "tool_use_id");
	}
	stream_tell(s, f);
}

static void on_assistant(struct agent_stream *s, const value *v)
{
	const value *message = value_at(v, "message"), *content = value_at(message, "content");
	struct fact f = claude_begin(v, FACT_USAGE), used = claude_begin(v, FACT_CONTEXT);

	if (value_str_at(v, "error").n || value_bool_at(v, "is_api_error_message")) {
		on_error_message(s, v, message);
		return;
	}
	f.usage_advance = true;
	if (claude_usage_message(&memory(s)->usage, message, &f.usage)) {
		stream_tell(s, f);
		used.context_used = claude_context(value_at(message, "usage"));
		if (!used.child)
			stream_tell(s, used);
	}
	for (size_t i = 0; i < value_count(content); i++)
		on_block(s, v, value_item(content, i));
}

static void on_user(struct agent_stream *s, const value *v)
{
	const value *content = value_at(value_at(v, "message"), "content");
	const value *meta = value_at(v, "tool_result_meta");

	for (size_t i = 0; i < value_count(content); i++) {
		const value *block = value_item(content, i);
		struct fact f = claude_begin(v, FACT_TOOL_ENDED);

		if (!str_is(value_str_at(block, "type"), "tool_result"))
			continue;
		f.id = value_str_at(block, "tool_use_id");
		f.failed = value_bool_at(block, "is_error");
		f.text = content_text(stream_arena(s), value_at(block, "content"));
		stream_tell(s, f);
	}
	for (size_t i = 0; i < value_count(meta); i++) {
		const value *call = value_item(meta, i);

		if (str_is(value_str_at(value_at(call, "permission_decision"), "decision"),
				    "reject"))
			tell_denied(s, v, call, (str){ 0 });
	}
}

/*
 * Raw events of the model's answer, when they are asked for: it writes, which is all that counts.
 */
static void on_event(struct agent_stream *s, const value *v)
{
	stream_tell(s, claude_begin(v, FACT_PROGRESS));
}

/* In a process that is kept, it asks on its output; in -p it denies by itself. */
static void on_control(struct agent_stream *s, const value *v)
{
	const value *request = value_at(v, "request");
	struct fact f = claude_begin(v, FACT_PERMISSION_WANTED);

	if (!str_is(value_str_at(request, "subtype"), "can_use_tool"))
		return;
	f.name = value_str_at(request, "tool_name");
	f.id = value_str_at(request, "tool_use_id");
	f.text = call_text(stream_arena(s), value_at(request, "input"));
	stream_tell(s, f);
}

/* The account's limits, whenever they change; only "rejected" holds anything up. */
static void on_limit(struct agent_stream *s, const value *v)
{
	const value *info = value_at(v, "rate_limit_info");
	struct claude *c = memory(s);
	struct fact f = claude_begin(v, FACT_TROUBLE);

	if (!str_is(value_str_at(info, "status"), "rejected"))
		return;
	f.trouble = TROUBLE_RATE_LIMITED;
	f.resets_at = count_at(info, "resetsAt") * 1000;
	f.text = value_str_at(info, "rateLimitType");
	c->resets_at = f.resets_at;
	stream_tell(s, f);
}

/* A tool that runs is told of by a timer, which proves nothing; a sub-agent may retry behind it. */
static void on_progress(struct agent_stream *s, const value *v)
{
	const value *retry = value_at(v, "subagent_retry");
	struct fact f = claude_begin(v, FACT_RETRYING);

	if (!retry)
		return;
	f.child = true;
	f.status = (int)count_at(retry, "error_status");
	f.text = value_str_at(retry, "error_category");
	f.trouble = error_of(f.text, f.status);
	f.attempt = count_at(retry, "attempt");
	f.wait_ms = count_at(retry, "retry_delay_ms");
	stream_tell(s, f);
}

/* ---- the end of a turn ---- */

static const struct word ends[] = {
	{ "error_max_turns", TROUBLE_MAX_TURNS },
	{ "error_max_budget_usd", TROUBLE_BUDGET },
	{ "max_turns", TROUBLE_MAX_TURNS },
	{ "budget_exhausted", TROUBLE_BUDGET },
	{ "prompt_too_long", TROUBLE_CONTEXT },
	{ "blocking_limit", TROUBLE_CONTEXT },
	{ "rapid_refill_breaker", TROUBLE_CONTEXT },
	{ "aborted_streaming", TROUBLE_INTERRUPTED },
	{ "aborted_tools", TROUBLE_INTERRUPTED },
};

/*
 * Why a turn failed: what it says itself, then what it said before, then what its text looks like.
 */
static void why(const struct claude *c, const value *v, struct fact *f)
{
	int t = word_find(ends, ARRAY_LEN(ends), value_str_at(v, "subtype"), TROUBLE_NONE);
	struct fact said = trouble_fact(FACT_TURN_ENDED, f->text,
			(int)count_at(v, "api_error_status"));

	if (t == TROUBLE_NONE)
		t = word_find(ends, ARRAY_LEN(ends), value_str_at(v, "terminal_reason"),
				TROUBLE_NONE);
	f->status = said.status ? said.status : c->status;
	f->resets_at = said.resets_at;
	f->wait_ms = said.wait_ms;
	f->trouble = t != TROUBLE_NONE ? (enum trouble)t
			: said.trouble == TROUBLE_OTHER && c->trouble != TROUBLE_NONE
			? c->trouble
			: said.trouble;
	if (f->trouble == TROUBLE_RATE_LIMITED && !f->resets_at)
		f->resets_at = c->resets_at;
}

static void on_result(struct agent_stream *s, const value *v)
{
	struct claude *c = memory(s);
	struct fact f = claude_begin(v, FACT_TURN_ENDED), used = claude_begin(v, FACT_USAGE);
	struct fact window = claude_begin(v, FACT_CONTEXT);
	const value *denials = value_at(v, "permission_denials");

	for (size_t i = 0; i < value_count(denials); i++)
		tell_denied(s, v, value_item(denials, i), (str){ 0 });
	claude_usage_result(&c->usage, v, &used.usage, &used.cost_microusd);
	stream_tell(s, used);
	window.context_window = claude_window(v, str_from(c->model));
	if (window.context_window)
		stream_tell(s, window);
	f.session = value_str_at(v, "session_id");
	f.text = value_str_at(v, "result");
	if (!f.text.n)
		f.text = value_str_or(value_item(value_at(v, "errors"), 0), (str){ 0 });
	f.failed = value_bool_at(v, "is_error") || !str_is(value_str_at(v, "subtype"), "success");
	if (f.failed)
		why(c, v, &f);
	c->compacting = false;
	c->trouble = TROUBLE_NONE;
	stream_tell(s, f);
}

void claude_line(struct agent_stream *s, const value *v)
{
	static const struct {
		const char *type;
		void (*fn)(struct agent_stream *s, const value *v);
	} kinds[] = {
		{ "system", on_system },
		{ "assistant", on_assistant },
		{ "user", on_user },
		{ "result", on_result },
		{ "stream_event", on_event },
		{ "control_request", on_control },
		{ "rate_limit_event", on_limit },
		{ "tool_progress", on_progress },
	};
	str type = value_str_at(v, "type");

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_is(type, kinds[i].type))
			kinds[i].fn(s, v);
}

/*
 * It notes each request as the one before, of which so much is kept, and what is added. One that
 * adds nothing is the same again: the one before got no answer. Why, it does not say.
 */
static void on_request(struct agent_stream *s, const value *v)
{
	struct fact f = claude_begin(v, FACT_RETRYING);
	const value *tail = value_at(v, "tail");

	if (!str_starts(value_str_at(v, "querySource"), STR("repl_main_thread")))
		return;
	if (!value_str_at(v, "base").n || !tail || tail->kind != V_ARRAY || value_count(tail)) {
		memory(s)->repeats = 0;
		return;
	}
	f.attempt = ++memory(s)->repeats;
	f.trouble = TROUBLE_OTHER;
	f.text = STR("its model does not answer");
	stream_tell(s, f);
}

/* Its messages stand there as in the output, among much else; failures are its hooks' to tell. */
void claude_transcript_line(struct agent_stream *s, const value *v)
{
	if (str_is(value_str_at(v, "type"), "api-request"))
		on_request(s, v);
	if (str_is(value_str_at(v, "type"), "assistant") && !value_bool_at(v, "isSidechain") &&
			!value_bool_at(v, "isApiErrorMessage"))
		on_assistant(s, v);
}

void claude_error_line(struct agent_stream *s, str line)
{
	struct fact f;

	if (!error_trouble(line, &f))
		return;
	/* The session that was to be begun is there already: only another one will do. */
	if (str_contains(line, STR("Session ID")) && str_contains(line, STR("already in use")))
		f.trouble = TROUBLE_SESSION_LOST;
	stream_tell(s, f);
}
