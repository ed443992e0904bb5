/*
 * Sessions that agents keep: an agent says which one it is when it is ready, which may be late or
 * never; a later run of it goes on with it, unless its files are gone. And the words of people,
 * which reach an agent with its instruction, by its input, or when it would stop and asks what
 * else there is.
 */
#include "base/alloc.h"
#include "base/str.h"
#include "tests/sim/machine_impl.h"

enum { LOST_PER_MILLE = 60, TAKES_PER_MILLE = 600 };

void sessions_init(struct machine *m)
{
	map_init(&m->sessions, 6);
	map_init(&m->notes, 7);
}

void sessions_done(struct machine *m)
{
	for (size_t i = 0; i < m->session_list.n; i++) {
		vec_done(&m->session_list.p[i]->notes);
		mem_free(m->session_list.p[i]);
	}
	for (size_t i = 0; i < m->note_list.n; i++)
		mem_free(m->note_list.p[i]);
	vec_done(&m->session_list);
	vec_done(&m->note_list);
	map_done(&m->sessions);
	map_done(&m->notes);
}

str machine_session(const struct sim_run *r)
{
	return r->session ? r->session->id : STR("");
}

/* ---- words of people ---- */

str machine_note_in(str text)
{
	static const str mark = STR(MACHINE_NOTE);
	size_t at = str_find(text, mark), end = at + mark.n;

	if (at == text.n)
		return STR("");
	while (end < text.n && text.p[end] >= '0' && text.p[end] <= '9')
		end++;
	return str_sub(text, at, end - at);
}

static void note_taken(struct sim_run *r, str note)
{
	struct machine *m = r->m;
	struct taken *t = map_get(&m->notes, note);

	if (!t) {
		t = mem_zalloc(1, sizeof(*t));
		t->id = arena_str(&m->strings, note);
		vec_push(&m->note_list, t);
		map_put(&m->notes, t->id, t);
	}
	t->times++;
	sim_trace(m->s, "run " STR_FMT " is told " STR_FMT, STR_ARG(r->spec.run_id), STR_ARG(note));
	for (size_t i = 0; r->session && i < r->session->notes.n; i++)
		if (str_eq(r->session->notes.p[i], note))
			m->repeated = t->id;
	if (r->session)
		vec_push(&r->session->notes, t->id);
}

void run_notes(struct sim_run *r, str text)
{
	str note = machine_note_in(text);

	while (note.n) {
		text = str_sub(text, (size_t)(note.p - text.p) + note.n, text.n);
		note_taken(r, note);
		note = machine_note_in(text);
	}
}

unsigned machine_noted(const struct machine *m, str note)
{
	const struct taken *t = map_get(&m->notes, note);

	return t ? t->times : 0;
}

str machine_repeated(const struct machine *m)
{
	return m->repeated;
}

void run_lay(struct sim_run *r, str dispatch_id, str text)
{
	vec_push(&r->laid, ((struct laid){ dispatch_id, arena_str(&r->m->strings, text) }));
	sim_trace(r->m->s, "run " STR_FMT " will be told " STR_FMT " when it would stop",
			STR_ARG(r->spec.run_id), STR_ARG(dispatch_id));
}

/* Some end without asking. */
bool run_takes_laid(struct sim_run *r)
{
	struct laid next;

	if (r->laid.n == 0 || !run_odds(r, TAKES_PER_MILLE))
		return false;
	next = r->laid.p[0];
	vec_remove(&r->laid, 0);
	taken_of(r->m, next.dispatch)->times++;
	run_notes(r, next.text);
	run_sayf(r, "Request " STR_FMT ": received.\n", STR_ARG(nonce_in(next.text)));
	run_recast(r, compose_end);
	return true;
}

/* ---- sessions ---- */

static struct session_memory *session_new(struct sim_run *r, str id)
{
	struct session_memory *x = mem_zalloc(1, sizeof(*x));

	x->id = arena_str(&r->m->strings, id);
	x->worktree = r->spec.worktree;
	vec_push(&r->m->session_list, x);
	map_put(&r->m->sessions, x->id, x);
	return x;
}

void act_ready(struct sim_run *r, int64_t arg)
{
	struct machine *m = r->m;
	str id = r->spec.session;

	(void)arg;
	if (!id.n)
		id = arena_printf(&m->strings, "ses_" STR_FMT, STR_ARG(r->spec.run_id));
	r->session = map_get(&m->sessions, id);
	if (!r->session)
		r->session = session_new(r, id);
	run_notes(r, buf_str(&r->text));
	run_sayf(r, "ready: " STR_FMT "\n", STR_ARG(id));
}

/* Its files are gone, or it was never written down. */
void act_trouble(struct sim_run *r, int64_t arg)
{
	(void)arg;
	r->end.trouble = STR("session_lost");
	run_say(r, STR("No conversation found with that id.\n"));
	run_tell(r);
	run_end(r, 1, 0, false, STR("no conversation found"));
}

/* An id that is in use is refused, as is one that is not there. */
static bool cannot_go_on(struct sim_run *r)
{
	struct session_memory *x = map_get(&r->m->sessions, r->spec.session);

	if (!r->spec.resume)
		return r->spec.session.n && x;
	if (x && run_odds(r, LOST_PER_MILLE))
		x->lost = true;
	return !x || x->lost || !str_eq(x->worktree, r->spec.worktree);
}

void compose_kept(struct sim_run *r)
{
	ov_time wait;

	if (cannot_go_on(r)) {
		step_add(r, run_between(r, 20, 5 * OV_SECOND), true, act_trouble, 0);
		return;
	}
	/* Some never come to it. */
	wait = run_odds(r, 900) ? run_between(r, 10, 3 * OV_SECOND)
				: run_between(r, OV_SECOND, OV_MINUTE);
	if (strcmp(r->script->name, "mute") != 0 && strcmp(r->script->name, "unstartable") != 0)
		step_add(r, wait, true, act_ready, 0);
	r->script->compose(r);
}
