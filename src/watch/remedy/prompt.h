#pragma once
/*
 * What somebody who is to mend the daemon is told: the configured text, what failed and who was
 * registered, what logs and commands say, and how to end. Text in, text out.
 *
 * What logs and commands say was written by others, agents among them. It stands between marks that
 * hold a number nobody could know beforehand, so that it can never pass for words of ours, and is
 * named as data.
 */
#include "base/buf.h"
#include "watch/remedy/remedy.h"

enum {
	PROMPT_PART_BYTES = 8 << 10,
	PROMPT_PART_LINES = 100,
};

struct prompt_part {
	const char *title;
	str text;         /* as it was read: anything */
	bool end;         /* its last lines count, otherwise its first */
	const char *none; /* in place of a text: why there is none */
};

struct prompt_ask {
	const struct remedy_ask *ask;
	const struct prompt_part *parts;
	size_t parts_n;
	const char *kept; /* how the checkout was kept, for people */
	ov_time at;
	uint64_t random; /* of the marks */
};

void remedy_prompt_build(const struct prompt_ask *p, struct buf *out);
