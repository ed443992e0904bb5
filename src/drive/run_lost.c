#include "drive/run_lost.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "shim/proto.h"
#include "sys/cgroup.h"
#include "sys/file.h"
#include "sys/proc.h"
#include "sys/sparse.h"

enum { PATH_BYTES = 8192 };

/*
 * What its shim wrote down. The agent could have written there too: only a group of this run's name is
 * believed.
 */
static const char *group_of(struct arena *a, const char *dir, const char *id)
{
	str path;

	if (file_read(a, path_join(a, dir, RUN_GROUP), PATH_BYTES, &path, NULL) < 0)
		return NULL;
	path = str_trim(path);
	if (!str_starts(path, STR("/")) || str_contains(path, STR("/../")) ||
			!str_ends(path, arena_printf(a, "/" RUN_GROUP_PREFIX "%s", id)))
		return NULL;
	return arena_cstr(a, path);
}

void run_lost(struct arena *a, const char *dir, const char *id, const char *why,
		struct run_end *ret)
{
	const char *group = group_of(a, dir, id);
	ov_time ended_at = ret->ended_at;
	size_t killed = 0, more = 0;
	struct ov_err err = { 0 };
	str text;
	int r = 0;

	*ret = (struct run_end){ .lost = true,
		.started = true,
		.exit_code = -1,
		.ended_at = ended_at,
		.grouped = group != NULL };
	if (file_read(a, path_join(a, dir, RUN_STARTED), 64, &text, NULL) == 0)
		str_to_i64(str_trim(text), &ret->started_at);
	if (group)
		r = cgroup_end(group, &killed, &err);
	if (r == 0 || r == OV_ENOTFOUND)
		r = proc_sweep_env(STR(RUN_ENV), str_from(id), &more, &err);
	else
		proc_sweep_env(STR(RUN_ENV), str_from(id), &more, NULL);
	ret->swept = killed + more;
	if (r < 0)
		ret->message = arena_printf(a, "%s; %s", why, err.msg);
	else
		ret->message = arena_printf(a, "%s; %zu processes that it left were killed", why,
				ret->swept);
	sparse_measure(path_join(a, dir, RUN_OUTPUT), &ret->output_bytes, &ret->dropped_bytes,
			NULL);
}
