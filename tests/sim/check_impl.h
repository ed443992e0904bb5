#pragma once
/*
 * The checker as the invariants see it: its books, which it keeps from the events alone, one entry
 * per thing that was ever heard of. Hooks for events run before the books take the event in, so
 * they see what was. Only check_books.c changes the first part of an entry; the second part, marked
 * with an invariant's name, is that invariant's own. Everything lives until the checker is freed.
 */
#include "base/map.h"
#include "base/vec.h"
#include "core/model/model.h"
#include "core/model/silence.h"
#include "store/store.h"
#include "tests/sim/check.h"
#include "tests/sim/daemon.h"

struct goal_book {
	str id;
	bool automatic; /* of tasks of the pool */
	enum goal_status status;
	bool by_person;     /* who gave it its status */
	ov_time planned_at; /* the newest plan */
	/* something was found in its iterations, for which it may be stopped */
	ov_time detected_at;
	int64_t budget[RESOURCE_COUNT], estimate[RESOURCE_COUNT], spent[RESOURCE_COUNT];
	uint64_t person_seq; /* the first event about it that a person caused */
	bool held, aborted;  /* stopped_stays: by oversight */
	int budget_level;    /* health_true */
	ov_time unwell_t;    /* since when something else is told */
	bool lies;           /* a test says so */
};

/* What tasks of the pool used up, all of it. */
struct auto_spend {
	ov_time at;
	int64_t amounts[RESOURCE_COUNT];
};

/* auto_brakes */
struct auto_book {
	bool on, paused, holds;
	int64_t given_up; /* tasks in a row */
	int64_t told; /* entry about the budget: it was neither fine nor raised since; 0: none */
};

/* loops_broken, healthy_left_alone: of the round. */
struct loop_book {
	int kind;       /* enum machine_loop, of the newest iteration; 0: none, or disturbed */
	int64_t turns;  /* of that kind in a row */
	int64_t number; /* of the newest iteration */
	int64_t from;   /* of the last one of the round before */
	str assignment;
	str trees[2];               /* after the newest turn, and after the one before it */
	bool pure;                  /* nothing but healthy turns */
	bool good, worse;           /* its tests pass; they did before it, and now do not */
	bool due;                   /* to be judged when the transaction was seen */
	int answer[DETECTOR_COUNT]; /* the highest level so far */
};

struct node_book {
	str key, id;
	struct goal_book *goal;
	enum node_status status;
	ov_time blocked_until;
	int64_t epoch;
	struct as_book *as;   /* the newest */
	struct as_book *kept; /* one_session: that had to wait, and left its session */
	ov_time reported_at, rung_at;
	str reported;    /* status, as the agent said */
	int64_t episode; /* episodes so far */
	bool episode_open;
	uint64_t person_seq;

	bool given_up;  /* auto_brakes */
	bool accepted;  /* done_means_accepted: since it was last opened */
	size_t accepts; /* change_once */
	int64_t reverts;
	ov_time lost_at; /* next_step: since when nobody goes on with it */
	bool lost;
	ov_time about_t; /* reason_shown: since when it is shown as about to go on; 0: it is not */

	int32_t failures[CAUSE_COUNT]; /* pace */
	int32_t rungs[RUNG_COUNT];
	int64_t recoveries;
	ov_time recovered_at;
	ov_time wait_least; /* after the failure that was just counted */
	ov_time wait_from;

	int64_t asked_episode;                                       /* one_escalation */
	int64_t spent[RESOURCE_COUNT], spent_before[RESOURCE_COUNT]; /* budget: of a task */
	bool over_budget;                                            /* it is blocked for that */

	struct loop_book loop;
	bool held;            /* stopped_stays */
	int alarm;            /* health_true */
	int64_t iterations;   /* iterations_counted */
	VEC(str) guidance;    /* guidance_heard: for the next instruction */
	VEC(str) guidance_of; /* the runs in which it was found */
	str guided;           /* and the last that an earlier one had */
};

struct run_book {
	str id;
	struct as_book *as;
	enum run_status status;
	ov_time started_at; /* on the clock of the log */
	str sent_hash;      /* pace: the last that was sent to it */
	ov_time sent_at;
	int64_t reported; /* report_once: its output up to there */
	size_t reports;   /* reports_paced: so many, since */
	ov_time reports_t;
	int reports_life;
	str session;    /* one_session: intended, or heard from it */
	ov_time held_t; /* held_goes_on: since when its goal wants it to go on */
	bool judged;    /* iterations_counted: and not looked at since */
	/* waits_told: about this wait of it a person was asked, by that daemon */
	unsigned asked_wait;
	int asked_life;
	int64_t iteration;
};

struct as_book {
	str id, agent, worker;
	struct node_book *node;
	int64_t epoch;
	enum as_status status;
	enum stage stage;
	bool live;     /* has a stage, or is not terminal */
	bool stopping; /* its run ends because we want it to */
	bool waits;    /* for something in the user's checkout */
	ov_time not_before, moved_at;
	struct run_book *run; /* the newest */

	bool passed, verified, accepting; /* done_means_accepted */
	bool judged, seen;                /* unchecked_waits: by a command; by a person */
	str session;                      /* one_session: that its newest runs were heard of with */
	bool changed;                     /* fair_attempts: its last run, its branch */
	ov_time over_t;                   /* spending_stops: since when there is no budget for it */
	ov_time began_t, quiet_t;         /* age_true: its run began; it was last heard of */
	int boot;
	bool jumped; /* when it began is not known */
};

struct effect_book {
	str id;
	enum effect_kind kind;
	str goal, node;
	struct as_book *as; /* or NULL */
	bool open;
	ov_time since; /* of the world, not of any clock: intended, or taken up by a new daemon */
};

struct effect_name {
	char id[SIM_NAME_MAX];
};

struct dispatch_book {
	str id;
	bool settled;
};

struct escalation_book {
	int64_t number;
	str goal, node, kind, question, assignment;
	int64_t episode, reminders;
	bool open;
	ov_time closed_t;  /* of the world */
	ov_time last_at;   /* opened, reminded */
	ov_time notify_at; /* the end of the quiet hours that it was opened in */
};

/* learned_rightly: what was learned of an agent, counted a second time. */
struct habit_book {
	str agent, model, tool;
	int activity;
	int64_t runs, samples, counts[SILENCE_BUCKETS];
};

struct lane_book {
	str agent;
	bool waits, quota;
	ov_time resets_at, at; /* at: when it was seen last */
	ov_time probe_at, probe_every;
	str far_by, far_by_too; /* limits_end: assignments that said so, since it last worked */
};

struct checker {
	struct sim *s;
	struct sim_daemon *up;     /* during a call: the one that is up, or NULL */
	const struct state *state; /* and its state, if it holds nothing that is not durable */
	bool fresh;                /* the daemon came up with this call */

	/* ---- what was read ---- */
	uint64_t seen;        /* the last event */
	uint64_t gap;         /* between records: only a test that breaks the chain wants one */
	struct arena scratch; /* the events of one call */
	size_t news;          /* how many there were */
	struct state *shadow; /* folded from every event since the first */
	bool shadow_failed;

	/* ---- the books ---- */
	struct arena kept;
	struct map goals, nodes, assignments, runs, effects, dispatches;
	struct map said;     /* words_reach: note of a person -> unsigned, how often it was said */
	struct map answered; /* answered_once: goal, fingerprint, severity -> event */
	str answered_last;
	ov_time health_t;    /* health_true: looked at no earlier */
	bool held_always;    /* held_goes_on: a test says so */
	bool accepted_twice; /* good_tasks_done: a test says so */
	ov_time reason_t;    /* reason_shown: looked at no earlier */
	size_t reason_at;    /* the next one that is explained */
	bool reason_hidden;  /* a test says so */
	int found_type;      /* loops_broken: of the newest detection */
	bool found_wide;     /* it is about the goal as a whole */
	struct map sessions; /* every id that was ever intended or heard of */
	VEC(struct goal_book *) goal_list;
	VEC(struct auto_spend) auto_spends;
	struct auto_book automatic;
	VEC(struct node_book *) node_list;
	VEC(struct as_book *) as_list;
	VEC(struct as_book *) live; /* oldest first */
	VEC(struct effect_book *) open_effects;
	VEC(struct dispatch_book *) dispatch_list;
	size_t dispatches_settled; /* all before this one are */
	VEC(struct escalation_book *) escalations;
	VEC(struct lane_book *) lanes;
	VEC(struct habit_book *) habits;
	str target_head; /* moves_are_told: where it was seen last */
	VEC(str) claims; /* pool_once: questions of which nodes were made */

	/* ---- of single invariants ---- */
	VEC(struct effect_name) performed; /* intent_first: since the log was last read */
	uint64_t runs_seen;                /* one_live_epoch: of the machine */
	size_t promises_seen;              /* answer_survives */
	uint64_t promised;                 /* the longest log that was promised */
	ov_time skew, blind_t; /* no_harm_to_the_living: nobody could see clearly until then */
	uint64_t fold_seq;     /* fold: compared up to there */
	ov_time outage_over_at, outage_ignored_until; /* on the clock of the log */
	uint64_t usurped_head;                        /* one_writer: when the younger came */
	int usurper;
	int64_t told_tokens, told_cost; /* books_balance */
	uint64_t balanced_seq;
	ov_time steps_t; /* next_step: looked for last */
	uint64_t steps_seq, steps_looks;
	bool steps_lost;               /* somebody seems to be, and is looked at again soon */
	ov_time still_t;               /* silence_found: looked at no earlier */
	ov_time aged_t;                /* age_true: neither */
	ov_time unseen_t;              /* until then it is to be found out what runs do */
	bool still_soon;               /* a test says so */
	ov_time waits_t;               /* waits_told: looked at no earlier */
	uint64_t idle_wakes, idle_seq; /* idle_is_idle */
	int idle_life;
	bool idle;
	uint64_t moves, owes_moves; /* moves_when_due: all, and those when it was looked at last */
	ov_time owes_since, owes_looked;
	int owes_life;
	bool owes, owes_always; /* the latter: a test says so */

	/* ---- breaking one on purpose ---- */
	const struct invariant *victim;
	bool broken;
};

/* "event 12 (run.ended of G/N)" */
#define EV_FMT "event %llu (%s of " STR_FMT "/" STR_FMT ")"
#define EV_ARG(e) \
	(unsigned long long)(e)->seq, event_name((e)->kind), STR_ARG((e)->goal), STR_ARG((e)->node)

/* check_books.c */
void books_init(struct checker *c);
void books_done(struct checker *c);
void books_take(struct checker *c, const struct event *e);
/* After a new plan: what a plan does to nodes is the fold's to say. */
void books_replanned(struct checker *c, str goal);
/* check_clock.c */
void book_clock_moved(struct checker *c, const struct event *e);
void book_machine_slept(struct checker *c, const struct event *e);
struct goal_book *book_goal(const struct checker *c, str id);
struct node_book *book_node(struct checker *c, str goal, str node);
struct as_book *book_as(const struct checker *c, str id);
struct run_book *book_run(const struct checker *c, str id);
struct effect_book *book_effect(const struct checker *c, str id);
struct escalation_book *book_escalation(const struct checker *c, int64_t number);
struct lane_book *book_lane(const struct checker *c, str agent);
struct lane_book *book_lane_made(struct checker *c, str agent);
/* It is given no work, but for the one run that tries it. */
bool lane_book_shut(const struct lane_book *l, ov_time at);
/*
 * It said that its agent is limited, and lets another task have its place to find out whether
 * it still is.
 */
bool as_gives_way(const struct checker *c, const struct as_book *b, ov_time at);
bool by_person(const struct event *e);
/* The status that a text of an event names; the log was checked when it was written. */
int event_status(const struct event *e, const char *key, const struct status_table *t);

/* ---- for sabotage: events that never were, shown to the victim alone ---- */
struct event *forge(struct checker *c, enum event_kind kind, const struct node_book *n);
void forge_text(struct checker *c, struct event *e, const char *key, str text);
void forge_int(struct checker *c, struct event *e, const char *key, int64_t i);
void forge_show(struct checker *c, struct event *e);
/* A live assignment, or NULL; whose run lives, if wanted. */
struct as_book *some_live(struct checker *c, bool running);
struct node_book *some_node(struct checker *c, enum node_status status);

/*
 * inv_budget.c: the runs of the last 24 hours and those under way are all that tasks of the pool
 * may have. g: that it is asked for; NULL: the pool.
 */
bool auto_runs_taken(struct checker *c, const struct goal_book *g, int64_t *ret_limit);
/* inv_harm.c: the clock was set, or nobody knows what the daemon knew at this event. */
bool is_blind(const struct checker *c, const struct event *e);
/* inv_habit.c: the silence after which a run may be asked, by what was learned; 0: nothing was. */
ov_time habit_book_asked(const struct checker *c, str agent, str model, int activity, str tool);
/* inv_pace.c: it keeps its worker, but no place; it has one, or is about to take one. */
bool as_waits(const struct checker *c, const struct as_book *as, ov_time at);
bool as_busy(const struct checker *c, const struct as_book *as, ov_time at);
/* inv_budget.c: its goal has used up what its run uses as it goes. */
bool budget_orders_stop(struct checker *c, const struct node_book *n);

/* ---- the invariants, by subject ---- */
#define INVARIANTS(X)            \
	X(one_live_epoch)        \
	X(dispatch_once)         \
	X(fenced)                \
	X(report_once)           \
	X(order_kept)            \
	X(intent_first)          \
	X(intent_kept)           \
	X(answer_survives)       \
	X(done_means_accepted)   \
	X(change_once)           \
	X(one_accept)            \
	X(gate_kept)             \
	X(unchecked_waits)       \
	X(moves_are_told)        \
	X(pool_once)             \
	X(work_kept)             \
	X(user_intact)           \
	X(next_step)             \
	X(pace)                  \
	X(age_true)              \
	X(reminders)             \
	X(places)                \
	X(waits_in_place)        \
	X(limits_end)            \
	X(one_escalation)        \
	X(told_means_told)       \
	X(waits_told)            \
	X(no_harm_to_the_living) \
	X(watched_first)         \
	X(silence_found)         \
	X(learned_rightly)       \
	X(not_all_at_once)       \
	X(stop_is_no_failure)    \
	X(goals_end)             \
	X(budget)                \
	X(auto_brakes)           \
	X(failed_comes_first)    \
	X(good_tasks_done)       \
	X(few_entries)           \
	X(reason_shown)          \
	X(spending_stops)        \
	X(one_session)           \
	X(words_reach)           \
	X(fair_attempts)         \
	X(books_balance)         \
	X(iterations_counted)    \
	X(answered_once)         \
	X(guidance_heard)        \
	X(loops_broken)          \
	X(stopped_stays)         \
	X(health_true)           \
	X(held_goes_on)          \
	X(healthy_left_alone)    \
	X(paused_is_paused)      \
	X(over_is_over)          \
	X(failing_is_over)       \
	X(idle_is_idle)          \
	X(moves_when_due)        \
	X(time_goes_on)          \
	X(store_opens)           \
	X(one_writer)            \
	X(chain)                 \
	X(fold)                  \
	X(replay)                \
	X(no_internal_error)     \
	X(reads_show_saved)      \
	X(memory)
#define INVARIANT_DECLARE(name) extern const struct invariant inv_##name;
INVARIANTS(INVARIANT_DECLARE)
#undef INVARIANT_DECLARE
