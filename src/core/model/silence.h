#pragma once
/*
 * How long runs are silent, as counts: buckets of durations, each a fifth longer than the one
 * before, and the book in which the silences of one run are noted while it lives. Pure. A silence
 * is the time between two signs of output; what it was spent on is what the run was doing then.
 *
 * The book belongs to whoever hears the run. It is small and bounded, whatever the agent does: so
 * many rows, and in each only the longest silences. core/state/habit learns from it when the run
 * has ended well.
 */
#include "base/ov.h"
#include "core/model/transition.h"
#include "data/value/value.h"

/*
 * Upper ends of the buckets in seconds: a minute, then four to each doubling. Shorter ones were
 * tried (from 30 s on): a lost prompt was seen after one minute instead of two, and more healthy
 * runs were asked.
 */
#define SILENCE_ENDS(X) \
	X(60)           \
	X(71)           \
	X(85)           \
	X(101)          \
	X(120)          \
	X(143)          \
	X(170)          \
	X(202)          \
	X(240)          \
	X(285)          \
	X(339)          \
	X(404)          \
	X(480)          \
	X(571)          \
	X(679)          \
	X(807)          \
	X(960)          \
	X(1142)         \
	X(1358)         \
	X(1614)         \
	X(1920)         \
	X(2283)         \
	X(2715)         \
	X(3229)         \
	X(3840)         \
	X(4567)         \
	X(5431)         \
	X(6458)         \
	X(7680)         \
	X(9133)         \
	X(10861)        \
	X(12917)        \
	X(15360)        \
	X(18267)        \
	X(21722)        \
	X(25833)        \
	X(30720)        \
	X(36534)        \
	X(43445)        \
	X(51666)
#define SILENCE_ONE(n) +1
enum {
	SILENCE_BUCKETS = 0 SILENCE_ENDS(SILENCE_ONE),
	SILENCE_ROWS = 16,    /* of one run */
	SILENCE_SAMPLES = 10, /* of a row of one run: it must not teach alone */
	SILENCE_TOOL = 64, /* bytes of the name of a tool, or of a shell's program, that are kept */
};
#undef SILENCE_ONE

/*
 * What a run does while it is silent. An agent that says nothing of itself (unsaid) is at work when
 * its processes are: that is no measure for one that does nothing at all. Of the last, nothing is
 * learned and nothing is judged by it.
 */
#define ACTIVITIES(X)                    \
	X(ACTIVITY_UNSAID, "unsaid")     \
	X(ACTIVITY_STARTING, "starting") \
	X(ACTIVITY_THINKING, "thinking") \
	X(ACTIVITY_TOOL, "tool")         \
	X(ACTIVITY_BETWEEN, "between")   \
	X(ACTIVITY_WORK, "work")         \
	X(ACTIVITY_APART, "apart")
#define ACTIVITY_ENUM(sym, name) sym,
enum activity { ACTIVITIES(ACTIVITY_ENUM) ACTIVITY_COUNT };
#undef ACTIVITY_ENUM
extern const struct status_table activities, silence_ends;

int silence_bucket(ov_time lasted) _pure_;
ov_time silence_end(int bucket) _pure_;
int64_t silence_count(const int32_t counts[SILENCE_BUCKETS]) _pure_;
/* The end of the bucket within which so many of a thousand have ended; 0: there are none. */
ov_time silence_within(const int32_t counts[SILENCE_BUCKETS], int permille) _pure_;

struct silence_row {
	enum activity activity;
	char tool[SILENCE_TOOL + 1];
	uint8_t n, longest[SILENCE_SAMPLES]; /* buckets, the shortest first */
};

struct silence_book {
	bool open;     /* a silence is under way */
	bool working;  /* its processes were seen at work in it */
	bool spoilt;   /* somebody else had a say in it: it will not count */
	ov_time since; /* by any clock that only goes on */
	enum activity doing;
	char tool[SILENCE_TOOL + 1];
	struct silence_row rows[SILENCE_ROWS];
	size_t n;
};

/* A sign of output: the silence before it is over, and in the one that begins the run does this. */
void silence_hear(struct silence_book *b, ov_time at, enum activity doing, str tool);
/* Its processes are at work, in a silence of which its agent says nothing. */
void silence_work(struct silence_book *b);
/* The run was asked, told or held, or we were away: what is under way says nothing about it. */
void silence_spoil(struct silence_book *b);
/*
 * [{"activity", "tool", "counts": {"60": 3, ...}}], for run.end; NULL: there is nothing to learn.
 */
value *silence_told(struct arena *a, const struct silence_book *b);
