#pragma once
/*
 * People as their own files see them. Private to tests/sim/person*.c.
 *
 * person.c       who there is, what they are like, when they do something; goals
 * person_ask.c   requests and answers on their way, and what became of them
 * person_act.c   what they ask for: commands, answers to escalations, tidying up
 * person_plan.c  plans and changes of plans
 * person_user.c  the user who works in the checkout
 */
#include "base/list.h"
#include "base/map.h"
#include "base/vec.h"
#include "data/value/value.h"
#include "tests/sim/person.h"

enum { PEOPLE_MAX = 3 };

/* What somebody is like. Times are the least and the most between two of his doings; 0: never. */
struct temper {
	const char *name;
	ov_time look[2];   /* at the inbox */
	ov_time meddle[2]; /* gives commands that nobody asked for */
	ov_time read[2];   /* only looks at something */
	unsigned answers, nonsense, twice,
			dismisses; /* per thousand of what he sees in the inbox */
	unsigned careful; /* per thousand of lost answers: looks first before he asks again */
};

struct person {
	const char *name; /* human:ann */
	const struct temper *temper;
};

/* A goal that somebody wants. */
struct wish {
	int who;
	size_t nodes; /* so many at most; 0: it is given without a plan */
	bool bare;    /* the plan comes later */
	bool taken;
};

struct people;
struct asked;
/* r < 0: refused; OV_EUNAVAILABLE also when no answer came. result is valid during the call. */
typedef void heard_fn(struct people *p, const struct asked *q, int r, const value *result);

/* A request whose answer is not there yet. */
struct asked {
	uint64_t id;
	int who;
	const char *op;
	str params;      /* JSON, owned */
	heard_fn *heard; /* or NULL */
	int64_t ref;     /* of the asker */
	unsigned tries;
	bool once; /* not asked again when there is no answer: whoever asked sees to it */
};

/* A request that a daemon works on. Dies with the daemon or is answered by it. */
struct call {
	struct list link;
	struct people *p;
	int life;
	uint64_t id;
	struct arena arena;
	const struct op *op;
	value *params;
	const value *decisions; /* of a tick */
};

struct people {
	struct sim *s;
	struct person person[PEOPLE_MAX];
	size_t person_n;
	VEC(struct wish) wishes;
	VEC(struct asked *) asked;
	struct list calls;
	uint64_t ids;
	VEC(struct promise) promises;
	struct map answered; /* GOAL/NODE or goal: how often it was answered, plus one */
	struct arena keys;
	uint64_t notes; /* numbers for texts that must differ */
	struct user *user;
	enum people_sabotage sabotage;
};

/* person_ask.c */
void ask(struct people *p, int who, const char *op, const value *params, heard_fn *heard,
		int64_t ref);
void ask_once(struct people *p, int who, const char *op, const value *params, heard_fn *heard,
		int64_t ref);
void calls_free(struct people *p);

/* person_act.c: what one does when it is his turn. */
void act_look(struct people *p, int who);
void act_meddle(struct people *p, int who);
void act_browse(struct people *p, int who);

/* person_plan.c */
value *plan_draw(struct people *p, struct arena *a, size_t nodes);
/* Changes a document that plan.show gave: adds, drops, renames, makes others wait. */
void plan_alter(struct people *p, struct arena *a, value *doc);

/* person_user.c */
struct user *user_new(struct sim *s);
void user_free(struct user *u);
void user_begin(struct user *u);
/* His checkout is clean and stays so. */
bool user_is_done(const struct user *u);

/* {"goal": ...}, for most parameters */
value *params_about(struct arena *a, const char *key, str text);
void params_text(struct arena *a, value *params, const char *key, const char *text);
