#pragma once
/*
 * What a run says, as the daemon understands it: the nonce of an instruction, which proves that it
 * arrived, and structured updates (core/life/update.h). Fed with the run's output from the offset
 * up to which reports were taken, so that after a restart nothing is lost and nothing taken twice;
 * tells the engine, which decides what it is worth. What we sent to this run is not taken for its
 * words. Updates are told at the pace of core/life/update_pace.h, however many there are.
 */
#include "base/ov.h"
#include "core/life/update.h"
#include "core/life/update_pace.h"

struct engine;
struct run;

enum { RUN_OUTPUT_NONCE_MAX = 64 };

struct run_output {
	struct engine *engine;
	str run_id;      /* borrowed */
	const char *dir; /* the run's folder, borrowed */
	struct update_scan scan;
	/* How the engine is told: engine_report, unless somebody wants to hear it too. */
	void (*tell)(struct run_output *h, str command, const value *params);
	/*
	 * A clock that only goes forward, and a call of run_output_due after so many milliseconds.
	 */
	int64_t (*now_ms)(const struct run_output *h);
	void (*wake_in)(struct run_output *h, int64_t ms);
	struct update_pace pace;
	/* Everything that this run was told, while updates are held back. */
	struct arena sent_arena;
	str *sent;
	size_t sent_n;
	int64_t sent_up_to;              /* the newest dispatch among it */
	char tail[RUN_OUTPUT_NONCE_MAX]; /* the last bytes: a nonce may come in two pieces */
	size_t tail_n;
};

/*
 * offset: of the first byte that comes. run_id and dir live as long as the hearing. now_ms and
 * wake_in are the caller's to set before the first byte; they outlive run_output_restart.
 */
void run_output_init(struct run_output *h, struct engine *e, str run_id, const char *dir,
		uint64_t offset);
/* From another offset on; nothing was heard yet. */
void run_output_restart(struct run_output *h, uint64_t offset);
/* Time has passed, as wake_in asked: what was held back is told. */
void run_output_due(struct run_output *h);
/* at: their offset in the output; where that is not the next one, bytes are missing. */
void run_output_bytes(struct run_output *h, str bytes, uint64_t at);
/*
 * Instead of bytes, where these are lines in which messages stand: one whole message, from the line
 * that ended at offset `end` of the output. All of them are to be told from the first one on; those
 * whose reports were taken are known by their place.
 */
void run_output_message(struct run_output *h, str text, uint64_t end);
/* A hook gave this dispatch to the agent; told again, it is told once. */
void run_output_taken(struct run_output *h, str dispatch_id);
/* The output is over: also a last line without its newline counts, and nothing is held back. */
void run_output_end(struct run_output *h);
void run_output_done(struct run_output *h);

/* Does any output change what is to be done? An answer to what was sent is told by itself. */
bool run_output_is_awaited(const struct engine *e, str run_id);
/* The text of a dispatch, from the event that intended it; empty when it is not there any more. */
str run_output_dispatch_text(struct arena *a, const struct engine *e, int64_t seq);
