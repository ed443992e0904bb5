#pragma once
/*
 * One request of drive/tmux: some lines for the server, an answer to each, and what they amount to.
 * Private to drive. A request owns its lines and answers, and is freed by its end.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "drive/tmux/tmux.h"
#include "drive/tmux/tmux_wire.h"

struct tmux_answer {
	bool refused;
	str text;
};

struct tmux_request {
	struct list link;
	struct buf lines; /* as they are sent */
	size_t n;         /* lines, and so answers, that are to come */
	struct tmux_answer *answers;
	size_t answered;
	/* What the answers amount to: 0 and a text, or a failure. */
	int (*judge)(struct tmux_request *q, str *ret, struct ov_err *err);
	size_t counts;      /* the line that the request is about */
	str session, mark;  /* that it is about */
	tmux_done_fn *done; /* NULL: nobody waits for it any more */
	void *user;
	struct arena arena;
};

/* Hands it over; it is written now or when there is a connection. */
void tmux_submit(struct tmux *t, struct tmux_request *q);

/* True when that was the last one. */
bool tmux_request_answer(struct tmux_request *q, const struct tmux_said *said);
void tmux_request_finish(struct tmux_request *q);
void tmux_request_fail(struct tmux_request *q, const struct ov_err *err);
void tmux_request_free(struct tmux_request *q);
