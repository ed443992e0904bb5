/* Reading operations that read the event log or a run's files. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/agents/run_note.h"
#include "app/exec/executor.h"
#include "app/ops/ops.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/event/event.h"
#include "core/explain/explain.h"
#include "core/view/view.h"
#include "data/report/terminal.h"
#include "sys/file/file.h"
#include "sys/file/sparse.h"

enum { EVENTS_DEFAULT = 100, EVENTS_PAGE = 1000, EVENTS_SCAN = 200000, LOG_DEFAULT = 64 * 1024 };

static value *event_with_text(struct arena *a, const struct event *e)
{
	value *v = event_view(a, e);

	value_put(a, v, "text", value_str(a, explain_event(a, e)));
	return v;
}

struct event_filter {
	str goal, node, type;
};

/* The type itself, or the beginning of it up to a dot: "run." */
static bool is_type(str wanted, const char *name)
{
	return str_is(wanted, name) ||
			(str_ends(wanted, STR(".")) && str_starts(str_from(name), wanted));
}

static bool wanted(const struct event_filter *f, const struct event *e)
{
	return (!f->goal.n || str_eq(f->goal, e->goal)) &&
			(!f->node.n || str_eq(f->node, e->node)) &&
			(!f->type.n || is_type(f->type, event_name(e->kind)));
}

static int check_type(str type, struct ov_err *err)
{
	const char *names[EVENT_KIND_COUNT], *near;

	for (int i = 0; i < EVENT_KIND_COUNT; i++) {
		names[i] = event_name((enum event_kind)i);
		if (is_type(type, names[i]))
			return 0;
	}
	near = str_nearest(type, names, EVENT_KIND_COUNT);
	return ov_fail(err, OV_EINVALID, "\"" STR_FMT "\" is not a type of event%s%s%s",
			STR_ARG(type), near ? " (did you mean \"" : "", near ? near : "",
			near ? "\"?)" : "");
}

static int read_filter(struct op_ctx *cx, const struct pr_events_list *p, struct event_filter *ret,
		struct ov_err *err)
{
	struct node *n;
	struct goal *g;
	int r = 0;

	*ret = (struct event_filter){ .type = p->type };
	if (ret->type.n)
		r = check_type(ret->type, err);
	if (r < 0)
		return r;
	if (p->node.n) {
		r = state_find_node_to_read(cx->state, p->goal, p->node, &n, err);
		if (r == 0)
			*ret = (struct event_filter){ n->goal->id, n->id, ret->type };
	} else if (p->goal.n) {
		r = state_find_goal(cx->state, p->goal, &g, err);
		if (r == 0)
			ret->goal = g->id;
	}
	return r;
}

/* Without `after` and `since` the newest come: one begins so far from the end, without a filter. */
static int begin_at(struct op_ctx *cx, const struct pr_events_list *p, const struct event_filter *f,
		size_t limit, uint64_t *ret, struct ov_err *err)
{
	bool filtered = f->goal.n || f->node.n || f->type.n;
	uint64_t back = filtered ? EVENTS_SCAN : limit;
	ov_time since;
	int r;

	*ret = cx->state->seq > back ? cx->state->seq - back : 0;
	if (p->has_since) {
		r = op_moment(cx, "since", p->since, &since, err);
		if (r == 0)
			r = op_seq_at(cx->store, cx->state->seq, since - 1, ret, err);
		if (r < 0)
			return r;
	}
	if (p->has_after)
		*ret = MAX((uint64_t)p->after, p->has_since ? *ret : 0);
	return 0;
}

int op_events_list(struct op_ctx *cx, const struct pr_events_list *p, value **ret,
		struct ov_err *err)
{
	size_t limit = p->has_limit ? (size_t)p->limit : EVENTS_DEFAULT, n = 1;
	value *v = value_object(cx->arena), *list = value_array(cx->arena);
	struct event_filter f;
	uint64_t after;
	int r = read_filter(cx, p, &f, err);

	if (r == 0)
		r = begin_at(cx, p, &f, limit, &after, err);
	if (r < 0)
		return r;
	for (size_t scanned = 0; n > 0 && value_count(list) < limit && scanned < EVENTS_SCAN;
			scanned += n) {
		_cleanup_(arena_done) struct arena page = ARENA_INIT;
		struct store_record *recs;

		r = store_read(cx->store, after, EVENTS_PAGE, &page, &recs, &n, err);
		for (size_t i = 0; r == 0 && i < n && value_count(list) < limit; i++) {
			struct event e;

			after = recs[i].seq;
			if (after > cx->state->seq)
				break;
			r = event_decode(&page, recs[i].seq, recs[i].at, recs[i].kind, recs[i].body,
					&e, err);
			if (r == 0 && wanted(&f, &e))
				value_push(cx->arena, list,
						value_copy(cx->arena, event_with_text(&page, &e)));
		}
		if (r < 0)
			return r;
	}
	value_put(cx->arena, v, "events", list);
	value_put(cx->arena, v, "next_after", value_int(cx->arena, (int64_t)after));
	value_put(cx->arena, v, "head", value_int(cx->arena, (int64_t)cx->state->seq));
	*ret = v;
	return 0;
}

/* Without a last character that is not whole yet. */
static str whole_chars(str s)
{
	for (size_t back = 1; back <= MIN(s.n, (size_t)3); back++) {
		unsigned char c = (unsigned char)s.p[s.n - back];
		size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

		if ((c & 0xc0) == 0x80)
			continue;
		return need > back ? (str){ s.p, s.n - back } : s;
	}
	return s;
}

int op_run_log(struct op_ctx *cx, const struct pr_run_log *p, value **ret, struct ov_err *err)
{
	size_t max = p->has_max_bytes ? (size_t)p->max_bytes : LOG_DEFAULT;
	int64_t asked = p->offset;
	uint64_t offset = (uint64_t)MAX(asked, (int64_t)0);
	struct arena *a = cx->arena;
	bool more = false;
	_cleanup_(fd_closep) int fd = -1;
	struct stat st = { 0 };
	struct run *x;
	char *bytes, *dir;
	struct run_note note;
	bool terminal;
	ssize_t n = 0;
	str text, shown;
	int r = state_find_run(cx->state, p->run, &x, err);

	if (r < 0)
		return r;
	dir = executor_run_dir(a, cx->daemon->dir, x->id);
	fd = file_open(path_join(a, dir, p->errors ? "errors" : "output"), O_RDONLY, 0);
	if (fd < 0 && errno != ENOENT)
		return ov_fail_errno(err, errno, "reading the output of " STR_FMT, STR_ARG(x->id));
	bytes = arena_alloc(a, max + 1);
	if (fd >= 0 && (n = sparse_read(fd, bytes, max, &offset, &more)) < 0)
		return ov_fail_errno(err, (int)-n, "reading the output of " STR_FMT,
				STR_ARG(x->id));
	if (fd >= 0 && fstat(fd, &st) < 0)
		return ov_fail_errno(err, errno, "reading the output of " STR_FMT, STR_ARG(x->id));
	/* A character that is not whole yet is left for the next read, unless nothing follows. */
	text = (str){ bytes, (size_t)n };
	if ((int64_t)offset + n < st.st_size || x->status != RUN_ENDED)
		text = whole_chars(text);
	*ret = value_object(a);
	value_put(a, *ret, "run", value_str(a, x->id));
	note = run_note_read(dir);
	terminal = str_is(str_from(note.runtime), "tmux");
	shown = terminal ? terminal_text(a, text) : text;
	value_put(a, *ret, "format", value_cstr(a, terminal ? "raw" : note.format->name));
	value_put(a, *ret, "text", value_str(a, utf8_valid(shown) ? shown : utf8_clean(a, shown)));
	value_put(a, *ret, "offset", value_int(a, (int64_t)offset));
	if ((int64_t)offset > asked)
		value_put(a, *ret, "left_out_bytes", value_int(a, (int64_t)offset - asked));
	value_put(a, *ret, "next_offset", value_int(a, (int64_t)(offset + text.n)));
	value_put(a, *ret, "size", value_int(a, st.st_size));
	value_put(a, *ret, "ended", value_bool(a, x->status == RUN_ENDED));
	return 0;
}
