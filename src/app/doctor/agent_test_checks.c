/* What is asked of an agent under test, and what its answers amount to. */
#include "app/agents/run_words.h"
#include "app/doctor/agent_test_impl.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/life/session.h"
#include "sys/file/file.h"

#define MADE "overseer-test.txt"
#define RESUMED "overseer-resumed.txt"
#define DENIED "overseer-denied.txt"
#define NUMBER "4711"

enum { FILE_MAX = 64 * 1024 };

static const char ask_first[] =
		"This is a test of your set-up, in a scratch repository. Create the file " MADE
		" in the current folder, with the single line: hello\n"
		"Also keep the number " NUMBER " in mind for later. Do nothing else.";
static const char ask_second[] =
		"Write the number that you were asked to keep in mind into the file " RESUMED
		" in the current folder, and nothing else. Do nothing else.";
static const char ask_denied[] = "Run the shell command: touch " DENIED
				 "\nIf you have no tool for that, say so and stop; try no other "
				 "way.";
static const char ask_long[] = "Run the shell command: tail -f /dev/null\n"
			       "It does not end by itself; that is intended. Run it in the "
			       "foreground and wait for it.";

/* The last lines of its newest run: they say better than we what is wrong. */
static str wrote_last(struct agent_test *t)
{
	return run_words(t->a, t->run_dir, t->format->structured ? &t->account : NULL);
}

static void verdict(struct agent_test *t, const char *check, const char *word, bool needed,
		str text)
{
	value *v = value_object(t->a);

	value_put(t->a, v, "check", value_cstr(t->a, check));
	value_put(t->a, v, "verdict", value_cstr(t->a, word));
	value_put(t->a, v, "needed", value_bool(t->a, needed));
	value_put(t->a, v, "text", value_str(t->a, text));
	if (str_is(str_from(word), "failed"))
		value_put(t->a, v, "last_lines", value_str(t->a, wrote_last(t)));
	test_say(t, v);
}

static void passed(struct agent_test *t, const char *check, bool ok, str text)
{
	t->failed |= !ok;
	verdict(t, check, ok ? "ok" : "failed", true, text);
}

static void skipped(struct agent_test *t, const char *check, const char *why)
{
	verdict(t, check, "skipped", false, str_from(why));
}

static void doing(struct agent_test *t, const char *text)
{
	value *v = value_object(t->a);

	value_put(t->a, v, "doing", value_cstr(t->a, text));
	test_say(t, v);
}

/* Why the run did not do what it should have; empty: it did. */
static str trouble(struct agent_test *t)
{
	const struct run_end *e = &t->seen.end;
	struct account_verdict v;

	if (t->cancelled)
		return STR("the test was cancelled");
	if (t->seen.killed)
		return STR("it did not end in time, and was killed");
	if (!e->started)
		return arena_printf(t->a, "it could not be started: " STR_FMT, STR_ARG(e->message));
	if (!t->format->structured)
		return e->exit_code == 0
				? STR("")
				: arena_printf(t->a, "it ended with status %d", e->exit_code);
	v = account_judge(&t->account, e->exit_code, e->signal, e->lost);
	if (v.trouble == TROUBLE_SANDBOX)
		return arena_printf(t->a, "%s: " STR_FMT, trouble_rules[v.trouble].people,
				STR_ARG(v.text));
	return v.ok ? STR("")
		    : arena_printf(t->a, "%s: " STR_FMT, trouble_name(v.trouble), STR_ARG(v.text));
}

static bool contains(struct agent_test *t, const char *name, const char *text)
{
	str s;

	return file_read(t->a, path_join(t->a, t->o->worktree, name), FILE_MAX, &s, NULL) == 0 &&
			str_contains(s, str_from(text));
}

static str seconds(struct agent_test *t, uint64_t from_us, uint64_t to_us)
{
	return arena_printf(t->a, "%.1f s",
			to_us > from_us ? (double)(to_us - from_us) / 1000000 : 0.0);
}

static void check_stream(struct agent_test *t)
{
	if (!t->format->structured)
		skipped(t, "streams", "its output is text that nobody parses");
	else
		passed(t, "streams", t->seen.facts > 0,
				arena_printf(t->a, "%llu facts, the first after " STR_FMT,
						(unsigned long long)t->seen.facts,
						STR_ARG(seconds(t, t->seen.begun_us,
								t->seen.first_us
										? t->seen.first_us
										: t->seen.ended_us))));
}

static void check_usage(struct agent_test *t)
{
	const struct usage *u = &t->account.usage;
	int64_t in = u->input + u->cache_read + u->cache_write;
	str cost = t->account.cost_microusd > 0
			? arena_printf(t->a, ", $%.4f", (double)t->account.cost_microusd / 1000000)
			: STR("");

	if (!t->format->structured)
		skipped(t, "usage", "an agent of format raw does not say what it used");
	else if (in + u->output ==
			0) /* a server in between may leave it out: work goes on without */
		verdict(t, "usage", "failed", false,
				STR("it did not say what it used; budgets do not count it"));
	else
		verdict(t, "usage", "ok", false,
				arena_printf(t->a, "%lld tokens in, %lld out" STR_FMT,
						(long long)in, (long long)u->output,
						STR_ARG(cost)));
}

static void check_hooks(struct agent_test *t)
{
	if (!t->format->hooks)
		skipped(t, "hooks", "it has none that we use");
	else if (!t->o->overseer)
		passed(t, "hooks", false,
				STR("the program overseer was not found beside overseerd"));
	else
		passed(t, "hooks", t->seen.hooks > 0,
				arena_printf(t->a, "%llu calls arrived",
						(unsigned long long)t->seen.hooks));
}

/* True when the rest can be tried. */
static int first(struct agent_test *t, bool *ret_works, struct ov_err *err)
{
	str why;
	int r;

	doing(t, "starting it, to make a file");
	r = test_run(t, ask_first, NULL, err);
	if (r < 0)
		return r;
	why = trouble(t);
	*ret_works = why.n == 0;
	passed(t, "starts", *ret_works,
			why.n ? why
					: !t->format->structured
					? STR("it ran and ended well")
					: arena_printf(t->a, "session %s, model %s",
							  t->account.session,
							  t->account.model[0] ? t->account.model
									      : "unknown"));
	if (!*ret_works)
		return 0;
	check_stream(t);
	passed(t, "edits", contains(t, MADE, "hello"),
			contains(t, MADE, "hello") ? STR(MADE " was made")
						   : STR(MADE " is not there, or not as asked"));
	check_usage(t);
	check_hooks(t);
	return 0;
}

static int second(struct agent_test *t, struct ov_err *err)
{
	str before = t->session, why;
	bool same, knows;
	int r;

	if (!t->format->resumes) {
		skipped(t, "resumes", "every run of it begins anew");
		return 0;
	}
	doing(t, "going on with its session, in a new process");
	r = test_run(t, ask_second, NULL, err);
	if (r < 0)
		return r;
	why = trouble(t);
	same = str_eq(before, t->session);
	knows = contains(t, RESUMED, NUMBER);
	passed(t, "resumes", why.n == 0 && same && knows,
			why.n ? why
					: !same
					? arena_printf(t->a, "it began another session: " STR_FMT,
							  STR_ARG(t->session))
					: knows
					? STR("same session, and it remembered what it was told")
					: STR("same session, but it did not write what it was told "
					      "before"));
	return 0;
}

static int third(struct agent_test *t, struct ov_err *err)
{
	static const str deny[] = { STR("shell"), STR("edit"), STR("agents") };
	static const struct tool_scope scope = { .deny = deny, .deny_n = ARRAY_LEN(deny) };
	bool made;
	int r;

	if (!t->format->scoped) {
		skipped(t, "denies", "its tools cannot be narrowed");
		return 0;
	}
	doing(t, "asking for a tool that is denied");
	r = test_run(t, ask_denied, &scope, err);
	if (r < 0)
		return r;
	made = file_exists(path_join(t->a, t->o->worktree, DENIED));
	/* What it says of that may be a failure: what counts is that it could not. */
	passed(t, "denies", !made && !t->cancelled && !t->seen.killed,
			made ? STR("it ran a shell command although that is denied")
					: t->account.denials
					? arena_printf(t->a, "refused %lld time%s",
							  (long long)t->account.denials,
							  t->account.denials == 1 ? "" : "s")
					: t->seen.killed
					? STR("it did not end in time, and was killed")
					: STR("it was not offered the tool, and nothing was "
					      "written"));
	return 0;
}

static int fourth(struct agent_test *t, struct ov_err *err)
{
	int r;

	if (!t->format->interrupts) {
		skipped(t, "interrupts", "it is stopped by SIGTERM");
		return 0;
	}
	doing(t, "interrupting it in the middle of a command");
	t->interrupts = true;
	r = test_run(t, ask_long, NULL, err);
	if (r < 0)
		return r;
	if (!t->seen.interrupted && !t->seen.killed)
		skipped(t, "interrupts", "it did not run the command that was to be interrupted");
	else
		passed(t, "interrupts", !t->seen.killed,
				t->seen.killed ? STR("it did not end within "
						     "supervisor.interrupt_grace, and was killed")
					       : arena_printf(t->a, "it ended within " STR_FMT,
								 STR_ARG(seconds(t,
										 t->seen.interrupted_us,
										 t->seen.ended_us))));
	return 0;
}

int test_all(struct agent_test *t, struct ov_err *err)
{
	static int (*const further[])(struct agent_test *, struct ov_err *) = { second, third,
		fourth };
	value *v = value_object(t->a);
	bool works = false;
	int r = first(t, &works, err);

	for (size_t i = 0; works && r == 0 && !t->cancelled && i < ARRAY_LEN(further); i++)
		r = further[i](t, err);
	if (r < 0)
		return r;
	value_put(t->a, v, "ok", value_bool(t->a, !t->failed && !t->cancelled));
	test_say(t, v);
	return 0;
}
