#pragma once
/*
 * The tape as its own files see it: a row of entries in one buffer, each a byte that says what it
 * is, then its fields. Private to tests/sim/tape*.c.
 *
 * tape.c         recording: calls, and the world between engine and daemon
 * tape_store.c   recording: the store between engine and disk
 * tape_replay.c  the same for an engine that has nothing but the tape
 */
#include "base/list.h"
#include "base/map.h"
#include "tests/sim/tape.h"

/* All of an observation that the tick may go by: numbers and moments, flags, texts. */
#define SEEN_NUMBERS(X)   \
	X(known_since)    \
	X(output_at)      \
	X(looked_at)      \
	X(process_at)     \
	X(tree_at)        \
	X(tokens)         \
	X(cost_microusd)  \
	X(tool_since)     \
	X(retrying_since) \
	X(waiting_since)  \
	X(same_calls)     \
	X(same_since)     \
	X(same_at)        \
	X(doing)
#define SEEN_FLAGS(X)      \
	X(process_unknown) \
	X(tree_unknown)    \
	X(tool_in_flight)  \
	X(compacting)      \
	X(retrying)        \
	X(same_output)
#define SEEN_TEXTS(X)  \
	X(waiting_for) \
	X(tool)        \
	X(trouble)     \
	X(same_call)

/* Calls first. symbol, name: what it is, for whoever reads of a difference */
#define TAPE_ENTRIES(X)                        \
	X(T_CALL, "a call")                    \
	X(T_TICK, "a tick")                    \
	X(T_SUBMIT, "a command")               \
	X(T_REPORT, "a report")                \
	X(T_AFTER, "a question")               \
	X(T_NOW, "the time")                   \
	X(T_ENTROPY, "entropy")                \
	X(T_SEEN, "an observation")            \
	X(T_UNSEEN, "an observation less")     \
	X(T_TELEMETRY, "telemetry")            \
	X(T_READ, "a read")                    \
	X(T_HEAD, "the head")                  \
	X(T_BORDER, "the border")              \
	X(T_SNAPSHOT_GET, "a snapshot")        \
	X(T_SNAPSHOT_PUT, "a new snapshot")    \
	X(T_APPEND, "a write")                 \
	X(T_ARCHIVE, "a move to the archive")  \
	X(T_PERFORM, "an effect")              \
	X(T_LOOK, "a look")                    \
	X(T_PUBLISHED, "events")               \
	X(T_WAKE_AT, "a wish to be woken")     \
	X(T_STORE_FAILED, "news of the store") \
	X(T_CONTRADICTED, "a contradiction")   \
	X(T_REPLY, "a reply")                  \
	X(T_END, "the end")
#define T_ENUM(sym, name) sym,
enum tape_entry { TAPE_ENTRIES(T_ENUM) T_COUNT };
#undef T_ENUM

struct tape {
	struct sim *s;
	int life;
	struct engine_options o; /* as the daemon gave them */
	struct buf bytes;
	size_t entries;
	size_t newest[2]; /* where the newest of each kind that can be falsified stands; 0: none */
	struct store *store; /* the wrapper; the engine's */
	struct map seen;     /* run id -> struct tape_seen: what was recorded of it last */
	struct list told;    /* who waits for a reply */
	unsigned depth;      /* of callbacks that we are in */
	bool in_engine;      /* what happens now is the engine's doing */
	bool full, checked;
};

/* What was told of a run the last time. */
struct tape_seen {
	str run;              /* owned */
	struct observation o; /* its texts are owned */
	bool still;           /* found again in this round */
};

/* Is this to be recorded? */
static inline bool tape_on(const struct tape *t)
{
	return t->in_engine && !t->full;
}

/* Writing; the fields that follow belong to the entry. */
void tape_entry(struct tape *t, enum tape_entry kind);
void tape_u64(struct tape *t, uint64_t x);
void tape_str(struct tape *t, str s);

/* Digests, of both sides. */
uint64_t digest_u64(uint64_t h, uint64_t x);
uint64_t digest_str(uint64_t h, str s);
uint64_t digest_records(const struct store_record *recs, size_t n);
uint64_t digest_effect(const struct effect *fx);
uint64_t digest_events(const struct event *const *events, size_t n);
uint64_t digest_reply(int r, const value *result);
uint64_t digest_snapshot(const struct store_snapshot *snap);

/* tape_store.c: the wrapper does not own inner until it is told to. */
struct store *tape_store_new(struct tape *t, struct store *inner);
void tape_store_free(struct store *s); /* without closing inner */
