/*
 * sim-quality [--seed N] [--traces N] [--history N] [--set 'KEY = VALUE']... [--json] [--check]:
 * plays labelled traces against our policy, with the defaults of the configuration or with options
 * set otherwise, and against plain silence timers, and prints what each of them did. With --check
 * it fails unless ours kills nothing that is healthy, misses nothing that is sick, and is sooner
 * than every timer that kills nothing that is healthy. docs/quality.md.
 */
#include "tests/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "core/config/config.h"
#include "tests/sim/quality.h"

enum {
	TIMERS = 5,
	OURS = 0,
	BRAVE = TIMERS + 1, /* the shortest timer that kills nothing healthy but in outages */
	BEST = TIMERS + 2,  /* the shortest one that kills nothing healthy at all */
	POLICIES = TIMERS + 3,
	SET_MAX = 8,
	HORIZON = 10 * OV_HOUR,
	LEARNED_HALF = 6 * OV_MINUTE, /* after a history, half of all trouble is seen within this */
	LEARNED_MOST = 45 * OV_MINUTE, /* and nine in ten within this */
	ALARMS_ONE_IN = 100,           /* healthy ones, at most */
	LEARNED_ALARMS_ONE_IN = 200,
	LEARNED_TWICE_ONE_IN = 50, /* sick ones, after a history; without it nobody */
};

static const ov_time timers[TIMERS] = { 30 * OV_SECOND, 180 * OV_SECOND, 300 * OV_SECOND,
	15 * OV_MINUTE, 30 * OV_MINUTE };

struct quality {
	uint64_t seed;
	size_t traces;  /* of each kind */
	size_t history; /* runs that each agent had before */
	bool json, check;
	const char *set[SET_MAX]; /* options, as lines of a configuration file */
	size_t set_n;
	struct config *config;
	struct arena arena;
	ov_time silence[POLICIES]; /* of the timers */
	struct tally all[POLICIES], kinds[POLICIES][KIND_COUNT];
};

/*
 * Fleets count as many agents as they have: fewer of them, so that no kind outweighs the others.
 * How many of the loops write something new each time is not known; one in five.
 */
static size_t cases_of(const struct quality *q, enum kind kind)
{
	bool fleet = kind == KIND_OUTAGE || kind == KIND_HUNG_FLEET;

	if (kind == KIND_LOOP_VARIED)
		return MAX(q->traces / 4, (size_t)1);
	return fleet ? MAX(q->traces / 12, (size_t)1) : q->traces;
}

/*
 * The shortest timer, in whole minutes, that kills nothing of this that is healthy; nor in outages.
 */
static ov_time best_timer(const struct quality *q, struct test_case *c, bool outages)
{
	ov_time longest = 0;

	for (int kind = 0; kind < KIND_COUNT; kind++)
		for (size_t i = 0; i < cases_of(q, kind); i++) {
			case_make(c, kind, q->seed, i);
			for (size_t k = 0; k < c->n; k++) {
				struct trace t = c->agents[k];

				if (t.keep && outages)
					t.sick_at = OV_TIME_MAX;
				longest = MAX(longest, trace_silence(&t));
			}
		}
	return (longest / OV_MINUTE + 1) * OV_MINUTE;
}

static void play_case(struct quality *q, const struct test_case *c)
{
	struct outcome out[FLEET_MAX];

	for (int p = 0; p < POLICIES; p++) {
		if (p == OURS)
			world_play(&q->config->policy, c, HORIZON, out);
		else
			timer_play(q->silence[p], c, HORIZON, out);
		for (size_t i = 0; i < c->n; i++) {
			tally_add(&q->all[p], &c->agents[i], &out[i], HORIZON);
			tally_add(&q->kinds[p][c->agents[i].kind], &c->agents[i], &out[i], HORIZON);
		}
	}
}

static void play_all(struct quality *q)
{
	struct test_case *c = mem_zalloc(1, sizeof(*c));
	struct past *pasts = mem_zalloc(PAST_COUNT, sizeof(*pasts));

	for (int i = 0; i < TIMERS; i++)
		q->silence[i + 1] = timers[i];
	q->silence[BRAVE] = best_timer(q, c, false);
	q->silence[BEST] = best_timer(q, c, true);
	for (int kind = 0; kind < KIND_COUNT; kind++)
		for (size_t i = 0; i < cases_of(q, kind); i++) {
			case_make(c, kind, q->seed, i);
			c->history = q->history;
			c->pasts = pasts;
			play_case(q, c);
		}
	for (size_t i = 0; i < PAST_COUNT; i++)
		past_done(&pasts[i]);
	mem_free(pasts);
	mem_free(c);
}

static const char *policy_name(struct quality *q, int p)
{
	static const char *const kinds[POLICIES] = {
		[BRAVE] = "best timer, outages apart",
		[BEST] = "best timer",
	};

	if (p == OURS)
		return "overseer";
	return arena_cstr(&q->arena,
			arena_printf(&q->arena, "%s " STR_FMT, kinds[p] ? kinds[p] : "timer",
					STR_ARG(duration_format_short(&q->arena, q->silence[p]))));
}

static const char *delay_text(struct quality *q, struct tally *y, int pct)
{
	ov_time delay;

	if (y->sick == 0)
		return "-";
	delay = tally_delay(y, pct);
	return delay == HORIZON ? "never"
				: arena_cstr(&q->arena, duration_format_short(&q->arena, delay));
}

static void print_row(struct quality *q, const char *name, struct tally *y)
{
	(void)printf("| %-31s | %6zu | %7s | %7s | %7s | %6zu | %6zu | %6zu | %6zu |\n", name,
			y->agents, delay_text(q, y, 50), delay_text(q, y, 90),
			delay_text(q, y, 100), y->false_alarms, y->false_stops, y->missed,
			y->duplicates);
}

static void print_head(const char *first)
{
	(void)printf("| %-31s | %6s | %7s | %7s | %7s | %6s | %6s | %6s | %6s |\n", first, "traces",
			"median", "p90", "longest", "false", "false", "missed", "dupli-");
	(void)printf("| %-31s | %6s | %7s | %7s | %7s | %6s | %6s | %6s | %6s |\n", "", "",
			"detect", "detect", "detect", "alarms", "kills", "", "cates");
}

static void print_tables(struct quality *q)
{
	(void)printf("seed %" PRIu64 ", %zu traces of each kind, after %zu runs of each agent\n\n",
			q->seed, q->traces, q->history);
	print_head("policy");
	for (int p = 0; p < POLICIES; p++)
		print_row(q, policy_name(q, p), &q->all[p]);
	(void)printf("\n");
	print_head("overseer, by kind");
	for (int kind = 0; kind < KIND_COUNT; kind++)
		print_row(q, kind_names[kind], &q->kinds[OURS][kind]);
}

static void print_json_row(struct quality *q, int p, const char *kind, struct tally *y)
{
	(void)printf("{\"policy\":\"%s\",\"kind\":\"%s\",\"traces\":%zu,\"sick\":%zu",
			policy_name(q, p), kind, y->agents, y->sick);
	if (y->sick)
		(void)printf(",\"detect_median_ms\":%" PRId64 ",\"detect_p90_ms\":%" PRId64
			     ",\"detect_max_ms\":%" PRId64,
				tally_delay(y, 50), tally_delay(y, 90), tally_delay(y, 100));
	(void)printf(",\"false_alarms\":%zu,\"false_kills\":%zu,\"missed\":%zu,\"duplicates\":%zu"
		     ",\"nudged\":%zu,\"killed\":%zu,\"asked\":%zu}\n",
			y->false_alarms, y->false_stops, y->missed, y->duplicates, y->nudged,
			y->stopped, y->asked);
}

static void print_json(struct quality *q)
{
	for (int p = 0; p < POLICIES; p++) {
		print_json_row(q, p, "all", &q->all[p]);
		for (int kind = 0; kind < KIND_COUNT; kind++)
			print_json_row(q, p, kind_names[kind], &q->kinds[p][kind]);
	}
}

static int complain(bool wrong, const char *what, const char *about)
{
	if (wrong)
		(void)fprintf(stderr, "sim-quality: %s: %s\n", about, what);
	return wrong;
}

/* Sooner than a timer, about everything and about each kind; one that never finds it is later. */
static int check_sooner(struct quality *q, int p)
{
	static const int pcts[] = { 50, 90, 100 };
	int bad = 0;

	for (int kind = 0; kind <= KIND_COUNT; kind++) {
		bool all = kind == KIND_COUNT;
		struct tally *ours = all ? &q->all[OURS] : &q->kinds[OURS][kind];
		struct tally *theirs = all ? &q->all[p] : &q->kinds[p][kind];

		for (size_t i = 0; ours->sick && i < ARRAY_LEN(pcts); i++)
			bad += complain(tally_delay(ours, pcts[i]) >= tally_delay(theirs, pcts[i]),
					arena_cstr(&q->arena,
							arena_printf(&q->arena,
									"%s is as soon (p%d)",
									policy_name(q, p),
									pcts[i])),
					all ? "all" : kind_names[kind]);
	}
	return bad;
}

static int check(struct quality *q)
{
	struct tally *ours = &q->all[OURS];
	size_t one_in = q->history ? LEARNED_ALARMS_ONE_IN : ALARMS_ONE_IN;
	int bad = 0;

	for (int kind = 0; kind < KIND_COUNT; kind++) {
		struct tally *y = &q->kinds[OURS][kind];

		bad += complain(y->false_stops > 0, "a healthy agent was killed", kind_names[kind]);
		bad += complain(y->missed > 0, "a sick agent was missed", kind_names[kind]);
	}
	bad += complain(ours->false_alarms * one_in > ours->healthy, "too many false alarms",
			"all");
	bad += complain(q->history &&
					(tally_delay(ours, 50) > LEARNED_HALF ||
							tally_delay(ours, 90) > LEARNED_MOST),
			"what was learned does not make it sooner", "all");
	bad += complain(ours->duplicates * LEARNED_TWICE_ONE_IN > (q->history ? ours->sick : 0),
			"told or restarted twice", "all");
	bad += complain(q->all[1].false_stops == 0, "a timer of 30 s kills nobody", "toys");
	bad += complain(q->all[BEST].false_stops > 0, "the best timer kills", "best timer");
	for (int p = 1; p < POLICIES; p++)
		if (q->all[p].false_stops == 0 || p == BRAVE)
			bad += check_sooner(q, p);
	return bad;
}

/* The defaults of the real configuration, except for what --set says. */
static void read_config(struct quality *q)
{
	struct ov_err err = { 0 };
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < q->set_n; i++)
		buf_addf(&text, "%s\n", q->set[i]);
	/* Nobody outside is there to be told. */
	buf_addf(&text,
			"escalation.desktop = false\ndefaults.agent = \"a\"\n[agents.a]\ncommand = "
			"\"true\"\n");
	if (config_parse(buf_str(&text), &q->config, &err) < 0)
		fail_msg("%s", err.msg);
	buf_done(&text);
}

static bool read_options(struct quality *q, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0)
			q->json = true;
		else if (strcmp(argv[i], "--check") == 0)
			q->check = true;
		else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
			q->seed = strtoull(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--traces") == 0 && i + 1 < argc)
			q->traces = strtoull(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--history") == 0 && i + 1 < argc)
			q->history = strtoull(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--set") == 0 && i + 1 < argc && q->set_n < SET_MAX)
			q->set[q->set_n++] = argv[++i];
		else
			return false;
	}
	return q->traces > 0;
}

int main(int argc, char **argv)
{
	static struct quality q = { .seed = 1, .traces = 300 };
	int bad = 0;

	if (!read_options(&q, argc, argv)) {
		(void)fprintf(stderr,
				"usage: sim-quality [--seed N] [--traces N] [--history N] [--set "
				"'KEY = "
				"VALUE']... "
				"[--json] [--check]\n");
		return 2;
	}
	read_config(&q);
	play_all(&q);
	if (q.json)
		print_json(&q);
	else
		print_tables(&q);
	if (q.check)
		bad = check(&q);
	for (int p = 0; p < POLICIES; p++) {
		tally_done(&q.all[p]);
		for (int kind = 0; kind < KIND_COUNT; kind++)
			tally_done(&q.kinds[p][kind]);
	}
	config_free(q.config);
	arena_done(&q.arena);
	return bad ? 1 : 0;
}
