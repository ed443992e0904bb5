#pragma once
/*
 * What the channels share: one attempt to tell somebody, requests over HTTP, and texts. A channel
 * is a function that begins an attempt; whatever it starts ends in notify_sent or notify_failed,
 * once. Private to app.
 */
#include "app/notify/notify.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "net/http.h"

struct bus_call;
struct job;
struct loop_source;
struct forge_work;

struct notifier {
	struct notify_options o;
	struct http_client *http; /* NULL until it is needed */
};

typedef void notify_answer_fn(struct notify_job *j, const struct http_result *r);

struct notify_job {
	struct notifier *n;
	struct arena arena; /* everything of this attempt */
	struct notice_message m;
	struct config_channel ch;
	const char *const *env; /* of a command */
	uint64_t deadline_us;
	struct loop_source *later; /* the outcome is told from the loop */
	struct http_call *call;
	notify_answer_fn *answered;
	struct job *command;
	struct bus_call *bus;
	struct forge_work *forge;
	struct {
		str text, shown;
	} secrets[3]; /* what no error may show: the token or secret, the address, its last part */
	struct notify_outcome outcome;
	notify_done_fn *done;
	void *user;
};

/* ---- the end of an attempt ---- */
void notify_sent(struct notify_job *j, str ref);
enum notify_again { NOTIFY_RETRY, NOTIFY_NEVER };
void notify_failed(struct notify_job *j, enum notify_again again, const char *fmt, ...)
		_printf_(3, 4);

/*
 * A token or the like out of a file that is its owner's, or out of our environment. what: for
 * people. Where neither is named, it is empty.
 */
int notify_secret(struct notify_job *j, const char *what, str file, str env, str *ret,
		struct ov_err *err);
/* The address that is posted to, and nothing after its host in errors. */
int notify_url(struct notify_job *j, str *ret, struct ov_err *err);

/* ---- notify_http.c ---- */
/* Sends it within what is left of the attempt's time; a connection that fails ends the attempt. */
void notify_request(struct notify_job *j, const struct http_request *rq, notify_answer_fn *then);
/* True for an answer that says yes; otherwise the attempt has failed, as its status says. */
bool notify_accepted(struct notify_job *j, const struct http_result *r);
/* An answer that says no: judged by its status. */
void notify_refused(struct notify_job *j, const struct http_result *r);

/* ---- notify_text.c ---- */
/* "CRITICAL" */
str notify_loud(struct arena *a, enum urgency u);
/* One line of at most max bytes, cut with "..." */
str notify_line(struct arena *a, str s, size_t max);
/* Where: "GOAL/NODE", or the goal alone. */
str notify_place(struct arena *a, const struct notice_message *m);
/* What is worked on: the node's name, or the goal's title. */
str notify_task(const struct notice_message *m);
/* The same as a text of XML: & < > as entities. */
void add_entities(struct buf *out, str s);
/* The first line of an issue or comment of ours, by which it is found again. */
str notify_mark(struct arena *a, const struct notice_message *m);
/* Its part that all notices about the same have in common. */
str notify_mark_same(struct arena *a, const struct notice_message *m);
/* Title and body of an issue; again: of a comment on it. */
str notify_issue_title(struct arena *a, const struct notice_message *m);
str notify_issue_body(struct arena *a, const struct notice_message *m, bool again);
/* The document that webhooks and commands get. */
value *notify_document(struct arena *a, const struct notice_message *m);

/* ---- the channels ---- */
void desktop_begin(struct notify_job *j);
void forge_begin(struct notify_job *j); /* gitea, github */
void web_begin(struct notify_job *j);   /* webhook, slack, discord */
void hook_begin(struct notify_job *j);
/* notify_chat.c: what is posted to a chat */
value *slack_document(struct arena *a, const struct notice_message *m);
value *discord_document(struct arena *a, const struct notice_message *m);
