#include "net/ssehub.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "data/message/sse.h"
#include "tests/net/http.h"
#include "tests/sse_reader.h"

TEST_MAIN

struct world {
	struct loop *loop;
	struct httpd *h;
	struct ssehub *hub;
	uint16_t port;
	uint64_t log_first, log_last; /* what replay can give */
	size_t replays;
	bool replay_fails;
};

static void on_events(void *user, struct http_req *req)
{
	struct world *w = user;

	ssehub_subscribe(w->hub, req);
}

static const struct httpd_route routes[] = {
	{ "GET", "/events", 0, 0, on_events, NULL },
};

static int replay(void *user, uint64_t after, size_t max, struct arena *a,
		struct ssehub_event **ret, size_t *ret_n, struct ov_err *err)
{
	struct world *w = user;
	uint64_t id = MAX(after + 1, w->log_first);
	size_t n = 0;

	w->replays++;
	if (w->replay_fails)
		return ov_fail(err, OV_EIO, "disk");
	*ret = arena_array(a, struct ssehub_event, max);
	for (; n < max && id <= w->log_last; n++, id++)
		(*ret)[n] = (struct ssehub_event){ id, STR("tick"),
			arena_printf(a, "{\"n\":%llu}", (unsigned long long)id) };
	*ret_n = n;
	return 0;
}

static void world_open(struct world *w, struct ssehub_options *o)
{
	struct httpd_options ho = {
		.token = STR(TOKEN),
		.routes = routes,
		.route_count = ARRAY_LEN(routes),
		.user = w,
	};

	*w = (struct world){ 0 };
	o->user = w;
	assert_int_equal(loop_new(&w->loop, NULL), 0);
	w->hub = ssehub_new(w->loop, o);
	assert_int_equal(httpd_open(w->loop, &ho, &w->h, NULL), 0);
	w->port = httpd_port(w->h);
}

static void world_close(struct world *w)
{
	httpd_close(w->h);
	assert_null(ssehub_free(w->hub));
	loop_free(w->loop);
}

static void publish(struct world *w, uint64_t id)
{
	char data[64];
	int n = snprintf(data, sizeof(data), "{\"n\":%llu}", (unsigned long long)id);

	ssehub_publish(w->hub, id, STR("tick"), (str){ data, (size_t)n });
}

/* A subscriber: takes the chunks apart and then the events. */
struct feed {
	struct client *c;
	size_t at, left; /* in the received bytes; left of the present chunk */
	bool headers, event_stream;
	unsigned status;
	struct sse sse;
	struct buf text; /* all events, one per line: "id event start-of-data" */
	size_t events, resets, pings;
	uint64_t last;
	bool in_order, over;
};

static struct feed *feed_new(struct world *w, const char *target, const char *last_id)
{
	struct feed *f = mem_zalloc(1, sizeof(*f));
	char headers[128];

	snprintf(headers, sizeof(headers), AUTH "%s%s%s", last_id ? "Last-Event-ID: " : "",
			last_id ? last_id : "", last_id ? "\r\n" : "");
	f->c = client_tcp(w->port);
	f->in_order = true;
	sse_init(&f->sse, 1 << 20);
	http_send(w->loop, f->c, w->port, "GET", target, headers, (str){ 0 });
	return f;
}

static void feed_free(struct feed *f)
{
	client_free(f->c);
	sse_done(&f->sse);
	buf_done(&f->text);
	mem_free(f);
}

static void feed_events(struct feed *f)
{
	struct sse_event ev;
	uint64_t id;

	while (sse_next(&f->sse, &ev, NULL) == 1) {
		buf_addf(&f->text, STR_FMT " " STR_FMT " " STR_FMT "\n", STR_ARG(ev.id),
				STR_ARG(ev.event), STR_ARG(str_sub(ev.data, 0, 100)));
		if (str_is(ev.event, "reset")) {
			f->resets++;
			continue;
		}
		f->events++;
		assert_true(str_to_u64(ev.id, &id));
		f->in_order = f->in_order && id == f->last + 1;
		f->last = id;
	}
}

static bool feed_headers(struct feed *f)
{
	str in = buf_str(&f->c->in);
	size_t end = str_find(in, STR("\r\n\r\n"));

	if (f->headers || end == in.n)
		return f->headers;
	f->status = (unsigned)strtoul(in.p + 9, NULL, 10);
	f->at = end + 4;
	f->headers = true;
	f->event_stream = str_contains(in, STR("Content-Type: text/event-stream\r\n"));
	return true;
}

/* What the size line says; false while it is incomplete. */
static bool feed_chunk(struct feed *f)
{
	str rest = str_sub(buf_str(&f->c->in), f->at, SIZE_MAX);
	size_t end;

	if (str_starts(rest, STR("\r\n"))) { /* of the chunk before */
		f->at += 2;
		rest = str_sub(rest, 2, SIZE_MAX);
	}
	end = str_find(rest, STR("\r\n"));
	if (end == rest.n)
		return false;
	f->left = strtoul(rest.p, NULL, 16);
	f->at += end + 2;
	f->over = f->over || f->left == 0;
	return f->left > 0;
}

static bool feed_pump(struct feed *f)
{
	client_read(f->c);
	if (!feed_headers(f) || f->status != 200)
		return true;
	while (f->left > 0 || feed_chunk(f)) {
		size_t n = MIN(f->left, f->c->in.n - f->at);
		str bytes = { f->c->in.p + f->at, n };

		if (n == 0)
			break;
		f->pings += n < 100 ? count_of(bytes, STR(": ping")) : 0;
		sse_feed(&f->sse, bytes.p, bytes.n);
		f->at += n;
		f->left -= n;
		feed_events(f);
	}
	buf_consume(&f->c->in, f->at);
	f->at = 0;
	return true;
}

#define FEED_UNTIL(w, f, cond) UNTIL((w)->loop, feed_pump(f) && (cond))

TEST(live_events)
{
	struct ssehub_options o = { 0 };
	struct world w;
	struct feed *f;

	world_open(&w, &o);
	publish(&w, 1); /* before it came: not for it */
	f = feed_new(&w, "/events", NULL);
	FEED_UNTIL(&w, f, ssehub_subscribers(w.hub) == 1 && f->headers);
	assert_int_equal(f->status, 200);
	assert_true(f->event_stream);
	assert_int_equal(httpd_pending(w.h), 0);
	publish(&w, 2);
	publish(&w, 3);
	FEED_UNTIL(&w, f, f->events == 2);
	assert_true(str_is(buf_str(&f->text), "2 tick {\"n\":2}\n3 tick {\"n\":3}\n"));
	ssehub_publish(w.hub, 10, (str){ 0 }, STR("two\nlines"));
	FEED_UNTIL(&w, f, f->events == 3);
	assert_true(str_ends(buf_str(&f->text), STR("10 message two\nlines\n")));
	feed_free(f);
	/* Something to send is what shows that it is gone. */
	for (uint64_t id = 11; ssehub_subscribers(w.hub) > 0; id++) {
		assert_true(id < 1000000);
		publish(&w, id);
		loop_step(w.loop, 1000);
	}
	UNTIL(w.loop, httpd_connections(w.h) == 0);
	world_close(&w);
}

TEST(resume_within_the_ring)
{
	struct ssehub_options o = { .head = 100 };
	struct world w;
	struct feed *f;

	world_open(&w, &o);
	for (uint64_t id = 101; id <= 120; id++)
		publish(&w, id);
	f = feed_new(&w, "/events", "110");
	f->last = 110;
	FEED_UNTIL(&w, f, f->events == 10);
	publish(&w, 121);
	FEED_UNTIL(&w, f, f->events == 11);
	assert_true(f->in_order);
	assert_int_equal(f->resets, 0);
	feed_free(f);
	/* Exactly the last event before the hub existed, and the newest one. */
	f = feed_new(&w, "/events", "100");
	f->last = 100;
	FEED_UNTIL(&w, f, f->events == 21);
	assert_true(f->in_order && f->resets == 0);
	feed_free(f);
	f = feed_new(&w, "/events?after=121", NULL);
	f->last = 121;
	FEED_UNTIL(&w, f, f->headers);
	publish(&w, 122);
	FEED_UNTIL(&w, f, f->events == 1);
	assert_true(f->in_order && f->resets == 0);
	feed_free(f);
	world_close(&w);
}

TEST(ring_overflow_without_a_log)
{
	struct ssehub_options o = { .max_events = 8 };
	struct world w;
	struct feed *f;

	world_open(&w, &o);
	for (uint64_t id = 1; id <= 20; id++)
		publish(&w, id);
	f = feed_new(&w, "/events", "5");
	FEED_UNTIL(&w, f, f->events == 8);
	assert_int_equal(f->resets, 1);
	assert_true(str_starts(buf_str(&f->text),
			STR(" reset {\"missed_after\":5,\"next\":13}\n13 tick")));
	assert_int_equal(f->last, 20);
	feed_free(f);
	/* An id that was never given. */
	f = feed_new(&w, "/events", "999");
	FEED_UNTIL(&w, f, f->events == 8);
	assert_int_equal(f->resets, 1);
	feed_free(f);
	world_close(&w);
}

TEST(bytes_are_bounded_too)
{
	struct ssehub_options o = { .max_bytes = 1000 };
	struct world w;
	struct feed *f;
	char big[600];

	world_open(&w, &o);
	memset(big, 'b', sizeof(big));
	for (uint64_t id = 1; id <= 5; id++)
		ssehub_publish(w.hub, id, STR("big"), (str){ big, sizeof(big) });
	f = feed_new(&w, "/events", "0");
	FEED_UNTIL(&w, f, f->events == 1);
	assert_int_equal(f->last, 5);
	assert_int_equal(f->resets, 1);
	feed_free(f);
	world_close(&w);
}

TEST(older_events_come_from_the_log)
{
	struct ssehub_options o = { .max_events = 8, .head = 1000, .replay = replay };
	struct world w;
	struct feed *f;

	world_open(&w, &o);
	w.log_first = 1;
	w.log_last = 1000;
	/* Before anything was published. */
	f = feed_new(&w, "/events", "0");
	FEED_UNTIL(&w, f, f->events == 1000);
	assert_true(f->in_order && f->resets == 0);
	assert_true(w.replays >= 1000 / 32);
	for (uint64_t id = 1001; id <= 1020; id++) {
		w.log_last = id;
		publish(&w, id);
	}
	FEED_UNTIL(&w, f, f->events == 1020);
	assert_true(f->in_order && f->resets == 0);
	feed_free(f);

	/* What is committed but not yet published comes once, when it is published. */
	w.log_last = 1021;
	f = feed_new(&w, "/events", "1005");
	f->last = 1005;
	FEED_UNTIL(&w, f, f->events == 15);
	publish(&w, 1021);
	FEED_UNTIL(&w, f, f->events == 16);
	assert_true(f->in_order && f->resets == 0);
	feed_free(f);

	/* The log begins later: a note, then what there is. */
	w.log_first = 2000;
	f = feed_new(&w, "/events", "7");
	FEED_UNTIL(&w, f, f->events == 8);
	assert_int_equal(f->resets, 1);
	assert_int_equal(f->last, 1021);
	feed_free(f);

	/* The log cannot be read: the stream ends, and the client may come again. */
	w.replay_fails = true;
	f = feed_new(&w, "/events", "7");
	FEED_UNTIL(&w, f, f->over);
	assert_int_equal(f->events, 0);
	feed_free(f);
	world_close(&w);
}

TEST(what_nobody_heard_is_read_from_the_log)
{
	struct ssehub_options o = { .max_events = 8, .replay = replay };
	struct world w;
	struct feed *f;

	world_open(&w, &o);
	w.log_first = 1;
	w.log_last = 50;
	publish(&w, 1);
	ssehub_skip(w.hub, 50);
	f = feed_new(&w, "/events", "0");
	FEED_UNTIL(&w, f, f->events == 50);
	w.log_last = 51;
	publish(&w, 51);
	FEED_UNTIL(&w, f, f->events == 51);
	assert_true(f->in_order && f->resets == 0);
	feed_free(f);
	world_close(&w);
}

TEST(many_subscribers_one_stuck)
{
	enum { N = 50, EVENTS = 2400 };
	struct ssehub_options o = { .max_events = 64 };
	struct world w;
	struct feed *f[N];
	char data[2000];
	size_t behind;

	world_open(&w, &o);
	memset(data, 'd', sizeof(data));
	for (int i = 0; i < N; i++)
		f[i] = feed_new(&w, "/events", "0");
	UNTIL(w.loop, ssehub_subscribers(w.hub) == N);
	for (uint64_t id = 1; id <= EVENTS; id++) {
		ssehub_publish(w.hub, id, STR("tick"), (str){ data, sizeof(data) });
		if (id % 16)
			continue;
		/* All but the first keep reading. */
		do {
			loop_step(w.loop, 1000);
			behind = 0;
			for (int i = 1; i < N; i++) {
				feed_pump(f[i]);
				behind += f[i]->last < id;
			}
		} while (behind > 0);
	}
	for (int i = 1; i < N; i++) {
		FEED_UNTIL(&w, f[i], f[i]->last == EVENTS);
		assert_true(f[i]->in_order);
		assert_int_equal(f[i]->resets, 0);
	}
	/* The stuck one was left behind; when it reads again it is told so. */
	assert_int_equal(f[0]->events, 0);
	FEED_UNTIL(&w, f[0], f[0]->last == EVENTS);
	assert_int_equal(f[0]->resets, 1);
	assert_true(f[0]->events < EVENTS);
	for (int i = 0; i < N; i++)
		feed_free(f[i]);
	world_close(&w);
}

TEST(a_stuck_subscriber_loses_nothing_with_a_log)
{
	enum { EVENTS = 20000 };
	struct ssehub_options o = { .max_events = 16, .replay = replay };
	struct world w;
	struct feed *f;

	world_open(&w, &o);
	w.log_first = 1;
	f = feed_new(&w, "/events", "0");
	UNTIL(w.loop, ssehub_subscribers(w.hub) == 1);
	for (uint64_t id = 1; id <= EVENTS; id++) {
		w.log_last = id;
		publish(&w, id);
		if (id % 64 == 0)
			loop_step(w.loop, 0);
	}
	FEED_UNTIL(&w, f, f->last == EVENTS);
	assert_true(f->in_order);
	assert_int_equal(f->resets, 0);
	assert_int_equal(f->events, EVENTS);
	feed_free(f);
	world_close(&w);
}

TEST(heartbeat_only_while_somebody_listens)
{
	struct ssehub_options o = { .heartbeat_ms = 5 };
	struct world w;
	struct feed *f;

	world_open(&w, &o);
	assert_true(idle_iterations(w.loop) <= 2);

	f = feed_new(&w, "/events", NULL);
	FEED_UNTIL(&w, f, f->pings >= 3);
	assert_int_equal(f->events, 0);
	feed_free(f);
	/* The heartbeat itself finds out that nobody is there any more, and then stops. */
	UNTIL(w.loop, ssehub_subscribers(w.hub) == 0);
	UNTIL(w.loop, httpd_connections(w.h) == 0);
	assert_true(idle_iterations(w.loop) <= 2);
	world_close(&w);
}

TEST(refusals)
{
	struct ssehub_options o = { .max_subscribers = 2 };
	struct world w;
	struct feed *f[3];

	world_open(&w, &o);
	f[0] = feed_new(&w, "/events", "abc");
	FEED_UNTIL(&w, f[0], f[0]->headers);
	assert_int_equal(f[0]->status, 400);
	feed_free(f[0]);
	f[0] = feed_new(&w, "/events?after=-1", NULL);
	FEED_UNTIL(&w, f[0], f[0]->headers);
	assert_int_equal(f[0]->status, 400);
	feed_free(f[0]);
	for (int i = 0; i < 3; i++) {
		f[i] = feed_new(&w, "/events", NULL);
		FEED_UNTIL(&w, f[i], f[i]->headers);
	}
	assert_int_equal(f[0]->status, 200);
	assert_int_equal(f[1]->status, 200);
	assert_int_equal(f[2]->status, 503);
	assert_int_equal(ssehub_subscribers(w.hub), 2);
	for (int i = 0; i < 3; i++)
		feed_free(f[i]);
	world_close(&w);
}
