#pragma once
/*
 * Asking a model for a plan, as a pure machine: the prompt, then for each answer either acceptance,
 * a repair prompt with everything that was wrong, or giving up. Whoever asks the model is outside.
 * An answer is untrusted: it is strict JSON of the shape that its purpose demands, or it is
 * refused. A model plans work; it sets no policy. Of the keys of a plan it may use those whose row
 * says so (plan_keys).
 *
 *   create    a plan document (core/plan/plan.h)
 *   split     {"subtasks": [...]} for one stalled node; gives the goal's plan with that node split
 *   diagnose  {"actions": [...]}, of the rungs of the recovery ladder that are still allowed
 *
 * Everything lives in the arena that planner_init was given; what the task points to is borrowed
 * and must live as long.
 */
#include "base/ov.h"
#include "core/outcome/outcome.h"
#include "core/plan/plan.h"
#include "core/text/template.h"
#include "data/value/value.h"

enum planner_purpose { PLANNER_CREATE, PLANNER_SPLIT, PLANNER_DIAGNOSE, PLANNER_PURPOSES };

enum {
	PLANNER_MAX_PROBLEMS = 40, /* told to the model per attempt */
	PLANNER_PROBLEM_BYTES = 8 * 1024,
	PLANNER_PREVIOUS_BYTES = 48 * 1024,
	PLANNER_ANSWER_BYTES = 1024 * 1024,
	PLANNER_INPUT_BYTES = 4 * 1024, /* of each input, as kept */
	PLANNER_MAX_ACTIONS = 3,
	PLANNER_MESSAGE_BYTES = 2000,
	PLANNER_MAX_OPTIONS = 6,
	PLANNER_OPTION_BYTES = 200,
};

/* "create", "split", "diagnose"; false for others. */
bool planner_purpose_from(str name, enum planner_purpose *ret);
/* The id of the template that a purpose uses; of the repair prompt, for PLANNER_PURPOSES. */
const char *planner_template_id(enum planner_purpose p);

struct planner_task {
	enum planner_purpose purpose;
	struct plan_limits limits;
	const value *roles; /* the configured ones, as texts: a model may name no others */
	int64_t max_repairs;
	struct template prompt, repair; /* the texts really used */

	str goal_title, problem_statement, repo_context;
	const value *success_criteria, *constraints; /* arrays, or NULL */
	const value *node;                           /* split, diagnose: its document */
	str evidence;                                /* split, diagnose: what was seen */
	const value *plan;     /* split: the goal's plan document as it stands */
	const value *used_ids; /* split: every id that the goal ever used, as texts */
	const value *narrowed; /* split: tools that a person took from the node, or NULL */
	const value *allowed;  /* diagnose: names of actions, as texts */
};

enum planner_step {
	PLANNER_ASK,     /* ask the model with planner->prompt */
	PLANNER_ACCEPT,  /* planner->accepted is what was asked for */
	PLANNER_GIVE_UP, /* as many repairs as allowed did not help */
};

struct planner {
	struct arena *arena;
	struct planner_task task;
	str prompt; /* to be sent next */
	str first;
	value *inputs;   /* {placeholder: text}, bounded */
	value *attempts; /* [{"errors": [...], "tokens_in", "tokens_out"}] */
	int64_t tokens_in, tokens_out;
	const value *accepted; /* the plan document, or {"actions": [...]} */
	str raw;               /* the JSON text that was accepted */
};

/* Fails when a template has a placeholder that is not known. */
int planner_init(struct planner *p, struct arena *a, const struct planner_task *t,
		struct ov_err *err);
/* What follows from an answer of the model, whatever its bytes are. */
enum planner_step planner_answer(struct planner *p, str answer, int64_t tokens_in,
		int64_t tokens_out);
/* What is kept of it, without model and plan; borrowed. */
struct out_plan planner_provenance(const struct planner *p);
/* The problems of the last attempt, one per line; empty when there were none. */
str planner_last_errors(const struct planner *p);

/*
 * For planner.c: checks an answer, adds each problem as a text to `problems`; when there are none,
 * *ret is what was asked for.
 */
void planner_check(struct arena *a, const struct planner_task *t, const value *answer,
		value *problems, const value **ret);
/* The most subtasks that splitting this node may give. */
int64_t planner_split_room(const struct planner_task *t);
