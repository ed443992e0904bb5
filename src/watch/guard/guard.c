/* What the watchdog does about the daemon: finds, starts, checks, ends and judges it. */
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/err.h"
#include "sys/host/clock.h"
#include "watch/guard/guard_impl.h"

static const char *instance_of(const struct guard *w)
{
	return w->daemon.registered ? w->daemon.id.instance : "";
}

/* ---- failures ---- */

static void forget_failure(struct guard *w)
{
	w->failure = FAILURE_NONE;
	w->failure_text[0] = '\0';
	w->failure_told = false;
	w->healthy_ms = 0;
	w->failed = (struct identity){ 0 };
	w->asked_ms = -1;
	w->killed = false;
}

/* The first one counts: what follows from it is not another. */
static void note_failure(struct guard *w, enum failure f, const char *text)
{
	if (w->failure != FAILURE_NONE)
		return;
	w->failure = f;
	snprintf(w->failure_text, sizeof(w->failure_text), "%s", text);
	if (!w->daemon.registered)
		return;
	w->failed = w->daemon.id;
	w->healthy_ms = vitals_healthy_ms(&w->vitals, f, watch_mono_ms(),
			w->spec.heartbeat_timeout);
}

static void tell_failure(struct guard *w)
{
	if (w->failure == FAILURE_NONE || w->failure_told)
		return;
	w->failure_told = true;
	watch_report_act(&w->report, ACT_FAILED, w->failure, w->failed.instance, TONE_BAD,
			"The daemon failed: %s", w->failure_text);
}

/* ---- finding and starting ---- */

static bool guard_find(struct guard *w)
{
	return watched_find(&w->scratch, w->spec.dir, &w->found, NULL) == 0;
}

void guard_look(struct guard *w)
{
	struct ov_err err = { 0 };

	if (vitals_watch(&w->vitals, &err) < 0)
		watch_report_say(&w->report, TONE_WARN,
				"Cannot be told of changes: %s; it looks again and again", err.msg);
	if (mend_underway(w))
		watch_post(w, WE_UNDERWAY);
	else
		watch_post(w, guard_find(w) ? WE_FOUND : WE_ABSENT);
}

/* From here on its signs of life are read. */
static void guard_begin(struct guard *w)
{
	int64_t now = watch_mono_ms();

	vitals_begin(&w->vitals, w->daemon.id.instance, now);
	if (w->known.instance[0] && identity_eq(&w->known, &w->daemon.id) && w->known_ms > 0 &&
			w->known_ms <= now)
		w->vitals.begun_ms = w->known_ms;
	w->daemon_since = clock_wall() - (now - w->vitals.begun_ms);
	w->told_healthy = w->told_degraded = w->restarted = false;
	w->due_ms = vitals_due_ms(&w->vitals, now, w->spec.heartbeat_timeout,
			w->spec.stall_timeout);
	guard_heard(w, (struct vitals_news){ .health = true });
}

/* It may have ended between the look and now. */
static bool guard_take(struct guard *w)
{
	struct ov_err err = { 0 };

	if (watched_take(&w->daemon, &w->found, &err) == 0)
		return true;
	note_failure(w, FAILURE_DIED, err.msg);
	watch_post(w, WE_DIED);
	return false;
}

void guard_adopt(struct guard *w)
{
	forget_failure(w);
	if (!guard_take(w))
		return;
	watch_report_act(&w->report, ACT_ADOPTED, FAILURE_NONE, instance_of(w), TONE_GOOD,
			"Watching the daemon that runs (pid %d)", w->daemon.id.pid);
	guard_begin(w);
}

void guard_register(struct guard *w)
{
	if (guard_take(w))
		guard_begin(w);
}

void guard_start(struct guard *w)
{
	struct ov_err err = { 0 };

	forget_failure(w);
	vitals_begin(&w->vitals, "", watch_mono_ms());
	if (watched_start(&w->daemon, &w->spec, w->env, &err) < 0) {
		note_failure(w, FAILURE_DIED, err.msg);
		watch_post(w, WE_DIED);
		return;
	}
	watch_report_act(&w->report, ACT_STARTED, FAILURE_NONE, "", TONE_GOOD, "%s the daemon",
			w->restarted ? "Restarting" : "Starting");
	w->due_ms = watch_mono_ms() + w->spec.registration_timeout;
}

/* ---- checking ---- */

static void guard_fail(struct guard *w, enum failure f, const char *text)
{
	note_failure(w, f, text);
	watch_post(w, WE_FAILED);
}

/* Another one in its place; a file that is gone or cannot be read says nothing. */
static bool check_identity(struct guard *w)
{
	struct identity id;
	char text[VITAL_TEXT];

	if (watched_ended(&w->daemon) || !watched_registered(&w->scratch, w->spec.dir, &id) ||
			identity_eq(&id, &w->daemon.id))
		return true;
	snprintf(text, sizeof(text),
			"pid %d (instance %s) is registered in the place of pid %d (instance %s)",
			id.pid, id.instance, w->daemon.id.pid, w->daemon.id.instance);
	guard_fail(w, FAILURE_IDENTITY, text);
	return false;
}

static void check_health(struct guard *w)
{
	struct vitals *v = &w->vitals;

	vitals_read_health(v);
	if (v->failed) {
		guard_fail(w, FAILURE_HEALTH, v->text);
		return;
	}
	if (v->degraded && !w->told_degraded)
		watch_report_act(&w->report, ACT_DEGRADED, FAILURE_NONE, instance_of(w), TONE_WARN,
				"The daemon cannot do all of its work: %s", v->text);
	if (!v->degraded && w->told_degraded)
		watch_report_say(&w->report, TONE_GOOD, "The daemon can do all of its work again");
	w->told_degraded = v->degraded;
}

void guard_heard(struct guard *w, struct vitals_news news)
{
	switch (w->state) {
	case WS_STARTING:
	case WS_WAITING:
		if (news.registration && guard_find(w))
			watch_post(w, WE_FOUND);
		break;
	case WS_RUNNING:
		if (news.registration && !check_identity(w))
			break;
		if (news.health)
			check_health(w);
		break;
	default: break;
	}
}

void guard_check(struct guard *w)
{
	int64_t now = watch_mono_ms(), late = now - w->due_ms;
	struct vitals *v = &w->vitals;
	char text[VITAL_TEXT];
	enum failure f;

	/* So late that we did not run ourselves: that time says nothing about the daemon. */
	late = late > w->spec.heartbeat_timeout / 2 ? late : 0;
	f = vitals_check(v, now, late, w->spec.heartbeat_timeout, w->spec.stall_timeout, text,
			sizeof(text));
	if (v->beats && !w->told_healthy) {
		w->told_healthy = true;
		watch_report_act(&w->report, ACT_HEALTHY, FAILURE_NONE, instance_of(w), TONE_GOOD,
				"The daemon is up and its heart beats (pid %d)", w->daemon.id.pid);
	}
	w->due_ms = vitals_due_ms(v, now, w->spec.heartbeat_timeout, w->spec.stall_timeout);
	(void)watch_report_flush(&w->report);
	/* A heart beats for whom watch.json names: without it, silence says nothing. */
	if (f == FAILURE_HEARTBEAT && !saved_stands(w)) {
		v->beat_ms = now;
		w->unsaved = true;
		f = FAILURE_NONE;
	}
	if (f != FAILURE_NONE)
		guard_fail(w, f, text);
	else if (check_identity(w))
		check_health(w);
}

/* ---- its end ---- */

static void describe_end(const struct guard *w, struct proc_exit how, char *ret, size_t size)
{
	const char *before = w->daemon.registered ? "" : " before it registered";
	int status = how.code >= 0 ? how.code : w->vitals.stopped;

	if (how.signal)
		snprintf(ret, size, "it was ended by signal %d (%s)%s", how.signal,
				strsignal(how.signal), before);
	else if (status == 0)
		snprintf(ret, size, "it ended with status 0%s, without being asked to", before);
	else if (status > 0)
		snprintf(ret, size, "it ended with status %d (%s)%s; see logs/daemon.log", status,
				daemon_exit_text(status), before);
	else
		snprintf(ret, size, "it has ended%s; nobody knows how", before);
}

/*
 * Somebody else was quicker, and has not come as far as to register: it has the rest of the time.
 */
static void await_other(struct guard *w)
{
	watched_settle(&w->daemon);
	watch_report_say(&w->report, TONE_PLAIN,
			"Another daemon has the store: waiting for it to register");
}

void guard_ended(struct guard *w)
{
	struct vitals *v = &w->vitals;
	char text[VITAL_TEXT];
	struct proc_exit how = watched_how(&w->daemon);

	if (w->state == WS_STARTING && !w->daemon.registered) {
		/* A start command that leaves a daemon behind has done its work. */
		if (guard_find(w)) {
			watch_post(w, WE_FOUND);
			return;
		}
		if (how.code == ov_code_info(OV_ECONFLICT)->exit_status) {
			await_other(w);
			return;
		}
	}
	vitals_read_health(v);
	/*
	 * Also when it was asked to end, could not, and was ended by us: that is what was wanted.
	 */
	if (v->requested &&
			(w->asked_ms >= 0 ||
					(!how.signal &&
							(how.code >= 0 ? how.code : v->stopped) ==
									0))) {
		watch_post(w, WE_STOPPED);
		return;
	}
	describe_end(w, how, text, sizeof(text));
	note_failure(w, v->failed ? FAILURE_HEALTH : FAILURE_DIED, v->failed ? v->text : text);
	watch_post(w, WE_DIED);
}

void guard_terminate(struct guard *w)
{
	struct ov_err err = { 0 };

	tell_failure(w);
	if (w->asked)
		watch_report_say(&w->report, TONE_PLAIN,
				"Asked to end: the daemon ends first (once more: at once)");
	if (!watched_exists(&w->daemon)) {
		watch_post(w, WE_DIED);
		return;
	}
	if (watched_terminate(&w->daemon, &err) < 0 && err.code != OV_ENOTFOUND)
		watch_report_say(&w->report, TONE_WARN, "%s", err.msg);
	w->asked_ms = watch_mono_ms();
	w->due_ms = w->asked_ms + w->spec.grace;
}

void guard_overdue(struct guard *w)
{
	char text[VITAL_TEXT];

	snprintf(text, sizeof(text), "%s, but has not registered within %s",
			watched_exists(&w->daemon) ? "it was started" : "another one has the store",
			duration_format(&w->scratch, w->spec.registration_timeout).p);
	note_failure(w, FAILURE_UNREGISTERED, text);
	guard_terminate(w);
}

void guard_kill(struct guard *w)
{
	struct ov_err err = { 0 };

	watch_report_say(&w->report, TONE_WARN, "The daemon did not end within %s; killing it",
			duration_format(&w->scratch, w->spec.grace).p);
	if (watched_kill(&w->daemon, &err) < 0 && err.code != OV_ENOTFOUND)
		watch_report_say(&w->report, TONE_WARN, "%s", err.msg);
	w->killed = true;
	w->due_ms = watch_mono_ms() + WATCH_KILL_MS;
}

/* ---- what follows ---- */

void guard_wait(struct guard *w)
{
	watch_report_act(&w->report, ACT_WAITING, FAILURE_NONE, instance_of(w), TONE_PLAIN,
			"The daemon was stopped by request; waiting for the next one (overseer "
			"up)");
	watched_settle(&w->daemon);
	forget_failure(w);
	if (guard_find(w))
		watch_post(w, WE_FOUND);
}

static void guard_give_up(struct guard *w, enum watch_exit status, const char *reason)
{
	w->exit_status = status;
	snprintf(w->reason, sizeof(w->reason), "%s", reason);
	watch_post(w, WE_GIVE_UP);
}

void guard_judge(struct guard *w)
{
	int64_t now = watch_mono_ms();
	char reason[WATCH_REASON];

	tell_failure(w);
	if (w->asked_ms >= 0)
		watch_report_act(&w->report, ACT_TERMINATED, w->failure, w->failed.instance,
				TONE_PLAIN, "Ended the daemon by %s, after %s",
				w->killed ? "SIGKILL" : "SIGTERM",
				duration_format_short(&w->scratch, now - w->asked_ms).p);
	watched_settle(&w->daemon);
	w->restarted = true;
	switch (judge_failure(&w->judge, w->failure, w->healthy_ms, now)) {
	case VERDICT_START: watch_post(w, WE_START); return;
	case VERDICT_MEND: watch_post(w, WE_MEND); return;
	case VERDICT_SPIRAL:
		snprintf(reason, sizeof(reason),
				"the daemon failed again, healthy for only %s after %s "
				"(watch.restart_cooldown is %s): %s",
				duration_format_short(&w->scratch, w->healthy_ms).p,
				w->judge.can_mend ? "a remediation" : "it was started again",
				duration_format(&w->scratch, w->spec.restart_cooldown).p,
				w->failure_text);
		guard_give_up(w, WATCH_SPIRAL, reason);
		return;
	case VERDICT_TOO_MANY:
		snprintf(reason, sizeof(reason),
				"the daemon was started again %zu times in 24 hours "
				"(watch.max_restarts), and failed: %s",
				w->judge.restarts_n, w->failure_text);
		guard_give_up(w, WATCH_TOO_MANY, reason);
		return;
	}
}
