#include "net/ssehub.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/str.h"
#include "data/message/sse.h"
#include "sys/loop/loop.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	/* one piece from the log: bounds the time one subscriber takes at once */
	REPLAY_EVENTS = 32,
	RETRY_MS = 2000, /* how long a browser waits before it comes back */
};

/* One event as it goes over the wire; shared by all subscribers. */
struct ssehub_entry {
	uint64_t id;
	unsigned refs;
	size_t n;
	char bytes[];
};

struct ssehub {
	struct loop *loop;
	struct ssehub_options options;
	struct ssehub_entry **ring; /* of options.max_events */
	size_t first, count, bytes;
	uint64_t floor; /* the newest id that is no more in the ring */
	uint64_t head;  /* the newest id */
	struct list subs;
	size_t sub_count;
	struct loop_source *heartbeat;
	struct buf scratch;
};

struct sub {
	struct ssehub *hub;
	struct list link;
	struct http_stream *stream;
	uint64_t last;            /* the newest id that it got or is getting */
	struct ssehub_entry *cur; /* partly sent: held even if the ring drops it */
	size_t cur_sent;
	struct buf own; /* what only this one gets: greeting, replay, notes */
	size_t own_sent;
	bool ping;
};

static void entry_unref(struct ssehub_entry *e)
{
	if (--e->refs == 0)
		mem_free(e);
}

static struct ssehub_entry *ring_at(const struct ssehub *h, size_t i)
{
	return h->ring[(h->first + i) % h->options.max_events];
}

static void ring_drop(struct ssehub *h)
{
	struct ssehub_entry *e = ring_at(h, 0);

	h->first = (h->first + 1) % h->options.max_events;
	h->count--;
	h->bytes -= e->n;
	h->floor = e->id;
	entry_unref(e);
}

/* The oldest event after id, or NULL. */
static struct ssehub_entry *ring_after(const struct ssehub *h, uint64_t id)
{
	size_t lo = 0;
	size_t hi = h->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (ring_at(h, mid)->id <= id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < h->count ? ring_at(h, lo) : NULL;
}

static void write_event(struct buf *out, uint64_t id, str event, str data)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%" PRIu64, id);

	sse_write(out, (str){ text, (size_t)n }, event, data);
}

/* Says that events were missed and goes on with the oldest one there is. */
static void sub_reset(struct sub *s)
{
	const struct ssehub *h = s->hub;
	const struct ssehub_entry *next = ring_after(h, h->floor);
	char data[96];
	int n = snprintf(data, sizeof(data), "{\"missed_after\":%" PRIu64 ",\"next\":%" PRIu64 "}",
			s->last, next ? next->id : h->head + 1);

	sse_write(&s->own, (str){ 0 }, STR("reset"), (str){ data, (size_t)n });
	s->last = h->floor;
}

/* Fetches one piece of what the ring no longer holds; false when the stream has to end. */
static bool sub_catch_up(struct sub *s)
{
	const struct ssehub_options *o = &s->hub->options;
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct ssehub_event *ev = NULL;
	size_t n = 0;
	size_t useful = 0;

	if (o->replay && o->replay(o->user, s->last, REPLAY_EVENTS, &a, &ev, &n, NULL) < 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		/* What is not published yet comes by itself, later. */
		if (ev[i].id <= s->last || ev[i].id > s->hub->head)
			continue;
		write_event(&s->own, ev[i].id, ev[i].event, ev[i].data);
		s->last = ev[i].id;
		useful++;
	}
	if (useful == 0)
		sub_reset(s);
	return true;
}

static size_t ssehub_take(char *p, size_t max, const char *from, size_t n, size_t *sent)
{
	size_t k = MIN(max, n - *sent);

	memcpy(p, from + *sent, k);
	*sent += k;
	return k;
}

/* Makes something ready to send: 1, nothing to send: 0, the end: -1. */
static int sub_refill(struct sub *s)
{
	struct ssehub *h = s->hub;

	buf_done(&s->own);
	s->own_sent = 0;
	if (s->last > h->head) /* an id of another log */
		sub_reset(s);
	else if (s->last < h->floor)
		return sub_catch_up(s) ? 1 : -1;
	else if ((s->cur = ring_after(h, s->last))) {
		s->cur->refs++;
		s->cur_sent = 0;
		s->last = s->cur->id;
	} else if (s->ping)
		sse_write_comment(&s->own, STR("ping"));
	else
		return 0;
	s->ping = false;
	return 1;
}

static ssize_t sub_pull(void *user, char *p, size_t max)
{
	struct sub *s = user;
	size_t n = 0;

	while (n < max) {
		int r;

		if (s->own_sent < s->own.n) {
			n += ssehub_take(p + n, max - n, s->own.p, s->own.n, &s->own_sent);
			continue;
		}
		if (s->cur) {
			n += ssehub_take(p + n, max - n, s->cur->bytes, s->cur->n, &s->cur_sent);
			if (s->cur_sent == s->cur->n)
				entry_unref(TAKE_PTR(s->cur));
			continue;
		}
		r = sub_refill(s);
		if (r < 0 && n == 0)
			return -1;
		if (r <= 0)
			break;
	}
	return (ssize_t)n;
}

static void sub_free(struct sub *s)
{
	if (s->cur)
		entry_unref(s->cur);
	buf_done(&s->own);
	mem_free(s);
}

static void sub_closed(void *user)
{
	struct sub *s = user;
	struct ssehub *h = s->hub;

	list_remove(&s->link);
	if (--h->sub_count == 0)
		loop_timer_off(h->heartbeat);
	sub_free(s);
}

static const struct http_stream_ops sub_ops = { .pull = sub_pull, .closed = sub_closed };

/* A suspended connection is not watched: only something to send shows that its reader is gone. */
static void hub_heartbeat(void *user)
{
	struct ssehub *h = user;

	list_each (it, &h->subs) {
		struct sub *s = list_entry(it, struct sub, link);

		s->ping = true;
		http_stream_wake(s->stream);
	}
	loop_timer_in(h->heartbeat, h->options.heartbeat_ms);
}

struct ssehub *ssehub_new(struct loop *l, const struct ssehub_options *o)
{
	struct ssehub *h = mem_zalloc(1, sizeof(*h));

	h->loop = l;
	if (o)
		h->options = *o;
	if (!h->options.max_events)
		h->options.max_events = 1024;
	if (!h->options.max_bytes)
		h->options.max_bytes = 1024 * 1024;
	if (!h->options.max_subscribers)
		h->options.max_subscribers = 64;
	if (!h->options.heartbeat_ms)
		h->options.heartbeat_ms = 15 * OV_SECOND;
	h->floor = h->head = h->options.head;
	h->ring = mem_zalloc(h->options.max_events, sizeof(*h->ring));
	list_init(&h->subs);
	h->heartbeat = loop_timer(l, hub_heartbeat, h);
	return h;
}

struct ssehub *ssehub_free(struct ssehub *h)
{
	if (!h)
		return NULL;
	assert(list_empty(&h->subs));
	while (h->count > 0)
		ring_drop(h);
	loop_source_free(h->heartbeat);
	buf_done(&h->scratch);
	mem_free(h->ring);
	mem_free(h);
	return NULL;
}

void ssehub_skip(struct ssehub *h, uint64_t id)
{
	assert(list_empty(&h->subs) && id >= h->head);
	while (h->count)
		ring_drop(h);
	h->floor = h->head = id;
}

void ssehub_publish(struct ssehub *h, uint64_t id, str event, str data)
{
	struct ssehub_entry *e;

	assert(id > h->head);
	buf_clear(&h->scratch);
	write_event(&h->scratch, id, event, data);
	e = mem_alloc(sizeof(*e) + h->scratch.n);
	e->id = id;
	e->refs = 1;
	e->n = h->scratch.n;
	memcpy(e->bytes, h->scratch.p, e->n);
	while (h->count > 0 &&
			(h->count == h->options.max_events ||
					h->bytes + e->n > h->options.max_bytes))
		ring_drop(h);
	h->ring[(h->first + h->count++) % h->options.max_events] = e;
	h->bytes += e->n;
	h->head = id;
	list_each (it, &h->subs)
		http_stream_wake(list_entry(it, struct sub, link)->stream);
}

/* The id after which the subscriber wants to go on. */
static int wanted_start(const struct ssehub *h, struct http_req *req, uint64_t *ret,
		struct ov_err *err)
{
	str text = http_header(req, "Last-Event-ID");
	uint64_t id;

	if (!text.p)
		text = http_query(req, "after");
	if (!text.p) {
		*ret = h->head;
		return 0;
	}
	if (!str_to_u64(text, &id))
		return ov_fail(err, OV_EINVALID, "the id of the last event must be a number");
	*ret = id;
	return 0;
}

void ssehub_subscribe(struct ssehub *h, struct http_req *req)
{
	struct ov_err err = { 0 };
	struct sub *s;
	uint64_t start = 0;

	if (wanted_start(h, req, &start, &err) < 0) {
		http_answer_err(req, &err);
		return;
	}
	if (h->sub_count >= h->options.max_subscribers) {
		ov_fail(&err, OV_EUNAVAILABLE, "there are already %zu subscribers", h->sub_count);
		http_answer_err(req, &err);
		return;
	}
	s = mem_zalloc(1, sizeof(*s));
	s->hub = h;
	s->last = start;
	/* Something to send at once, so that the client knows that it is connected. */
	buf_addf(&s->own, ": events\nretry: %d\n\n", RETRY_MS);
	s->stream = http_answer_stream(req, "text/event-stream", &sub_ops, s);
	if (!s->stream) {
		sub_free(s);
		return;
	}
	list_append(&h->subs, &s->link);
	if (h->sub_count++ == 0)
		loop_timer_in(h->heartbeat, h->options.heartbeat_ms);
}

size_t ssehub_subscribers(const struct ssehub *h)
{
	return h->sub_count;
}
