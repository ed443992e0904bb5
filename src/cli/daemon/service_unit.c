#include "cli/daemon/service_unit.h"

#include <ctype.h>
#include <string.h>

#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "data/message/vital.h"

enum { NAME_MAX_BYTES = 255 };

#define PREFIX "overseer-"
#define SUFFIX ".service"

int unit_name(struct arena *a, str name, str *ret, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	buf_adds(&b, STR(PREFIX));
	for (size_t i = 0; i < name.n; i++) {
		unsigned char ch = (unsigned char)name.p[i];

		if (isalnum(ch) || (ch && strchr(":_.-", ch)))
			buf_addc(&b, name.p[i]);
		else
			buf_addf(&b, "\\x%02x", ch);
	}
	buf_adds(&b, STR(SUFFIX));
	if (name.n == 0 || buf_str(&b).n > NAME_MAX_BYTES) {
		ov_fail(err, OV_EINVALID, "\"" STR_FMT "\" cannot be the name of a unit: it is %s",
				STR_ARG(name), name.n ? "too long" : "empty");
		return ov_next(err, "overseer install-service --name NAME");
	}
	*ret = arena_str(a, buf_str(&b));
	return 0;
}

/* systemd refuses control characters and broken UTF-8 in paths, and cuts blanks at their ends. */
static bool can_hold(str path)
{
	for (size_t i = 0; i < path.n; i++)
		if ((unsigned char)path.p[i] < ' ' || path.p[i] == 0x7f)
			return false;
	return path.n && path.p[0] == '/' && path.p[path.n - 1] != ' ' &&
			path.p[path.n - 1] != '\\' && utf8_valid(path);
}

static int check_path(const char *what, const char *path, const char *refused, struct ov_err *err)
{
	if (can_hold(str_from(path)) && !strpbrk(path, refused))
		return 0;
	return ov_fail(err, OV_EINVALID,
			"a unit of systemd cannot hold the name of %s, %s: it has a character in "
			"it, or at its end, that is not taken there",
			what, path);
}

/* A value that is taken as it stands but for specifiers. */
static void add_plain(struct buf *b, str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '%')
			buf_addc(b, '%');
		buf_addc(b, s.p[i]);
	}
}

/* What stands between double quotes. */
static void add_quoted(struct buf *b, str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '"' || s.p[i] == '\\')
			buf_addc(b, '\\');
		add_plain(b, str_sub(s, i, 1));
	}
}

/*
 * The caller's PATH, without what a unit cannot hold and without relative folders, which would mean
 * other ones there.
 */
static void add_search_path(struct buf *b, str path)
{
	bool first = true;
	str folder;

	while (str_split(&path, ':', &folder)) {
		if (!can_hold(folder))
			continue;
		if (!first)
			buf_addc(b, ':');
		add_quoted(b, folder);
		first = false;
	}
}

static void add_span(struct buf *b, const char *key, int64_t ms)
{
	struct arena a = { 0 };

	/* Our "1h30m" is one of systemd's time spans too. */
	buf_addf(b, "%s=" STR_FMT "\n", key, STR_ARG(duration_format(&a, ms)));
	arena_done(&a);
}

static void add_unit_section(const struct unit *u, struct buf *b)
{
	buf_adds(b, STR("[Unit]\nDescription=Overseer for "));
	add_plain(b, u->name);
	buf_adds(b,
			STR("\n"
			    "# watch.max_restarts: so many starts in a day, then a person is "
			    "needed.\n"
			    "# Afterwards: systemctl --user reset-failed\n"
			    "StartLimitIntervalSec=1d\n"));
	buf_addf(b, "StartLimitBurst=%lld\n", (long long)u->watch->max_restarts);
}

static void add_start(const struct unit *u, struct buf *b)
{
	buf_adds(b,
			STR("\n[Service]\n"
			    "# The daemon says itself when it is up, that it lives, and that it "
			    "ends.\n"
			    "Type=notify\n"
			    "NotifyAccess=main\n"
			    "# The colon: nothing is put in for a dollar sign.\n"
			    "ExecStart=\":"));
	add_quoted(b, str_from(u->program));
	buf_adds(b, STR("\" up --foreground --dir \""));
	add_quoted(b, str_from(u->dir));
	buf_addf(b, "\"%s\nWorkingDirectory=", u->auto_mode ? " --auto" : "");
	add_plain(b, str_from(u->top));
	buf_addc(b, '\n');
	buf_adds(b,
			STR("# The PATH of whoever wrote this: services have a bare one, in which "
			    "no agent is found.\n"
			    "# Keys that agents need do not belong here: see docs/watch.md.\n"
			    "Environment=\"PATH="));
	add_search_path(b, u->path);
	buf_adds(b, STR("\"\n"));
}

/*
 * After these it would only fail again: somebody has to change something first. Whatever the daemon
 * has a status of its own for is of that kind.
 */
#define STATUS(id, status, text) id,
static const enum daemon_exit own_exits[] = { DAEMON_EXITS(STATUS) };
#undef STATUS
static const enum ov_code hopeless[] = { OV_EINVALID, OV_ENOTFOUND, OV_ECONFLICT, OV_EUNAUTHORIZED,
	OV_ELIMIT };

static void add_restart(const struct unit *u, struct buf *b)
{
	buf_adds(b, STR("\n# watch.registration_timeout, watch.heartbeat_timeout, watch.grace\n"));
	add_span(b, "TimeoutStartSec", u->watch->registration_timeout);
	add_span(b, "WatchdogSec", u->watch->heartbeat_timeout);
	add_span(b, "TimeoutStopSec", u->watch->grace);
	buf_adds(b,
			STR("# Not after these exit statuses: it would only fail again, a person "
			    "has to see to it.\n"
			    "Restart=on-failure\n"
			    "RestartSec=5s\n"
			    "RestartPreventExitStatus="));
	for (size_t i = 0; i < ARRAY_LEN(hopeless); i++)
		buf_addf(b, i ? " %d" : "%d", ov_code_info(hopeless[i])->exit_status);
	for (size_t i = 0; i < ARRAY_LEN(own_exits); i++)
		if (own_exits[i] != DAEMON_ENDED)
			buf_addf(b, " %d", own_exits[i]);
	buf_addc(b, '\n');
}

/*
 * Groups of runs that have limits stay when the daemon ends. While they are there the unit's own
 * group hands out controllers, and the kernel then refuses to let the next daemon in.
 */
#define STOP_POST                                                 \
	"ExecStopPost=-:/bin/sh -c 'exec 2>/dev/null; "           \
	"g=$(sed -n s,^0::,/sys/fs/cgroup,p /proc/self/cgroup); " \
	"echo \"-memory -pids\" >\"${g%%/.control}/cgroup.subtree_control\"'"

static void add_runs(struct buf *b)
{
	buf_adds(b,
			STR("\n# Runs outlive the daemon, whose next start goes on with them: "
			    "only it is ended, and what\n"
			    "# the kernel kills for want of memory is a run that failed, not the "
			    "service.\n"
			    "KillMode=process\n"
			    "OOMPolicy=continue\n"
			    "# Agents pipe programs into others, which have to notice when "
			    "nobody reads on.\n"
			    "IgnoreSIGPIPE=no\n"
			    "# Each run gets a control group of its own.\n"
			    "Delegate=yes\n"
			    "# Those of runs with limits must not keep the next daemon out of "
			    "this unit's group; until\n"
			    "# they end they are without their limits.\n" STOP_POST "\n"));
}

static void add_hardening(struct buf *b)
{
	buf_adds(b,
			STR("\n# Nobody is there to see what an agent does with sudo. Rootless "
			    "containers and fusermount need\n"
			    "# this to be \"no\": systemctl --user edit overseer-...\n"
			    "NoNewPrivileges=yes\n"
			    "# No PrivateTmp, ProtectHome, ProtectSystem, PrivateUsers: agents "
			    "work with the tools, homes,\n"
			    "# caches and terminals of their user, and in a user's service these "
			    "make a user namespace, in\n"
			    "# which the files of all others are nobody's. What an agent may write "
			    "is said by its sandbox\n"
			    "# (agents.NAME.sandbox), run by run.\n"
			    "\n[Install]\n"
			    "WantedBy=default.target\n"));
}

int unit_write(const struct unit *u, struct buf *out, struct ov_err *err)
{
	/* The name of a program is refused with quotes in it, however they are written. */
	int r = check_path("the program", u->program, "\"'\\", err);

	if (r == 0)
		r = check_path("the repository", u->top, "", err);
	if (r == 0)
		r = check_path("the store's folder", u->dir, "", err);
	if (r < 0)
		return r;
	buf_addf(out, UNIT_MARK "%s\n\n", u->dir);
	add_unit_section(u, out);
	add_start(u, out);
	add_restart(u, out);
	add_runs(out);
	add_hardening(out);
	return 0;
}

bool unit_is_ours(str text, const char *dir)
{
	str line;

	if (!str_starts(text, STR(UNIT_MARK)))
		return false;
	text = str_sub(text, sizeof(UNIT_MARK) - 1, text.n);
	return !dir || (str_split(&text, '\n', &line) && str_is(line, dir));
}
