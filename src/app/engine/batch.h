#pragma once
/*
 * What the engine stages for one transaction, and what is released when it is durable: events with
 * everything that they hold in one arena, those who wait for it, and the daemon's own reports,
 * which are kept until they are written. Private to the engine.
 */
#include "app/engine/engine.h"
#include "base/arena.h"
#include "core/event/event.h"

struct waiter {
	engine_reply_fn *reply;
	void (*after)(void *user, int r, const struct ov_err *err);
	void *user;
	const value *result;
};

struct waiters {
	struct waiter *p;
	size_t n, cap;
};

/* What the daemon itself reported: kept until it is durable. Owns its texts. */
struct report {
	str command, params;
	int refused;        /* how often the state did not take what was decided about it */
	ov_time not_before; /* and when it may be tried again */
};

struct reports {
	struct report *p;
	size_t n, cap;
};

/* What is staged for one transaction: its events, and what is released when it is durable. */
struct batch {
	struct arena arena;
	struct events events;
	struct waiters waiters;
	struct reports reports;
};

void report_done(struct report *r);
void reports_done(struct reports *r);
/* Forgets everything; reports must have been taken or done before. */
void batch_clear(struct batch *b);
void batch_done(struct batch *b);
/* The records of the batch's events, in its arena. */
struct store_record *batch_records(struct batch *b);
/* Moves all of them to the end of the others. */
void batch_take_waiters(struct waiters *to, struct batch *b);
void batch_take_reports(struct reports *to, struct batch *b);
void waiters_answer(const struct waiters *waiters, int r, const struct ov_err *err);
