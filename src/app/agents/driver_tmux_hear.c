#include "app/agents/driver_tmux_impl.h"

#include "agent/read/hook.h"
#include "app/agents/driver_hook.h"
#include "app/agents/tmux_input.h"
#include "app/session/threads.h"
#include "app/session/transcript.h"
#include "base/str.h"
#include "sys/loop/loop.h"

static void tmux_hear_tell(struct driver_run *d, const struct fact *f)
{
	d->ev.fact(d->user, f, f->at ? f->at : loop_now(d->loop));
}

static void tell_asks(struct driver_run *d)
{
	struct fact f = { .kind = FACT_PERMISSION_WANTED,
		.name = str_from(d->asks),
		.cost_microusd = COST_UNKNOWN };

	tmux_hear_tell(d, &f);
}

static void set_asks(struct driver_run *d, str what)
{
	size_t n = MIN(what.n, sizeof(d->asks) - 1);

	memcpy(d->asks, what.n ? what.p : "", n);
	d->asks[n] = '\0';
	tmux_input_asks(d->tmux_input, n > 0);
}

/* Of the session itself, what it says about its turns. */
static void note_fact(struct driver_run *d, const struct fact *f)
{
	switch (f->kind) {
	case FACT_READY:
		set_asks(d, STR(""));
		if (!d->as.format->starts_late)
			tmux_input_ready(d->tmux_input);
		break;
	case FACT_TURN_STARTED:
		d->in_turn = true;
		d->turn_at = f->at;
		set_asks(d, STR(""));
		tmux_input_taken(d->tmux_input);
		break;
	case FACT_TURN_ENDED:
		d->in_turn = false;
		set_asks(d, STR(""));
		if (tmux_input_is_done(d->tmux_input))
			loop_timer_in(d->timer, END_MS);
		break;
	case FACT_PERMISSION_WANTED: set_asks(d, f->name); break;
	case FACT_PERMISSION_DENIED:
	case FACT_TOOL_ENDED: set_asks(d, STR("")); break;
	default: break;
	}
}

void tmux_hear_hook(void *user, const struct fact *f, str taken, str line)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct driver_run *d = user;
	struct fact goes_on;

	transcript_named(d->transcript, hook_transcript(&a, line));
	if (f && taken.n && f->kind == FACT_TURN_ENDED) {
		/* It got something to go on with: that was not the end. */
		goes_on = *f;
		goes_on.kind = FACT_PROGRESS;
		f = &goes_on;
	}
	if (f && !f->child)
		note_fact(d, f);
	if (f)
		tmux_hear_tell(d, f);
	if (taken.n)
		d->ev.taken(d->user, taken);
}

/*
 * A hook is called, and its line written, before the agent writes down what came of it: read in
 * that order, a call has begun before it ends. Its words may come later than what its hooks said
 * meanwhile: a person who is waited for still is.
 */
void tmux_hear_transcript(void *user, const struct fact *f)
{
	struct driver_run *d = user;

	driver_hooks_drain(d->hooks);
	if (f->kind == FACT_TURN_ENDED && !f->child && (!f->at || f->at >= d->turn_at))
		note_fact(d, f);
	d->ev.fact(d->user, f, loop_now(d->loop));
	threads_fact(d->threads, f);
	if (d->asks[0] && f->kind == FACT_MESSAGE)
		tell_asks(d);
}

static void look_for_input(struct driver_run *d, str bytes)
{
	char seam[2 * sizeof(d->tail)];
	size_t n = MIN(bytes.n, sizeof(d->tail)), keep;

	memcpy(seam, d->tail, d->tail_n);
	memcpy(seam + d->tail_n, bytes.p, n);
	if (str_contains(bytes, STR(PASTE_ON)) ||
			str_contains((str){ seam, d->tail_n + n }, STR(PASTE_ON)))
		tmux_input_ready(d->tmux_input);
	keep = MIN(bytes.n, sizeof(d->tail));
	memcpy(d->tail, bytes.p + bytes.n - keep, keep);
	d->tail_n = keep;
}

void tmux_hear_output(void *user, str bytes, uint64_t at)
{
	struct driver_run *d = user;

	if (d->as.format->starts_late && !tmux_input_is_done(d->tmux_input))
		look_for_input(d, bytes);
	tmux_input_drawn(d->tmux_input);
	d->ev.output(d->user, bytes, at);
}

void tmux_hear_late(struct driver_run *d, bool trust)
{
	set_asks(d, trust ? STR("its start: whether its folder is trusted") : STR("its start"));
	tell_asks(d);
	/* Whatever it waits for, it may get ready yet. */
	tmux_input_asks(d->tmux_input, false);
}
