#pragma once
/* What goes over the wire to a model and comes back. Private to drive/llm. */
#include "data/value/value.h"
#include "drive/llm/llm.h"

struct http_field;

/* The body of the request. */
str llm_request(struct arena *a, const struct llm_options *o, str system, str prompt);
const char *llm_path(enum llm_api api);
/* At most 3 headers, in the arena; returns how many. */
size_t llm_headers(struct arena *a, const struct llm_options *o, struct http_field *ret);
/*
 * The text and the tokens of an answer with status 200. OV_ELIMIT: cut off at max_tokens.
 * OV_EINVALID: not an answer of this API.
 */
int llm_read(struct arena *a, const struct llm_options *o, str body, str *ret_text, int64_t *ret_in,
		int64_t *ret_out, struct ov_err *err);
/* An answer with another status, as an error; without the key. */
int llm_refusal(struct arena *a, const struct llm_options *o, int status, str body,
		struct ov_err *err);
