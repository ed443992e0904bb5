#pragma once
/*
 * Scenarios: files that tell a story of a goal line by line, and the runner that plays them against
 * the real core in virtual time. The runner stands in for the daemon and for the whole world: it
 * ticks at every event and at wake_at, carries out effects (which succeed at once unless the story
 * says otherwise), and turns the events of the log into facts that the story has to expect.
 * Whatever happens unexpected fails the scenario. docs/scenarios.md describes the language.
 *
 * scn_line.c   the language: words, patterns, the order of lines
 * scn_given.c  what is given: policy, agents, goals, tasks
 * scn_world.c  time, ticks, effects, looks, restarts
 * scn_happen.c what happens: agents, people, steps, clocks
 * scn_people.c what is said: by people, agents, planners
 * scn_fact.c   the log as facts
 * scn_expect.c what is expected
 */
#include "base/ov.h"
#include "base/vec.h"
#include "tests/unit/core_fixture.h"

enum { SCN_AGENTS = 8, SCN_ARGS = 12, SCN_TAGS = 6, SCN_PAIRS = 8 };

/* A word of a line, or a text in quotes. */
struct tok {
	str s;
	bool quoted;
};

/* What the capitals of a pattern stood for in the line. */
struct args {
	struct tok v[SCN_ARGS];
	size_t n;
};

struct scn;
typedef void rule_fn(struct scn *s, const struct args *a);

/*
 * A kind of line. Small words stand for themselves, "a|b" for one of them; capitals take a word:
 * NODE NAME NUM DUR TIME, TEXT a text in quotes. "?" at the end of the last makes it optional,
 * "..." takes all that is left.
 */
struct rule {
	const char *pattern;
	rule_fn *fn;
	const char *help;
};

/* Something that the log says. */
struct scn_fact {
	ov_time at; /* from the start */
	const char *word;
	str tags[SCN_TAGS]; /* node, agent, cause ... */
	size_t tags_n;
	str text;
	ov_time until; /* 0: none */
	bool must;     /* fails the scenario unless it is expected */
	bool matched;
};

/* How the next effects of a kind turn out. */
struct twist {
	enum effect_kind kind;
	str node;
	bool every;
	const char *outcome; /* NULL: it is only the time that differs */
	str detail, data;
	str parts;     /* of a planner's answer: S1,S2 */
	ov_time takes; /* OV_TIME_MAX: for ever */
};

/* An effect under way. */
struct job {
	str id;
	enum effect_kind kind;
	str node;
	ov_time due;
	struct twist how;
};

/* Something that happens again and again. */
struct repeat {
	struct args args;
	rule_fn *fn;
	ov_time due, every, until;
};

/* What the agent of a run does that only a look shows. */
struct life {
	struct observation seen;
	bool used_cpu, changed_tree, unreadable;
	bool compares; /* there was a look to compare the next one with */
};

struct given_goal {
	str name, id;
	ov_time at;
	str priority;
	value *params, *plan;
	bool created;
};

struct scn {
	struct fixture f;
	const char *file;
	int line;
	bool restarts; /* after every line */
	bool verbose;
	ov_time base, at, skew; /* now = base + at + skew */
	ov_time line_at;        /* of this line; before_at: of the last line with another time */
	ov_time before_at;
	bool by; /* the line says "by" */
	bool begun;
	size_t expectations;

	struct policy_agent agents[SCN_AGENTS];
	struct policy_role roles[SCN_AGENTS];
	struct policy_cross cross[SCN_AGENTS];
	VEC(struct given_goal) goals;
	VEC(struct scn_fact) facts;
	VEC(struct tok) ignored; /* words of facts that nobody has to expect */
	VEC(struct twist) twists;
	VEC(struct job) jobs;
	VEC(struct repeat) repeats;
	struct map lives; /* run -> struct life */
	int reports;
	const value *last_report;
	size_t log_seen;
	struct buf trace;
};

/* scn_line.c */
void scn_fail(struct scn *s, const char *fmt, ...) _printf_(2, 3) _noreturn_;
/* The first rule that the words fit; NULL when there is none. */
const struct rule *rule_match(const struct rule *rules, size_t n, const struct tok *toks,
		size_t toks_n, struct args *ret);
bool time_of_day(str text, ov_time *ret);
/* NULL-terminated array of "key=value" pairs from args i onwards, each with one of the keys. */
str pair_value(struct scn *s, const struct args *a, size_t from, const char *key);
void pairs_only(struct scn *s, const struct args *a, size_t from, const char *const *keys,
		size_t n);
void scn_play(const char *file, str text, bool restarts, bool verbose);
void scn_words(void); /* prints every kind of line */

/* scn_given.c */
extern const struct rule given_rules[];
extern const size_t given_rules_n;
void given_default(struct scn *s);
void given_create(struct scn *s, struct given_goal *g);
bool given_knows(const struct scn *s, str word); /* a node, goal, agent or role */

/* scn_world.c */
void world_begin(struct scn *s);
void world_done(struct scn *s);
void world_advance(struct scn *s, ov_time to);
void world_restart(struct scn *s);
void world_forget(struct scn *s);
/* It is killed, and the next one starts then. */
void world_down(struct scn *s, ov_time until);
/* Ticks until nothing is decided any more, looks where that is asked for, takes the facts. */
void world_settle(struct scn *s);
struct life *life_of(struct scn *s, const struct node *n); /* its run must be running */
struct job *job_of(struct scn *s, enum effect_kind kind, str node);
void job_end(struct scn *s, struct job *j);
/* A command that may be refused; the refusal is a fact. */
void world_submit(struct scn *s, const char *command, value *params);

/* scn_happen.c */
extern const struct rule happen_rules[];
extern const size_t happen_rules_n;
struct node *scn_node(struct scn *s, str text);

/* scn_people.c */
extern const struct rule people_rules[];
extern const size_t people_rules_n;
struct given_goal *scn_goal(struct scn *s, str name);
/* "a,b" as a list in the arena of the scenario; NULL when it is empty. */
const str *scn_list(struct scn *s, str list, size_t *ret_n);
value *scn_planner_answer(struct scn *s, const struct job *j);

/* scn_fact.c */
void facts_take(struct scn *s);
struct scn_fact *scn_fact_add(struct scn *s, const char *word, bool must);
void scn_fact_tag(struct scn_fact *f, str tag);
bool fact_known(str word);
void facts_unexpected(struct scn *s, ov_time before);
str scn_fact_text(struct arena *a, const struct scn_fact *f);
void facts_words(void);

/* scn_expect.c */
extern const struct rule expect_rules[];
extern const size_t expect_rules_n;
void expect_line(struct scn *s, const struct tok *toks, size_t n);
