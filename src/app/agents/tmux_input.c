#include "app/agents/tmux_input.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "drive/tmux/tmux.h"
#include "drive/tmux/tmux_wire.h"
#include "sys/file/file.h"
#include "sys/host/inject.h"
#include "sys/loop/loop.h"

#define TYPED "typed"         /* in the run's folder: how often was pasted */
#define CHOSEN "\xe2\x9d\xaf" /* stands before the answer that Enter would give */

enum {
	SETTLE_MS = 300,  /* an agent that says it is ready has yet to draw itself */
	SUBMIT_MS = 400,  /* a key right after a paste is taken for a part of it */
	AGAIN_MS = 1000,  /* until the key is pressed again, and twice as long each time */
	PRESSES = 4,      /* of that key, per paste */
	SHOWN_BYTES = 24, /* of the text that are looked for on the screen */
	ANSWER_KEYS = 12, /* pressed at most until the question about the folder is answered */
	ANSWER_WAITS = 4, /* looks at a screen on which the newest key has changed nothing */
};

/* What the timer is for. */
enum step { STEP_LATE, STEP_PASTE, STEP_SUBMIT, STEP_CONFIRM, STEP_DONE };

struct tmux_input {
	struct tmux_input_options o;
	struct arena strings;
	struct loop_source *timer;
	enum step step;
	int64_t typed; /* pastes, those of daemons before us included */
	int presses;
	uint64_t pasted_us;             /* when the newest one was */
	bool asks, held;                /* the agent waits for a person; a step was due meanwhile */
	bool busy;                      /* tmux is asked */
	struct loop_source *look_timer; /* for the question about the folder */
	bool looks, again; /* it is to be looked at, or a key is on its way; it changed meanwhile */
	int answer_keys, answer_enters;
	uint64_t answer_seen; /* the screen before the newest of those keys, as a hash */
	int answer_waits;     /* looks at which it was still the same */
};

static void on_timer(void *user);
static void on_look(void *user);

static int64_t read_typed(const char *dir)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	int64_t n = 0;
	str text;

	if (file_read(&a, path_join(&a, dir, TYPED), 32, &text, NULL) < 0 ||
			!str_to_i64(str_trim(text), &n))
		return 0;
	return MAX(n, 0);
}

static void next(struct tmux_input *t, enum step step, int64_t ms)
{
	t->step = step;
	loop_timer_in(t->timer, ms);
}

struct tmux_input *tmux_input_new(const struct tmux_input_options *o)
{
	struct tmux_input *t = mem_zalloc(1, sizeof(*t));

	t->o = *o;
	t->o.session = arena_str(&t->strings, o->session);
	t->o.text = arena_str(&t->strings, str_trim(o->text));
	t->o.dir = arena_cstr(&t->strings, str_from(o->dir));
	t->timer = loop_timer(o->loop, on_timer, t);
	t->look_timer = loop_timer(o->loop, on_look, t);
	t->typed = read_typed(t->o.dir);
	t->pasted_us = loop_mono_us(o->loop);
	/* What a daemon before us pasted may be confirmed yet. */
	next(t, t->typed ? STEP_CONFIRM : STEP_LATE, o->confirm_ms);
	return t;
}

void tmux_input_free(struct tmux_input *t)
{
	if (!t)
		return;
	tmux_forget(t->o.tmux, t);
	loop_source_free(t->timer);
	loop_source_free(t->look_timer);
	arena_done(&t->strings);
	mem_free(t);
}

void tmux_input_ready(struct tmux_input *t)
{
	if (t && t->step == STEP_LATE)
		next(t, STEP_PASTE, SETTLE_MS);
}

void tmux_input_taken(struct tmux_input *t)
{
	if (!t)
		return;
	t->step = STEP_DONE;
	loop_timer_off(t->timer);
}

void tmux_input_asks(struct tmux_input *t, bool asks)
{
	if (!t)
		return;
	t->asks = asks;
	if (!asks && t->held && t->step != STEP_DONE) {
		t->held = false;
		loop_timer_in(t->timer, SETTLE_MS);
	}
}

bool tmux_input_is_done(const struct tmux_input *t)
{
	return !t || t->step == STEP_DONE;
}

/* ---- the question about the folder ---- */

static bool may_answer(const struct tmux_input *t)
{
	return t->o.trust_answer && t->o.may_trust && t->step == STEP_LATE &&
			t->answer_keys < ANSWER_KEYS && t->answer_enters < PRESSES;
}

static void look_in(struct tmux_input *t, int64_t ms)
{
	t->looks = may_answer(t);
	t->again = false;
	if (t->looks)
		loop_timer_in(t->look_timer, ms);
}

void tmux_input_drawn(struct tmux_input *t)
{
	if (!t)
		return;
	if (t->looks)
		t->again = true;
	else
		look_in(t, SETTLE_MS);
}

/* The line of the answer, without what is before and after; empty: it is not offered. */
static str answer_line(const struct tmux_input *t, str screen)
{
	str line;

	while (str_split(&screen, '\n', &line))
		if (str_ends(str_trim(line), str_from(t->o.trust_answer)))
			return str_trim(line);
	return (str){ 0 };
}

/* A key that is pressed once more would answer what comes next: Enter gets time to be taken. */
static void on_answer_key(void *user, int r, str text, const struct ov_err *err)
{
	struct tmux_input *t = user;

	(void)r, (void)text, (void)err;
	look_in(t, t->answer_enters ? AGAIN_MS << t->answer_enters : SETTLE_MS);
}

/*
 * An agent that has much to do shows late what a key did. Pressed again it would take back what it
 * did, as after the last answer comes the first one: it gets a quarter of a minute, and is
 * lost then.
 */
static bool is_awaited(struct tmux_input *t, str screen)
{
	uint64_t seen = str_hash(screen, 1);

	if (t->answer_keys && seen == t->answer_seen && t->answer_waits < ANSWER_WAITS) {
		look_in(t, AGAIN_MS << t->answer_waits++);
		return true;
	}
	t->answer_seen = seen;
	t->answer_waits = 0;
	return false;
}

/* One key after the other, each only by what the screen shows then. */
static void on_question(void *user, int r, str text, const struct ov_err *err _unused_)
{
	struct tmux_input *t = user;
	str line = r == 0 ? answer_line(t, text) : (str){ 0 };
	bool chosen = str_starts(line, STR(CHOSEN));

	if (!may_answer(t))
		return;
	if (!line.n) {
		t->looks = false;
		if (t->again)
			look_in(t, SETTLE_MS);
		return;
	}
	if (is_awaited(t, text))
		return;
	t->answer_keys++;
	t->answer_enters += chosen;
	tmux_press(t->o.tmux, t->o.session, chosen ? "Enter" : "Down", on_answer_key, t);
}

static void on_look(void *user)
{
	struct tmux_input *t = user;

	t->again = false;
	t->o.look(t->o.user);
	if (may_answer(t))
		tmux_capture(t->o.tmux, t->o.session, 0, on_question, t);
}

/* ---- the steps ---- */

static int64_t since_paste_ms(const struct tmux_input *t)
{
	return (int64_t)((loop_mono_us(t->o.loop) - t->pasted_us) / 1000);
}

/* Until the key is pressed again, or the time is up. */
static void wait_on(struct tmux_input *t)
{
	int64_t left = MAX(t->o.confirm_ms - since_paste_ms(t), (int64_t)0);
	int64_t again = AGAIN_MS << MIN(t->presses, PRESSES);

	if (t->presses < PRESSES && again < left)
		next(t, STEP_SUBMIT, again);
	else
		next(t, STEP_CONFIRM, left);
}

/* A session that is gone took its run along, which is told elsewhere; otherwise time tells. */
static void on_pressed(void *user, int r, str text, const struct ov_err *err)
{
	struct tmux_input *t = user;

	(void)r, (void)text, (void)err;
	t->busy = false;
	if (t->step != STEP_DONE)
		wait_on(t);
}

static void press_enter(struct tmux_input *t)
{
	t->presses++;
	t->busy = true;
	tmux_press(t->o.tmux, t->o.session, "Enter", on_pressed, t);
}

/* Does the screen show what we pasted, or what agents show instead of a long text? */
static bool is_shown(const struct tmux_input *t, str screen)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str text = tmux_clean(&a, t->o.text), first;

	if (!str_split(&text, '\n', &first))
		return false;
	return str_contains(screen, STR("[Pasted ")) ||
			(first.n && str_contains(screen, utf8_truncate(first, SHOWN_BYTES)));
}

static void on_screen_to_submit(void *user, int r, str text, const struct ov_err *err _unused_)
{
	struct tmux_input *t = user;

	t->busy = false;
	if (t->step == STEP_DONE)
		return;
	if (r == 0 && is_shown(t, text)) {
		press_enter(t);
		return;
	}
	t->presses++; /* one that was not pressed */
	wait_on(t);
}

static void submit(struct tmux_input *t)
{
	if (!t->o.input_mark) {
		press_enter(t);
		return;
	}
	t->busy = true;
	tmux_capture(t->o.tmux, t->o.session, 0, on_screen_to_submit, t);
}

static void on_pasted(void *user, int r, str text, const struct ov_err *err)
{
	struct tmux_input *t = user;

	(void)text, (void)err;
	t->busy = false;
	INJECT("after-paste");
	if (t->step == STEP_DONE)
		return;
	if (r < 0)
		next(t, STEP_CONFIRM, t->o.confirm_ms);
	else
		next(t, STEP_SUBMIT, SUBMIT_MS);
}

static void give_up(struct tmux_input *t, const char *why)
{
	t->step = STEP_DONE;
	t->o.failed(t->o.user, why);
}

static void never_confirmed(struct tmux_input *t)
{
	char why[160];

	snprintf(why, sizeof(why),
			"the agent did not confirm its instruction, which was typed %lld times",
			(long long)t->typed);
	give_up(t, why);
}

/* Said before it is done: whoever comes after us looks before it pastes again. */
static void paste(struct tmux_input *t)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct ov_err err = { 0 };

	if (file_write_atomic(path_join(&a, t->o.dir, TYPED),
			    arena_printf(&a, "%lld\n", (long long)++t->typed), 0600, &err) < 0) {
		give_up(t, err.msg);
		return;
	}
	INJECT("before-paste");
	t->presses = 0;
	t->pasted_us = loop_mono_us(t->o.loop);
	t->busy = true;
	tmux_paste(t->o.tmux, t->o.session, t->o.text, on_pasted, t);
}

/* The line of its input has the mark, and no number of an answer after it. */
static bool takes_input(const struct tmux_input *t, str screen)
{
	str mark = str_from(t->o.input_mark ? t->o.input_mark : ""), line;

	while (mark.n && str_split(&screen, '\n', &line)) {
		str rest = str_trim(str_sub(line, MIN(mark.n, line.n), line.n));

		if (str_starts(line, mark) && (!rest.n || rest.p[0] < '0' || rest.p[0] > '9'))
			return true;
	}
	return !mark.n;
}

static void on_screen(void *user, int r, str text, const struct ov_err *err _unused_)
{
	struct tmux_input *t = user;
	bool shown;

	t->busy = false;
	if (t->step == STEP_DONE)
		return;
	t->o.look(t->o.user);
	if (t->step == STEP_DONE)
		return;
	shown = r == 0 && is_shown(t, text);
	if (t->asks) {
		t->held = true;
	} else if (r == 0 && !shown && !takes_input(t, text)) {
		t->o.late(t->o.user, false);
		next(t, STEP_CONFIRM, t->o.confirm_ms);
	} else if (t->typed > t->o.resends) {
		never_confirmed(t);
	} else if (shown) {
		t->presses = 0;
		t->typed++;
		t->pasted_us = loop_mono_us(t->o.loop);
		submit(t);
	} else {
		paste(t);
	}
}

static void confirm(struct tmux_input *t)
{
	t->busy = true;
	tmux_capture(t->o.tmux, t->o.session, 0, on_screen, t);
}

/* Its screen tells what a person is told, and nothing else follows from it. */
static void on_late_screen(void *user, int r, str text, const struct ov_err *err _unused_)
{
	struct tmux_input *t = user;

	if (t->step == STEP_LATE)
		t->o.late(t->o.user, r == 0 && t->o.trust_answer && answer_line(t, text).n);
}

static void on_timer(void *user)
{
	struct tmux_input *t = user;

	if (t->busy)
		return;
	t->o.look(t->o.user);
	if (t->step == STEP_DONE)
		return;
	if (t->asks) {
		t->held = true;
		return;
	}
	switch (t->step) {
	case STEP_LATE: tmux_capture(t->o.tmux, t->o.session, 0, on_late_screen, t); break;
	case STEP_PASTE: paste(t); break;
	case STEP_SUBMIT: submit(t); break;
	case STEP_CONFIRM: confirm(t); break;
	case STEP_DONE: break;
	}
}
