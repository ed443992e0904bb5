#pragma once
/*
 * Telling people outside, by the channels of the configuration: the desktop, issues of a forge, web
 * hooks, a command. One attempt at a time: what fails is said so, and the core decides when it is
 * tried again. The same notice may be handed over twice (a daemon that died did not say what came
 * of it), so a channel that can look for the notice's id does so before it makes a second one of
 * it. Nothing here blocks the loop. Secrets are read when they are needed, and are in no error.
 */
#include "base/ov.h"
#include "core/config/config.h"
#include "core/model/transition.h"
#include "data/value/value.h"

struct loop;
struct notifier;
struct notify_job;

struct notify_options {
	struct loop *loop;
	const char *dir;  /* the store's folder */
	const char *repo; /* root of the user's checkout: where commands are run */
};

struct notifier *notify_new(const struct notify_options *o);
/* Every job must have ended or been cancelled. NULL allowed. */
void notify_free(struct notifier *n);

/* What a person is told. Texts may be empty, and quote agents: data, whatever they look like. */
struct notice_message {
	str id;      /* of the notice: the same at every attempt */
	str channel; /* by name */
	enum urgency urgency;
	str goal_id, goal_title, node_id, node_name;
	int64_t iteration;  /* of the node, at which it was found; 0: of none */
	int64_t escalation; /* its number in the inbox; 0: nobody is asked */
	str reason;         /* one line */
	/*
	 * {"type", "severity", "message", "evidence", "recommendations", "fingerprint"}; NULL: none
	 */
	const value *detection;
	const value *intervention; /* {"level", "reason", "did"}; NULL: none */
	const str *commands;       /* what to type next */
	size_t commands_n;
	str fingerprint; /* what notices about the same have in common */
	str again;  /* ref of the first one of them on this channel; empty: this is the first */
	ov_time at; /* when it was raised */
};

/* What came of an attempt; texts are valid during the call. */
struct notify_outcome {
	bool ok;
	str ref;             /* ok: what the channel made of it, for `again`; may be empty */
	str error;           /* otherwise: why not, for people */
	bool permanent;      /* trying again is of no use: the configuration or a token is wrong */
	ov_time retry_after; /* the other side asks us to wait so long; 0: it does not say */
};
typedef void notify_done_fn(void *user, const struct notify_outcome *o);

/*
 * The message and the configuration are only read during the call. done comes once, from the loop,
 * never from here, unless the job is cancelled; a channel that is not configured any more fails.
 */
struct notify_job *notify_start(struct notifier *n, const struct config *c,
		const struct notice_message *m, notify_done_fn *done, void *user);
/* done is not called; what is on its way may arrive. */
void notify_cancel(struct notify_job *j);
