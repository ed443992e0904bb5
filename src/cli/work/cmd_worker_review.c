/*
 * What people do about what a worker has made: look at it, accept or reject it, rebase or pick it.
 */
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/call/child.h"
#include "cli/call/command.h"
#include "cli/out/say.h"

enum { DIFF_MAX = 4 * 1024 * 1024, DIFF_MS = 60 * 1000 };

/* What the branch changes, since it left the target: a summary, then the lines. */
static int show_diff(struct cli *c, str target, str branch, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	const char *range = arena_printf(c->arena, "refs/heads/" STR_FMT "...refs/heads/" STR_FMT,
			STR_ARG(target), STR_ARG(branch))
					    .p;
	const char *argv[] = { "git", "-C", c->client.dir, "--no-pager", "diff", "--stat", "-p",
		"--no-color", "--no-ext-diff", "--no-textconv", range, "--", NULL };
	struct capture spec = { .argv = argv, .max = DIFF_MAX, .timeout_ms = DIFF_MS };
	int status, r = spawn_capture(&spec, &out, &status, err);

	if (r < 0)
		return ov_wrap(err, r, "git diff %s", range);
	if (status != 0)
		return ov_fail(err, OV_EIO, "git diff %s ended with exit status %d", range, status);
	if (!out.n)
		out_f(&c->out, "Nothing differs from " STR_FMT ".\n",
				STR_ARG(out_clean(&c->out, target)));
	buf_adds(&c->out.buf, out_clean_lines(&c->out, buf_str(&out)));
	return 0;
}

int cmd_worker_review(struct cli *c, struct ov_err *err)
{
	const value *res;
	bool done;
	str name = out_clean(&c->out, c->args[0]);
	value *params;
	int r = cli_params(c, &params, err);

	if (r == 0)
		r = cli_ask(c, params, &res, &done, err);
	if (r != 0 || done)
		return r;
	r = show_diff(c, value_str_at(res, "target"), value_str_at(res, "branch"), err);
	if (r == 0)
		out_f(&c->out,
				"Next  overseer worker accept " STR_FMT
				", or overseer worker reject " STR_FMT " --reason TEXT\n",
				STR_ARG(name), STR_ARG(name));
	return r;
}

void show_worker_accept(struct cli *c, const value *res)
{
	say(&c->out, res, "It goes to {target} when its turn comes.\nNext  overseer queue list\n");
}

void show_worker_reject(struct cli *c, const value *res _unused_)
{
	out_f(&c->out, "Its agent is told, and goes on.\nNext  overseer worker peek " STR_FMT "\n",
			STR_ARG(out_clean(&c->out, c->args[0])));
}

/* The event that tells what came of the step; CLIENT_EVENT, and *ret in the arena. */
static int await(struct cli *c, str effect, struct arena *a, const value **ret, struct ov_err *err)
{
	int r = client_catch_signals(&c->client, err);

	while (r == 0 || r == CLIENT_EVENT) {
		arena_reset(a);
		r = client_next_event(&c->client, a, -1, ret, err);
		if (r == CLIENT_EVENT && str_is(value_str_at(*ret, "type"), "effect.ended") &&
				str_eq(value_str_at(value_at(*ret, "data"), "effect"), effect))
			return r;
	}
	return r;
}

/*
 * 0 when it went well, else 1: what else came of it, and what that means. `well` ends with a space
 * when a commit is to follow.
 */
static int tell_end(struct cli *c, const value *data, const char *well)
{
	static const struct {
		const char *outcome, *text;
	} ends[] = {
		{ "conflict", "It conflicts; nothing was changed on the target branch" },
		{ "dirty",
				"Uncommitted changes in your checkout are in the way; nothing was "
				"changed" },
		{ "moved", "The target branch moved meanwhile; try again" },
		{ "no_changes", "There is nothing that the target branch does not have" },
		{ "error", "It failed" },
	};
	str outcome = value_str_at(data, "outcome"), detail = value_str_at(data, "detail");

	if (str_is(outcome, "ok")) {
		out_f(&c->out, "%s" STR_FMT "\n", well,
				STR_ARG(str_ends(str_from(well), STR(" "))
								? str_sub(out_clean(&c->out,
											  detail),
										  0, 12)
								: STR("")));
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (str_is(outcome, ends[i].outcome))
			out_f(&c->out, "%s%s\n", ends[i].text, detail.n ? ":" : ".");
	out_lines(&c->out, "  ", detail);
	return 1;
}

/* Asks for a step of git, and waits for it. */
static int step_of_git(struct cli *c, const char *well, struct ov_err *err)
{
	struct arena a = ARENA_INIT;
	const value *res, *e;
	value *params;
	bool done;
	int r = cli_params(c, &params, err);

	if (r == 0)
		r = cli_store(c, err);
	if (r == 0)
		r = client_connect(&c->client, err);
	/* First follow, then ask: nothing can happen in between unseen. */
	if (r == 0)
		r = client_ask(&c->client, OP_events_follow, value_object(c->arena), c->timeout_ms,
				&res, err);
	if (r == 0)
		r = cli_ask(c, params, &res, &done, err);
	if (r != 0 || done)
		return r;
	if (!value_str_at(res, "effect").n) {
		out_f(&c->out, "It waits for its turn only.\nNext  overseer queue list\n");
		return 0;
	}
	r = await(c, value_str_at(res, "effect"), &a, &e, err);
	if (r == CLIENT_EVENT)
		r = tell_end(c, value_at(e, "data"), well);
	else if (r == CLIENT_SIGNAL)
		r = 130;
	arena_done(&a);
	return r;
}

int cmd_worker_rebase(struct cli *c, struct ov_err *err)
{
	return step_of_git(c, "Rebased.", err);
}

int cmd_worker_pick(struct cli *c, struct ov_err *err)
{
	return step_of_git(c, "Picked as commit ", err);
}
