/*
 * Gemini CLI, `-o stream-json`. Its words come in pieces, which are put together again: a message
 * is over when something else comes. It says on its errors that it retries, in words.
 */
#include "agent/format/tools.h"
#include "agent/read/parsers.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/duration.h"
#include "base/str.h"

enum { MODELS_MAX = 64 };

struct gemini {
	uint64_t called; /* the id of the last tool, and whether it is one of its own */
	bool known;
	bool answered;        /* the model said something in this process */
	enum trouble trouble; /* of an error in this turn that ends it, whatever its result says */
	char error[512];
	/* a line about one that failed, until the next says whether it retries */
	char attempt[512];
};

static struct gemini *memory(struct agent_stream *s)
{
	return stream_memory(s, sizeof(struct gemini));
}

static struct fact gemini_begin(const value *v, enum fact_kind kind)
{
	struct fact f = { .kind = kind, .cost_microusd = COST_UNKNOWN };

	if (!time_parse(value_str_at(v, "timestamp"), &f.at))
		f.at = 0;
	return f;
}

static void tell_words(struct agent_stream *s, ov_time at)
{
	struct buf *text = stream_text(s);

	if (text->n)
		stream_tell(s,
				(struct fact){ .kind = FACT_MESSAGE,
						.at = at,
						.text = buf_str(text) });
	buf_clear(text);
}

static void on_init(struct agent_stream *s, const value *v)
{
	struct fact f = gemini_begin(v, FACT_READY);

	f.session = value_str_at(v, "session_id");
	f.model = value_str_at(v, "model");
	memory(s)->trouble = TROUBLE_NONE;
	stream_tell(s, f);
	stream_tell(s, gemini_begin(v, FACT_TURN_STARTED));
}

static void on_message(struct agent_stream *s, const value *v)
{
	str text = value_str_at(v, "content");

	if (!str_is(value_str_at(v, "role"), "assistant"))
		return;
	memory(s)->answered = true;
	if (!value_bool_at(v, "delta") || stream_text(s)->n + text.n > STREAM_TEXT_MAX)
		tell_words(s, 0);
	buf_adds(stream_text(s), text);
	stream_tell(s, gemini_begin(v, FACT_PROGRESS));
}

static bool is_known(str name)
{
	for (size_t i = 0; tools_gemini[i].name; i++)
		if (str_is(name, tools_gemini[i].name))
			return true;
	return false;
}

static void on_tool_use(struct agent_stream *s, const value *v)
{
	struct fact f = gemini_begin(v, FACT_TOOL_STARTED);

	f.id = value_str_at(v, "tool_id");
	f.name = value_str_at(v, "tool_name");
	memory(s)->answered = true;
	memory(s)->called = str_hash(f.id, 1);
	memory(s)->known = is_known(f.name);
	f.text = call_text(stream_arena(s), value_at(v, "parameters"));
	f.digest = call_digest(stream_arena(s), f.name, value_at(v, "parameters"));
	stream_tell(s, f);
}

/*
 * A rule forbids it; or its mode takes the tool away, and then it says that there is none of this
 * name. The last call is told with its name, its end is not: names that nobody knows are the
 * model's own.
 */
static bool is_denied(struct agent_stream *s, const value *error, str id)
{
	const struct gemini *g = memory(s);
	str type = value_str_at(error, "type");

	if (str_is(type, "policy_violation"))
		return true;
	return str_is(type, "tool_not_registered") && g->known && str_hash(id, 1) == g->called;
}

static void on_tool_result(struct agent_stream *s, const value *v)
{
	struct fact f = gemini_begin(v, FACT_TOOL_ENDED);
	const value *error = value_at(v, "error");

	f.id = value_str_at(v, "tool_id");
	f.failed = str_is(value_str_at(v, "status"), "error");
	f.text = value_str_at(v, "output");
	if (!f.text.n)
		f.text = value_str_at(error, "message");
	/* Before its end: the name is known while it is in flight. */
	if (is_denied(s, error, f.id)) {
		f.kind = FACT_PERMISSION_DENIED;
		stream_tell(s, f);
		f.kind = FACT_TOOL_ENDED;
	}
	stream_tell(s, f);
}

static void on_error(struct agent_stream *s, const value *v)
{
	struct gemini *g = memory(s);
	str text = value_str_at(v, "message"), kept = str_sub(text, 0, sizeof(g->error) - 1);
	struct fact f = trouble_fact(FACT_TROUBLE, text, 0);

	/* A loop ends the turn as well, although it is told as a warning. */
	if (!str_is(value_str_at(v, "severity"), "error") && f.trouble != TROUBLE_LOOP) {
		f = gemini_begin(v, FACT_NOTICE);
		f.text = text;
	} else {
		g->trouble = f.trouble;
		memcpy(g->error, kept.p, kept.n);
		g->error[kept.n] = '\0';
	}
	stream_tell(s, f);
}

static void tell_usage(struct agent_stream *s, const value *v)
{
	const value *stats = value_at(v, "stats");
	struct fact f = gemini_begin(v, FACT_USAGE);
	int64_t read;

	if (!stats)
		return;
	read = tokens_at(&f.usage, stats, "input_tokens");
	f.usage.cache_read = tokens_at(&f.usage, stats, "cached");
	f.usage.input = MAX(read - f.usage.cache_read, 0);
	/* What it thought is in the total alone. */
	f.usage.output = MAX(tokens_at(&f.usage, stats, "output_tokens"),
			tokens_at(&f.usage, stats, "total_tokens") - read);
	stream_tell(s, f);
}

/* "auto" is no model, and others may have answered than the one that was asked for. */
static void tell_model(struct agent_stream *s, const value *v)
{
	const value *models = value_at(value_at(v, "stats"), "models");
	struct fact f = gemini_begin(v, FACT_MODEL);
	int64_t most = 0;

	if (!models || models->kind != V_OBJECT)
		return;
	for (size_t i = 0; i < MIN(value_count(models), MODELS_MAX); i++) {
		const struct member *m = &models->object.members[i];
		int64_t used = count_at(m->value, "total_tokens");

		if (used > most) {
			most = used;
			f.model = m->key;
		}
	}
	if (f.model.n)
		stream_tell(s, f);
}

static void on_result(struct agent_stream *s, const value *v)
{
	struct gemini *g = memory(s);
	struct fact f = gemini_begin(v, FACT_TURN_ENDED);

	tell_model(s, v);
	tell_usage(s, v);
	if (!str_is(value_str_at(v, "status"), "success")) {
		ov_time at = f.at;

		f = trouble_fact(FACT_TURN_ENDED, value_str_at(value_at(v, "error"), "message"), 0);
		f.at = at;
	} else if (g->trouble != TROUBLE_NONE) {
		f.failed = true;
		f.trouble = g->trouble;
		f.text = str_from(g->error);
	}
	/* It takes the prompt back that got no answer; nothing is left that it would resume. */
	f.session_empty = f.failed && !g->answered;
	g->trouble = TROUBLE_NONE;
	stream_tell(s, f);
}

void gemini_line(struct agent_stream *s, const value *v)
{
	static const struct {
		const char *type;
		void (*fn)(struct agent_stream *s, const value *v);
	} kinds[] = {
		{ "init", on_init },
		{ "message", on_message },
		{ "tool_use", on_tool_use },
		{ "tool_result", on_tool_result },
		{ "error", on_error },
		{ "result", on_result },
	};
	str type = value_str_at(v, "type");

	if (!str_is(type, "message"))
		tell_words(s, 0);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_is(type, kinds[i].type))
			kinds[i].fn(s, v);
}

void gemini_end(struct agent_stream *s)
{
	tell_words(s, 0);
}

#define ATTEMPT "Attempt "

/* text: what failed, and that it is tried again. */
static void tell_retry(struct agent_stream *s, str text)
{
	struct fact f = trouble_fact(FACT_RETRYING, text, 0);
	str n = str_sub(text, strlen(ATTEMPT), text.n);

	if (!str_to_i64(str_sub(n, 0, str_find_byte(n, ' ')), &f.attempt) || f.attempt < 0)
		f.attempt = 0;
	stream_tell(s, f);
}

/*
 * "Attempt 2 failed with status 429. Retrying with backoff... _ApiError: {...}", then a stack. Or
 * in two lines: "Attempt 1 failed: You have exhausted ...", "Suggested retry after 20s..
 * Retrying after ...".
 */
void gemini_error_line(struct agent_stream *s, str line)
{
	struct gemini *g = memory(s);
	bool attempt = str_starts(line, STR(ATTEMPT)),
	     retries = str_contains(line, STR("Retrying"));
	struct fact f;

	if (attempt && !retries) {
		str kept = str_sub(line, 0, sizeof(g->attempt) - 1);

		memcpy(g->attempt, kept.p, kept.n);
		g->attempt[kept.n] = '\0';
	}
	if (retries && (attempt || g->attempt[0])) {
		tell_retry(s,
				attempt ? line
					: arena_printf(stream_arena(s), "%s " STR_FMT, g->attempt,
							  STR_ARG(line)));
		g->attempt[0] = '\0';
	} else if (!str_starts(line, STR("at ")) && !str_starts(line, STR("status:")) &&
			!str_starts(line, STR("Warning")) && error_trouble(line, &f)) {
		stream_tell(s, f);
	}
}
