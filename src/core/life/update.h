#pragma once
/*
 * Structured status updates: what an agent says of its work, as a fenced `json` block
 *
 *     ```json
 *     {"overseerUpdate": {"status": "in_progress", "summary": "...", "next": "..."}}
 *     ```
 *
 * somewhere in what it wrote. This module finds the blocks in a stream of bytes, checks them, and
 * merges them into what is stored. It decides nothing: an update of "done" is a claim.
 *
 * Blocks are found as CommonMark finds fenced code: ``` or ~~~, indented by three spaces at most,
 * closed by a fence of the same character that is at least as long. A block without its closing
 * fence is none. The last block that speaks of an overseerUpdate counts, so that other JSON after
 * it does no harm; if that one is malformed the answer is its problems, not an older block.
 *
 * A block that we sent ourselves, inside an instruction or a nudge, is never an update. Whoever
 * writes such a text must therefore use placeholders that no agent would send back as they are.
 */
#include "base/buf.h"
#include "base/ov.h"
#include "core/model/transition.h"
#include "data/value/value.h"

enum {
	UPDATE_WINDOW = 64 * 1024, /* bytes of one block, and so the memory of a scan */
	/*
	 * Several that were merged: all lists of evidence, full of the longest entries, and
	 * the rest.
	 */
	UPDATE_MERGED = 8 * 1024 * 1024,
	UPDATE_SUMMARY = 8 * 1024, /* also currentState */
	UPDATE_NEXT = 4 * 1024,    /* also every entry of a list */
	UPDATE_LIST = 64,          /* entries of blockers, decisions, openQuestions, learnings */
	UPDATE_EVIDENCE = 200,     /* entries of a list of evidence */
	UPDATE_PROBLEMS = 20,      /* more are not told */
};

/* A complete fenced block labelled json: what stands between its fences. */
struct update_block {
	str bytes;
	uint64_t offset; /* of the first of them in the stream */
	bool cut;        /* it is longer than UPDATE_WINDOW: only its beginning is here */
};

/*
 * Finds blocks in a stream as it comes. How the stream is cut into pieces changes nothing. The
 * scan owns its buffer; a block stays valid until the next call.
 *
 *     while (update_scan_next(&s, &piece, &block))
 *             ...
 */
struct update_scan {
	struct buf body; /* what is kept of the open json block, with the line under way */
	uint64_t offset; /* of the next byte of the stream */
	uint64_t line;   /* of the first byte of the line under way */
	uint64_t start;  /* of the first byte of the open block */
	char open;       /* character of the open fence, or 0 */
	size_t open_n;   /* its length */
	bool json;       /* the open block is labelled json */
	bool lost;       /* the beginning is missing: a bare fence may open or close */
	/* Of the line under way: how far it was understood, and the fence that it may be. */
	unsigned char at, indent, word_n;
	bool word_json;
	char mark;
	size_t mark_n;
};

/* offset: of the first byte to come. cut: what was before it is missing. */
void update_scan_init(struct update_scan *s, uint64_t offset, bool cut);
void update_scan_done(struct update_scan *s);
/* Takes bytes off *piece up to the end of the next block; false when *piece is used up. */
bool update_scan_next(struct update_scan *s, str *piece, struct update_block *ret);
/*
 * The message or the stream is over: true when its last line, without a newline, closed a block.
 * A block that is still open is dropped. The scan may go on with the next message.
 */
bool update_scan_end(struct update_scan *s, struct update_block *ret);

/* A checked update. Everything is borrowed from the arena it was parsed into. */
struct update {
	const value *doc;          /* the object under "overseerUpdate", known keys only */
	str goal_id, work_node_id; /* empty: not said; the assignment that asked tells */
	int status;                /* NODE_IN_PROGRESS, NODE_BLOCKED, NODE_DONE; -1: not said */
	str summary, next, current_state;
	/*
	 * Arrays of texts, an array of {decision, rationale}, an object of arrays; NULL: not said.
	 */
	const value *blockers, *open_questions, *decisions, *learnings, *evidence;
};

/* What evidence is made of. */
enum update_claim {
	CLAIM_FILES,
	CLAIM_COMMANDS,
	CLAIM_TESTS,
	CLAIM_COMMITS,
	CLAIM_PRS,
	CLAIM_ISSUES,
	CLAIM_REFS,
	CLAIM_COUNT
};
/* An array of texts; NULL: nothing is said of it. */
const value *update_claim(const struct update *u, enum update_claim which);

struct update_problem {
	str path; /* "overseerUpdate.evidence.commits[3]" */
	str text;
};

enum update_verdict {
	UPDATE_NONE, /* no block, or none that speaks of an overseerUpdate */
	UPDATE_OWN,  /* one that we sent */
	UPDATE_OK,
	UPDATE_BAD, /* meant as an update, but with problems */
};

struct update_result {
	enum update_verdict verdict;
	struct update_block block;       /* not for UPDATE_NONE; bytes are in the arena */
	struct update update;            /* for UPDATE_OK */
	struct update_problem *problems; /* for UPDATE_BAD */
	size_t problems_n;
};

/* One block against the texts that we sent to this agent. */
void update_parse(struct arena *a, const struct update_block *b, const str *sent, size_t sent_n,
		struct update_result *ret);
/* The problems, one line each, for the next nudge to quote. */
str update_problems_text(struct arena *a, const struct update_result *r);

/*
 * What is stored (an object, or NULL) with the update merged in. A key that was not said keeps its
 * value; a key that was said replaces it, except that evidence and decisions grow: new entries are
 * added, the same one is kept once, and of too many the newest stay.
 */
value *update_merge(struct arena *a, const value *stored, const struct update *u);
/* What is stored of a node, as it is kept there; empty: nothing. */
struct update update_stored(struct arena *a, str json);
/*
 * What is stored of an earlier run, as the report of a new one is merged into it: what that one
 * learnt is not what this one learns. Borrows.
 */
value *update_of_earlier_run(struct arena *a, const value *stored);
/* SHA-256, in hexadecimal, of run, place and bytes: the same block of the same run only once. */
str update_identity(struct arena *a, str run_id, const struct update_block *b);
/*
 * The keys of an update and of its evidence, in order, for prompts and documents; *ret_n of them.
 */
const char *const *update_keys(size_t *ret_n);
const char *const *update_evidence_keys(size_t *ret_n);
/*
 * How far the work is, in hundredths of a percentage point, as the stored says; false: it does not.
 */
bool update_completion(const value *stored, int64_t *ret_centi);
