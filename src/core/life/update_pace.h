#pragma once
/*
 * How often the updates of one run become events: one a second on average, twenty at once, and so
 * many bytes a second: evidence of megabytes is paid for by a longer wait for the next one. An
 * agent may write thousands; what lies between two events is merged into the second one as the
 * state would have merged it, so that the newest words win and no evidence is lost. Updates that
 * change the status (done, blocked) do not wait for that: they may overdraw the account, and
 * "blocked" always goes.
 *
 * Time is given by the caller, in milliseconds of a clock that only goes forward. What is held here
 * is not stored: it lies in the output beyond the run's update_offset, and is read again after a
 * restart. The pace owns what it holds.
 */
#include "base/arena.h"
#include "base/ov.h"
#include "core/life/update.h"

enum {
	UPDATE_BURST = 20,
	UPDATE_EVERY_MS = 1000,
	UPDATE_BYTES_A_SECOND = 16 * 1024,
	UPDATE_OVERDRAFT = 5, /* for changes of the status, beyond the burst */
};

struct update_pace {
	int64_t credit_ms; /* each event costs UPDATE_EVERY_MS of it */
	int64_t at_ms;     /* when that was computed; -1: never */
	int told;          /* the last status that was told, or -1 */
	struct arena arena;
	/* What is held: good words, and a malformed block that came after them. */
	value *doc;
	int status; /* as the doc says, or -1 */
	str identity, error, error_identity;
	uint64_t offset, error_offset;
};

/* One event: an update or what is wrong with one. Valid until the pace is used again. */
struct update_told {
	const value *doc; /* NULL: error */
	str error, identity;
	uint64_t offset; /* of the output: everything before it is told with this */
};

void update_pace_init(struct update_pace *p);
void update_pace_done(struct update_pace *p);
/* Takes in what a block said (UPDATE_OK or UPDATE_BAD); offset: where the block ended. */
void update_pace_add(struct update_pace *p, const struct update_result *r, str identity,
		uint64_t offset);
/* The next thing to be told now; false: nothing, or not yet. over: the run is, so nothing waits. */
bool update_pace_next(struct update_pace *p, int64_t now_ms, bool over, struct update_told *ret);
/* In how many milliseconds there is something to be told; -1: nothing is held. */
int64_t update_pace_wait_ms(const struct update_pace *p, int64_t now_ms);
