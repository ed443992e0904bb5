#pragma once
/* HTTP from the client's side, for the tests: requests as text, answers taken apart. */
#include "tests/net/client.h"

#include <strings.h>

#define TOKEN "s3cret-token"

static inline void http_send(struct loop *l, struct client *c, uint16_t port, const char *method,
		const char *target, const char *headers, str body)
{
	struct buf out = BUF_INIT;

	buf_addf(&out, "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n%s", method, target, (unsigned)port,
			headers);
	if (body.p)
		buf_addf(&out, "Content-Length: %zu\r\n", body.n);
	buf_adds(&out, STR("\r\n"));
	buf_adds(&out, body);
	client_send(l, c, buf_str(&out));
	buf_done(&out);
}

struct answer {
	unsigned status;
	str head, body;
	size_t size; /* of the whole, to go on with the next one */
};

/* The answer at the front of what was received; false while it is incomplete. */
static inline bool http_parse(str in, struct answer *ret)
{
	size_t end = str_find(in, STR("\r\n\r\n"));
	str rest, line;
	uint64_t n = 0;

	if (end == in.n)
		return false;
	ret->head = str_sub(in, 0, end + 2);
	assert_true(str_starts(in, STR("HTTP/1.1 ")));
	ret->status = (unsigned)strtoul(in.p + 9, NULL, 10);
	rest = ret->head;
	while (str_split(&rest, '\n', &line))
		if (line.n > 15 && strncasecmp(line.p, "content-length:", 15) == 0)
			assert_true(str_to_u64(str_trim(str_sub(line, 15, SIZE_MAX)), &n));
	if (in.n < end + 4 + n)
		return false;
	ret->body = str_sub(in, end + 4, (size_t)n);
	ret->size = end + 4 + (size_t)n;
	return true;
}

static inline bool http_answered(struct client *c, struct answer *ret)
{
	client_read(c);
	return http_parse(buf_str(&c->in), ret);
}

#define AUTH "Authorization: Bearer " TOKEN "\r\n"
