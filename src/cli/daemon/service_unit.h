#pragma once
/*
 * The text of a systemd user unit that runs the daemon of one store, and its name. Nothing is read
 * or written here. Every line says in the unit itself why it is there, for whoever has to
 * change one.
 */
#include "base/buf.h"
#include "base/ov.h"
#include "core/config/config.h"

struct unit {
	const char *program;   /* overseer, absolute */
	const char *dir, *top; /* the store's folder and the repository, absolute */
	str path;              /* the PATH that agents are to be found in; may be absent */
	str name;              /* of the repository, for people */
	bool auto_mode;
	const struct config_watch *watch;
};

/* Every unit of ours begins with this, and then names its store. */
#define UNIT_MARK "# Written by overseer install-service.\n# Store: "

/*
 * "overseer-NAME.service"; what systemd does not take in names is escaped as it wants it, \xNN.
 * OV_EINVALID when nothing is left or it is too long.
 */
int unit_name(struct arena *a, str name, str *ret, struct ov_err *err);
/* OV_EINVALID when a path has something in it that a unit cannot hold. */
int unit_write(const struct unit *u, struct buf *out, struct ov_err *err);
/* Whether a unit's text is one of ours, for the store in dir; dir NULL: for any store. */
bool unit_is_ours(str text, const char *dir);
