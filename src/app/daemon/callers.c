#include "app/daemon/callers.h"

#include <stdio.h>

#include "app/daemon/daemon_impl.h"
#include "app/log/log.h"
#include "app/sandbox/other_daemons.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "drive/git/git.h"
#include "drive/run/run.h"
#include "sys/file/file.h"
#include "sys/proc/peer.h"
#include "sys/proc/sockowner.h"

enum { LOG_EVERY_US = 60 * 1000 * 1000 };

static void keep(struct rpc_who *who, const struct caller_facts *f, str name)
{
	struct caller_verdict v = caller_judge(f);

	*who = (struct rpc_who){ .kind = v.caller,
		.why = v.why,
		.guest = v.caller == CALLER_AGENT || v.caller == CALLER_READER };
	memcpy(who->name, name.p, MIN(name.n, sizeof(who->name) - 1));
}

/* ---- by the socket ---- */

/* Which of the places the process descends from. */
static enum caller_place find_place(struct arena *a, const struct proc *p,
		const struct executor_place *places, size_t n, str *ret_name)
{
	int *roots = arena_array(a, int, n + 1);
	size_t at = 0;

	for (size_t i = 0; i < n; i++)
		roots[i] = places[i].root;
	switch (peer_descends(p, roots, n, &at)) {
	case KIN_FOUND: *ret_name = places[at].name; return PLACE_RUN;
	case KIN_GONE: return PLACE_GONE;
	case KIN_NONE: break;
	}
	return PLACE_OUTSIDE;
}

static void look_at_peer(struct daemon *d, struct arena *a, const struct proc *p,
		struct caller_facts *f, str *ret_name)
{
	struct executor_place *places;
	size_t n = executor_places(d->executor, a, &places);
	str own;

	/* The order matters: that it is alive is seen last, so all of this was about it. */
	own = executor_run_of(d->executor, a, peer_group(a, p->pid), p->pid);
	f->place = find_place(a, p, places, n, ret_name);
	if (f->place == PLACE_OUTSIDE && own.n) {
		f->place = PLACE_RUN;
		*ret_name = own;
	}
}

/* Of who has ended nobody can say whether it was in the sandbox of another store. */
static void suspect_others(struct arena *a, struct caller_facts *f)
{
	if (f->place == PLACE_GONE && !f->runs_live)
		f->runs_live = others_live(a);
}

void callers_accepted(void *user, const struct peer *peer, struct rpc_who *ret)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct daemon *d = user;
	struct caller_facts f = { .runs_live = executor_is_live(d->executor) };
	bool inside = peer_is_inside(&a, peer->proc.pid);
	str name = STR("");

	if (peer->proc.pid > 0)
		f.place = peer->proc.pidfd < 0 ? PLACE_GONE : PLACE_OUTSIDE;
	if (f.runs_live && f.place == PLACE_OUTSIDE)
		look_at_peer(d, &a, &peer->proc, &f, &name);
	else if (f.place == PLACE_OUTSIDE && proc_ended(&peer->proc, 0))
		f.place = PLACE_GONE;
	/*
	 * A run of another store is in a sandbox of its own; what git left behind outlives
	 * every call.
	 */
	if (f.place == PLACE_OUTSIDE && inside) {
		f.place = PLACE_RUN;
		name = STR("a sandbox or a container");
	} else if (f.place == PLACE_OUTSIDE && peer_env(&a, peer->proc.pid, STR(GIT_MARK)).n) {
		f.place = PLACE_RUN;
		name = STR("a program that git has run");
	}
	suspect_others(&a, &f);
	keep(ret, &f, name);
}

/* ---- by HTTP ---- */

static bool is_sandboxed(const struct executor_place *p)
{
	return p->run && run_is_sandboxed(p->run);
}

/*
 * What is looked at for one connection: the places of our runs, and behind them the sandboxes
 * of others.
 */
struct search {
	const struct executor_place *places;
	size_t own, n;
	struct sock_tree *trees; /* n of them, the first `own` of which are the places */
};

static struct search search_for(struct daemon *d, struct arena *a)
{
	struct executor_place *places;
	struct search s = { .own = executor_places(d->executor, a, &places) };
	int *roots = arena_array(a, int, s.own + 1), *others;
	size_t n;

	s.places = places;
	for (size_t i = 0; i < s.own; i++)
		roots[i] = places[i].root;
	n = others_roots(a, roots, s.own, &others);
	s.trees = arena_array(a, struct sock_tree, s.own + n + 1);
	for (size_t i = 0; i < s.own; i++) {
		struct sock_tree *t = &s.trees[i];

		t->root = places[i].root;
		if (places[i].group && file_exists(places[i].group))
			t->group = places[i].group;
		t->sealed = t->group && is_sandboxed(&places[i]);
	}
	s.n = s.own + n;
	for (size_t i = 0; i < n; i++)
		s.trees[s.own + i] = (struct sock_tree){ .root = others[i], .inside = true };
	return s;
}

static str name_of(const struct search *s, size_t i)
{
	return i < s->own ? s->places[i].name : STR("a sandbox of another store");
}

/*
 * A run whose processes cannot all be looked at could hold any socket, unless it is kept from
 * the token.
 */
static bool is_any_loose(const struct search *s, str *ret_name)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->trees[i].loose && (i >= s->own || !is_sandboxed(&s->places[i]))) {
			*ret_name = name_of(s, i);
			return true;
		}
	return false;
}

static void look_at_link(struct daemon *d, struct arena *a, const struct http_link *l,
		struct caller_facts *f, str *ret_name)
{
	struct search s = search_for(d, a);
	enum sock_found found = SOCK_NONE;
	size_t at = 0;

	if (s.n == 0 && !f->runs_live)
		return;
	if (sockowner_find(&l->client, &l->server, s.trees, s.n, &found, &at, NULL) < 0)
		for (size_t i = 0; i < s.n; i++)
			s.trees[i].loose = true;
	f->place = found == SOCK_FOUND       ? PLACE_RUN
			: found == SOCK_GONE ? PLACE_GONE
					     : PLACE_OUTSIDE;
	if (found == SOCK_FOUND)
		*ret_name = name_of(&s, at);
	else if (found == SOCK_NONE)
		f->hidden = is_any_loose(&s, ret_name);
	f->runs_live |= f->hidden;
}

const struct rpc_who *callers_http(struct daemon *d, struct http_req *req)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct http_link *l = http_link(req);
	struct caller_facts f = { .place = l ? PLACE_OUTSIDE : PLACE_GONE,
		.runs_live = executor_is_live(d->executor) };
	struct rpc_who *who;
	str name = STR("");

	if (l && l->note)
		return l->note;
	if (l)
		look_at_link(d, &a, l, &f, &name);
	suspect_others(&a, &f);
	/* Without a connection nobody else frees it. */
	who = l ? mem_zalloc(1, sizeof(*who)) : arena_new(req->arena, struct rpc_who);
	keep(who, &f, name);
	if (l)
		l->note = who;
	return who;
}

/* ---- what follows ---- */

/* An agent that tries again and again fills no disk. */
static void log_refusal(struct daemon *d, const struct op *op, const struct rpc_who *who)
{
	uint64_t now = loop_mono_us(d->loop);
	char line[160];

	snprintf(line, sizeof(line), "refused %s: %s %s", op->name,
			who->name[0] ? who->name : "nobody known",
			who->kind == CALLER_READER ? "may be the caller" : "is the caller");
	if (strcmp(line, d->refused) == 0 && now - d->refused_us < LOG_EVERY_US)
		return;
	memcpy(d->refused, line, sizeof(line));
	d->refused_us = now;
	log_warn("%s", line);
}

int callers_check(struct daemon *d, const struct op *op, const struct rpc_who *who,
		struct ov_err *err)
{
	struct caller_verdict v = { (enum caller)who->kind, (enum caller_why)who->why };
	int r = caller_check(op->callers, op->name, v, str_from(who->name), err);

	if (r < 0)
		log_refusal(d, op, who);
	return r;
}
