/*
 * Answering entries of the inbox: one, or several at once by a list ("3,5,8-12") or by their kind.
 * Each is answered in its own right: what is refused of one does not stop the others.
 */
#include "base/str.h"
#include "cli/call/input.h"
#include "cli/out/say.h"
#include "cli/work/work.h"

enum { ENTRIES_MAX = 1000 };

struct entries {
	int64_t *p;
	size_t n;
	bool several; /* by the way they were named, whatever came of it */
};

static int add_entry(struct entries *x, int64_t number, struct ov_err *err)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->p[i] == number)
			return 0;
	if (x->n == ENTRIES_MAX)
		return ov_fail(err, OV_ELIMIT, "more than %d entries at once", ENTRIES_MAX);
	x->p[x->n++] = number;
	return 0;
}

/* "5" or "8-12" */
static int add_part(struct entries *x, str part, struct ov_err *err)
{
	size_t dash = str_find_byte(part, '-');
	int64_t from, to;
	int r = inbox_number(str_sub(part, 0, dash), &from, err);

	to = from;
	if (r == 0 && dash < part.n)
		r = inbox_number(str_sub(part, dash + 1, part.n), &to, err);
	if (r < 0)
		return r;
	x->several |= dash < part.n;
	if (to < from || to - from >= ENTRIES_MAX) {
		ov_fail(err, OV_EINVALID,
				"\"" STR_FMT "\" is not a range of up to %d entries, such as 8-12",
				STR_ARG(part), ENTRIES_MAX);
		return ov_next(err, "overseer inbox");
	}
	for (int64_t i = from; r == 0 && i <= to; i++)
		r = add_entry(x, i, err);
	return r;
}

static int add_list(struct entries *x, str list, struct ov_err *err)
{
	str part;
	int r = 0;

	while (r == 0 && str_split(&list, ',', &part))
		if (part.n)
			r = add_part(x, part, err);
		else
			x->several = true;
	x->several |= x->n > 1;
	return r;
}

/* A list may continue with the next word: "3, 5, 8-12"; "#5" can only be an entry. */
static bool goes_on(const struct cli *c, size_t used)
{
	str before = c->args[used - 1], next = used < c->args_n ? c->args[used] : STR("");
	size_t n = 1;

	if (str_ends(before, STR(",")) || str_starts(next, STR(",")))
		return next.n > 0;
	while (n < next.n &&
			(next.p[n] == ',' || next.p[n] == '-' || next.p[n] == '#' ||
					(next.p[n] >= '0' && next.p[n] <= '9')))
		n++;
	return next.n > 1 && next.p[0] == '#' && n == next.n;
}

/* All that are open and not put off, of one kind. */
static int all_of_kind(struct cli *c, struct entries *x, struct ov_err *err)
{
	str kind = cli_flag(c, "kind"), others = STR("");
	const value *res, *list;
	int r = cli_store(c, err);

	/* As they are now, not as they are stored: without a daemon nothing can be answered. */
	if (r == 0)
		r = client_ask_daemon(&c->client, OP_inbox_list, NULL, &res, err);
	if (r < 0)
		return r;
	x->several = true;
	list = value_at(res, "inbox");
	for (size_t i = 0; r == 0 && i < value_count(list); i++) {
		const value *e = value_item(list, i);

		if (str_eq(value_str_at(e, "kind"), kind) && value_int_at(e, "number") > 0)
			r = add_entry(x, value_int_at(e, "number"), err);
		else
			others = arena_printf(c->arena, STR_FMT "%s" STR_FMT, STR_ARG(others),
					others.n ? ", " : "", STR_ARG(value_str_at(e, "kind")));
	}
	if (r == 0 && x->n == 0 && !c->json)
		out_f(&c->out, "No entry of kind " STR_FMT " is open%s" STR_FMT "\n",
				STR_ARG(out_clean(&c->out, kind)), others.n ? "; open are: " : ".",
				STR_ARG(out_clean(&c->out, others)));
	return r;
}

static int entry_usage(struct cli *c, const char *message, struct ov_err *err)
{
	ov_fail(err, OV_EINVALID, "%s", message);
	return usage_next(c, c->command, err);
}

/*
 * The entries that are meant, and the index of the first argument after them. `more` is how many of
 * the arguments are something else; -1: at least one, and where the entries end is up to them.
 */
static int take_entries(struct cli *c, int more, struct entries *x, size_t *ret_rest,
		struct ov_err *err)
{
	bool all = cli_has(c, "all");
	size_t used = 0, end = more < 0 ? c->args_n : c->args_n - MIN((size_t)more, c->args_n);
	int r = 0;

	x->p = arena_array(c->arena, int64_t, ENTRIES_MAX);
	if (all != cli_has(c, "kind"))
		return entry_usage(c, "--all and --kind K go together", err);
	if (all) {
		if (more >= 0 && c->args_n != (size_t)more)
			return entry_usage(c, "with --all no entries are named", err);
		*ret_rest = 0;
		return all_of_kind(c, x, err);
	}
	if (end == 0)
		return entry_usage(c, "which entry?", err);
	while (r == 0 && used < end && (used == 0 || more >= 0 || goes_on(c, used)))
		r = add_list(x, c->args[used++], err);
	if (r == 0 && x->n == 0)
		return entry_usage(c, "which entry?", err);
	*ret_rest = used;
	return r;
}

/* What came of one alone, in words. */
static void show_result(struct cli *c, const value *res)
{
	struct out *o = &c->out;

	say(o, res,
			"#{escalation:n} is {status*bold}: {answer}\n"
			"[{?dispatch}The run that waits for it is told.\n]"
			"[{?goal_status}Its goal is {goal_status}.\n]");
	say(o, res, "[{!left_blocked}[{?node}[{?node_status}{node} is {node_status}.\n]]]");
	show_consequences(o, res);
	/* Nobody is asked about it any more, and it does not continue by itself. */
	say(o, res,
			"[{?left_blocked}{node} stays blocked, and nobody is asked about it any more: {reason}\n"
			"Next  overseer work unblock {left_blocked} --reason TEXT      "
			"overseer work cancel {left_blocked} --reason TEXT\n"
			"|[{?node}Next  overseer explain {goal:id}/{node}\n]]");
}

static void show_snoozed(struct cli *c, const value *res)
{
	say(&c->out, res,
			"#{escalation:n} is put off: it comes back {snoozed_until:until}, or when there is "
			"new evidence.\n[{?expires_at}Its deadline stays: {expires_at:until}.\n]");
}

/* What is asked of the daemon about each entry. */
struct ask {
	value *params;
	void (*show)(struct cli *c, const value *res);
};

static void set_number(struct cli *c, const struct ask *ask, int64_t number)
{
	value_set(c->arena, ask->params, STR("number"), value_int(c->arena, number));
}

static int ask_one(struct cli *c, const struct ask *ask, int64_t number, struct ov_err *err)
{
	const value *res;
	bool done;
	int r;

	set_number(c, ask, number);
	r = cli_ask(c, ask->params, &res, &done, err);
	if (r == 0 && !done)
		ask->show(c, res);
	return r;
}

static value *error_value(struct cli *c, const struct ov_err *err)
{
	value *e = value_object(c->arena);

	value_put(c->arena, e, "code", value_cstr(c->arena, ov_code_info(err->code)->name));
	/* Texts of a value are borrowed, and the error is gone before the list is written. */
	value_put(c->arena, e, "message",
			value_str(c->arena, arena_str(c->arena, str_from(err->msg))));
	value_put(c->arena, e, "next",
			value_str(c->arena, arena_str(c->arena, str_from(err->next))));
	return e;
}

/* One line about one of several: what became of it, or why nothing did. */
static void show_line(struct cli *c, int64_t number, int r, const value *res,
		const struct ov_err *err)
{
	struct out *o = &c->out;

	cell_f(o, r < 0 ? S_RED : S_GREEN, "#%lld", (long long)number);
	if (r < 0) {
		cell(o, S_RED, STR("failed"));
		cell(o, S_PLAIN, str_from(err->msg));
	} else if (value_str_at(res, "snoozed_until").n) {
		cell(o, S_BOLD, STR("put off"));
		cell(o, S_PLAIN, say_text(o, res, "comes back {snoozed_until:until}"));
	} else {
		cell(o, S_BOLD, value_str_at(res, "status"));
		cell(o, S_PLAIN,
				say_text(o, res,
						"{answer}[{?node_status} ({node} is {node_status})]"));
	}
	row_end(o);
}

/* The exit status is that of the first that failed. */
static int ask_several(struct cli *c, const struct ask *ask, const struct entries *x,
		struct ov_err *err)
{
	value *list = value_array(c->arena);
	size_t failed = 0;
	int first = 0, r = cli_store(c, err);

	for (size_t i = 0; r == 0 && i < x->n; i++) {
		value *one = value_object(c->arena);
		struct ov_err why = { 0 };
		const value *res = NULL;
		int code;

		set_number(c, ask, x->p[i]);
		code = client_call(&c->client, op_id(c->command), ask->params, &res, &why);
		/* Without a daemon there is nobody who could be asked about the others. */
		if (code == OV_EUNAVAILABLE) {
			*err = why;
			r = code;
			break;
		}
		failed += code < 0;
		first = first ? first : code;
		value_put(c->arena, one, "number", value_int(c->arena, x->p[i]));
		value_put(c->arena, one, "ok", value_bool(c->arena, code == 0));
		value_put(c->arena, one, code < 0 ? "error" : "result",
				code < 0 ? error_value(c, &why) : value_share(res));
		value_push(c->arena, list, one);
		if (!c->json)
			show_line(c, x->p[i], code, res, &why);
	}
	if (!c->json)
		table_end(&c->out, "");
	if (r < 0)
		return r;
	if (c->json) {
		out_json(&c->out, list);
	} else if (failed) {
		out_f(&c->out, "%zu of %zu failed.  Next: overseer inbox\n", failed, x->n);
	}
	return first < 0 ? ov_code_info(first)->exit_status : 0;
}

static int ask_about(struct cli *c, const struct ask *ask, const struct entries *x,
		struct ov_err *err)
{
	return x->several ? ask_several(c, ask, x, err) : ask_one(c, ask, x->p[0], err);
}

/* Words that the shell took apart are one answer. */
static str answer_text(struct cli *c, size_t from)
{
	str text = from < c->args_n ? c->args[from] : STR("");

	for (size_t i = from + 1; i < c->args_n; i++)
		text = arena_printf(c->arena, STR_FMT " " STR_FMT, STR_ARG(text),
				STR_ARG(c->args[i]));
	return text;
}

int cmd_inbox_answer(struct cli *c, struct ov_err *err)
{
	struct ask ask = { .show = show_result };
	struct entries x = { 0 };
	size_t rest;
	int r = take_entries(c, -1, &x, &rest, err);

	if (r == 0 && rest == c->args_n)
		return entry_usage(c, "an answer is missing", err);
	if (r == 0)
		r = cli_params(c, &ask.params, err);
	if (r < 0)
		return r;
	value_put(c->arena, ask.params, "answer", value_str(c->arena, answer_text(c, rest)));
	if (x.several)
		value_put(c->arena, ask.params, "only_options", value_bool(c->arena, true));
	return ask_about(c, &ask, &x, err);
}

static int judge(struct cli *c, struct ov_err *err)
{
	struct ask ask = { .show = show_result };
	struct entries x = { 0 };
	size_t rest;
	int r = take_entries(c, 0, &x, &rest, err);

	if (r == 0)
		r = cli_params(c, &ask.params, err);
	return r == 0 ? ask_about(c, &ask, &x, err) : r;
}

int cmd_inbox_approve(struct cli *c, struct ov_err *err)
{
	return judge(c, err);
}

int cmd_inbox_deny(struct cli *c, struct ov_err *err)
{
	return judge(c, err);
}

int cmd_inbox_dismiss(struct cli *c, struct ov_err *err)
{
	return judge(c, err);
}

int cmd_inbox_snooze(struct cli *c, struct ov_err *err)
{
	struct ask ask = { .show = show_snoozed };
	str text = c->args[c->args_n - 1];
	ov_time until, now = c->out.now;
	struct entries x = { 0 };
	size_t rest;
	int r = cli_moment(c, STR("TIME"), text, MOMENT_FUTURE, &until, err);

	if (r < 0)
		return r;
	if (until <= now) {
		ov_fail(err, OV_EINVALID, "\"" STR_FMT "\" is not in the future", STR_ARG(text));
		return ov_next(err, "overseer inbox snooze " STR_FMT " 4h",
				STR_ARG(c->args_n > 1 ? c->args[0] : STR("N")));
	}
	r = take_entries(c, 1, &x, &rest, err);
	if (r == 0)
		r = cli_params(c, &ask.params, err);
	if (r < 0)
		return r;
	value_put(c->arena, ask.params, "for_ms", value_int(c->arena, until - now));
	return ask_about(c, &ask, &x, err);
}
