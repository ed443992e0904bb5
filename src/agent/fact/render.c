#include "agent/fact/render.h"

#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "base/utf8.h"

void render_init(struct render *r, bool live, render_fn *fn, void *user)
{
	*r = (struct render){ .fn = fn, .user = user, .live = live };
	account_init(&r->account, NULL, 0);
}

static void show(struct render *r, struct render_line l)
{
	r->fn(r->user, &l);
}

static void keep(char *to, size_t size, str s)
{
	s = utf8_truncate(s, size - 1);
	if (s.n)
		memcpy(to, s.p, s.n);
	to[s.n] = '\0';
}

/* The first line that is not blank. */
static str first_line(str s)
{
	s = str_trim(s);
	return str_trim(str_sub(s, 0, str_find_byte(s, '\n')));
}

/* ---- calls of tools ---- */

static struct render_line call_line(const struct render_call *c)
{
	return (struct render_line){ .role = RENDER_TOOL,
		.name = str_from(c->name),
		.text = str_from(c->input),
		.child = c->child };
}

static struct render_call call_take(struct render *r, size_t i)
{
	struct render_call c = r->calls[i];

	r->calls_n--;
	memmove(&r->calls[i], &r->calls[i + 1], (r->calls_n - i) * sizeof(r->calls[0]));
	return c;
}

static size_t call_find(const struct render *r, str id)
{
	size_t i = 0;

	while (i < r->calls_n && !str_is(str_sub(id, 0, ACCOUNT_NAME - 1), r->calls[i].id))
		i++;
	return i;
}

/* Calls that nobody answered. */
static void drop_calls(struct render *r, const char *note)
{
	while (r->calls_n) {
		struct render_call c = call_take(r, 0);
		struct render_line l = call_line(&c);

		l.note = str_from(note);
		l.failed = true;
		show(r, l);
	}
}

static void on_tool_started(struct render *r, const struct fact *f)
{
	struct render_call c = { .at = f->at, .child = f->child };

	if (call_find(r, f->id) < r->calls_n)
		return;
	keep(c.id, sizeof(c.id), f->id);
	keep(c.name, sizeof(c.name), f->name);
	keep(c.input, sizeof(c.input), first_line(f->text));
	if (r->calls_n == ACCOUNT_TOOLS)
		call_take(r, 0);
	r->calls[r->calls_n++] = c;
	if (r->live)
		show(r, call_line(&c));
}

static void on_tool_ended(struct render *r, const struct fact *f)
{
	size_t i = call_find(r, f->id);
	struct arena a = ARENA_INIT;
	struct render_call c = { 0 };
	struct render_line l;
	str took = { 0 };

	if (i == r->calls_n)
		return;
	c = call_take(r, i);
	l = call_line(&c);
	if (c.at && f->at >= c.at + OV_SECOND)
		took = duration_format_short(&a, f->at - c.at);
	l.failed = f->failed;
	l.note = arena_printf(&a, STR_FMT "%s%s", STR_ARG(took), took.n && f->failed ? ", " : "",
			f->failed ? "failed" : "");
	/* What was shown when it began is shown again only if there is something to add. */
	if (!r->live || l.note.n)
		show(r, l);
	if (f->failed && first_line(f->text).n)
		show(r,
				(struct render_line){ .role = RENDER_ANSWER,
						.failed = true,
						.child = f->child,
						.text = first_line(f->text) });
	arena_done(&a);
}

static void on_denied(struct render *r, const struct fact *f)
{
	size_t i = call_find(r, f->id);
	struct render_line l = { .role = RENDER_DENIED,
		.name = f->name,
		.text = first_line(f->text),
		.child = f->child };

	if (!l.name.n)
		l.name = i < r->calls_n ? str_from(r->calls[i].name)
					: str_from(r->account.last_tool.name);
	show(r, l);
}

/* ---- what holds it up ---- */

static void on_retrying(struct render *r, const struct fact *f)
{
	struct arena a = ARENA_INIT;
	str status = f->status ? arena_printf(&a, "%d, ", f->status) : STR("");
	str why = first_line(f->text);

	show(r,
			(struct render_line){ .role = RENDER_HELD,
					.child = f->child,
					.text = arena_printf(&a,
							"retrying (" STR_FMT
							"attempt %lld)%s" STR_FMT,
							STR_ARG(status),
							(long long)MAX(f->attempt, 1),
							why.n ? ": " : "", STR_ARG(why)) });
	arena_done(&a);
}

static void on_trouble(struct render *r, const struct fact *f)
{
	struct arena a = ARENA_INIT;
	str text = first_line(f->text);
	struct render_line l = { .role = RENDER_TROUBLE,
		.failed = true,
		.child = f->child,
		.name = str_from(trouble_name(f->trouble)),
		.text = text };

	if (f->resets_at)
		l.note = arena_printf(&a, "until " STR_FMT, STR_ARG(time_format(&a, f->resets_at)));
	if (!text.n || !str_is(utf8_truncate(text, sizeof(r->trouble) - 1), r->trouble))
		show(r, l);
	keep(r->trouble, sizeof(r->trouble), text);
	arena_done(&a);
}

static void hold(struct render *r, const char *text, str name)
{
	struct arena a = ARENA_INIT;

	show(r,
			(struct render_line){ .role = RENDER_HELD,
					.text = arena_printf(&a, "%s" STR_FMT, text,
							STR_ARG(name)) });
	arena_done(&a);
}

/* ---- words ---- */

static void on_ready(struct render *r, const struct fact *f)
{
	show(r,
			(struct render_line){ .role = RENDER_SESSION,
					.name = f->session,
					.text = f->model });
}

static void on_turn_started(struct render *r)
{
	struct arena a = ARENA_INIT;

	r->spoke = false;
	r->trouble[0] = '\0';
	if (r->account.turns > 1)
		show(r,
				(struct render_line){ .role = RENDER_TURN,
						.note = arena_printf(&a, "%lld",
								(long long)r->account.turns) });
	arena_done(&a);
}

static void on_words(struct render *r, const struct fact *f)
{
	str text = str_trim(f->text);

	if (!text.n)
		return;
	r->spoke |= !f->child;
	show(r, (struct render_line){ .role = RENDER_WORDS, .text = text, .child = f->child });
}

static void on_turn_ended(struct render *r, const struct fact *f)
{
	drop_calls(r, "no answer");
	if (f->failed)
		on_trouble(r, f);
	else if (!r->spoke) /* its last words are those of its last message, if there was one */
		on_words(r, f);
}

void render_fact(struct render *r, const struct fact *f)
{
	bool late = r->account.has_result && !r->account.in_turn;

	account_fact(&r->account, f, f->at);
	switch (f->kind) {
	case FACT_READY: on_ready(r, f); break;
	case FACT_TURN_STARTED: on_turn_started(r); break;
	case FACT_TURN_ENDED: on_turn_ended(r, f); break;
	case FACT_TOOL_STARTED: on_tool_started(r, f); break;
	case FACT_TOOL_ENDED: on_tool_ended(r, f); break;
	case FACT_MESSAGE: on_words(r, f); break;
	case FACT_PERMISSION_WANTED: hold(r, "waits for permission to use ", f->name); break;
	case FACT_PERMISSION_DENIED: on_denied(r, f); break;
	case FACT_COMPACTION_STARTED: hold(r, "compacting the conversation", (str){ 0 }); break;
	case FACT_RETRYING:
		if (!late)
			on_retrying(r, f);
		break;
	case FACT_TROUBLE:
		if (!late)
			on_trouble(r, f);
		break;
	case FACT_NOTICE:
		show(r, (struct render_line){ .role = RENDER_NOTICE, .text = first_line(f->text) });
		break;
	default: /* numbers, and signs of life */ break;
	}
}

static str counted(struct arena *a, int64_t n, const char *one, const char *many)
{
	return arena_printf(a, "%lld %s", (long long)n, n == 1 ? one : many);
}

void render_end(struct render *r, bool ended)
{
	const struct account *c = &r->account;
	const struct usage *u = &c->usage;
	int64_t cached = u->cache_read + u->cache_write, tokens = u->input + u->output + cached;
	struct arena a = ARENA_INIT;
	str text;

	if (ended || !r->live)
		drop_calls(r, ended ? "no answer" : "running");
	text = arena_printf(&a, STR_FMT ", " STR_FMT,
			STR_ARG(counted(&a, c->turns, "turn", "turns")),
			STR_ARG(counted(&a, c->tool_calls, "tool call", "tool calls")));
	if (tokens)
		text = arena_printf(&a, STR_FMT ", %lld tokens (%lld in, %lld out, %lld cached)",
				STR_ARG(text), (long long)tokens, (long long)u->input,
				(long long)u->output, (long long)cached);
	if (account_cost(c) != COST_UNKNOWN)
		text = arena_printf(&a, STR_FMT ", $%lld.%04lld", STR_ARG(text),
				(long long)(c->cost_microusd / 1000000),
				(long long)(c->cost_microusd % 1000000 / 100));
	if (c->turns || c->tool_calls || tokens)
		show(r, (struct render_line){ .role = RENDER_SUM, .text = text });
	arena_done(&a);
}
