/* `explain`: why something is as it is. `handoff show`: what whoever goes on is told. */
#include <ctype.h>

#include "base/arena.h"
#include "base/str.h"
#include "cli/call/command.h"
#include "cli/out/lane.h"
#include "cli/out/say.h"

enum { INSTRUCTION_LINES = 12, FACTS_SHOWN = 12 };

static str upper(struct arena *a, str s)
{
	char *p = arena_cstr(a, s);

	for (size_t i = 0; i < s.n; i++)
		p[i] = (char)toupper((unsigned char)p[i]);
	return (str){ p, s.n };
}

static bool is_shown(const value *fact, bool all)
{
	return all || !(value_bool_at(fact, "minor") || value_bool_at(fact, "routine"));
}

/* The newest of those that matter, or all; says how many it leaves out. */
static void show_facts(struct out *o, const value *facts, str id, bool all)
{
	size_t n = value_count(facts), major = 0, skip;
	/* An entry of the inbox, which a shell would take for a comment. */
	const char *quote = str_starts(id, STR("#")) ? "'" : "";

	for (size_t i = 0; i < n; i++)
		major += is_shown(value_item(facts, i), all);
	skip = all || major <= FACTS_SHOWN ? 0 : major - FACTS_SHOWN;
	if (major - skip < n)
		out_f(o, "  %zu fact%s left out  overseer explain --all %s" STR_FMT "%s\n",
				n - (major - skip), n - (major - skip) == 1 ? "" : "s", quote,
				STR_ARG(out_prose(o, id)), quote);
	for (size_t i = 0; i < n; i++) {
		const value *f = value_item(facts, i);

		if (!is_shown(f, all) || (skip && skip--))
			continue;
		cell(o, S_DIM, out_clock(o, value_str_at(f, "at")));
		cell(o, S_PLAIN, out_prose(o, value_str_at(f, "text")));
		row_end(o);
	}
	table_end(o, "  ");
}

static void label_row(struct out *o, const char *label, size_t i, str text)
{
	cell(o, S_BOLD, i ? STR("") : str_from(label));
	cell(o, S_PLAIN, out_prose(o, text));
	row_end(o);
}

static void show_evidence(struct out *o, const value *list)
{
	for (size_t i = 0; i < value_count(list); i++)
		label_row(o, "Evidence", i,
				say_text(o, value_item(list, i), "{text}[{?at} ({at:age} ago)]"));
}

/* Was the last thing that was done about a run, or seen of it, about its silence? */
static bool is_stalled(const value *list)
{
	bool stalled = false;

	for (size_t i = 0; i < value_count(list); i++) {
		str step = value_str_at(value_item(list, i), "step");

		if (str_is(value_str_at(value_item(list, i), "state"), "done"))
			stalled = str_is(step, "stall") || (stalled && !str_is(step, "life"));
	}
	return stalled;
}

/*
 * What was done about a silent run when, and what comes next. Of one that is not silent only the
 * next step, unless all is wanted: nothing of it will happen.
 */
static void show_timeline(struct out *o, const value *list, bool all)
{
	bool stalled = is_stalled(list);
	size_t shown = 0;

	for (size_t i = 0; i < value_count(list); i++) {
		const value *m = value_item(list, i);
		str state = value_str_at(m, "state");

		if (!all && !stalled && str_is(state, "later"))
			continue;
		label_row(o, "Timeline", shown++,
				say_text(o, m,
						str_is(state, "next")
								? "next {at:clock} ({at:until})  {text}"
								: str_is(state, "done")
								? "done {at:clock}  {text}"
								: "then {at:clock}  {text}"));
	}
}

/* The beginning of what was sent; --json has all of it. */
static void show_instruction(struct out *o, str text)
{
	str rest = text, line;

	if (!text.n)
		return;
	for (int i = 0; i < INSTRUCTION_LINES && str_split(&rest, '\n', &line); i++)
		out_lines(o, "  | ", line);
	if (rest.n)
		out_f(o, "  | ... %zu bytes more (--json)\n", rest.n);
}

/* State, why, what next: who reads no further knows what there is to know. */
static void show_conclusion(struct cli *c, const value *res)
{
	struct out *o = &c->out;
	str state = say_text(o, res, "[{state}|{status}]"),
	    next = say_text(o, res, "{conclusion.next}");

	say(o, res, "{id:prose*bold} \"{title}\" is ");
	out_styled(o, status_style(state), upper(c->arena, state));
	say(o, res, "[{?since} since {since:clock} ({since:age} ago)].\n");
	if (!next.n)
		next = value_str_or(value_item(value_at(res, "next"), 0), STR(""));
	label_row(o, "Why", 0, say_text(o, res, "[{conclusion.why}|{now}]"));
	label_row(o, "Next", 0, next);
	table_end(o, "");
}

void show_explain_get(struct cli *c, const value *res)
{
	const value *next = value_at(res, "next");
	struct out *o = &c->out;
	bool all = cli_has(c, "all");

	show_conclusion(c, res);
	show_facts(o, value_at(res, "facts"), value_str_at(res, "id"), all);
	show_instruction(o, value_str_at(res, "instruction"));
	say(o, res, "[{?last_lines}The agent wrote last\n]");
	show_last_lines(o, "  | ", value_str_at(res, "last_lines"), SIZE_MAX);
	if (all)
		label_row(o, "Now", 0, value_str_at(res, "now"));
	show_timeline(o, value_at(res, "timeline"), all);
	show_evidence(o, value_at(res, "evidence"));
	for (size_t i = 0; i < value_count(next); i++)
		label_row(o, "Commands", i, value_str_or(value_item(next, i), STR("")));
	table_end(o, "");
}

/* As it stands in the prompt, and nothing else: what people see is what the agent sees. */
void show_handoff_show(struct cli *c, const value *res)
{
	out_lines(&c->out, "", value_str_at(res, "text"));
}
