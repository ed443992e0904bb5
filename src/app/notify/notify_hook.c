/* A command of the user's, with the alarm as JSON on standard input. */
#include "app/notify/notify_impl.h"

#include "base/str.h"
#include "data/value/json.h"
#include "sys/loop/job.h"

enum { OUTPUT_BYTES = 4096, SAID_BYTES = 300 };

static void ended(void *user, const struct job_result *r)
{
	struct notify_job *j = user;
	str said = str_trim(r->err.n ? r->err : r->out);

	j->command = NULL;
	if (said.n > SAID_BYTES)
		said = str_sub(said, said.n - SAID_BYTES, SAID_BYTES);
	if (r->timed_out)
		notify_failed(j, NOTIFY_RETRY, "the command did not end within %lld ms",
				(long long)j->ch.timeout);
	else if (r->exit.code != 0)
		notify_failed(j, NOTIFY_RETRY, "the command ended with %s %d%s" STR_FMT,
				r->exit.signal ? "signal" : "exit status",
				r->exit.signal ? r->exit.signal : r->exit.code, said.n ? ": " : "",
				STR_ARG(said));
	else
		notify_sent(j, STR(""));
}

void hook_begin(struct notify_job *j)
{
	struct arena *a = &j->arena;
	const char *argv[] = { "/bin/sh", "-c", arena_cstr(a, j->ch.command), NULL };
	struct job_spec spec = { .proc = PROC_SPEC_INIT,
		.max_output = OUTPUT_BYTES,
		.keep_tail = true,
		.timeout_ms = j->ch.timeout };
	struct ov_err err = { 0 };

	spec.proc.argv = argv;
	spec.proc.cwd = j->n->o.repo;
	spec.proc.env = j->env;
	spec.input = arena_printf(a, STR_FMT "\n",
			STR_ARG(json_text(a, notify_document(a, &j->m))));
	if (job_start(j->n->o.loop, &spec, ended, j, &j->command, &err) < 0)
		notify_failed(j, NOTIFY_RETRY, "the command could not be started: %s", err.msg);
}
