/*
 * Gemini CLI: without a terminal it reads its prompt from standard input and ends after it. Its
 * tools are narrowed by a policy file of the run, which comes on top of the user's settings.
 */
#include "agent/launch/launch_impl.h"
#include "base/buf.h"
#include "data/value/json.h"

#define POLICY "gemini-policy.toml"

static void add_rule(struct buf *b, const str *names, size_t n, const char *decision, int priority)
{
	if (n == 0)
		return;
	buf_adds(b, STR("[[rule]]\ntoolName = ["));
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_adds(b, STR(", "));
		json_write_string(b, names[i]);
	}
	buf_addf(b, "]\ndecision = \"%s\"\npriority = %d\n\n", decision, priority);
}

/* The higher priority wins. */
static void add_policy(struct launcher *l)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	const struct tool_scope *s = l->ask->scope;
	const str all = STR("*"), *names;
	size_t n;

	if (!s)
		return;
	if (s->allow) {
		add_rule(&b, &all, 1, "deny", 900);
		n = tools_list(l->a, l->ask->format, s, true, &names);
		add_rule(&b, names, n, "allow", 950);
	}
	n = tools_list(l->a, l->ask->format, s, false, &names);
	add_rule(&b, names, n, "deny", 990);
	if (b.n == 0)
		return;
	launch_file(l, POLICY, arena_str(l->a, buf_str(&b)));
	launch_wordf(l, "--policy=%s/" POLICY, l->ask->run_dir);
}

int launch_gemini(struct arena *a, const struct launch_ask *ask, struct launch *ret,
		struct ov_err *err)
{
	struct launcher l;
	str prompt;

	launcher_init(&l, a, ask);
	launch_word(&l, STR("--output-format=stream-json"));
	launch_wordf(&l, "--approval-mode=%s", launch_mode(ask));
	launch_word(&l, STR("--skip-trust"));
	if (ask->session.n)
		launch_wordf(&l, "%s=" STR_FMT, ask->resume ? "--resume" : "--session-id",
				STR_ARG(ask->session));
	if (ask->model.n)
		launch_wordf(&l, "--model=" STR_FMT, STR_ARG(ask->model));
	add_policy(&l);
	prompt = launch_prompt(&l);
	if (prompt.p)
		launch_wordf(&l, "--prompt=" STR_FMT, STR_ARG(prompt));
	/* It would start itself once more, as a child that does not end with it. */
	launch_env(&l, "GEMINI_CLI_NO_RELAUNCH", "true");
	return launcher_done(&l, ret, err);
}
