/* What watch.json says, checked: nothing of it is believed of a process that is not there. */
#include "app/vital/holder.h"
#include "app/vital/watchdog.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "data/message/vital.h"
#include "data/value/json.h"
#include "sys/file/file.h"

enum { LAST_SHOWN = 5, FILES_MAX = 10000 };

static value *text_or_null(struct arena *a, str s)
{
	return s.n ? value_str(a, s) : value_null(a);
}

/* A moment, or null when it is none. */
static value *moment(struct arena *a, str s)
{
	ov_time at;

	return time_parse(s, &at) ? value_time(a, at) : value_null(a);
}

static value *act_view(struct arena *a, const struct act *x)
{
	value *v = value_object(a);

	value_put(a, v, "n", value_int(a, x->n));
	value_put(a, v, "at", value_time(a, x->at));
	value_put(a, v, "act", value_cstr(a, act_kind_name(x->kind)));
	value_put(a, v, "failure",
			x->failure == FAILURE_NONE ? value_null(a)
						   : value_cstr(a, failure_name(x->failure)));
	value_put(a, v, "text", value_str(a, arena_str(a, str_from(x->text))));
	return v;
}

/* The newest, oldest of them first. */
static value *last_view(struct arena *a, const value *list)
{
	value *out = value_array(a);
	size_t n = value_count(list), skip = n > LAST_SHOWN ? n - LAST_SHOWN : 0;

	for (size_t i = skip; i < n; i++) {
		struct act x;

		if (act_read(json_text(a, value_item(list, i)), &x))
			value_push(a, out, act_view(a, &x));
	}
	return out;
}

static value *remediation_view(struct arena *a, const value *r)
{
	value *v;

	if (!r || r->kind != V_OBJECT)
		return value_null(a);
	v = value_object(a);
	value_put(a, v, "since", moment(a, value_str_at(r, "since")));
	value_put(a, v, "agent", text_or_null(a, value_str_at(r, "agent")));
	value_put(a, v, "failure", text_or_null(a, value_str_at(r, "failure")));
	value_put(a, v, "log", text_or_null(a, value_str_at(r, "log")));
	return v;
}

static str state_of(const value *doc, bool known, bool alive)
{
	static const char *const words[] = { "running", "remediating", "stopped" };
	str said = value_str_at(doc, "state");

	for (size_t i = 0; known && i < ARRAY_LEN(words); i++)
		if (str_is(said, words[i]))
			return alive || str_is(said, "stopped") ? said : STR("gone");
	return STR("unknown");
}

static void put_daemon(struct arena *a, value *v, const value *daemon, ov_time now)
{
	struct identity id;
	ov_time since;
	bool lives = identity_read(daemon, &id) && holder_lives(daemon);

	value_put(a, v, "daemon_pid", lives ? value_int(a, id.pid) : value_null(a));
	value_put(a, v, "daemon_uptime_ms",
			lives && time_parse(value_str_at(daemon, "since"), &since)
					? value_int(a, MAX(now - since, (ov_time)0))
					: value_null(a));
}

/*
 * The newest file that asks for a person and keeps the next watchdog from starting; their
 * names sort.
 */
static value *manual_view(struct arena *a, const char *dir)
{
	str *names = NULL;
	size_t n = 0;

	if (dir_list(a, dir, FILES_MAX, &names, &n, NULL) < 0)
		return value_null(a);
	while (n > 0)
		if (str_starts(names[--n], STR(VITAL_MANUAL)))
			return value_str(a, names[n]);
	return value_null(a);
}

/* NULL when there is no file; an empty object when it is none of a watchdog's. */
static const value *read_doc(struct arena *a, const char *dir)
{
	value *doc = NULL;
	str text = STR("");
	int r = file_read(a, path_join(a, dir, VITAL_WATCH), VITAL_FILE_MAX, &text, NULL);

	if (r == OV_ENOTFOUND)
		return NULL;
	if (r == 0)
		r = json_parse(a, text, NULL, &doc, NULL);
	return r == 0 && doc->kind == V_OBJECT ? doc : value_object(a);
}

value *watchdog_view(struct arena *a, const char *dir, ov_time now)
{
	const value *doc = read_doc(a, dir);
	struct identity id = { 0 };
	bool known, alive;
	value *v;

	if (!doc)
		return value_null(a);
	known = identity_read(doc, &id);
	alive = known && holder_lives(doc);
	v = value_object(a);
	value_put(a, v, "state", value_str(a, state_of(doc, known, alive)));
	value_put(a, v, "detail", text_or_null(a, value_str_at(doc, "detail")));
	value_put(a, v, "pid", known ? value_int(a, id.pid) : value_null(a));
	value_put(a, v, "since", moment(a, value_str_at(doc, "since")));
	value_put(a, v, "alive", value_bool(a, alive));
	put_daemon(a, v, value_at(doc, "daemon"), now);
	value_put(a, v, "remediation",
			alive ? remediation_view(a, value_at(doc, "remediation")) : value_null(a));
	value_put(a, v, "restarts_24h", value_int(a, value_int_at(doc, "restarts_24h")));
	value_put(a, v, "reason", text_or_null(a, value_str_at(doc, "reason")));
	value_put(a, v, "manual_file", alive ? value_null(a) : manual_view(a, dir));
	value_put(a, v, "last", last_view(a, value_at(doc, "last")));
	return v;
}

static bool gave_up(const value *watch)
{
	const value *last = value_at(watch, "last");
	size_t n = value_count(last);

	return str_is(value_str_at(watch, "state"), "stopped") && n &&
			str_is(value_str_at(value_item(last, n - 1), "act"),
					act_kind_name(ACT_GAVE_UP));
}

value *watchdog_need(struct arena *a, const char *dir, ov_time now)
{
	const value *watch = watchdog_view(a, dir, now);
	str manual = value_str_at(watch, "manual_file");
	ov_time since = now;
	value *v;

	if (!gave_up(watch))
		return NULL;
	(void)time_parse(value_str_at(watch, "since"), &since);
	v = value_object(a);
	value_put(a, v, "number", value_int(a, 0));
	value_put(a, v, "goal_id", value_cstr(a, ""));
	value_put(a, v, "node_id", value_cstr(a, ""));
	value_put(a, v, "kind", value_cstr(a, "watchdog"));
	value_put(a, v, "question", value_str(a, arena_str(a, value_str_at(watch, "reason"))));
	value_put(a, v, "status", value_cstr(a, "open"));
	value_put(a, v, "answer", value_cstr(a, ""));
	value_put(a, v, "opened_at", value_time(a, since));
	value_put(a, v, "closed_at", value_null(a));
	value_put(a, v, "next",
			manual.n ? value_strf(a, "rm %s/" STR_FMT " && overseer watch", dir,
						   STR_ARG(manual))
				 : value_cstr(a, "overseer explain daemon    overseer watch"));
	return v;
}
