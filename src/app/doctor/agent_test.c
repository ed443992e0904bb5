#include "app/doctor/agent_test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/fact/account.h"
#include "agent/table/formats.h"
#include "app/doctor/agent_test_impl.h"
#include "app/sandbox/contain.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"
#include "drive/tmux/tmux.h"
#include "sys/file/file.h"
#include "sys/file/owner.h"
#include "sys/host/clock.h"
#include "sys/host/rand.h"
#include "sys/loop/loop.h"

enum {
	RUN_MS = 5 * 60 * 1000, /* of one run */
	QUIET_MS = 10 * 1000,   /* in a turn: some tell of a tool only when it is over */
	NOTHING_MS = 60 * 1000,
	CONFIG_MAX = 1024 * 1024,
};

void test_say(struct agent_test *t _unused_, const value *v)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	json_write(&b, v);
	buf_addc(&b, '\n');
	fwrite(b.p, 1, b.n, stdout);
	fflush(stdout);
}

static void on_output(void *user, str bytes, uint64_t at _unused_)
{
	struct agent_test *t = user;

	t->seen.bytes += bytes.n;
}

/* It is in the middle of something. */
static void interrupt(void *user)
{
	struct agent_test *t = user;

	if (t->seen.interrupted)
		return;
	loop_timer_off(t->quiet);
	t->seen.interrupted = true;
	t->seen.interrupted_us = clock_mono_us();
	if (t->driver->interrupt(t->run, NULL) == 0)
		loop_timer_in(t->timer, t->config->interrupt_grace);
}

static void agent_test_on_fact(void *user, const struct fact *f, ov_time at)
{
	struct agent_test *t = user;
	bool hook = f->offset == 0 && t->format->hooks;

	account_fact(&t->account, f, at);
	t->seen.facts += !hook;
	t->seen.hooks += hook;
	if (!t->seen.first_us)
		t->seen.first_us = clock_mono_us();
	if (t->interrupts && f->kind == FACT_TOOL_STARTED)
		interrupt(t);
	else if (t->interrupts && !t->seen.interrupted)
		loop_timer_in(t->quiet, QUIET_MS);
}

static void on_taken(void *user, str dispatch_id)
{
	(void)user, (void)dispatch_id;
}

static void on_ended(void *user, const struct run_end *end)
{
	struct agent_test *t = user;

	t->seen.end = *end;
	t->seen.end.message = arena_str(t->a, end->message);
	t->seen.ended_us = clock_mono_us();
	t->driver->close(t->run);
	t->run = NULL;
	loop_quit(t->loop, 0);
}

static void on_time(void *user)
{
	struct agent_test *t = user;

	t->seen.killed = true;
	t->driver->stop(t->run, NULL);
}

static void on_signal(void *user, int signo _unused_)
{
	struct agent_test *t = user;

	t->cancelled = true;
	t->driver->stop(t->run, NULL);
}

static const struct driver_events events = { .output = on_output,
	.fact = agent_test_on_fact,
	.taken = on_taken,
	.ended = on_ended };

static int follow(struct agent_test *t, const struct driver_ask *ask, struct ov_err *err)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct loop_source *sources[ARRAY_LEN(signals)];
	int r = t->driver->start(t->loop, ask, &events, t, &t->run, err);

	if (r < 0)
		return r;
	t->timer = loop_timer(t->loop, on_time, t);
	loop_timer_in(t->timer, RUN_MS);
	t->quiet = loop_timer(t->loop, interrupt, t);
	if (t->interrupts)
		loop_timer_in(t->quiet, NOTHING_MS);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		sources[i] = loop_signal(t->loop, signals[i], on_signal, t);
	loop_run(t->loop);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		loop_source_free(sources[i]);
	loop_source_free(t->quiet);
	loop_source_free(t->timer);
	return 0;
}

int test_run(struct agent_test *t, const char *prompt, const struct tool_scope *scope,
		struct ov_err *err)
{
	struct driver_ask ask = { .config = t->config,
		.agent = t->agent,
		.shim = t->o->shim,
		.overseer = t->o->overseer,
		.contain = t->contain,
		.store = t->o->dir,
		.repo = t->o->worktree,
		.dir = arena_cstr(t->a, arena_printf(t->a, "%s/run-%d", t->o->scratch, ++t->runs)),
		.worktree = t->o->worktree,
		.run_id = arena_printf(t->a, "agent-test-%016llx", (unsigned long long)rand_u64()),
		.goal_id = STR("agent-test"),
		.node_id = STR("T1"),
		.assignment_id = STR("agent-test"),
		.home = STR("agent-test"),
		.worker = STR("agent-test"),
		.attempt = t->runs,
		.prompt = arena_printf(t->a, "%s%s%s", prompt, t->o->note ? "\n\n" : "",
				t->o->note ? t->o->note : ""),
		.session = t->session,
		.resume = t->runs > 1 && t->format->resumes && t->session.n,
		.scope = scope };
	int r = loop_new(&t->loop, err);

	if (r < 0)
		return r;
	t->run_dir = ask.dir;
	t->seen = (struct agent_test_seen){ .begun_us = clock_mono_us() };
	account_init(&t->account, NULL, 0);
	ask.tmux = tmux_new(t->loop, &(struct tmux_options){ .store = t->o->scratch });
	r = follow(t, &ask, err);
	tmux_free(ask.tmux);
	t->loop = loop_free(t->loop);
	if (r == 0 && t->account.session[0])
		t->session = arena_str(t->a, str_from(t->account.session));
	return r;
}

/* Random, of version 4. */
static str new_uuid(struct arena *a)
{
	unsigned char b[16];

	rand_bytes(b, sizeof(b));
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	return arena_printf(a,
			"%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
			b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11],
			b[12], b[13], b[14], b[15]);
}

static int load(struct agent_test *t, struct config **ret, struct ov_err *err)
{
	const char *file = path_join(t->a, t->o->dir, "config.toml");
	struct config *c;
	str text;
	int r = owner_check_store(t->o->dir, err);

	if (r < 0)
		return r;
	r = file_read(t->a, file, CONFIG_MAX, &text, err);
	if (r < 0)
		return ov_wrap(err, r, "reading the configuration");
	r = config_parse(text, &c, err);
	if (r < 0)
		return r;
	t->config = c;
	t->agent = config_agent(c, str_from(t->o->agent));
	if (!t->agent) {
		config_free(c);
		ov_fail(err, OV_ENOTFOUND, "there is no [agents.%s] in %s", t->o->agent, file);
		return ov_next(err, "overseer agent list");
	}
	t->format = format_find(t->agent->format);
	t->driver = driver_find(t->agent->runtime);
	if (t->format->names_session)
		t->session = new_uuid(t->a);
	*ret = c;
	return 0;
}

int agent_test_run(const struct agent_test_options *o)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct agent_test t = { .a = &a, .o = o };
	struct ov_err err = { 0 };
	struct config *c = NULL;
	int r = load(&t, &c, &err);

	if (r == 0) {
		t.contain = contain_new(c);
		r = test_all(&t, &err);
		contain_free(t.contain);
	}
	config_free(c);
	if (r < 0) {
		fprintf(stderr, "overseerd: %s\n", err.msg);
		return ov_code_info(r)->exit_status;
	}
	return t.cancelled ? 130 : t.failed ? 1 : 0;
}
