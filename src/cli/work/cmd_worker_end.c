/* Workers that are reset or removed: asked for, and waited for. */
#include <unistd.h>

#include "base/str.h"
#include "cli/call/command.h"
#include "cli/out/say.h"

/* One that the command waits for. */
struct awaited {
	str name;
	bool over;
};

struct wait {
	struct cli *c;
	const char *wanted;
	struct awaited *p;
	size_t n, left;
	bool failed;
};

static struct awaited *awaited_find(struct wait *w, str name)
{
	for (size_t i = 0; i < w->n; i++)
		if (!w->p[i].over && str_eq(w->p[i].name, name))
			return &w->p[i];
	return NULL;
}

/* The end of a wish: it is fulfilled, or the worker is in error because it could not be. */
static void see_event(struct wait *w, const value *e)
{
	const value *data = value_at(e, "data");
	str type = value_str_at(e, "type"), name = value_str_at(data, "worker");
	struct awaited *x = awaited_find(w, name);
	struct out *o = &w->c->out;
	bool removed = str_is(type, "worker.removed"),
	     reset = str_is(type, "worker.wanted") && !value_str_at(data, "wanted").n,
	     failed = str_is(type, "worker.status") && str_is(value_str_at(data, "to"), "error");

	if (!x ||
			!(removed || failed || (reset && value_at(data, "rescue_ref")) ||
					(reset &&
							str_is(value_str_at(data, "reason"),
									"it was reset"))))
		return;
	x->over = true;
	w->left--;
	w->failed |= failed;
	out_f(o, STR_FMT " %s", STR_ARG(out_clean(o, name)),
			failed                    ? "failed: "
					: removed ? "was removed\n"
						  : "was reset\n");
	if (failed)
		say(o, data, "{reason}\n");
	say(o, data, "[{?rescue_ref}  what was in its worktree is kept: {rescue_ref}\n]");
}

static int await(struct wait *w, struct ov_err *err)
{
	struct arena a = ARENA_INIT;
	const value *e;
	int r = CLIENT_EVENT;

	while (w->left && r == CLIENT_EVENT) {
		arena_reset(&a);
		r = client_next_event(&w->c->client, &a, -1, &e, err);
		if (r != CLIENT_EVENT)
			break;
		see_event(w, e);
		if (out_flush(&w->c->out, STDOUT_FILENO, err) < 0)
			r = OV_EIO;
	}
	arena_done(&a);
	return r;
}

static int wait_for(struct cli *c, const char *wanted, const value *list, struct ov_err *err)
{
	struct wait w = { .c = c, .wanted = wanted, .n = value_count(list) };
	int r;

	w.p = arena_array(c->arena, struct awaited, w.n + 1);
	w.left = w.n;
	for (size_t i = 0; i < w.n; i++)
		w.p[i].name = value_str_at(value_item(list, i), "worker");
	for (size_t i = 0; i < w.n; i++)
		say(&c->out, value_item(list, i),
				"[{?accepting}{worker} is being accepted; it comes after that\n]");
	r = out_flush(&c->out, STDOUT_FILENO, err);
	if (r == 0)
		r = client_catch_signals(&c->client, err);
	if (r == 0)
		r = await(&w, err);
	if (r == CLIENT_SIGNAL) {
		out_f(&c->out, "It goes on without you.\n");
		return 130;
	}
	return r < 0 ? r : w.failed ? 1 : 0;
}

static int wish(struct cli *c, const char *wanted, struct ov_err *err)
{
	const value *res, *ignored;
	value *params;
	bool done;
	int r;

	if (cli_has(c, "all") == (c->args_n > 0))
		return ov_fail(err, OV_EINVALID, "name one worker, or give --all");
	r = cli_params(c, &params, err);
	if (r == 0)
		r = cli_store(c, err);
	if (r == 0)
		r = client_connect(&c->client, err);
	/* First follow, then ask: nothing can happen in between unseen. */
	if (r == 0 && !c->json)
		r = client_ask(&c->client, OP_events_follow, value_object(c->arena), c->timeout_ms,
				&ignored, err);
	if (r == 0)
		r = cli_ask(c, params, &res, &done, err);
	if (r != 0 || done)
		return r;
	if (value_count(value_at(res, "workers")) == 0)
		out_f(&c->out, "There are no workers.\n");
	return wait_for(c, wanted, value_at(res, "workers"), err);
}

int cmd_worker_reset(struct cli *c, struct ov_err *err)
{
	return wish(c, "reset", err);
}

int cmd_worker_nuke(struct cli *c, struct ov_err *err)
{
	return wish(c, "nuke", err);
}
