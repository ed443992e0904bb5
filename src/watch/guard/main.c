/*
 * overseer-watch, the watchdog: starts the daemon, or finds it, watches its signs of life, and has
 * it mended and started again when it fails. machine.h says what it does when; here that is carried
 * out. It needs neither the store nor config.toml, and sleeps in poll as long as all is well.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "data/id/sha256.h"
#include "data/value/json.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"
#include "sys/host/rand.h"
#include "watch/guard/guard_impl.h"

/* ---- actions that end it ---- */

static void nothing(struct guard *w _unused_)
{
}

static void main_give_up(struct guard *w)
{
	watch_report_act(&w->report, ACT_GAVE_UP, w->failure, "", TONE_BAD, "Gave up: %s",
			w->reason);
	watch_report_say(&w->report, TONE_PLAIN,
			"What happened is in %s/logs (daemon.log, watch.jsonl, remediation_*.txt). "
			"Put it right%s, then: overseer watch",
			w->spec.dir, w->exit_status == WATCH_MANUAL ? " and remove that file" : "");
}

static void stuck(struct guard *w)
{
	w->exit_status = WATCH_STUCK;
	snprintf(w->reason, sizeof(w->reason),
			"the daemon (pid %d) cannot be ended, not even by SIGKILL",
			w->daemon.registered ? w->daemon.id.pid : w->daemon.command.pid);
	main_give_up(w);
}

static void leave(struct guard *w)
{
	bool had = watched_exists(&w->daemon);

	if (w->mending.stamp[0])
		mend_over(w);
	watched_settle(&w->daemon);
	snprintf(w->reason, sizeof(w->reason), "it was asked to end");
	watch_report_act(&w->report, ACT_LEFT, FAILURE_NONE, "", TONE_PLAIN, "Ended%s",
			had ? ", and so did the daemon" : "");
}

static void quit(struct guard *w)
{
	w->exit_status = WATCH_AT_ONCE;
	snprintf(w->reason, sizeof(w->reason), "it was asked twice to end");
	watch_report_act(&w->report, ACT_LEFT, FAILURE_NONE, "", TONE_WARN,
			"Ended at once; the daemon is left to itself");
}

static void (*const actions[WA_COUNT])(struct guard *w) = {
	[WA_NEVER] = nothing,
	[WA_NOTHING] = nothing,
	[WA_LOOK] = guard_look,
	[WA_ADOPT] = guard_adopt,
	[WA_START] = guard_start,
	[WA_REGISTER] = guard_register,
	[WA_CHECK] = guard_check,
	[WA_OVERDUE] = guard_overdue,
	[WA_TERMINATE] = guard_terminate,
	[WA_KILL] = guard_kill,
	[WA_STUCK] = stuck,
	[WA_JUDGE] = guard_judge,
	[WA_WAIT] = guard_wait,
	[WA_REMEDY] = mend_start,
	[WA_RESUME] = mend_resume,
	[WA_END_REMEDY] = mend_end,
	[WA_KILL_REMEDY] = mend_kill,
	[WA_CONCLUDE] = mend_conclude,
	[WA_GIVE_UP] = main_give_up,
	[WA_LEAVE] = leave,
	[WA_QUIT] = quit,
};

/* ---- the machine ---- */

void watch_post(struct guard *w, enum watch_event e)
{
	assert(w->queue_n < WATCH_QUEUE);
	w->queue[w->queue_n++] = e;
}

static void step(struct guard *w)
{
	const struct watch_step *x = machine_step(w->state, w->queue[0]);

	memmove(w->queue, w->queue + 1, --w->queue_n * sizeof(w->queue[0]));
	if (x->next != w->state) {
		w->state = x->next;
		w->since = clock_wall();
		w->unsaved = true;
		/* A deadline is of the state; only who does nothing leaves it as it was. */
		if (x->action != WA_NOTHING)
			w->due_ms = -1;
	}
	actions[x->action](w);
}

static void main_settle(struct guard *w)
{
	while (w->queue_n)
		step(w);
	if (w->unsaved || w->saved_n != w->report.n) {
		w->unsaved = true;
		w->saved_n = w->report.n;
		saved_write(w);
	}
	arena_reset(&w->scratch);
}

void watch_handle(struct guard *w, enum watch_event e)
{
	watch_post(w, e);
	main_settle(w);
}

/* ---- starting ---- */

static int main_refuse(int status, const struct ov_err *err)
{
	dprintf(STDERR_FILENO, "overseer: %s\n", err->msg);
	if (err->next[0])
		dprintf(STDERR_FILENO, "Next  %s\n", err->next);
	return status;
}

static int read_spec(struct guard *w, int fd, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	ssize_t n;

	if (lseek(fd, 0, SEEK_SET) < 0 && errno != ESPIPE)
		return ov_fail_errno(err, errno, "--spec-fd %d", fd);
	do {
		buf_reserve(&text, 64 * 1024);
		n = read(fd, text.p + text.n, text.cap - text.n - 1);
		if (n < 0 && errno != EINTR)
			return ov_fail_errno(err, errno, "--spec-fd %d", fd);
		text.n += n > 0 ? (size_t)n : 0;
	} while (n != 0 && text.n <= SPEC_MAX);
	close(fd);
	return spec_read(&w->arena, buf_str(&text), &w->spec, err);
}

static void make_self(struct guard *w)
{
	uint8_t random[VITAL_INSTANCE / 2];

	rand_bytes(random, sizeof(random));
	hex_format(random, sizeof(random), w->self.instance);
	w->self.pid = getpid();
	w->self.start_time = proc_start_time(w->self.pid);
	proc_boot_id(w->self.boot_id);
	w->started_at = w->since = clock_wall();
}

/* One watchdog for a store; the lock goes with its process. */
static int take_lock(struct guard *w, struct ov_err *err)
{
	struct arena *a = &w->scratch;
	int r = lock_take(path_join(a, w->spec.dir, WATCH_LOCK), &w->lock, err);
	struct identity id;
	value *v;
	str text;

	if (r != OV_ECONFLICT)
		return r;
	if (file_read(a, path_join(a, w->spec.dir, VITAL_WATCH), VITAL_FILE_MAX, &text, NULL) ==
					0 &&
			json_parse(a, text, NULL, &v, NULL) == 0 && identity_read(v, &id))
		ov_fail(err, OV_ECONFLICT,
				"another watchdog watches this store: pid %d (instance %s)", id.pid,
				id.instance);
	else
		ov_fail(err, OV_ECONFLICT, "another watchdog watches this store");
	return ov_next(err, "overseer status");
}

/* A remediation that asked for a person is answered by that person, not by another start. */
static int check_manual(struct guard *w, bool *ret_needed, struct ov_err *err)
{
	char name[256] = "", text[700] = "";
	int r = manual_find(w->spec.dir, name, text, sizeof(text), err);

	if (r < 0)
		return r;
	*ret_needed = name[0] != '\0';
	if (!*ret_needed)
		return 0;
	ov_fail(err, OV_ESTATE, "a remediation asked for a person, in %s/%s:\n%s", w->spec.dir,
			name, text);
	(void)ov_next(err, "put it right, remove that file, then: overseer watch");
	return 0;
}

static int main_set_up(struct guard *w, struct ov_err *err)
{
	bool needed = false;
	int r = take_lock(w, err);

	if (r < 0)
		return main_refuse(ov_code_info(r)->exit_status, err);
	r = check_manual(w, &needed, err);
	if (r == 0 && needed)
		return main_refuse(WATCH_MANUAL, err);
	if (r == 0)
		r = loop_open(w, err);
	if (r < 0)
		return main_refuse(ov_code_info(r)->exit_status, err);
	make_self(w);
	w->env = watched_env(&w->arena, w->spec.dir);
	w->judge.cooldown_ms = w->spec.restart_cooldown;
	w->judge.max_restarts = w->spec.max_restarts;
	w->judge.can_mend = w->spec.remedy_name != NULL;
	vitals_init(&w->vitals, &w->arena, w->spec.dir);
	watch_report_init(&w->report, &w->arena, w->spec.dir, w->self.instance, saved_read(w));
	return 0;
}

static void run(struct guard *w)
{
	watch_report_act(&w->report, ACT_WATCHING, FAILURE_NONE, "", TONE_PLAIN,
			"Watching %s (pid %d); %s%s", w->spec.dir, w->self.pid,
			w->spec.remedy_name ? "failures are mended by "
					    : "nobody is asked to mend failures, the daemon is "
					      "only started again (watch.remediation_agent)",
			w->spec.remedy_name ? w->spec.remedy_name : "");
	/* A daemon looks here for whom its heart is to beat. */
	saved_write(w);
	guard_look(w);
	main_settle(w);
	while (w->state != WS_OVER) {
		loop_turn(w);
		main_settle(w);
	}
}

static int print_table(const char *as)
{
	struct buf b = BUF_INIT;

	if (strcmp(as, "markdown") == 0)
		machine_markdown(&b);
	else if (strcmp(as, "dot") == 0)
		machine_dot(&b);
	else
		return 2;
	for (size_t done = 0; done < b.n;) {
		ssize_t n = write(STDOUT_FILENO, b.p + done, b.n - done);

		if (n < 0 && errno != EINTR)
			return 8;
		done += n > 0 ? (size_t)n : 0;
	}
	buf_done(&b);
	return 0;
}

#define EXIT_LINE(id, status, text) "  " #status "  " text "\n"
static int usage(void)
{
	dprintf(STDERR_FILENO,
			"overseer-watch: started by `overseer watch`\n"
			"usage: overseer-watch --spec-fd FD | --table dot|markdown\n"
			"exit statuses:\n" WATCH_EXITS(EXIT_LINE));
	return 2;
}
#undef EXIT_LINE

static int main_watch(struct guard *w, int spec_fd)
{
	struct ov_err err = { 0 };
	int r = read_spec(w, spec_fd, &err);

	if (r < 0)
		return main_refuse(ov_code_info(r)->exit_status, &err);
	close_range(3, ~0U, 0);
	r = main_set_up(w, &err);
	if (r)
		return r;
	run(w);
	return w->exit_status;
}

static void watch_done(struct guard *w)
{
	proc_done(&w->mending.proc);
	watched_done(&w->daemon);
	vitals_done(&w->vitals);
	watch_report_done(&w->report);
	fd_closep(&w->signals);
	fd_closep(&w->lock);
	arena_done(&w->scratch);
	arena_done(&w->arena);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "spec-fd", required_argument, NULL, 's' },
		{ "table", required_argument, NULL, 't' },
		{ 0 },
	};
	struct guard w = {
		.lock = -1,
		.signals = -1,
		.due_ms = -1,
		.asked_ms = -1,
		.daemon = DAEMON_INIT,
		.vitals = { .notify = -1, .health_fd = -1 },
		.mending = { .proc = { .pidfd = -1 } },
	};
	int64_t fd = -1;
	int r;

	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (c == 't')
			return print_table(optarg);
		if (c != 's' || !str_to_i64(str_from(optarg), &fd) || fd < 3 || fd > 1024)
			return usage();
	}
	if (fd < 0 || optind < argc)
		return usage();
	umask(077);
	r = main_watch(&w, (int)fd);
	watch_done(&w);
	return r;
}
