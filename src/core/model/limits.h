#pragma once
/* Every bound on what the state accepts and keeps. Input above a bound is refused, never cut. */
enum {
	LIMIT_TITLE = 200,
	LIMIT_NAME = 200,
	LIMIT_ID = 64,
	LIMIT_TEXT = 64 * 1024,  /* tasks, problem statements, objectives, outcomes */
	LIMIT_NOTE = 4 * 1024,   /* reasons, details */
	LIMIT_LAST_LINES = 1000, /* of what a failed run wrote last: cut, as nobody chose it */
	LIMIT_INSTRUCTION = 128 * 1024,
	LIMIT_LIST = 64, /* entries of a list of texts in one record */
	LIMIT_GOALS = 100000,
	LIMIT_NODES = 10000,   /* of one goal, those that replans removed included */
	LIMIT_KEPT = 200,      /* newest entries kept of lists that grow for ever */
	LIMIT_ITERATIONS = 16, /* newest ones kept with a node: no window of a detector is longer */
	LIMIT_DETECTIONS = 64, /* newest ones kept with a goal */
	LIMIT_USAGE = 2000,    /* rows of what was used; older ones become one per agent */
	LIMIT_STANDING = 200,  /* tasks of a standing goal; further ones begin a new goal */
	LIMIT_PLAN_BYTES = 4 * 1024 * 1024,   /* as people write it */
	LIMIT_PLAN_STORED = 12 * 1024 * 1024, /* with the finished nodes that it left out */
	LIMIT_REQUEST_BYTES = LIMIT_PLAN_BYTES +
			1024 * 1024, /* of a call, over whatever it comes */
	LIMIT_ANSWER_BYTES = 12 * 1024 *
			1024, /* that wait for a slow reader: the largest plan, twice */
	/* Of the socket, at a time (net/admit.h). */
	LIMIT_CONNS = 256,
	LIMIT_CONNS_PROCESS = 64,
	LIMIT_CONNS_USER = 64, /* root, at the daemon of another user */
	LIMIT_CONNS_AGENTS = 128,
	LIMIT_CONNS_RESERVED = 16,
};
