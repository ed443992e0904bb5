/*
 * `sim`: runs seeds, says what did not hold and how to see it again, and sums up. See --help and
 * docs/simulation.md.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/duration.h"
#include "base/str.h"
#include "base/vec.h"
#include "tests/sim/check.h"
#include "tests/sim/dump.h"
#include "tests/sim/machine.h"
#include "tests/sim/shrink.h"
#include "tests/sim/sum.h"

enum { EXPLORE_FROM = 1000000, SHRINK_TRIES = 200 };

struct arguments {
	struct sim_options sim;
	uint64_t first, last;
	double minutes;
	const char *seeds_file;
	FILE *reports;
	bool verbose, hash, no_shrink, list, keep_going;
	VEC(uint64_t) skip;
};

static const char help[] =
		"usage: sim [--seed N | --seeds A..B | --minutes M | --file FILE] [options]\n"
		"  --seed N         one seed, with its trace\n"
		"  --seeds A..B     these, without\n"
		"  --minutes M      new seeds for so long; or of --seeds what so many minutes of "
		"CPU\n"
		"                   allow (30s: seconds)\n"
		"  --file FILE      the seeds that a file lists, one per line\n"
		"  --fleet          a fleet of 20 at steady work, for measuring\n"
		"  --night          two nights of auto mode with four agents, and nobody at the "
		"inbox\n"
		"  --without A,B    leave these kinds of faults out; --faults lists them\n"
		"  --skip N,M       leave these faults out, by the number that the trace gives\n"
		"  --goals N        at most so many goals; --nodes N: nodes\n"
		"  --sabotage NAME  break this invariant on purpose\n"
		"  --hash           print the hash of each trace\n"
		"  --reports FILE   write each log, its reports and rescue refs as lines of JSON\n"
		"  --quiet          no trace; --verbose: with; --no-shrink: a failing seed as it "
		"is; --all: go on\n"
		"  --invariants     list them\n"
		"  --faults         list them; --scripts: what agents follow\n";

static void print_line(void *user, ov_time t, str line)
{
	(void)user;
	printf("%4lldh%02lldm%02lld.%03lld  " STR_FMT "\n", (long long)(t / OV_HOUR),
			(long long)(t / OV_MINUTE % 60), (long long)(t / OV_SECOND % 60),
			(long long)(t % OV_SECOND), STR_ARG(line));
}

static double cpu_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static uint32_t parse_faults(const char *text)
{
	str rest = str_from(text), name;
	uint32_t bits = 0;

	while (str_split(&rest, ',', &name)) {
		int f = 0;

		while (f < FAULT_COUNT && !str_is(name, sim_faults[f].name))
			f++;
		if (f == FAULT_COUNT) {
			fprintf(stderr, "sim: there is no fault \"" STR_FMT "\"; see --faults\n",
					STR_ARG(name));
			exit(2);
		}
		bits |= 1u << f;
	}
	return bits;
}

static void print_hash(struct sim *s)
{
	uint8_t hash[SHA256_LEN];
	char hex[2 * SHA256_LEN + 1];

	sim_trace_hash(s, hash);
	hex_format(hash, sizeof(hash), hex);
	printf("seed %llu %s\n", (unsigned long long)s->o.seed, hex);
}

/* The command that shows it again. */
static void print_replay(const struct sim_options *o)
{
	printf("  replay: make sim SEED=%llu", (unsigned long long)o->seed);
	shrink_print_options(o);
	printf("\n");
}

static void report_failure(const struct sim *s)
{
	printf("seed %llu: %s: " STR_FMT "\n", (unsigned long long)s->o.seed, s->violated,
			STR_ARG(buf_str(&s->violation)));
	printf("  after %lldh%02lldm, %llu steps, %llu faults\n",
			(long long)(s->violated_at / OV_HOUR),
			(long long)(s->violated_at / OV_MINUTE % 60),
			(unsigned long long)s->stats.steps,
			(unsigned long long)s->stats.fault_ordinals);
	print_replay(&s->o);
	fflush(stdout);
}

static void report_shrunk(const struct sim_options *o, const char *violated)
{
	struct shrunk small = shrink(o, violated, SHRINK_TRIES);

	if (small.smaller) {
		printf("  shrunk to %llu faults\n", (unsigned long long)small.faults);
		print_replay(&small.o);
	}
	shrunk_done(&small);
	fflush(stdout);
}

/* True when everything held. */
static bool run_seed(const struct arguments *a, uint64_t seed, struct sum *sum)
{
	struct sim_options o = a->sim;
	const char *violated;
	struct sim *s;

	o.seed = seed;
	if (a->verbose)
		o.trace = print_line;
	s = sim_new(&o);
	sim_run(s);
	sum_add(sum, s);
	violated = s->violated;
	if (a->hash)
		print_hash(s);
	if (violated)
		report_failure(s);
	else if (a->reports)
		dump_reports(s, a->reports);
	sim_free(s);
	/* There is one world at a time. */
	if (violated && !a->no_shrink && !o.sabotage)
		report_shrunk(&o, violated);
	return !violated;
}

static bool run_file(const struct arguments *a, struct sum *sum)
{
	FILE *f = fopen(a->seeds_file, "r");
	char line[1024];
	bool held = true;

	if (!f) {
		perror(a->seeds_file);
		exit(2);
	}
	while (fgets(line, sizeof(line), f))
		if (line[0] >= '0' && line[0] <= '9')
			held &= run_seed(a, strtoull(line, NULL, 10), sum);
	fclose(f);
	return held;
}

static bool run_seeds(const struct arguments *a, struct sum *sum)
{
	double until = a->minutes ? cpu_seconds() + 60 * a->minutes : 0;
	bool held = true;

	for (uint64_t seed = a->first; seed <= a->last; seed++) {
		if (until && cpu_seconds() >= until)
			break;
		held &= run_seed(a, seed, sum);
		if (!held && !a->keep_going)
			break;
	}
	return held;
}

static void list_invariants(void)
{
	for (size_t i = 0; i < invariants_n; i++)
		printf("%-24s %s\n", invariants[i]->name, invariants[i]->sentence);
}

static void list_faults(void)
{
	for (int f = 0; f < FAULT_COUNT; f++)
		printf("%-16s %s\n", sim_faults[f].name, sim_faults[f].help);
}

static void list_scripts(void)
{
	const char *name, *help_text;

	for (size_t i = 0; machine_script(i, &name, &help_text); i++)
		printf("%-22s %s\n", name, help_text);
}

enum option_code {
	OPT_SEED = 256,
	OPT_SEEDS,
	OPT_MINUTES,
	OPT_FILE,
	OPT_FLEET,
	OPT_NIGHT,
	OPT_WITHOUT,
	OPT_SKIP,
	OPT_GOALS,
	OPT_NODES,
	OPT_SABOTAGE,
	OPT_HASH,
	OPT_REPORTS,
	OPT_QUIET,
	OPT_VERBOSE,
	OPT_NO_SHRINK,
	OPT_ALL,
	OPT_INVARIANTS,
	OPT_FAULTS,
	OPT_SCRIPTS,
	OPT_HELP,
};

static const struct option options[] = {
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "seeds", required_argument, NULL, OPT_SEEDS },
	{ "minutes", required_argument, NULL, OPT_MINUTES },
	{ "file", required_argument, NULL, OPT_FILE },
	{ "fleet", no_argument, NULL, OPT_FLEET },
	{ "night", no_argument, NULL, OPT_NIGHT },
	{ "without", required_argument, NULL, OPT_WITHOUT },
	{ "skip", required_argument, NULL, OPT_SKIP },
	{ "goals", required_argument, NULL, OPT_GOALS },
	{ "nodes", required_argument, NULL, OPT_NODES },
	{ "sabotage", required_argument, NULL, OPT_SABOTAGE },
	{ "hash", no_argument, NULL, OPT_HASH },
	{ "reports", required_argument, NULL, OPT_REPORTS },
	{ "quiet", no_argument, NULL, OPT_QUIET },
	{ "verbose", no_argument, NULL, OPT_VERBOSE },
	{ "no-shrink", no_argument, NULL, OPT_NO_SHRINK },
	{ "all", no_argument, NULL, OPT_ALL },
	{ "invariants", no_argument, NULL, OPT_INVARIANTS },
	{ "faults", no_argument, NULL, OPT_FAULTS },
	{ "scripts", no_argument, NULL, OPT_SCRIPTS },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static void parse_skip(struct arguments *a, const char *text)
{
	str rest = str_from(text), part;

	while (str_split(&rest, ',', &part))
		vec_push(&a->skip, strtoull(part.p, NULL, 10));
	a->sim.skip = a->skip.p;
	a->sim.skip_n = a->skip.n;
}

static void parse_range(struct arguments *a, const char *text)
{
	char *end;

	a->first = strtoull(text, &end, 10);
	if (strncmp(end, "..", 2) != 0) {
		fprintf(stderr, "sim: --seeds wants A..B\n");
		exit(2);
	}
	a->last = strtoull(end + 2, NULL, 10);
}

static void parse_minutes(struct arguments *a, const char *text)
{
	char *end;

	a->minutes = strtod(text, &end);
	if (*end == 's')
		a->minutes /= 60;
}

/* Where nobody has been yet. */
static void explore(struct arguments *a)
{
	a->first = EXPLORE_FROM + (uint64_t)time(NULL) % 1000000000 * 1000;
	a->last = UINT64_MAX - 1;
}

static FILE *open_reports(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f) {
		perror(path);
		exit(2);
	}
	return f;
}

static void take_option(struct arguments *a, int code)
{
	switch (code) {
	case OPT_SEED:
		a->first = a->last = strtoull(optarg, NULL, 10);
		a->verbose = true;
		break;
	case OPT_SEEDS: parse_range(a, optarg); break;
	case OPT_MINUTES: parse_minutes(a, optarg); break;
	case OPT_FILE: a->seeds_file = optarg; break;
	case OPT_FLEET: a->sim.fleet = true; break;
	case OPT_NIGHT: a->sim.night = true; break;
	case OPT_WITHOUT: a->sim.without = parse_faults(optarg); break;
	case OPT_SKIP: parse_skip(a, optarg); break;
	case OPT_GOALS: a->sim.goals_max = strtoll(optarg, NULL, 10); break;
	case OPT_NODES: a->sim.nodes_max = strtoll(optarg, NULL, 10); break;
	case OPT_SABOTAGE: a->sim.sabotage = optarg; break;
	case OPT_HASH: a->hash = true; break;
	case OPT_REPORTS: a->reports = open_reports(optarg); break;
	case OPT_QUIET: a->verbose = false; break;
	case OPT_VERBOSE: a->verbose = true; break;
	case OPT_NO_SHRINK: a->no_shrink = true; break;
	case OPT_ALL: a->keep_going = true; break;
	case OPT_INVARIANTS: list_invariants(); exit(0);
	case OPT_FAULTS: list_faults(); exit(0);
	case OPT_SCRIPTS: list_scripts(); exit(0);
	case OPT_HELP: fputs(help, stdout); exit(0);
	default: fputs(help, stderr); exit(2);
	}
}

int main(int argc, char **argv)
{
	struct arguments a = { .first = 0, .last = 0 };
	struct sum sum = { 0 };
	bool held;
	int code;

	while ((code = getopt_long(argc, argv, "", options, NULL)) >= 0)
		take_option(&a, code);
	if (optind < argc) {
		fputs(help, stderr);
		return 2;
	}
	if (a.minutes && !a.last)
		explore(&a);
	if (a.seeds_file)
		held = run_file(&a, &sum);
	else
		held = run_seeds(&a, &sum);
	sum_print(&sum, cpu_seconds());
	vec_done(&a.skip);
	if (a.reports && fclose(a.reports) != 0) {
		perror("sim: --reports");
		return 2;
	}
	return held ? 0 : 1;
}
