#pragma once
/*
 * The planner at work: gathers what a prompt needs (the goal as it stands, templates, a summary of
 * the repository), asks the configured model, sends wrong answers back, and ends with a document
 * for the log. It only reads, so asking again after a crash is harmless. Nothing here blocks
 * the loop.
 *
 * Templates are those built in, unless `templates/ID.txt` in the store's folder stands in for one.
 * The HTTP client is made when the first question needs it: who has no planner pays nothing.
 */
#include "base/ov.h"
#include "core/config/config.h"
#include "core/model/model.h"
#include "core/prompt/planner.h"
#include "data/value/value.h"

struct loop;
struct planning;
struct planning_job;

struct planning_options {
	struct loop *loop;
	const char *dir;  /* the store's folder */
	const char *repo; /* root of the user's checkout */
};

struct planning *planning_new(const struct planning_options *o);
/* Every job must have ended or been cancelled. NULL allowed. */
void planning_free(struct planning *p);

struct planning_request {
	enum planner_purpose purpose;
	const struct config *config; /* only read while the request is made */
	const struct goal *goal;     /* likewise */
	const struct node *node;     /* split, diagnose; else NULL */
	str evidence;                /* split, diagnose: what was seen of it */
	const value *allowed;        /* diagnose: names of actions */
};

/*
 * ENDED_OK, ENDED_INVALID, ENDED_ERROR, or ENDED_NONE when no planner is configured. Valid
 * during the call.
 */
typedef void planning_done_fn(void *user, const struct outcome *o);

/* done comes once, from the loop, never from here, unless the job is cancelled. */
struct planning_job *planning_start(struct planning *p, const struct planning_request *rq,
		planning_done_fn *done, void *user);
/* done is not called. */
void planning_cancel(struct planning_job *j);

/*
 * What would keep the configured planner from working, for people; empty: nothing that we know of.
 */
str planning_trouble(struct arena *a, const struct config *c);
