#pragma once
/*
 * Live events for many readers (Server-Sent Events). The hub keeps the newest events in a ring,
 * bounded in number and bytes; a subscriber is a place in it, pulled at its own pace, so a slow or
 * stuck one costs no memory. Who falls behind the ring, or comes back with an old Last-Event-ID, is
 * served from the log through `replay`, piece by piece; where that cannot help it gets an event
 * `reset` {"missed_after", "next"} and goes on with the oldest one there is.
 * The hub owns ring and subscribers; published bytes are copied. Without subscribers no timer runs.
 */
#include "net/httpd.h"

struct loop;
struct ssehub;

struct ssehub_event {
	uint64_t id;
	str event, data;
};

/*
 * Events with id > after, oldest first, at most max of them, in the arena. None means that the log
 * does not hold them. A failure ends the subscriber's stream; it will come back.
 */
typedef int ssehub_replay_fn(void *user, uint64_t after, size_t max, struct arena *a,
		struct ssehub_event **ret, size_t *ret_n, struct ov_err *err);

/* 0 gives the default. */
struct ssehub_options {
	size_t max_events;        /* 1024 */
	size_t max_bytes;         /* 1 MiB; the newest event is kept even if it is larger */
	size_t max_subscribers;   /* 64; more are answered 503 */
	int64_t heartbeat_ms;     /* 15 s */
	uint64_t head;            /* the id of the last event before the hub was made */
	ssehub_replay_fn *replay; /* may be NULL */
	void *user;               /* for replay */
};

struct ssehub *ssehub_new(struct loop *l, const struct ssehub_options *o);
/* The subscribers' connections must be gone: httpd_close comes first. NULL allowed, returned. */
struct ssehub *ssehub_free(struct ssehub *h);
/* Ids grow; an id that is not above the last one is a programming error. event may be empty. */
void ssehub_publish(struct ssehub *h, uint64_t id, str event, str data);
/*
 * Events up to id are in the log and nobody is subscribed: who comes later reads them there, so
 * that publishing to nobody costs nothing.
 */
void ssehub_skip(struct ssehub *h, uint64_t id);
/*
 * Makes the request a subscriber and takes it over. It starts after its Last-Event-ID header, else
 * after the query parameter `after`, else with the next event.
 */
void ssehub_subscribe(struct ssehub *h, struct http_req *req);
size_t ssehub_subscribers(const struct ssehub *h);
