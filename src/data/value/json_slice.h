#pragma once
/*
 * A large JSON document in pieces: the members of an object or the elements of an array, one after
 * another, as slices of the text. Nothing is read in or copied; the pieces are only told apart, and
 * whoever wants one parses it, strictly. So a document of any size needs the memory of one piece.
 */
#include "base/ov.h"

struct json_slice {
	str text; /* borrowed */
	size_t at;
	char close; /* '}' or ']' */
	bool first;
};

/* text is one object (open '{') or array (open '['), with white space around it at most. */
int json_slice_begin(struct json_slice *s, str text, char open, struct ov_err *err);
/*
 * 1 and the next piece, 0 after the last one, or OV_EINVALID with the offset. The key is without
 * its quotes, as written; keys with escapes are refused. In an array it is empty.
 */
int json_slice_next(struct json_slice *s, str *ret_key, str *ret_value, struct ov_err *err);
