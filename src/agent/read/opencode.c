/*
 * opencode, `run --format json`. A turn is a row of steps, the last of which ends for another
 * reason than calls of tools. Its output tells of calls when they are over, and is silent while it
 * retries: that is in its log, which `--print-logs` puts on the errors.
 */
#include "agent/read/parsers.h"

#include "base/arena.h"
#include "base/str.h"

struct opencode {
	char session[128];
	bool in_turn;
	int64_t attempts; /* since it got on */
};

static struct opencode *memory(struct agent_stream *s)
{
	return stream_memory(s, sizeof(struct opencode));
}

static struct fact opencode_begin(const value *v, enum fact_kind kind)
{
	return (struct fact){ .kind = kind,
		.cost_microusd = COST_UNKNOWN,
		.at = count_at(v, "timestamp") };
}

static void tell_session(struct agent_stream *s, str session, ov_time at)
{
	struct opencode *o = memory(s);

	if (!session.n || session.n >= sizeof(o->session) || str_is(session, o->session))
		return;
	memcpy(o->session, session.p, session.n);
	o->session[session.n] = '\0';
	stream_tell(s, (struct fact){ .kind = FACT_READY, .session = session, .at = at });
}

static void on_step(struct agent_stream *s, const value *v)
{
	struct opencode *o = memory(s);

	if (!o->in_turn)
		stream_tell(s, opencode_begin(v, FACT_TURN_STARTED));
	else
		stream_tell(s, opencode_begin(v, FACT_PROGRESS));
	o->in_turn = true;
}

static void on_text(struct agent_stream *s, const value *v)
{
	struct fact f = opencode_begin(v, FACT_MESSAGE);

	f.text = value_str_at(value_at(v, "part"), "text");
	stream_tell(s, f);
}

static void on_reasoning(struct agent_stream *s, const value *v)
{
	stream_tell(s, opencode_begin(v, FACT_PROGRESS));
}

static void on_tool(struct agent_stream *s, const value *v)
{
	const value *part = value_at(v, "part"), *state = value_at(part, "state");
	str status = value_str_at(state, "status");
	struct fact f = opencode_begin(v, FACT_TOOL_STARTED);

	f.id = value_str_at(part, "callID");
	f.name = value_str_at(part, "tool");
	f.text = call_text(stream_arena(s), value_at(state, "input"));
	f.digest = call_digest(stream_arena(s), f.name, value_at(state, "input"));
	if (count_at(value_at(state, "time"), "start"))
		f.at = count_at(value_at(state, "time"), "start");
	stream_tell(s, f);
	if (!str_is(status, "completed") && !str_is(status, "error"))
		return;
	f.kind = FACT_TOOL_ENDED;
	f.digest = (str){ 0 };
	f.at = count_at(v, "timestamp");
	f.failed = str_is(status, "error") ||
			value_int_at(value_at(state, "metadata"), "exit") != 0;
	f.text = value_str_at(state, f.failed && value_at(state, "error") ? "error" : "output");
	stream_tell(s, f);
	/* Nobody is there to be asked: it answers itself, with these words. */
	if (str_is(status, "error") && str_contains(f.text, STR("permission"))) {
		f.kind = FACT_PERMISSION_DENIED;
		stream_tell(s, f);
	}
}

static struct usage usage_of(const value *tokens)
{
	const value *cache = value_at(tokens, "cache");
	struct usage u = { 0 };

	u.input = tokens_at(&u, tokens, "input");
	u.output = tokens_at(&u, tokens, "output") + tokens_at(&u, tokens, "reasoning");
	u.cache_read = tokens_at(&u, cache, "read");
	u.cache_write = tokens_at(&u, cache, "write");
	return u;
}

static void on_step_finish(struct agent_stream *s, const value *v)
{
	const value *part = value_at(v, "part");
	str reason = value_str_at(part, "reason");
	struct fact f = opencode_begin(v, FACT_USAGE), used = opencode_begin(v, FACT_CONTEXT);
	struct fact end = opencode_begin(v, FACT_TURN_ENDED);

	f.usage = usage_of(value_at(part, "tokens"));
	f.cost_microusd = dollars(value_at(part, "cost"));
	stream_tell(s, f);
	used.context_used = f.usage.input + f.usage.output + f.usage.cache_read +
			f.usage.cache_write;
	if (used.context_used)
		stream_tell(s, used);
	if (str_is(reason, "tool-calls"))
		return;
	memory(s)->in_turn = false;
	end.failed = !str_is(reason, "stop");
	if (end.failed) {
		end.trouble = str_is(reason, "length") ? TROUBLE_CONTEXT : TROUBLE_OTHER;
		end.text = reason;
	}
	stream_tell(s, end);
}

/* ---- what our plugin says (agent/launch/opencode_plugin.h) ---- */

static struct fact from_plugin(const value *v, enum fact_kind kind)
{
	struct fact f = { .kind = kind,
		.cost_microusd = COST_UNKNOWN,
		.at = count_at(v, "at"),
		.at_once = true };

	f.child = value_bool_at(v, "child");
	f.thread = f.child ? value_str_at(v, "session") : STR("");
	return f;
}

/* Calls of several sessions may have the same name; those of the session itself are told again. */
static struct fact call_from_plugin(struct agent_stream *s, const value *v, enum fact_kind kind)
{
	struct fact f = from_plugin(v, kind);

	f.id = value_str_at(v, "id");
	if (f.child)
		f.id = arena_printf(stream_arena(s), STR_FMT "/" STR_FMT, STR_ARG(f.thread),
				STR_ARG(f.id));
	f.digest = value_str_at(v, "digest");
	return f;
}

static void on_plugin(struct agent_stream *s, const value *v)
{
	str what = value_str_at(v, "what");
	struct fact f;

	if (str_is(what, "call")) {
		f = call_from_plugin(s, v, FACT_TOOL_STARTED);
		f.name = value_str_at(v, "tool");
		f.text = value_str_at(v, "text");
	} else if (str_is(what, "answer")) {
		f = call_from_plugin(s, v, FACT_TOOL_ENDED);
		f.failed = value_bool_at(v, "failed");
	} else if (str_is(what, "step")) {
		f = from_plugin(v, FACT_USAGE);
		f.usage = usage_of(value_at(v, "tokens"));
		f.cost_microusd = dollars(value_at(v, "cost"));
	} else if (str_is(what, "over")) {
		f = from_plugin(v, FACT_TURN_ENDED);
	} else if (str_is(what, "model")) {
		f = from_plugin(v, FACT_MODEL);
		if (!f.child) /* long before its first answer */
			tell_session(s, value_str_at(v, "session"), f.at);
		f.model = value_str_at(v, "model");
	} else {
		return;
	}
	/* Of the session itself the output tells all else. */
	if (f.child || f.kind == FACT_TOOL_STARTED || f.kind == FACT_MODEL)
		stream_tell(s, f);
}

static const struct word errors[] = {
	{ "ProviderAuthError", TROUBLE_LOGIN },
	{ "MessageAbortedError", TROUBLE_INTERRUPTED },
	{ "ContextOverflowError", TROUBLE_CONTEXT },
	{ "MessageOutputLengthError", TROUBLE_CONTEXT },
};

static void on_error(struct agent_stream *s, const value *v)
{
	const value *error = value_at(v, "error"), *data = value_at(error, "data");
	str name = value_str_at(error, "name"), text = value_str_at(data, "message");
	struct fact f = trouble_fact(FACT_TURN_ENDED, text.n ? text : name,
			(int)count_at(data, "statusCode"));

	f.at = count_at(v, "timestamp");
	f.trouble = (enum trouble)word_find(errors, ARRAY_LEN(errors), name, (int)f.trouble);
	memory(s)->in_turn = false;
	stream_tell(s, f);
}

void opencode_line(struct agent_stream *s, const value *v)
{
	static const struct {
		const char *type;
		void (*fn)(struct agent_stream *s, const value *v);
	} kinds[] = {
		{ "step_start", on_step },
		{ "text", on_text },
		{ "reasoning", on_reasoning },
		{ "tool_use", on_tool },
		{ "step_finish", on_step_finish },
		{ "error", on_error },
		{ "overseer", on_plugin },
	};
	str type = value_str_at(v, "type");

	tell_session(s, value_str_at(v, "sessionID"), count_at(v, "timestamp"));
	memory(s)->attempts = 0;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_is(type, kinds[i].type))
			kinds[i].fn(s, v);
}

/* The value of a key in a line of `key=value key="a value"`; quotes in values are escaped. */
static str log_value(str line, const char *key)
{
	while (line.n) {
		size_t eq = str_find_byte(line, '=');
		str name = str_trim(str_sub(line, 0, eq)), text;
		size_t n = 0;

		line = str_sub(line, eq + 1, line.n);
		if (line.n && line.p[0] == '"') {
			for (n = 1; n < line.n && line.p[n] != '"'; n++)
				n += line.p[n] == '\\';
			text = str_sub(line, 1, n - 1);
			n++;
		} else {
			n = str_find_byte(line, ' ');
			text = str_sub(line, 0, n);
		}
		if (str_is(name, key))
			return text;
		line = str_sub(line, n, line.n);
	}
	return (str){ 0 };
}

/*
 * Each call of the model that failed is one line of its log; it calls again, for ever. Calls for a
 * title of the session ("small") are of no interest.
 */
void opencode_error_line(struct agent_stream *s, str line)
{
	struct fact f;

	if (str_is(log_value(line, "message"), "stream error")) {
		if (str_is(log_value(line, "small"), "true"))
			return;
		tell_session(s, log_value(line, "session.id"), 0);
		f = trouble_fact(FACT_RETRYING, log_value(line, "error.error"), 0);
		f.attempt = ++memory(s)->attempts;
		stream_tell(s, f);
	} else if (!log_value(line, "level").n && error_trouble(line, &f)) {
		stream_tell(s, f);
	}
}
