#include "agent/fact/account.h"

#include <signal.h>

#include "agent/fact/reset_time.h"
#include "base/str.h"
#include "base/utf8.h"

/* A hook's word that is older than the newest sign of life by this has been overtaken. */
enum { STALE = 2000 };

void account_init(struct account *c, const struct usage *before, int64_t cost_before)
{
	*c = (struct account){ .cost_microusd = COST_UNKNOWN,
		.cost_baseline = MAX(cost_before, 0) };
	if (before)
		c->baseline = *before;
}

/*
 * What is too long is cut between words, so that nothing is left of one that was to be kept secret.
 */
static void keep(char *to, size_t size, str s)
{
	str cut = utf8_truncate(s, size - 1);

	if (cut.n < s.n && size > ACCOUNT_NAME)
		while (cut.n && !strchr(" \t\n", cut.p[cut.n - 1]))
			cut.n--;
	if (cut.n)
		memcpy(to, cut.p, cut.n);
	to[cut.n] = '\0';
}

#define KEEP(array, s) keep((array), sizeof(array), (s))

/* ---- tools in flight ---- */

static size_t tool_find(const struct account *c, str id)
{
	size_t i = 0;

	while (i < c->tools_n && !str_is(str_sub(id, 0, ACCOUNT_ID - 1), c->tools[i].id))
		i++;
	return i;
}

static void tool_remove(struct account *c, size_t i)
{
	c->tools_n--;
	memmove(&c->tools[i], &c->tools[i + 1], (c->tools_n - i) * sizeof(c->tools[0]));
}

static void on_tool_started(struct account *c, const struct fact *f, ov_time at)
{
	struct account_tool t = { .since = at, .child = f->child, .thread = calls_thread(f) };

	if (tool_find(c, f->id) < c->tools_n)
		return;
	KEEP(t.id, f->id);
	KEEP(t.name, f->name);
	shell_program(f->name, f->text, t.program);
	t.call = calls_made(&c->calls, f);
	c->tool_calls++;
	c->last_tool = t;
	KEEP(c->last_tool_input, f->text);
	if (c->tools_n == ACCOUNT_TOOLS)
		tool_remove(c, 0);
	c->tools[c->tools_n++] = t;
}

static void on_tool_ended(struct account *c, const struct fact *f, ov_time at)
{
	size_t i = tool_find(c, f->id);

	if (i == c->tools_n)
		return;
	calls_answered(&c->calls, c->tools[i].call, c->tools[i].thread, f, at);
	/*
	 * It runs after all: what looked like its sandbox was the tool's own. Of the call itself a
	 * hook says only that it is over.
	 */
	if (!f->failed && strcmp(c->tools[i].name, c->sandbox_tool) == 0 &&
			strcmp(c->tools[i].id, c->sandbox_call) != 0)
		c->sandbox_error[0] = '\0';
	tool_remove(c, i);
}

/* ---- turns ---- */

static void on_ready(struct account *c, const struct fact *f, ov_time at _unused_)
{
	if (f->child)
		return;
	c->ready = true;
	if (f->session.n)
		KEEP(c->session, f->session);
	if (f->model.n)
		KEEP(c->model, f->model);
}

static void on_model(struct account *c, const struct fact *f, ov_time at _unused_)
{
	if (!f->child && f->model.n)
		KEEP(c->model, f->model);
}

static void on_turn_started(struct account *c, const struct fact *f, ov_time at _unused_)
{
	if (f->child)
		return;
	if (!c->in_turn)
		c->turns++;
	c->in_turn = true;
}

/* When it may be tried again: a moment, a wait, or a time of the day in its words. */
static ov_time reset_of(const struct account *c, const struct fact *f, ov_time at)
{
	if (f->resets_at)
		return f->resets_at;
	if (f->kind == FACT_RETRYING)
		return 0;
	if (f->wait_ms)
		return at + f->wait_ms;
	return f->trouble == TROUBLE_RATE_LIMITED ? reset_time(f->text, at, c->utc_offset) : 0;
}

/* What the trouble is; a general word does not replace a precise one. */
static void keep_trouble(struct account *c, const struct fact *f, ov_time at)
{
	if (f->trouble == TROUBLE_OTHER && c->trouble != TROUBLE_NONE &&
			c->trouble != TROUBLE_OTHER)
		return;
	c->trouble = f->trouble;
	c->trouble_at = at;
	c->trouble_sign = f->sign == SIGN_NONE ? SIGN_HOOK : f->sign;
	c->status = f->status;
	c->resets_at = reset_of(c, f, at);
	if (f->text.n)
		KEEP(c->trouble_text, f->text);
}

static void forget_trouble(struct account *c)
{
	c->trouble = TROUBLE_NONE;
	c->trouble_sign = SIGN_NONE;
	c->status = 0;
	c->resets_at = 0;
	c->trouble_text[0] = '\0';
}

/* A sub-agent is over: the session's own turn goes on. */
static void on_thread_ended(struct account *c, uint64_t thread)
{
	for (size_t i = c->tools_n; i-- > 0;)
		if (c->tools[i].thread == thread)
			tool_remove(c, i);
	calls_over(&c->calls, thread);
}

static void on_turn_ended(struct account *c, const struct fact *f, ov_time at)
{
	if (f->child) {
		on_thread_ended(c, calls_thread(f));
		return;
	}
	c->in_turn = false;
	c->compacting = false;
	c->waiting_for[0] = '\0';
	c->tools_n = 0;
	c->has_result = true;
	c->result_failed = f->failed;
	c->session_empty = f->session_empty;
	if (f->session.n && !c->session[0] && !f->failed)
		KEEP(c->session, f->session);
	if (f->failed)
		keep_trouble(c, f, at);
	else
		forget_trouble(c);
}

/* ---- words and numbers ---- */

static void on_message(struct account *c, const struct fact *f, ov_time at _unused_)
{
	if (!f->child)
		KEEP(c->message, f->text);
}

/* A total below the baseline is of another session than we took it for. */
static struct usage beyond(struct usage total, struct usage before)
{
	struct usage d = usage_minus(total, before);

	return d.input < 0 || d.output < 0 || d.cache_read < 0 || d.cache_write < 0 ? total : d;
}

/* What was used stays used, whatever is said of it later. */
static struct usage at_least(struct usage a, struct usage b)
{
	return (struct usage){ .input = MAX(a.input, b.input),
		.output = MAX(a.output, b.output),
		.cache_read = MAX(a.cache_read, b.cache_read),
		.cache_write = MAX(a.cache_write, b.cache_write),
		.untrue = a.untrue };
}

/* A total is of the session alone; what its sub-agents told by themselves comes on top. */
static void add_usage(struct account *c, const struct fact *f, struct usage told)
{
	if (f->usage_total && told.untrue) { /* the last one that can be true is the least */
		c->usage.untrue = true;
	} else if (f->usage_total) {
		c->usage = at_least(usage_plus(beyond(told, c->baseline), c->children), c->usage);
		c->usage.untrue = c->children.untrue;
	} else {
		told = at_least(told, (struct usage){ 0 });
		c->usage = usage_plus(c->usage, told);
		if (f->child)
			c->children = usage_plus(c->children, told);
	}
}

static void on_usage(struct account *c, const struct fact *f, ov_time at _unused_)
{
	const int64_t most = INT64_C(1000000000000000);
	struct usage told = f->usage;

	c->advance_untrue = f->usage_advance && (c->advance_untrue || told.untrue);
	told.untrue &= !f->usage_advance;
	add_usage(c, f, told);
	if (f->cost_microusd == COST_UNTRUE)
		c->cost_untrue = true;
	if (f->cost_microusd < 0)
		return;
	/* A total that can be true tells what the one before did not. */
	if (f->usage_total)
		c->cost_untrue = false;
	if (f->usage_total)
		c->cost_microusd = MAX(c->cost_microusd,
				f->cost_microusd >= c->cost_baseline
						? f->cost_microusd - c->cost_baseline
						: f->cost_microusd);
	else
		c->cost_microusd = MIN(MAX(c->cost_microusd, 0) + f->cost_microusd, most);
}

/* resets_at is a date, and stays. */
void account_clock_moved(struct account *c, ov_time by)
{
	ov_time *const moments[] = { &c->life_at, &c->alone_at, &c->waiting_since,
		&c->retrying_since, &c->trouble_at, &c->last_tool.since };

	for (size_t i = 0; i < ARRAY_LEN(moments); i++)
		if (*moments[i])
			*moments[i] = MAX(*moments[i] + by, (ov_time)1);
	for (size_t i = 0; i < c->tools_n; i++)
		c->tools[i].since = MAX(c->tools[i].since + by, (ov_time)1);
	calls_clock_moved(&c->calls, by);
}

int64_t account_cost(const struct account *c)
{
	return c->cost_untrue ? COST_UNKNOWN : c->cost_microusd;
}

bool account_usage_untrue(const struct account *c)
{
	return c->usage.untrue || c->advance_untrue;
}

static void on_context(struct account *c, const struct fact *f, ov_time at _unused_)
{
	if (f->context_used)
		c->context_used = f->context_used;
	if (f->context_window)
		c->context_window = f->context_window;
}

/* ---- being held up ---- */

/* It says that it waits, not for what. */
static bool is_unnamed(str name)
{
	return !name.n || str_is(name, "permission_prompt");
}

/* A prompt that is still open may be told of again, with less than was known of it. */
static void on_wanted(struct account *c, const struct fact *f, ov_time at)
{
	str name = f->name.n ? f->name : STR("permission");
	size_t n;

	if (!c->waiting_for[0])
		c->waiting_since = at;
	else if (!f->text.n || is_unnamed(f->name))
		return;
	KEEP(c->waiting_for, name);
	n = strlen(c->waiting_for);
	if (f->text.n && n + 2 < sizeof(c->waiting_for)) {
		memcpy(c->waiting_for + n, ": ", 3);
		keep(c->waiting_for + n + 2, sizeof(c->waiting_for) - n - 2, f->text);
	}
}

static void keep_denied(struct account *c, str name)
{
	size_t i = 0;

	name = str_sub(name, 0, ACCOUNT_NAME - 1);
	while (i < c->denied_n && !str_is(name, c->denied[i].name))
		i++;
	if (!name.n || i == ACCOUNT_DENIED)
		return;
	KEEP(c->denied[i].name, name);
	c->denied[i].times++;
	c->denied_n = MAX(c->denied_n, i + 1);
}

static void on_denied(struct account *c, const struct fact *f, ov_time at)
{
	size_t tool = tool_find(c, f->id);

	c->denials++;
	keep_denied(c,
			f->name.n ? f->name
				  : str_from(tool < c->tools_n ? c->tools[tool].name : ""));
	on_tool_ended(c, f, at);
}

static void on_compaction_started(struct account *c, const struct fact *f _unused_,
		ov_time at _unused_)
{
	c->compacting = true;
}

static void on_compaction_ended(struct account *c, const struct fact *f _unused_,
		ov_time at _unused_)
{
	c->compacting = false;
}

/*
 * Errors are read apart from the output: what is told of a turn that ended meanwhile is too late.
 */
static bool between_turns(const struct account *c)
{
	return c->has_result && !c->in_turn;
}

static void on_trouble(struct account *c, const struct fact *f, ov_time at)
{
	/* It goes on, and may even say that all is well; nothing that it does is done. */
	if (f->trouble == TROUBLE_SANDBOX) {
		KEEP(c->sandbox_error, f->text);
		KEEP(c->sandbox_tool, f->name);
		KEEP(c->sandbox_call, f->id);
		return;
	}
	if (!between_turns(c) || c->result_failed)
		keep_trouble(c, f, at);
}

static void on_retrying(struct account *c, const struct fact *f, ov_time at)
{
	if (between_turns(c))
		return;
	if (!c->retrying)
		c->retrying_since = at;
	c->retrying = true;
	c->attempts = MAX(f->attempt, 1);
	keep_trouble(c, f, at);
}

typedef void account_fn(struct account *c, const struct fact *f, ov_time at);

static account_fn *const folds[FACT_KIND_COUNT] = {
	[FACT_READY] = on_ready,
	[FACT_MODEL] = on_model,
	[FACT_TURN_STARTED] = on_turn_started,
	[FACT_TURN_ENDED] = on_turn_ended,
	[FACT_TOOL_STARTED] = on_tool_started,
	[FACT_TOOL_ENDED] = on_tool_ended,
	[FACT_MESSAGE] = on_message,
	[FACT_USAGE] = on_usage,
	[FACT_CONTEXT] = on_context,
	[FACT_PERMISSION_WANTED] = on_wanted,
	[FACT_PERMISSION_DENIED] = on_denied,
	[FACT_COMPACTION_STARTED] = on_compaction_started,
	[FACT_COMPACTION_ENDED] = on_compaction_ended,
	[FACT_RETRYING] = on_retrying,
	[FACT_TROUBLE] = on_trouble,
};

/* Turns and tools are told by the output; by hooks only as long as that has not spoken. */
static bool of_output(enum fact_kind k)
{
	return k == FACT_TURN_STARTED || k == FACT_TURN_ENDED || k == FACT_TOOL_STARTED ||
			k == FACT_TOOL_ENDED || k == FACT_PERMISSION_DENIED;
}

static void output_speaks(struct account *c)
{
	c->streamed = true;
	c->in_turn = c->has_result = c->result_failed = false;
	c->tools_n = 0;
	c->turns = c->tool_calls = c->denials = 0;
	memset(c->denied, 0, sizeof(c->denied));
	c->denied_n = 0;
	c->calls = (struct calls){ 0 };
	c->last_tool = (struct account_tool){ 0 };
	c->last_tool_input[0] = '\0';
}

/* The work goes on: whatever held it up is over. */
static void account_goes_on(struct account *c, const struct fact *f, ov_time at)
{
	bool works = f->kind == FACT_MESSAGE || f->kind == FACT_TOOL_STARTED ||
			f->kind == FACT_TOOL_ENDED;

	/* What it wrote before into its file, and we read only now, does not. */
	if (f->sign == SIGN_TRANSCRIPT && at < c->trouble_at)
		return;
	c->retrying = false;
	c->attempts = 0;
	if (f->child || !works)
		return;
	c->waiting_for[0] = '\0';
	c->compacting = false;
	if (f->kind != FACT_TOOL_ENDED)
		forget_trouble(c);
}

/*
 * From a file of the session, which is read where there is no output, or of a sub-agent, beside
 * hooks that tell of it. Beside an output that is the only word of a sub-agent.
 */
static bool is_beside(const struct account *c, const struct fact *f)
{
	return f->sign == SIGN_TRANSCRIPT && (!f->child || !c->streamed);
}

/*
 * The file that an agent keeps of its session is read later than its hooks. What ends there has
 * mostly been told by one: only a call counts that none told the end of, and a turn or a retry
 * after which nothing was heard.
 */
static bool is_overtaken(const struct account *c, const struct fact *f, ov_time at)
{
	bool file = is_beside(c, f);

	if (file && f->kind == FACT_TOOL_ENDED)
		return tool_find(c, f->id) == c->tools_n;
	if (file && f->kind == FACT_RETRYING)
		return at < c->life_at;
	return (f->offset == 0 || (file && f->kind == FACT_TURN_ENDED)) && at + STALE < c->life_at;
}

void account_fact(struct account *c, const struct fact *f, ov_time at)
{
	bool hook = f->offset == 0 || is_beside(c, f);

	c->tells_late &= !f->at_once;
	/* What the agent's clock says of the future is not believed. */
	if (f->at && (f->at < at || !at))
		at = f->at;
	if (!hook && !c->streamed && of_output(f->kind))
		output_speaks(c);
	if (hook && c->streamed && of_output(f->kind))
		goto life;
	if (is_overtaken(c, f, at))
		return;
	if (fact_is_life(f->kind) && (!hook || !c->streamed))
		account_goes_on(c, f, at);
	if (folds[f->kind])
		folds[f->kind](c, f, at);
life:
	if (!fact_is_life(f->kind))
		return;
	c->life_at = MAX(c->life_at, at);
	/*
	 * Calls at the same time end one after the other: the end of one says nothing of
	 * the others.
	 */
	if (f->kind != FACT_TOOL_ENDED && c->tools_n == 0)
		c->alone_at = MAX(c->alone_at, at);
}

/* ---- the verdict ---- */

static bool in_flight(const struct account *c)
{
	for (size_t i = 0; i < c->tools_n; i++)
		if (!c->tools[i].child)
			return true;
	return false;
}

static struct account_verdict failed(const struct account *c, enum trouble otherwise, str text)
{
	struct account_verdict v = { .trouble = c->trouble, .text = str_from(c->trouble_text) };

	if (v.trouble == TROUBLE_NONE)
		v.trouble = otherwise;
	if (!v.text.n)
		v.text = text;
	return v;
}

struct account_verdict account_judge(const struct account *c, int exit_code, int signal, bool lost)
{
	bool open = !c->has_result || c->in_turn || in_flight(c);

	if (lost)
		return failed(c, TROUBLE_UNFINISHED, STR("nobody saw how it ended"));
	if (open && (signal == SIGINT || exit_code == 128 + SIGINT))
		return failed(c, TROUBLE_INTERRUPTED, STR("it was interrupted"));
	if (open && (signal || exit_code > 128))
		return failed(c, TROUBLE_UNFINISHED, STR("it was ended in the middle of a turn"));
	if (!c->has_result && !c->in_turn)
		return failed(c, TROUBLE_UNFINISHED, STR("it ended without a result"));
	if (open)
		return failed(c, TROUBLE_UNFINISHED, STR("it ended in the middle of a turn"));
	if (c->sandbox_error[0])
		return (struct account_verdict){ .trouble = TROUBLE_SANDBOX,
			.text = str_from(c->sandbox_error) };
	if (c->result_failed)
		return failed(c, TROUBLE_OTHER, STR("its turn failed"));
	return (struct account_verdict){ .ok = true,
		.text = signal              ? STR("its turn had ended well when it was killed")
				: exit_code ? STR("its turn ended well, whatever its exit status")
					    : (str){ 0 } };
}
