#include <time.h>
#include <unistd.h>

#include "app/log/log.h"
#include "app/vital/holder.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"
#include "sys/proc/proc.h"

enum { REGISTRATION_MAX = 64 * 1024, WAIT_US = 2000000, PAUSE_NS = 10000000 };

bool holder_lives(const value *v)
{
	char boot[37];
	int64_t pid = value_int_at(v, "pid");

	proc_boot_id(boot);
	return pid > 0 && pid < INT32_MAX && str_is(value_str_at(v, "boot_id"), boot) &&
			proc_start_time((int)pid) == (uint64_t)value_int_at(v, "start_time");
}

/* Processes of other machines and containers are not to be seen from here: they may live. */
static bool may_live(const value *v)
{
	char host[256] = "";

	(void)gethostname(host, sizeof(host) - 1);
	return value_int_at(v, "pid") > 0 &&
			(!str_is(value_str_at(v, "host"), host) || holder_lives(v));
}

/* In safe mode nothing is written, not even the holder's name: then daemon.json tells it. */
static value *find_holder(struct arena *a, const char *dir, str named)
{
	const char *file = path_join(a, dir, "daemon.json");
	value *v = NULL, *registered;
	str text;

	if (json_parse(a, named, NULL, &v, NULL) < 0)
		v = value_object(a);
	if (!may_live(v) && file_read(a, file, REGISTRATION_MAX, &text, NULL) == 0 &&
			json_parse(a, text, NULL, &registered, NULL) == 0 && may_live(registered))
		v = registered;
	return v;
}

static str name_of(struct arena *a, const value *v)
{
	if (value_int_at(v, "pid") <= 0)
		return STR("a process without a name");
	return arena_printf(a, "pid %lld (instance " STR_FMT ")", (long long)value_int_at(v, "pid"),
			STR_ARG(value_str_at(v, "instance_id")));
}

static int refuse_for(struct arena *a, const value *living, struct ov_err *err)
{
	ov_time since = 0;

	(void)time_parse(value_str_at(living, "started_at"), &since);
	ov_fail(err, OV_ECONFLICT,
			"another daemon holds this store: pid %lld (instance " STR_FMT
			", up " STR_FMT ", host " STR_FMT ")",
			(long long)value_int_at(living, "pid"),
			STR_ARG(value_str_at(living, "instance_id")),
			STR_ARG(duration_format_short(a, MAX(clock_wall() - since, (ov_time)0))),
			STR_ARG(value_str_at(living, "host")));
	return ov_next(err, "overseer status     or     overseer down");
}

static int holder_give_up(struct arena *a, const char *dir, const value *dead, struct ov_err *err)
{
	ov_fail(err, OV_ECONFLICT,
			"the daemon that held this store is gone, " STR_FMT
			", but a process that is left of it still has the lock",
			STR_ARG(name_of(a, dead)));
	return ov_next(err, "overseer up     or, to see who it is:     fuser -v %s/*.lock", dir);
}

/* One try; OV_ECONFLICT gives who is in the way. */
static int try_lease(const char *dir, struct store *s, str me, struct arena *a, value **ret_holder,
		struct ov_err *err)
{
	struct store_lease lease = { 0 };
	int r = store_lease_take(s, me, a, &lease, err);

	if (r == OV_ECONFLICT)
		*ret_holder = find_holder(a, dir, lease.holder);
	return r;
}

int holder_take_lease(const char *dir, str me, struct store *s, struct ov_err *err)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_NS };
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	uint64_t until = clock_mono_us() + WAIT_US;
	struct ov_err tried = { 0 };
	value *holder;
	bool told = false;
	int r;

	for (;;) {
		r = try_lease(dir, s, me, &a, &holder, &tried);
		if (r < 0 && r != OV_ECONFLICT && err)
			*err = tried;
		if (r != OV_ECONFLICT)
			return r;
		if (may_live(holder))
			return refuse_for(&a, holder, err);
		if (clock_mono_us() >= until)
			return holder_give_up(&a, dir, holder, err);
		if (!told)
			log_info("waiting for what is left of the daemon that held this "
				 "store: " STR_FMT,
					STR_ARG(name_of(&a, holder)));
		told = true;
		nanosleep(&pause, NULL);
	}
}
