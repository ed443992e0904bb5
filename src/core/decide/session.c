#include "core/decide/session.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/decide/emit.h"
#include "data/value/json.h"

bool session_resumes(const struct policy *p, const struct assignment *as)
{
	const struct policy_agent *agent = policy_agent(p, as->agent);

	return as->session.n && agent && agent->format && agent->format->resumes;
}

bool session_hears(const struct policy *p, const struct assignment *as)
{
	const struct policy_agent *agent = policy_agent(p, as->agent);

	return agent && (agent->input || (agent->format && agent->format->hooks));
}

bool session_speaks(const struct policy *p, const struct assignment *as)
{
	const struct policy_agent *agent = policy_agent(p, as->agent);

	return agent && agent->format && agent->format->structured;
}

static const value *said_list(struct arena *a, const struct node *n)
{
	value *list = NULL;

	if (n->said.n)
		(void)json_parse(a, n->said, NULL, &list, NULL);
	return list;
}

bool said_waits(const struct node *n, str dispatch)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	const value *list = said_list(&a, n);

	for (size_t i = 0; i < value_count(list); i++)
		if (str_eq(value_str_at(value_item(list, i), "dispatch"), dispatch))
			return true;
	return false;
}

str said_text(struct arena *a, const struct node *n)
{
	const value *list = said_list(a, n);
	str out = STR("");

	for (size_t i = 0; i < value_count(list); i++) {
		str text = value_str_at(value_item(list, i), "text");
		bool told = str_eq(text, n->answer); /* as an answer */

		/* Who says the same twice is heard once. */
		for (size_t k = 0; k < i; k++)
			told |= str_eq(text, value_str_at(value_item(list, k), "text"));
		if (!told)
			out = arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(out),
					out.n ? "\n\n" : "", STR_ARG(text));
	}
	return out;
}

bool said_fits(const struct node *n, str text)
{
	return n->said.n + text.n <= SAID_MAX;
}

void said_given(struct decide_ctx *cx, const struct node *n, const struct run *r)
{
	const value *list = said_list(cx->arena, n);

	for (size_t i = 0; i < value_count(list); i++) {
		const value *entry = value_item(list, i);
		struct event *e;

		/* Said to this very run: its instruction was older than that. */
		if (str_eq(value_str_at(entry, "run"), r->id))
			continue;
		e = emit(cx, EV_DISPATCH_RESULT,
				(struct subject){ r->goal_id, r->node_id, r->assignment_id,
						r->id });
		ev_str(cx, e, "dispatch", value_str_at(entry, "dispatch"));
		ev_cstr(cx, e, "result", status_name(&dispatch_results, RESULT_OK));
		ev_flag(cx, e, "taken", true);
		ev_note(cx, e, "notes",
				arena_printf(cx->arena, "given with run " STR_FMT, STR_ARG(r->id)));
	}
}
