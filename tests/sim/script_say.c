/* What agents say: progress, claims, questions, and all that is not what it looks like. */
#include <stdio.h>

#include "base/str.h"
#include "tests/sim/machine_impl.h"

static const str fence = STR("```json\n");

void act_beat(struct sim_run *r, int64_t arg)
{
	static const char *const verbs[] = { "reading", "building", "testing", "thinking about",
		"searching" };

	run_sayf(r, "%s part %lld of " STR_FMT "\n", verbs[run_below(r, ARRAY_LEN(verbs))],
			(long long)arg, STR_ARG(r->spec.node_id));
}

/* The same again and again, and never an end. */
void act_babble(struct sim_run *r, int64_t arg)
{
	act_beat(r, arg);
	r->at--;
}

/* An update as one block; `more` are further members, each with its comma before it. */
static void say_update(struct sim_run *r, const char *status, const char *summary, str more)
{
	struct buf *b = &r->node->block;

	buf_clear(b);
	buf_adds(b, fence);
	buf_addf(b,
			"{\"overseerUpdate\": {\"status\": \"%s\", \"summary\": \"%s: " STR_FMT
			", %u files, %u commits, run " STR_FMT "\"" STR_FMT "}}\n```\n",
			status, summary, STR_ARG(r->spec.node_id), r->files, r->commits,
			STR_ARG(r->spec.run_id), STR_ARG(more));
	run_say(r, buf_str(b));
	r->reported_to = r->output.n;
}

/* arg 0: with evidence, 1: without, 2: in an old habit of words around it. */
void act_claim(struct sim_run *r, int64_t arg)
{
	if (arg == 2)
		run_say(r, STR("Everything is finished now. Here is my report:\n\n"));
	say_update(r, "done", "finished",
			arg == 1 ? STR("")
				 : STR(", \"evidence\": {\"filesTouched\": [\"a\"], \"testsRun\": "
				       "[\"make check\"], \"commits\": []}"));
	if (arg == 2)
		run_say(r, STR("\nLet me know if anything is missing.\n"));
}

void act_progress(struct sim_run *r, int64_t arg)
{
	(void)arg;
	say_update(r, "in_progress", "under way", STR(", \"next\": \"go on\""));
}

void act_percent(struct sim_run *r, int64_t arg)
{
	char more[40];

	snprintf(more, sizeof(more), ", \"percentComplete\": %lld", (long long)arg);
	say_update(r, "in_progress", "under way", str_from(more));
}

void act_ask(struct sim_run *r, int64_t arg)
{
	r->node->asked = true;
	say_update(r, "blocked", "cannot go on",
			arg ? STR(", \"blockers\": [\"Which of the two formats is wanted?\", "
				  "\"Who owns the old one?\"]")
			    : STR(""));
}

/* The very same block once more, or so often at once. */
void act_again(struct sim_run *r, int64_t arg)
{
	struct buf all = BUF_INIT;

	for (int64_t i = 0; i < MAX(arg, (int64_t)1); i++)
		buf_adds(&all, buf_str(&r->node->block));
	run_say(r, buf_str(&all));
	buf_done(&all);
	r->reported_to = r->output.n;
}

/* The last update of a former run of this node: out of date, word for word. */
void act_former(struct sim_run *r, int64_t arg)
{
	(void)arg;
	if (r->node->block.n)
		run_say(r, buf_str(&r->node->block));
	else
		act_progress(r, 0);
}

/*
 * For another assignment: an id of another node or goal, or the number of a request to another run.
 */
void act_foreign(struct sim_run *r, int64_t arg)
{
	const struct machine *m = r->m;
	const struct sim_run *other = m->all.p[run_below(r, m->all.n)];

	(void)arg;
	switch (run_below(r, 3)) {
	case 0:
		run_sayf(r,
				STR_FMT
				"{\"overseerUpdate\": {\"workNodeId\": \"" STR_FMT
				"\", \"status\": \"done\", \"summary\": \"not mine\"}}\n```\n",
				STR_ARG(fence),
				STR_ARG(other->node == r->node ? STR("T9.9")
							       : other->spec.node_id));
		break;
	case 1:
		run_sayf(r,
				STR_FMT "{\"overseerUpdate\": {\"goalId\": \"" STR_FMT
					"\", \"status\": \"blocked\", \"blockers\": [\"not "
					"mine\"]}}\n```\n",
				STR_ARG(fence),
				STR_ARG(str_eq(other->spec.goal_id, r->spec.goal_id)
								? STR("G_ELSEWHERE")
								: other->spec.goal_id));
		break;
	default:
		run_sayf(r, "Request %s: received.\n",
				m->nonces_n ? m->nonces[run_below(r,
							      MIN(m->nonces_n, (size_t)NONCES))]
					    : "0000000000");
	}
}

void act_wait(struct sim_run *r, int64_t arg)
{
	(void)arg;
	r->waits = "permission to run: make install";
	r->waits_since = r->m->s->t;
	r->waits_n++;
	run_say(r, STR("Waiting for permission to run: make install\n"));
}

/* Somebody came by and answered in its terminal. */
void act_granted(struct sim_run *r, int64_t arg)
{
	(void)arg;
	r->waits = "";
	r->waits_since = r->m->s->t;
	run_say(r, STR("Running: make install\n"));
}

/* ---- garbage ---- */

static void garbage_secret(struct sim_run *r)
{
	char key[37];

	for (size_t i = 0; i + 1 < sizeof(key); i++)
		key[i] = (char)('a' + (char)run_below(r, 26));
	key[sizeof(key) - 1] = '\0';
	run_sayf(r,
			STR_FMT "{\"overseerUpdate\": {\"status\": \"in_progress\", \"summary\": "
				"\"used token ghp_%s\"}}\n```\n",
			STR_ARG(fence), key);
}

/* A block that is longer than anybody listens. */
static void garbage_long(struct sim_run *r)
{
	run_say(r, fence);
	run_say(r, STR("{\"overseerUpdate\": {\"status\": \"done\", \"summary\": \""));
	for (int i = 0; i < 1100; i++)
		run_say(r, STR("0123456789012345678901234567890123456789012345678901234567890123"));
	run_say(r, STR("\"}}\n```\n"));
}

/* What it was told, our own sample of an update included. */
static void garbage_echo(struct sim_run *r)
{
	run_say(r, STR("I was told:\n"));
	run_say(r, buf_str(&r->text));
	run_say(r, STR("\n"));
}

static void garbage_open(struct sim_run *r)
{
	run_say(r, fence);
	run_say(r,
			STR("{\"overseerUpdate\": {\"status\": \"done\", \"summary\": \"never "
			    "closed\"\n"));
	/* Another fence of the kind closes it: what it holds is no JSON. */
	run_say(r, STR("```\n"));
}

static void garbage_words(struct sim_run *r)
{
	static const str lines[] = {
		STR("```json\n{\"overseerUpdate\": {\"status\": \"finished\"}}\n```\n"),
		STR("```json\n{\"overseerUpdate\": 7}\n```\n"),
		STR("```json\n{\"overseerUpdate\": {\"state\": \"done\", \"sumary\": "
		    "\"x\"}}\n```\n"),
		STR("```json\n{\"overseerUpdate\": {\"status\": \"done\", \"summary\": "
		    "\"\xff\xfe\xc3\"}}\n```\n"),
		STR("```json\n{\"overseerUpdate\": {\"blockers\": \"none\"}}\n```\n"),
		STR("~~~json\n{\"overseerUpdate\": {}}\n~~~\n"),
		STR("{\"overseerUpdate\": {\"status\": \"done\"}}\n"),
		STR("\x1b[2J\x1b[31mred\x1b[0m \x80\x81\xff\r\rspinner\b\b\b\n"),
		STR("a line with a NUL\0in it\n"),
	};

	run_say(r, lines[run_below(r, ARRAY_LEN(lines))]);
}

void act_garbage(struct sim_run *r, int64_t arg)
{
	static void (*const kinds[])(struct sim_run * r) = { garbage_words, garbage_words,
		garbage_words, garbage_echo, garbage_open, garbage_secret, garbage_long };

	(void)arg;
	kinds[run_below(r, ARRAY_LEN(kinds))](r);
}
