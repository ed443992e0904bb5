/*
 * Codex, `exec --json`. Items begin, change and are completed; what a thread used is told as a
 * total over all its turns, those of earlier processes too, and never what it cost. An item of type
 * error is a warning; whether a turn failed is said by turn.failed alone.
 */
#include "agent/read/parsers.h"

#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "data/value/json.h"

enum { BEGUN = 64 };

/* Calls that were told to have begun, as some come complete at once. */
struct codex {
	uint64_t begun[BEGUN];
	size_t next;
};

/* Items that are calls of tools, and the names that its hooks give to them. */
static const struct {
	const char *type, *name;
} calls[] = {
	{ "command_execution", "Bash" },
	{ "file_change", "apply_patch" },
	{ "mcp_tool_call", NULL },
	{ "collab_tool_call", NULL },
	{ "web_search", "web_search" },
	{ "todo_list", "update_plan" },
};

static str call_name(struct arena *a, const value *item, const char *name)
{
	str server = value_str_at(item, "server"), tool = value_str_at(item, "tool");

	if (name)
		return str_from(name);
	if (!server.n)
		return tool;
	return arena_printf(a, "mcp__" STR_FMT "__" STR_FMT, STR_ARG(server), STR_ARG(tool));
}

static str files_changed(struct arena *a, const value *changes)
{
	str text = { 0 };

	for (size_t i = 0; i < MIN(value_count(changes), 16); i++) {
		str path = value_str_at(value_item(changes, i), "path");

		text = text.n ? arena_printf(a, STR_FMT " " STR_FMT, STR_ARG(text), STR_ARG(path))
			      : path;
	}
	return text;
}

static str call_input(struct arena *a, const value *item)
{
	const value *arguments = value_at(item, "arguments"), *changes = value_at(item, "changes");

	if (value_count(changes))
		return files_changed(a, changes);
	if (arguments)
		return call_text(a, arguments);
	/* A list of things to do has no words of its own: the item is all that there is. */
	return value_at(item, "items") ? call_text(a, value_at(item, "items")) : call_text(a, item);
}

/* Of a change it says which files, not what became of them: two of the same files may differ. */
static str call_known(struct arena *a, str name, const value *item)
{
	static const char *const telling[] = { "command", "arguments", "query", "items", "prompt" };

	for (size_t i = 0; i < ARRAY_LEN(telling); i++)
		if (value_at(item, telling[i]))
			return call_digest(a, name, value_at(item, telling[i]));
	return (str){ 0 };
}

static str call_output(struct arena *a, const value *item)
{
	str text = value_str_at(item, "aggregated_output");

	if (!text.n)
		text = value_str_at(value_at(item, "error"), "message");
	return text.n ? text : content_text(a, value_at(value_at(item, "result"), "content"));
}

/*
 * What it says of its sandbox instead of running a command in it; the first line is enough. It is
 * made by bubblewrap, which wants user namespaces, and by a helper of its own.
 */
static bool is_sandbox_error(str output)
{
	static const char *const words[] = { "namespace", "uid map", "codex-linux-sandbox",
		"loopback", "Creating new", "pivot_root" };
	str line = str_sub(output, 0, str_find_byte(output, '\n'));

	if (str_starts(line, STR("codex-linux-sandbox")) ||
			str_starts(line, STR("error running landlock")))
		return true;
	for (size_t i = 0; str_starts(line, STR("bwrap: ")) && i < ARRAY_LEN(words); i++)
		if (str_contains(line, str_from(words[i])))
			return true;
	return false;
}

/* f: a call that ended. */
static void tell_sandbox(struct agent_stream *s, struct fact f)
{
	if (!f.failed || !is_sandbox_error(f.text))
		return;
	f.kind = FACT_TROUBLE;
	f.trouble = TROUBLE_SANDBOX;
	f.text = str_sub(f.text, 0, str_find_byte(f.text, '\n'));
	stream_tell(s, f);
}

static bool is_new(struct agent_stream *s, str id)
{
	struct codex *c = stream_memory(s, sizeof(*c));
	uint64_t hash = str_hash(id, 1);

	for (size_t i = 0; i < BEGUN; i++)
		if (c->begun[i] == hash)
			return false;
	c->begun[c->next] = hash;
	c->next = (c->next + 1) % BEGUN;
	return true;
}

/* over: the item is complete. What comes complete at once was begun at that moment. */
static void on_call(struct agent_stream *s, const value *item, const char *name, bool over)
{
	struct arena *a = stream_arena(s);
	str status = value_str_at(item, "status");
	struct fact f = { .kind = FACT_TOOL_STARTED, .id = value_str_at(item, "id") };

	f.name = call_name(a, item, name);
	f.text = call_input(a, item);
	f.digest = call_known(a, f.name, item);
	if (is_new(s, f.id))
		stream_tell(s, f);
	else if (!over)
		stream_tell(s, (struct fact){ .kind = FACT_PROGRESS });
	if (!over)
		return;
	f.kind = FACT_TOOL_ENDED;
	f.digest = (str){ 0 };
	f.failed = str_is(status, "failed") || str_is(status, "declined") ||
			value_int_at(item, "exit_code") != 0;
	f.text = call_output(a, item);
	stream_tell(s, f);
	if (str_is(status, "declined")) {
		f.kind = FACT_PERMISSION_DENIED;
		stream_tell(s, f);
	}
	tell_sandbox(s, f);
}

/* Its sub-agents keep files of their own (codex_thread_line), which are found by these ids. */
static void tell_threads(struct agent_stream *s, const value *ids, ov_time at)
{
	for (size_t i = 0; i < MIN(value_count(ids), (size_t)BEGUN); i++)
		stream_tell(s,
				(struct fact){ .kind = FACT_THREAD,
						.at = at,
						.thread = value_str_or(value_item(ids, i),
								(str){ 0 }) });
}

static void on_item(struct agent_stream *s, const value *v, bool over)
{
	const value *item = value_at(v, "item");
	str type = value_str_at(item, "type");
	struct fact f = { .kind = FACT_PROGRESS };

	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		if (str_is(type, calls[i].type)) {
			on_call(s, item, calls[i].name, over);
			tell_threads(s, value_at(item, "receiver_thread_ids"), 0);
			return;
		}
	if (str_is(type, "error")) {
		f.kind = FACT_NOTICE;
		f.text = value_str_at(item, "message");
	} else if (str_is(type, "agent_message")) {
		if (!over)
			return;
		f.kind = FACT_MESSAGE;
		f.text = value_str_at(item, "text");
	}
	stream_tell(s, f);
}

static void on_started(struct agent_stream *s, const value *v)
{
	on_item(s, v, false);
}

static void on_completed(struct agent_stream *s, const value *v)
{
	on_item(s, v, true);
}

static void on_thread(struct agent_stream *s, const value *v)
{
	stream_tell(s,
			(struct fact){ .kind = FACT_READY,
					.session = value_str_at(v, "thread_id") });
}

static void on_turn(struct agent_stream *s, const value *v _unused_)
{
	stream_tell(s, (struct fact){ .kind = FACT_TURN_STARTED });
}

static void tell_usage(struct agent_stream *s, const value *u, ov_time at)
{
	struct fact f = { .kind = FACT_USAGE,
		.at = at,
		.usage_total = true,
		.cost_microusd = COST_UNKNOWN };

	if (!u)
		return;
	/* Its input counts what came from the cache, too. */
	f.usage.cache_read = tokens_at(&f.usage, u, "cached_input_tokens");
	f.usage.cache_write = tokens_at(&f.usage, u, "cache_write_input_tokens");
	f.usage.input = MAX(tokens_at(&f.usage, u, "input_tokens") - f.usage.cache_read -
					f.usage.cache_write,
			0);
	f.usage.output = tokens_at(&f.usage, u, "output_tokens");
	stream_tell(s, f);
}

static void on_turn_completed(struct agent_stream *s, const value *v)
{
	tell_usage(s, value_at(v, "usage"), 0);
	stream_tell(s, (struct fact){ .kind = FACT_TURN_ENDED });
}

static void on_turn_failed(struct agent_stream *s, const value *v)
{
	stream_tell(s,
			trouble_fact(FACT_TURN_ENDED, value_str_at(value_at(v, "error"), "message"),
					0));
}

/*
 * "Reconnecting... 2/5 (unexpected status 401 ...)": it tries again; any other error, it does not.
 */
static void on_error(struct agent_stream *s, const value *v)
{
	const str again = STR("Reconnecting... ");
	str text = value_str_at(v, "message");
	struct fact f = trouble_fact(FACT_TROUBLE, text, 0);

	if (str_starts(text, again)) {
		str n = str_sub(text, again.n, text.n);

		f.kind = FACT_RETRYING;
		if (!str_to_i64(str_sub(n, 0, str_find_byte(n, '/')), &f.attempt) || f.attempt < 0)
			f.attempt = 0;
	}
	stream_tell(s, f);
}

void codex_line(struct agent_stream *s, const value *v)
{
	static const struct {
		const char *type;
		void (*fn)(struct agent_stream *s, const value *v);
	} kinds[] = {
		{ "thread.started", on_thread },
		{ "turn.started", on_turn },
		{ "turn.completed", on_turn_completed },
		{ "turn.failed", on_turn_failed },
		{ "item.started", on_started },
		{ "item.updated", on_started },
		{ "item.completed", on_completed },
		{ "error", on_error },
	};
	str type = value_str_at(v, "type");

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_is(type, kinds[i].type))
			kinds[i].fn(s, v);
}

/* ---- the files that it keeps of sessions ---- */

static ov_time line_time(const value *v)
{
	ov_time at;

	return time_parse(value_str_at(v, "timestamp"), &at) ? at : 0;
}

/* What a session's file and that of a sub-agent tell alike. */
static void on_words(struct agent_stream *s, const value *v)
{
	const value *p = value_at(v, "payload"), *info = value_at(p, "info");
	str type = value_str_at(p, "type");
	ov_time at = line_time(v);
	struct fact window = { .kind = FACT_CONTEXT, .at = at, .cost_microusd = COST_UNKNOWN };

	if (str_is(value_str_at(v, "type"), "turn_context"))
		stream_tell(s,
				(struct fact){ .kind = FACT_MODEL,
						.at = at,
						.model = value_str_at(p, "model") });
	tell_threads(s, value_at(value_at(p, "item"), "receiver_thread_ids"), at);
	if (str_is(type, "message") && str_is(value_str_at(p, "role"), "assistant")) {
		stream_tell(s,
				(struct fact){ .kind = FACT_MESSAGE,
						.at = at,
						.text = content_text(stream_arena(s),
								value_at(p, "content")) });
	} else if (str_is(type, "token_count") && info) {
		tell_usage(s, value_at(info, "total_token_usage"), at);
		window.context_used = count_at(value_at(info, "last_token_usage"), "total_tokens");
		window.context_window = count_at(info, "model_context_window");
		stream_tell(s, window);
	}
}

/*
 * What the model was told of a command, without what differs each time: "Chunk ID: ...",
 * "Wall time: ...".
 */
static str same_answer(struct arena *a, str text)
{
	char *p = arena_alloc(a, text.n + 1);
	size_t n = 0;
	bool head = true;
	str line;

	while (text.n) {
		size_t end = MIN(str_find_byte(text, '\n') + 1, text.n);

		line = str_sub(text, 0, end);
		text = str_sub(text, end, text.n);
		head = head && !str_starts(line, STR("Output:"));
		if (head &&
				(str_starts(line, STR("Chunk ID:")) ||
						str_starts(line, STR("Wall time:"))))
			continue;
		memcpy(p + n, line.p, line.n);
		n += line.n;
	}
	return (str){ p, n };
}

/* What it was called with is JSON in a text. */
static str call_words(struct arena *a, str arguments)
{
	value *v = NULL;

	if (json_parse(a, arguments, NULL, &v, NULL) < 0)
		return arguments;
	return value_str_at(v, "cmd").n ? value_str_at(v, "cmd") : call_text(a, v);
}

/* What it answered a call with. */
static struct fact call_end(struct agent_stream *s, const value *v)
{
	const value *p = value_at(v, "payload");
	struct fact f = { .kind = FACT_TOOL_ENDED,
		.at = line_time(v),
		.id = value_str_at(p, "call_id"),
		.cost_microusd = COST_UNKNOWN };

	f.text = same_answer(stream_arena(s), value_str_at(p, "output"));
	if (!f.text.n) /* a list of blocks */
		f.digest = call_digest(stream_arena(s), f.name, value_at(p, "output"));
	return f;
}

/* Its word for an error; used where the error's text says nothing. */
static enum trouble error_word(const value *info)
{
	static const struct word words[] = {
		{ "context_window_exceeded", TROUBLE_CONTEXT },
		{ "usage_limit_exceeded", TROUBLE_RATE_LIMITED },
		{ "server_overloaded", TROUBLE_OVERLOADED },
		{ "internal_server_error", TROUBLE_OVERLOADED },
		{ "unauthorized", TROUBLE_LOGIN },
		{ "bad_request", TROUBLE_REFUSED },
	};

	return (enum trouble)word_find(words, ARRAY_LEN(words), value_str_or(info, (str){ 0 }),
			TROUBLE_OTHER);
}

/* {"http_connection_failed": {"http_status_code": 401}}; 0: it names none. */
static int error_status(const value *info)
{
	for (size_t i = 0; info && info->kind == V_OBJECT && i < info->object.n; i++) {
		int64_t status = count_at(info->object.members[i].value, "http_status_code");

		if (status >= 100 && status < 600)
			return (int)status;
	}
	return 0;
}

/* A turn that failed, which no hook tells. */
static void on_failed_task(struct agent_stream *s, const value *v)
{
	const value *error = value_at(value_at(v, "payload"), "error");
	const value *info = value_at(error, "codex_error_info");
	struct fact f;

	if (!error || error->kind != V_OBJECT)
		return;
	f = trouble_fact(FACT_TURN_ENDED, value_str_at(error, "message"), error_status(info));
	if (f.trouble == TROUBLE_OTHER)
		f.trouble = error_word(info);
	f.at = line_time(v);
	stream_tell(s, f);
}

/* A command that is over, with what it wrote: hooks are not told that it failed. */
static void on_rollout_item(struct agent_stream *s, const value *v)
{
	const value *item = value_at(value_at(v, "payload"), "item");
	struct fact f = { .at = line_time(v),
		.id = value_str_at(item, "id"),
		.name = STR("Bash"),
		.text = value_str_at(item, "aggregated_output"),
		.failed = str_is(value_str_at(item, "status"), "failed"),
		.cost_microusd = COST_UNKNOWN };

	if (str_is(value_str_at(item, "type"), "CommandExecution"))
		tell_sandbox(s, f);
}

/*
 * A line of the session's own. Its hooks tell of calls and turns; they do not tell how a call of
 * apply_patch ends that its shell took for itself, nor of a turn that failed.
 */
void codex_rollout_line(struct agent_stream *s, const value *v)
{
	str type = value_str_at(value_at(v, "payload"), "type");

	on_words(s, v);
	if (str_ends(type, STR("_call_output")))
		stream_tell(s, call_end(s, v));
	else if (str_is(type, "item_completed"))
		on_rollout_item(s, v);
	else if (str_is(type, "task_complete"))
		on_failed_task(s, v);
}

/* A line of a sub-agent's: its calls, too, which are in nobody's output. */
void codex_thread_line(struct agent_stream *s, const value *v)
{
	const value *p = value_at(v, "payload"), *input = value_at(p, "arguments");
	str type = value_str_at(p, "type");
	struct fact f = { .at = line_time(v), .id = value_str_at(p, "call_id") };

	on_words(s, v);
	if (str_is(type, "function_call") || str_is(type, "custom_tool_call")) {
		input = input ? input : value_at(p, "input");
		f.kind = FACT_TOOL_STARTED;
		f.name = value_str_at(p, "name");
		f.text = call_words(stream_arena(s), value_str_or(input, (str){ 0 }));
		f.digest = call_digest(stream_arena(s), f.name, input);
	} else if (str_is(type, "function_call_output") ||
			str_is(type, "custom_tool_call_output")) {
		f = call_end(s, v);
	} else if (str_is(type, "task_complete") || str_is(type, "turn_aborted")) {
		f.kind = FACT_TURN_ENDED;
	} else {
		return;
	}
	f.cost_microusd = COST_UNKNOWN;
	stream_tell(s, f);
}

/*
 * Its errors are a log as well; only what ended it is told here, as nothing of it is in the output.
 */
void codex_error_line(struct agent_stream *s, str line)
{
	struct fact f;

	/* A patch is refused without a word in the output. */
	if (str_contains(line, STR("error=patch rejected")))
		stream_tell(s,
				(struct fact){ .kind = FACT_PERMISSION_DENIED,
						.name = STR("apply_patch"),
						.text = line,
						.failed = true });
	if (!str_starts(line, STR("20")) && !str_starts(line, STR("WARNING")) &&
			error_trouble(line, &f))
		stream_tell(s, f);
}
