#pragma once
/*
 * A server whose every byte the test writes itself, on the same loop as the client that is tested.
 */
#include "base/alloc.h"
#include "net/http.h"
#include "tests/net/client.h"

struct world {
	struct loop *loop;
	struct http_client *http;
	int listener;
	uint16_t port;
	struct client *peer; /* the connection that came last */
};

static inline void world_open(struct world *w)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(addr);
	struct ov_err err = { 0 };

	*w = (struct world){ 0 };
	assert_int_equal(loop_new(&w->loop, &err), 0);
	assert_int_equal(http_client_new(w->loop, &w->http, &err), 0);
	w->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(w->listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(w->listener, 16), 0);
	assert_int_equal(getsockname(w->listener, (struct sockaddr *)&addr, &n), 0);
	w->port = ntohs(addr.sin_port);
}

static inline void world_close(struct world *w)
{
	http_client_free(w->http);
	if (w->peer)
		client_free(w->peer);
	close(w->listener);
	loop_free(w->loop);
}

static inline bool accepted(struct world *w)
{
	int fd = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0) {
		if (w->peer)
			client_free(w->peer);
		w->peer = client_new(fd);
	}
	return fd >= 0;
}

static inline bool asked(struct world *w, const char *needle)
{
	if (!w->peer)
		accepted(w);
	return w->peer && client_has(w->peer, needle, 1);
}

static inline void answer(struct world *w, const char *text)
{
	client_send(w->loop, w->peer, str_from(text));
}

static inline void hang_up(struct world *w)
{
	w->peer = client_free(w->peer);
}
