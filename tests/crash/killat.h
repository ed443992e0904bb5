#pragma once
/*
 * What the crash tests and the module that is preloaded into the daemon (killat.c) share: a file
 * that both have mapped, so that the test can choose the place of the next death while the daemon
 * runs, and can read what was passed after the daemon is gone. The test makes the file, full of
 * zeros but for the magic number, and alone writes the orders; killat.py has the same layout.
 */
#include <assert.h>
#include <stdint.h>

#define KILLAT_MAGIC UINT64_C(0x746b696c6c617431)

enum { KILLAT_SITES = 2048, KILLAT_TEXT = 488 };

/* When, at the chosen passage. */
enum killat_how {
	KILLAT_BEFORE,
	KILLAT_AFTER,
	KILLAT_HALF, /* after half of the bytes; for calls without bytes the same as after */
};

/*
 * One place in the program from which a call was made: the call and who called whom to get there.
 */
struct killat_site {
	uint64_t id;
	uint64_t first; /* number of the call that came here first, from 1 */
	uint64_t count;
	char text[KILLAT_TEXT]; /* call, details, then module+offset per frame, innermost first */
};

struct killat_map {
	uint64_t magic;
	uint64_t calls;   /* made so far */
	uint64_t n_sites; /* in use */
	uint64_t lost;    /* calls from places that did not fit */
	/* Orders: zero is none; both count down to the call that is not survived. */
	int64_t at_call;
	int64_t at_passage; /* of at_site */
	uint64_t at_site;
	uint64_t how;
	uint64_t died;      /* number of the call at which it did */
	uint64_t died_site; /* and its place */
	uint64_t unused[22];
	struct killat_site sites[KILLAT_SITES];
};

static_assert(sizeof(struct killat_site) == 512 &&
				sizeof(struct killat_map) == 256 + KILLAT_SITES * 512,
		"killat.py knows this layout");
