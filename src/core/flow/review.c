#include "core/flow/review.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/capacity/accept_queue.h"
#include "core/decide/ask.h"
#include "core/decide/move.h"
#include "core/flow/flow.h"
#include "core/inbox/inbox.h"
#include "core/prompt/prompt.h"
#include "core/text/last_lines.h"
#include "core/work/standing.h"

enum { FILES_SHOWN = 10, FILE_SHOWN = 120 };

/* ---- what is reviewed, and why ---- */

/*
 * What the newest run left, as run.harvested tells: of this very batch, or as it is in the state.
 */
static const value *work_of(const struct decide_ctx *cx, const struct assignment *as)
{
	for (size_t i = cx->out->n; i-- > 0;)
		if (cx->out->p[i]->kind == EV_RUN_HARVESTED &&
				str_eq(cx->out->p[i]->run, as->run_id))
			return event_data(cx->arena, cx->out->p[i]);
	return as->run ? record_to_value(cx->arena, &run_record, as->run) : NULL;
}

static bool cannot_run(const struct decide_ctx *cx _unused_, const struct assignment *as _unused_,
		enum check_said said)
{
	return said == CHECK_CANNOT_RUN;
}

static bool has_failed(const struct decide_ctx *cx _unused_, const struct assignment *as _unused_,
		enum check_said said)
{
	return said == CHECK_SAID_BAD;
}

static bool is_unchecked(const struct decide_ctx *cx, const struct assignment *as,
		enum check_said said)
{
	return said == CHECK_SAID_NOTHING && !policy_checks(cx->policy, as->node) &&
			cx->policy->unchecked == UNCHECKED_REVIEW;
}

static bool has_leftovers(const struct decide_ctx *cx, const struct assignment *as,
		enum check_said said _unused_)
{
	const value *work = work_of(cx, as);

	return cx->policy->leftovers == LEFTOVERS_ASK &&
			(value_bool_at(work, "leftovers") ||
					value_count(value_at(work, "leftover_files")));
}

static bool is_wanted(const struct decide_ctx *cx, const struct assignment *as,
		enum check_said said _unused_)
{
	if (cx->policy->review == REVIEW_HIGH_RISK)
		return str_is(as->node->def.risk, "high") &&
				!str_is(as->node->goal->standing, STANDING_AUTO);
	return cx->policy->review == REVIEW_ALWAYS;
}

/* The first that holds is what people are told first. */
static const struct {
	bool (*holds)(const struct decide_ctx *cx, const struct assignment *as,
			enum check_said said);
	const char *reason, *title; /* of its state; of the entry, before "the work of" */
} reasons[] = {
	{ cannot_run, "waits for your review: the check command cannot be run",
			"the check command cannot be run, so nothing checked" },
	{ has_failed, "waits for your review: the check that you asked for failed",
			"the check failed on" },
	{ is_unchecked, "waits for your review: nothing checked its work", "nothing checked" },
	{ has_leftovers, "waits for your review: its agent left files uncommitted",
			"files left uncommitted are in" },
	{ is_wanted, "waits for your review: accept.review asks for it",
			"accept.review asks you to look at" },
};

/* The row that holds; the number of rows: none does. */
static size_t find_reason(const struct decide_ctx *cx, const struct assignment *as,
		enum check_said said)
{
	size_t i = 0;

	while (i < ARRAY_LEN(reasons) && !reasons[i].holds(cx, as, said))
		i++;
	return i;
}

/* The first names of a list, each on one line and of bounded length. */
static void add_files(struct buf *b, const char *before, const value *files, int64_t all)
{
	size_t n = value_count(files), shown = MIN(n, (size_t)FILES_SHOWN);

	for (size_t i = 0; i < shown; i++) {
		str name = utf8_truncate(value_str_or(value_item(files, i), STR("")), FILE_SHOWN);

		buf_adds(b, i ? STR(", ") : str_from(before));
		for (size_t k = 0; k < name.n; k++)
			buf_addc(b, (unsigned char)name.p[k] < ' ' ? '?' : name.p[k]);
	}
	if (MAX(all, (int64_t)n) > (int64_t)shown)
		buf_addf(b, " and %lld more", (long long)(MAX(all, (int64_t)n) - (int64_t)shown));
}

static void add_work(struct buf *b, const value *work)
{
	int64_t files = value_int_at(work, "files_changed");

	buf_addf(b, "\nIt changes %lld file%s (+%lld -%lld)", (long long)files,
			files == 1 ? "" : "s", (long long)value_int_at(work, "lines_added"),
			(long long)value_int_at(work, "lines_removed"));
	add_files(b, ": ", value_at(work, "files"), files);
	if (value_count(value_at(work, "leftover_files")))
		add_files(b, "\nThe agent left these uncommitted, and they are included: ",
				value_at(work, "leftover_files"), 0);
	else if (value_bool_at(work, "leftovers"))
		buf_adds(b, STR("\nFiles that the agent left uncommitted are included."));
}

/* What a check that did not pass wrote last; indented, as it may look like words of ours. */
static void add_output(struct buf *b, str lines)
{
	str line;

	if (lines.n)
		buf_adds(b, STR("\nThe last lines of the check:"));
	while (lines.n && str_split(&lines, '\n', &line))
		buf_addf(b, "\n    " STR_FMT, STR_ARG(line));
}

/* What is to be done about the check, so that it can judge this work or the next. */
static void add_check_advice(struct buf *b, const struct decide_ctx *cx,
		const struct assignment *as, enum check_said said)
{
	if (said == CHECK_CANNOT_RUN)
		buf_addf(b,
				"\nOr put the check in order (%s), then answer \"check\": it runs "
				"on this work, without another run of the agent.",
				as->node->def.check_command.n
						? "it is the task's own"
						: "workspace.check_command in config.toml, then "
						  "run: overseer config reload");
	else if (said == CHECK_SAID_BAD)
		buf_adds(b, STR("\nOr answer \"check\" to run the check once more."));
	else if (said == CHECK_SAID_NOTHING && !policy_checks(cx->policy, as->node))
		buf_adds(b,
				STR("\nTo have work checked by a command, set "
				    "workspace.check_command in config.toml, then run: overseer "
				    "config reload"));
}

static str review_text(struct decide_ctx *cx, const struct assignment *as, const char *title,
		enum check_said said, str output)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	buf_addf(&b, "%s the work of " STR_FMT " on \"" STR_FMT "\": it waits for your review.",
			title, STR_ARG(as->agent), STR_ARG(as->node->def.name));
	add_output(&b, output);
	add_work(&b, work_of(cx, as));
	buf_addf(&b,
			"\nSee the diff: overseer worker review " STR_FMT
			"\nAnswer \"accept\", or \"reject: WHY\" to send it back to its agent.",
			STR_ARG(as->worker));
	add_check_advice(&b, cx, as, said);
	return arena_str(cx->arena, buf_str(&b));
}

static void ask(struct decide_ctx *cx, const struct assignment *as, str question)
{
	str head = value_str_at(work_of(cx, as), "head");
	struct escalation_spec x = { .ask = ASK_REVIEW, .question = question };

	if (!review_question(cx->state, as)) {
		escalate_about(cx, about_assignment(as), &x);
		return;
	}
	/* Other work than the one that was asked about before. */
	x.fingerprint = head.n ? head : as->head;
	(void)escalation_again(cx, about_assignment(as), &x);
}

bool review_begin(struct decide_ctx *cx, const struct assignment *as, enum check_said said,
		str output)
{
	size_t i = find_reason(cx, as, said);
	str lines = last_lines(cx->arena, output), reason;

	if (i == ARRAY_LEN(reasons))
		return false;
	reason = str_from(reasons[i].reason);
	if (said == CHECK_CANNOT_RUN)
		reason = arena_printf(cx->arena, STR_FMT ": " STR_FMT, STR_ARG(reason),
				STR_ARG(last_line(lines)));
	assignment_move(cx, as, as->status, STAGE_REVIEW, reason);
	worker_to(cx, state_worker(cx->state, as->worker), WORKER_NEEDS_REVIEW, reason);
	ask(cx, as, review_text(cx, as, reasons[i].title, said, lines));
	return true;
}

bool review_overlooked(struct decide_ctx *cx, const struct assignment *as)
{
	return str_is(accept_checked_by(as), "nothing") &&
			is_unchecked(cx, as, CHECK_SAID_NOTHING) &&
			review_begin(cx, as, CHECK_SAID_NOTHING, STR(""));
}

bool review_takes_check(struct decide_ctx *cx, const struct outcome *o)
{
	const struct worker *w = state_worker(cx->state, o->as->worker);
	enum check_said said = flow_cannot_run(o->command->exit_code) ? CHECK_CANNOT_RUN
								      : CHECK_SAID_BAD;

	if (said == CHECK_CANNOT_RUN)
		run_verified(cx, o->as, VERIFY_SKIPPED,
				arena_printf(cx->arena, "the check command cannot be run: " STR_FMT,
						STR_ARG(o->detail)),
				NULL);
	else if (w && flow_in_review(w))
		run_verified(cx, o->as, VERIFY_FAILED, o->detail, o->command);
	else
		return false;
	return review_begin(cx, o->as, said, o->detail);
}

/* ---- what people say about it ---- */

int review_check(const struct assignment *as, bool reject, struct ov_err *err)
{
	if (as->stage == STAGE_REVIEW || (reject && accept_waits(as) && !as->effect))
		return 0;
	ov_fail(err, OV_ESTATE, "the work on " STR_FMT " is not in review; its next step: %s",
			STR_ARG(as->node_id), status_name(&stages, (int)as->stage));
	return ov_next(err, "overseer queue list");
}

/* Nobody needs to answer what was said another way. */
static void close_question(struct decide_ctx *cx, const struct assignment *as, str answer)
{
	const struct escalation *x = review_question(cx->state, as);

	if (x)
		escalation_close(cx, x, ESC_ANSWERED, answer);
}

void review_accept(struct decide_ctx *cx, const struct assignment *as, str reason)
{
	str why = reason.n
			? arena_printf(cx->arena, "a person accepted it: " STR_FMT, STR_ARG(reason))
			: STR("a person accepted it");

	close_question(cx, as, STR("accept"));
	assignment_move(cx, as, as->status, STAGE_REBASE, why);
	worker_to(cx, state_worker(cx->state, as->worker), WORKER_NEEDS_REVIEW, why);
}

void review_reject(struct decide_ctx *cx, const struct assignment *as, str reason)
{
	close_question(cx, as, arena_printf(cx->arena, "reject: " STR_FMT, STR_ARG(reason)));
	flow_fail(cx, as, CAUSE_REVIEW,
			arena_printf(cx->arena, "a person rejected the work: " STR_FMT,
					STR_ARG(reason)),
			prompt_rejected(cx->arena, reason));
}

/* ---- answers ---- */

/* "check": by the command that is configured now, on the work as it is. */
static int check_now(struct decide_ctx *cx, const struct assignment *as, struct ov_err *err)
{
	if (as && as->node && check_command(cx, as->node).n)
		return 0;
	if (as && as->node && policy_checks(cx->policy, as->node))
		return ov_fail(err, OV_EINVALID,
				"there is no check command; accept.pre_accept_command checks it "
				"when "
				"you answer \"accept\", before it is merged");
	ov_fail(err, OV_EINVALID, "no check is configured");
	return ov_next(err, UNCHECKED_NEXT);
}

int accept_answer_check(struct decide_ctx *cx, const struct escalation *x, enum say say, str text,
		struct ov_err *err)
{
	const struct assignment *as = state_assignment(cx->state, x->assignment_id);
	str names = STR("");

	/*
	 * Its agent resolves a conflict that was found meanwhile: there will be other work to
	 * look at.
	 */
	if (x->ask == ASK_REVIEW && as && as->stage != STAGE_REVIEW)
		return review_check(as, false, err);
	if (inbox_offers(x, text) || (x->ask == ASK_REVIEW && say == SAY_REJECT))
		return 0;
	if (x->ask == ASK_REVIEW && say == SAY_CHECK)
		return check_now(cx, as, err);
	for (size_t i = 0; i < x->options.n; i++)
		names = arena_printf(cx->arena, STR_FMT "%s\"" STR_FMT "\"", STR_ARG(names),
				i ? ", " : "", STR_ARG(x->options.p[i]));
	ov_fail(err, OV_EINVALID,
			"the queue waits for an answer to this; the answers are: " STR_FMT "%s",
			STR_ARG(names), x->ask == ASK_REVIEW ? ", \"reject: WHY\"" : "");
	return ov_next(err, "overseer inbox show %lld", (long long)x->number);
}

static void answer_review(struct decide_ctx *cx, const struct assignment *as, enum say say, str why)
{
	if (as->stage != STAGE_REVIEW)
		return;
	if (say == SAY_ACCEPT)
		review_accept(cx, as, STR(""));
	else if (say == SAY_CHECK)
		assignment_move(cx, as, as->status, STAGE_CHECK,
				STR("a person wants it checked by the command that is configured "
				    "now"));
	else
		review_reject(cx, as, why);
}

static void answer_pre(struct decide_ctx *cx, const struct assignment *as, enum say say)
{
	if (as->stage != STAGE_GATE || as->effect)
		return;
	if (say == SAY_TRY_AGAIN) {
		assignment_move(cx, as, as->status, STAGE_REBASE, STR("it is to be tried again"));
		worker_to(cx, state_worker(cx->state, as->worker), WORKER_NEEDS_REVIEW,
				STR("its work waits for its turn to be accepted"));
	} else {
		flow_fail(cx, as, CAUSE_GATE, STR("the pre_accept command failed"), as->feedback);
	}
}

static void answer_post(struct decide_ctx *cx, const struct assignment *as, enum say say)
{
	if ((as->stage != STAGE_POST && as->stage != STAGE_REVERT) || as->effect)
		return;
	if (say == SAY_GO_ON)
		accept_go_on(cx, as);
	else if (say == SAY_TAKE_BACK)
		accept_take_back(cx, as, as->feedback);
	else
		assignment_move(cx, as, as->status, STAGE_POST, STR("it is to be run again"));
}

void accept_answered(struct decide_ctx *cx, const struct escalation *x, enum say say, str why)
{
	const struct assignment *as = state_assignment(cx->state, x->assignment_id);

	if (!as || !as->node || flow_winding_down(as))
		return;
	if (x->ask == ASK_REVIEW)
		answer_review(cx, as, say, why);
	else if (x->ask == ASK_PRE)
		answer_pre(cx, as, say);
	else if (x->ask == ASK_POST)
		answer_post(cx, as, say);
}

/* Whoever waits for the user's checkout looks now: somebody may have put that in order. */
static void look_again(struct decide_ctx *cx)
{
	list_each (it, &cx->state->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (accept_waits(as) && as->not_before && !as->effect &&
				str_is(as->node->goal->standing, STANDING_AUTO))
			assignment_move(cx, as, as->status, STAGE_REBASE,
					STR("it is to be tried again"));
	}
}

/* Was the same asked before, and answered so? */
static bool answered_so(const struct decide_ctx *cx, const struct escalation *x, str answer)
{
	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *y = cx->state->escalations.p[i];

		if (y->status == ESC_ANSWERED && y->ask == x->ask &&
				str_eq(y->assignment_id, x->assignment_id) &&
				str_eq(y->answer, answer))
			return true;
	}
	return false;
}

void accept_again(struct decide_ctx *cx, str why)
{
	look_again(cx);
	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];
		const struct assignment *as = state_assignment(cx->state, x->assignment_id);
		bool pre = x->ask == ASK_PRE;

		if (x->status != ESC_OPEN || !(pre || x->ask == ASK_POST) || !as || !as->node ||
				!str_is(as->node->goal->standing, STANDING_AUTO) ||
				answered_so(cx, x, why))
			continue;
		escalation_close(cx, x, ESC_ANSWERED, why);
		accept_answered(cx, x, pre ? SAY_TRY_AGAIN : SAY_RUN_AGAIN, STR(""));
	}
}
