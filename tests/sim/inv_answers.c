/* What a daemon tells is true, and what it decides follows from what it was told. */
#include "tests/sim/check_impl.h"
#include "tests/sim/daemon.h"
#include "tests/sim/person.h"
#include "tests/sim/tape.h"

/* ---- replay: judged by the tape, at the end of a life ---- */

static bool replay_sabotage(struct checker *c)
{
	const struct sim_daemon *d = daemon_up(c->s);

	return d && d->tape && tape_sabotage(d->tape, TAPE_SPOIL_ANSWER);
}

const struct invariant inv_replay = {
	.name = "replay",
	.sentence = "the recorded inputs of a life, given once more, give the same decisions and "
		    "events",
	.sabotage = replay_sabotage,
};

/* ---- judged where people are answered ---- */

static bool internal_sabotage(struct checker *c)
{
	people_sabotage(c->s->people, PEOPLE_TOLD_INTERNAL);
	return true;
}

const struct invariant inv_no_internal_error = {
	.name = "no_internal_error",
	.sentence = "no operation ends with an error that is our own fault",
	.sabotage = internal_sabotage,
};

static bool unsaved_sabotage(struct checker *c)
{
	people_sabotage(c->s->people, PEOPLE_TOLD_UNSAVED);
	return true;
}

const struct invariant inv_reads_show_saved = {
	.name = "reads_show_saved",
	.sentence = "an answer shows nothing that is not durable",
	.sabotage = unsaved_sabotage,
};
