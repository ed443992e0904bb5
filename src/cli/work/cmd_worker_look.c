/* Looking at what a worker does: its terminal, or the end of its run's log. */
#include <errno.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/call/child.h"
#include "cli/call/command.h"
#include "cli/work/work.h"

enum { PEEK_LINES = 40, PEEK_MAX = 1024 * 1024, PEEK_MS = 10 * 1000 };

/* One that has a run; *ret is what worker.show says. */
static int read_worker(struct cli *c, const value **ret, bool *ret_done, struct ov_err *err)
{
	str name = c->args[0];
	value *params;
	int r = cli_params(c, &params, err);

	if (r == 0)
		r = cli_call(c, OP_worker_show, params, ret, ret_done, err);
	if (r != 0 || *ret_done || value_str_at(*ret, "run").n)
		return r;
	ov_fail(err, OV_ESTATE, "worker " STR_FMT " is " STR_FMT ": there is no run to look at",
			STR_ARG(name), STR_ARG(value_str_at(*ret, "status")));
	return ov_next(err, "overseer worker list");
}

static const char **argv_of(struct cli *c, const value *list)
{
	const char **argv = arena_array(c->arena, const char *, value_count(list) + 1);

	for (size_t i = 0; i < value_count(list); i++)
		argv[i] = arena_cstr(c->arena, value_str_or(value_item(list, i), STR("")));
	return argv;
}

/* A run that has just ended has no terminal any more; its log is there. */
static bool peek_terminal(struct cli *c, const value *peek, int64_t lines, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct capture spec = { .argv = argv_of(c, peek),
		.max = PEEK_MAX,
		.timeout_ms = PEEK_MS,
		.quiet = true };
	int status;
	str text;

	if (!spec.argv[0] || spawn_capture(&spec, &out, &status, err) < 0 || status != 0)
		return false;
	text = buf_str(&out);
	while (text.n && (text.p[text.n - 1] == '\n' || text.p[text.n - 1] == ' '))
		text.n--;
	buf_adds(&c->out.buf, out_clean_lines(&c->out, text));
	out_f(&c->out, "\n");
	out_keep_lines(&c->out, lines);
	return true;
}

int cmd_worker_peek(struct cli *c, struct ov_err *err)
{
	int64_t lines = cli_int(c, "lines", PEEK_LINES);
	const value *w;
	bool done;
	int r = read_worker(c, &w, &done, err);

	if (r != 0 || done)
		return r;
	if (lines < 1)
		return ov_fail(err, OV_EINVALID, "--lines is at least 1");
	if (peek_terminal(c, value_at(value_at(w, "place"), "peek"), lines, err))
		return 0;
	return run_log_last(c, arena_str(c->arena, value_str_at(w, "run")), lines, err);
}

int cmd_worker_attach(struct cli *c, struct ov_err *err)
{
	const value *w, *attach;
	const char **argv;
	bool done;
	int r = read_worker(c, &w, &done, err);

	if (r != 0 || done)
		return r;
	attach = value_at(value_at(w, "place"), "attach");
	if (!value_count(attach)) {
		ov_fail(err, OV_ESTATE,
				"the agent of worker " STR_FMT
				" has no terminal (its runtime is not tmux)",
				STR_ARG(c->args[0]));
		return ov_next(err, "overseer run log " STR_FMT " --follow",
				STR_ARG(value_str_at(w, "run")));
	}
	if (!isatty(STDIN_FILENO)) {
		ov_fail(err, OV_ESTATE, "attaching needs a terminal, and standard input is none");
		return ov_next(err, "overseer worker peek " STR_FMT, STR_ARG(c->args[0]));
	}
	argv = argv_of(c, attach);
	r = out_flush(&c->out, STDOUT_FILENO, err);
	if (r < 0)
		return r;
	execvp(argv[0], (char *const *)argv);
	return ov_fail_errno(err, errno, "%s", argv[0]);
}
