#pragma once
/*
 * One question to a language model, one answer: over the Messages API of Anthropic, over chat
 * completions as OpenAI and many others serve them, or by a command that reads the prompt and
 * writes the answer. Servers that are busy, broken or silent are asked again a few times, within
 * bounds. The key is sent as a header and nowhere else: it is in no error text, also when a server
 * repeats it. A question belongs to itself until `done` was called or it is cancelled.
 */
#include "base/err.h"
#include "base/ov.h"

struct http_client;
struct llm_call;
struct loop;

enum llm_api { LLM_ANTHROPIC, LLM_OPENAI, LLM_COMMAND };

struct llm_options {
	enum llm_api api;
	const char *url; /* what comes before /v1, without a slash at its end */
	const char *model;
	const char *key;      /* NULL: none is sent */
	const char *key_name; /* where it came from, for error texts */
	int64_t max_tokens;
	const char *command, *cwd; /* run by sh -c */
	const char *const *env;    /* of the command; must live as long as the call. NULL: ours */
	int64_t timeout_ms;        /* of one try */
	int64_t backoff_ms; /* before the second try, four times that before the third; 0: 1 s */
};

enum {
	LLM_TRIES = 3,
	LLM_MAX_WAIT_MS = 60 * 1000, /* who asks to be left alone for longer is not asked again */
	LLM_MAX_ANSWER = 1024 * 1024,
};

struct llm_answer {
	const struct ov_err *err;      /* code 0: there is a text */
	str text;                      /* valid during the callback */
	int64_t tokens_in, tokens_out; /* where the server says so; of all tries */
	int tries;
};

typedef void llm_done_fn(void *user, const struct llm_answer *a);

struct llm_question {
	str system, prompt;
};

/*
 * Everything is copied. On failure nothing was started and done is never called; otherwise once,
 * from the loop. The http client is needed for the two APIs and must live longer than the question.
 */
int llm_ask(struct loop *l, struct http_client *http, const struct llm_options *o,
		const struct llm_question *q, llm_done_fn *done, void *user, struct llm_call **ret,
		struct ov_err *err);
/* Forgets the question; done is not called. Not from inside done. */
void llm_cancel(struct llm_call *c);
