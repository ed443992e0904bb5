#pragma once
/*
 * Terminal sessions that people can attach to: a tmux server of our own (its socket is named after
 * the store, and no configuration of the user's is read), spoken to through one control-mode child
 * that is started when something is asked and ends when nobody holds on to it. Sessions belong to
 * the server and outlive us; it ends with the last of them. Requests are carried out in order; done
 * comes once for each, from the loop.
 *
 * A connection that breaks is made again for what was not sent yet; what was sent and not answered
 * ends with OV_EUNAVAILABLE: nobody knows. A server that is gone has taken its sessions along.
 */
#include "base/ov.h"

struct loop;
struct tmux;

struct tmux_options {
	const char *program; /* NULL: tmux in PATH */
	const char *store;   /* the store's folder, as it is: from it come all names */
	const char *tmp;     /* where sockets are; NULL: TMUX_TMPDIR, or /tmp */
};

/* text: what was printed, without its last newline; valid during the call. */
typedef void tmux_done_fn(void *user, int r, str text, const struct ov_err *err);

struct tmux *tmux_new(struct loop *l, const struct tmux_options *o);
/* Nothing is called any more; sessions go on. NULL allowed. */
void tmux_free(struct tmux *t);

/* By which everything of a store is known. tmp: as in the options. */
struct tmux_names {
	const char *socket; /* for `tmux -S` */
	const char *label;  /* its last part, for -L */
	const char *prefix; /* of its sessions */
	const char *tmp;
};
struct tmux_names tmux_names(struct arena *a, const char *store, const char *tmp);
/* The session of this name, as tmux knows it: no other store has one of that name. */
str tmux_session_name(struct arena *a, const struct tmux *t, str name);

/* The connection is kept as long as somebody holds it. */
void tmux_hold(struct tmux *t);
void tmux_release(struct tmux *t);

struct tmux_session {
	str name;                /* as tmux knows it */
	const char *const *argv; /* started as it is, by no shell */
	const char *const *env;  /* NAME=VALUE; beside what tmux itself sets */
	const char *cwd;
	int width, height;
	str mark; /* kept with the session: tells it from another one of the same name */
};

/*
 * text: the process in its terminal. With a session of that name and that mark nothing is started,
 * and its process told; with another mark: OV_ECONFLICT.
 */
void tmux_open_session(struct tmux *t, const struct tmux_session *s, tmux_done_fn *done,
		void *user);
/* OV_ENOTFOUND: there is no such session. Its terminal hangs up. */
void tmux_end_session(struct tmux *t, str session, tmux_done_fn *done, void *user);
/*
 * As if a person pasted it, in brackets where the program asked for them; cleaned before
 * (tmux_clean).
 */
void tmux_paste(struct tmux *t, str session, str text, tmux_done_fn *done, void *user);
/* One key by its name, as Enter. */
void tmux_press(struct tmux *t, str session, const char *key, tmux_done_fn *done, void *user);
/* What stands on its screen, and up to this many lines above. */
void tmux_capture(struct tmux *t, str session, int above, tmux_done_fn *done, void *user);
/* Requests of this user are carried out, but done is not called any more. */
void tmux_forget(struct tmux *t, const void *user);
