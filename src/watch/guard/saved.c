/*
 * watch.json: who we are and what we do, for `status` and for the daemon; and what a watchdog after
 * us has to know if we are killed. One that ended by itself leaves only the number of its last act:
 * who starts a watchdog after that begins anew.
 */
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"
#include "watch/guard/guard_impl.h"

#define STOPPED "stopped"

/* ---- written ---- */

static const char *word_of(enum watch_state s)
{
	switch (s) {
	case WS_REMEDIATING:
	case WS_ENDING:
	case WS_DROPPING: return "remediating";
	case WS_OVER: return STOPPED;
	default: return "running";
	}
}

static value *daemon_view(struct arena *a, const struct guard *w)
{
	value *v = value_object(a);

	if (!w->daemon.registered)
		return value_null(a);
	identity_put(a, v, &w->daemon.id);
	value_put(a, v, "since", value_time(a, w->daemon_since));
	return v;
}

static value *mending_view(struct arena *a, const struct guard *w)
{
	const struct mending *m = &w->mending;
	value *v = value_object(a);
	char log[128];

	if (m->proc.pidfd < 0)
		return value_null(a);
	remedy_log_name(m->stamp, log, sizeof(log));
	value_put(a, v, "stamp", value_cstr(a, m->stamp));
	value_put(a, v, "since", value_time(a, m->since));
	value_put(a, v, "agent", value_cstr(a, w->spec.remedy_name ? w->spec.remedy_name : ""));
	value_put(a, v, "log", value_strf(a, "logs/%s", log));
	value_put(a, v, "failure", value_cstr(a, failure_name(m->failure)));
	value_put(a, v, "pid", value_int(a, m->proc.pid));
	value_put(a, v, "start_time", value_int(a, (int64_t)m->start_time));
	value_put(a, v, "begun_ms", value_int(a, m->begun_ms));
	value_put(a, v, "due_ms", value_int(a, m->due_ms));
	return v;
}

static value *judge_view(struct arena *a, const struct guard *w)
{
	value *v = value_object(a), *list = value_array(a);

	for (size_t i = 0; i < w->judge.restarts_n; i++)
		value_push(a, list, value_int(a, w->judge.restarts[i]));
	value_put(a, v, "mended", value_bool(a, w->judge.mended));
	value_put(a, v, "registered_ms",
			value_int(a, w->daemon.registered ? w->vitals.begun_ms : 0));
	value_put(a, v, "restarts_ms", list);
	return v;
}

static value *last_view(struct arena *a, const struct watch_report *r)
{
	value *list = value_array(a);

	for (size_t i = 0; i < r->last_n; i++)
		value_push(a, list, act_value(a, &r->last[i]));
	return list;
}

void saved_write(struct guard *w)
{
	struct arena *a = &w->scratch;
	struct ov_err err = { 0 };
	value *v = value_object(a);
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	identity_put(a, v, &w->self);
	value_put(a, v, "started_at", value_time(a, w->started_at));
	value_put(a, v, "state", value_cstr(a, word_of(w->state)));
	value_put(a, v, "detail", value_cstr(a, watch_state_name(w->state)));
	value_put(a, v, "since", value_time(a, w->since));
	value_put(a, v, "daemon", daemon_view(a, w));
	value_put(a, v, "remediation", mending_view(a, w));
	value_put(a, v, "restarts_24h",
			value_int(a, (int64_t)judge_restarts(&w->judge, watch_mono_ms())));
	value_put(a, v, "heartbeat_timeout_ms", value_int(a, w->spec.heartbeat_timeout));
	value_put(a, v, "reason", w->state == WS_OVER ? value_cstr(a, w->reason) : value_null(a));
	value_put(a, v, "judge", judge_view(a, w));
	value_put(a, v, "last", last_view(a, &w->report));
	json_write_pretty(&text, v);
	buf_addc(&text, '\n');
	if (file_write_atomic(path_join(a, w->spec.dir, VITAL_WATCH), buf_str(&text), 0600, &err) <
			0) {
		if (!w->save_failed)
			watch_report_say(&w->report, TONE_WARN, "Cannot write %s: %s; it goes on",
					VITAL_WATCH, err.msg);
		w->save_failed = true;
		return; /* tried again with the next change or deadline */
	}
	w->save_failed = false;
	w->unsaved = false;
}

/* ---- read ---- */

static value *read_file(struct guard *w)
{
	struct arena *a = &w->scratch;
	value *v;
	str text;

	if (file_read(a, path_join(a, w->spec.dir, VITAL_WATCH), VITAL_FILE_MAX, &text, NULL) < 0 ||
			json_parse(a, text, NULL, &v, NULL) < 0)
		return NULL;
	return v;
}

bool saved_stands(struct guard *w)
{
	const value *v = read_file(w);
	struct identity id;

	return v && identity_read(v, &id) && identity_eq(&id, &w->self);
}

static void take_judge(struct guard *w, const value *v)
{
	const value *list = value_at(v, "restarts_ms");
	struct judge *j = &w->judge;
	int64_t now = watch_mono_ms(), last = 0;

	j->mended = value_bool_at(v, "mended");
	w->known_ms = value_int_at(v, "registered_ms");
	for (size_t i = 0; i < value_count(list) && j->restarts_n < JUDGE_RESTARTS; i++) {
		int64_t at = value_int_or(value_item(list, i), -1);

		if (at < last || at > now)
			continue;
		j->restarts[j->restarts_n++] = last = at;
	}
}

static void take_mending(struct guard *w, const value *v)
{
	struct mending *m = &w->mending;
	str stamp = value_str_at(v, "stamp");
	int64_t pid = value_int_at(v, "pid");
	enum failure f;

	if (!stamp.n || stamp.n >= sizeof(m->stamp) || pid <= 0 || pid > INT32_MAX ||
			!failure_from_name(value_str_at(v, "failure"), &f))
		return;
	/* When it has ended, what it may have left is still to be looked for. */
	(void)proc_open((int)pid, (uint64_t)value_int_at(v, "start_time"), &m->proc, NULL);
	memcpy(m->stamp, stamp.p, stamp.n);
	m->start_time = (uint64_t)value_int_at(v, "start_time");
	m->begun_ms = value_int_at(v, "begun_ms");
	m->due_ms = value_int_at(v, "due_ms");
	m->since = clock_wall() - MAX(watch_mono_ms() - m->begun_ms, (int64_t)0);
	m->failure = f;
}

static int64_t last_act(const value *v)
{
	const value *list = value_at(v, "last");
	int64_t n = 0;

	for (size_t i = 0; i < value_count(list); i++)
		n = MAX(n, value_int_at(value_item(list, i), "n"));
	return n;
}

int64_t saved_read(struct guard *w)
{
	const value *v = read_file(w);
	struct identity before;

	/* Its clock is ours only within one boot. */
	if (v && identity_read(v, &before) && strcmp(before.boot_id, w->self.boot_id) == 0 &&
			!str_is(value_str_at(v, "state"), STOPPED)) {
		take_judge(w, value_at(v, "judge"));
		take_mending(w, value_at(v, "remediation"));
		if (!identity_read(value_at(v, "daemon"), &w->known))
			w->known.instance[0] = '\0';
	}
	return last_act(v);
}
