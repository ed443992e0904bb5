/* What the watchdog does about remediations: begins, ends and concludes them. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"
#include "watch/guard/guard_impl.h"

enum { ASKS_SHOWN = 240 }; /* bytes of what a person is asked for, so that the file is named, too */

/* Whatever of it still runs. */
static void mend_sweep(struct guard *w)
{
	struct ov_err err = { 0 };
	size_t killed = 0;

	if (remedy_sweep(w->spec.dir, w->mending.stamp, &killed, &err) < 0)
		watch_report_say(&w->report, TONE_WARN, "What the remediation left: %s", err.msg);
	else if (killed)
		watch_report_say(&w->report, TONE_WARN,
				"The remediation left %zu process%s; killed", killed,
				killed == 1 ? "" : "es");
}

static void mend_forget(struct guard *w)
{
	proc_done(&w->mending.proc);
	w->mending = (struct mending){ .proc = { .pidfd = -1 } };
}

bool mend_underway(struct guard *w)
{
	if (!w->mending.stamp[0])
		return false;
	if (w->mending.proc.pidfd >= 0 && !proc_ended(&w->mending.proc, 0))
		return true;
	/* It ended while nobody looked on. */
	mend_sweep(w);
	mend_forget(w);
	return false;
}

/* A time of which there is no log yet. */
static void make_stamp(struct guard *w, ov_time at, char ret[static WATCH_STAMP])
{
	char name[128];

	for (;; at += OV_SECOND) {
		time_t seconds = (time_t)(at / OV_SECOND);
		struct tm tm = { 0 };

		gmtime_r(&seconds, &tm);
		strftime(ret, WATCH_STAMP, "%Y%m%dT%H%M%SZ", &tm);
		remedy_log_name(ret, name, sizeof(name));
		if (!file_exists(path_join(&w->scratch, path_join(&w->scratch, w->spec.dir, "logs"),
				    name)))
			return;
	}
}

/* On its way from here on. */
static int launch(struct guard *w, struct ov_err *err)
{
	struct mending *m = &w->mending;
	struct remedy_ask ask = {
		.dir = w->spec.dir,
		.repo = w->spec.repo,
		.overseer = w->spec.overseer,
		.launch = &w->spec.remedy,
		.configured = w->spec.remediation_prompt,
		.stamp = m->stamp,
		.failure = w->failure,
		.text = w->failure_text,
		.daemon = w->failed.instance[0] ? &w->failed : NULL,
	};
	int pid, r = remedy_start(&ask, &pid, err);

	if (r < 0)
		return r;
	m->child = true;
	m->start_time = proc_start_time(pid);
	/* Our child, not reaped: the number is its own also when it has ended already. */
	m->proc = (struct proc){ .pid = pid, .pidfd = pidfd_open(pid, 0) };
	if (m->proc.pidfd < 0)
		return ov_fail_errno(err, errno, "watch the remediation (pid %d)", pid);
	return 0;
}

void mend_start(struct guard *w)
{
	struct mending *m = &w->mending;
	struct ov_err err = { 0 };
	char log[128];

	mend_forget(w);
	m->since = clock_wall();
	m->begun_ms = watch_mono_ms();
	m->due_ms = m->begun_ms + w->spec.remediation_timeout;
	m->failure = w->failure;
	make_stamp(w, m->since, m->stamp);
	remedy_log_name(m->stamp, log, sizeof(log));
	watch_report_act(&w->report, ACT_REMEDIATING, w->failure, w->failed.instance, TONE_BAD,
			"Entering remediation: %s is asked to mend it, within %s (logs/%s)",
			w->spec.remedy_name,
			duration_format(&w->scratch, w->spec.remediation_timeout).p, log);
	w->due_ms = m->due_ms;
	if (launch(w, &err) < 0) {
		watch_report_say(&w->report, TONE_WARN, "Remediation issue: %s", err.msg);
		watch_post(w, WE_MENDED);
	}
}

void mend_resume(struct guard *w)
{
	w->failure = w->mending.failure;
	w->due_ms = w->mending.due_ms;
	watch_report_say(&w->report, TONE_PLAIN,
			"A remediation of an earlier watchdog still runs (pid %d): waiting for it",
			w->mending.proc.pid);
}

void mend_end(struct guard *w)
{
	w->mending.overdue = !w->asked;
	if (w->asked)
		watch_report_say(&w->report, TONE_WARN,
				"Remediation interrupted: it ends first (once more: at once)");
	(void)proc_signal(&w->mending.proc, SIGTERM, NULL);
	(void)proc_signal(&w->mending.proc, SIGCONT, NULL);
	w->due_ms = watch_mono_ms() + WATCH_KILL_MS;
}

void mend_kill(struct guard *w)
{
	(void)proc_signal(&w->mending.proc, SIGKILL, NULL);
	mend_sweep(w);
	(void)proc_ended(&w->mending.proc, 1000);
	watch_post(w, WE_MENDED);
}

/* ---- its end ---- */

static const char *issue_of(const struct mending *m, struct proc_exit how)
{
	if (m->overdue)
		return "it took too long and was ended";
	if (m->proc.pidfd < 0)
		return "it could not be started";
	if (how.code == REMEDY_FAILED)
		return "whoever was asked failed twice";
	if (how.code == REMEDY_NOT_KEPT)
		return "the checkout could not be kept, so nobody was asked";
	if (how.code == REMEDY_ENDED || how.signal)
		return "it was ended";
	return how.code > 0 ? "it failed" : NULL;
}

void mend_over(struct guard *w)
{
	struct mending *m = &w->mending;
	int64_t tenths = (watch_mono_ms() - m->begun_ms) / 100;
	struct proc_exit how = { .code = -1 };
	const char *issue;

	if (m->child && m->proc.pidfd >= 0)
		(void)proc_reap(&m->proc, &how, NULL);
	issue = issue_of(m, how);
	mend_sweep(w);
	if (w->asked)
		watch_report_act(&w->report, ACT_REMEDIATED, m->failure, w->failed.instance,
				TONE_WARN, "Remediation interrupted");
	else if (issue)
		watch_report_act(&w->report, ACT_REMEDIATED, m->failure, w->failed.instance,
				TONE_WARN, "Remediation issue: %s", issue);
	else
		watch_report_act(&w->report, ACT_REMEDIATED, m->failure, w->failed.instance,
				TONE_GOOD, "Remediation completed in %lld.%lld s",
				(long long)tenths / 10, (long long)tenths % 10);
	mend_forget(w);
}

void mend_conclude(struct guard *w)
{
	char name[256] = "", text[512] = "";
	struct ov_err err = { 0 };
	str asks, shown;

	mend_over(w);
	w->restarted = true;
	if (manual_find(w->spec.dir, name, text, sizeof(text), &err) < 0)
		watch_report_say(&w->report, TONE_WARN, "%s", err.msg);
	if (!name[0]) {
		guard_look(w);
		return;
	}
	w->exit_status = WATCH_MANUAL;
	asks = str_trim(str_from(text));
	shown = utf8_truncate(asks, ASKS_SHOWN);
	snprintf(w->reason, sizeof(w->reason),
			"the remediation asks for a person%s" STR_FMT "%s (%s)", asks.n ? ": " : "",
			STR_ARG(shown), shown.n < asks.n ? "..." : "", name);
	watch_post(w, WE_GIVE_UP);
}
