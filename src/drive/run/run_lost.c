#include "drive/run/run_lost.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "shim/proto.h"
#include "sys/file/file.h"
#include "sys/file/sparse.h"
#include "sys/proc/cgroup.h"
#include "sys/proc/proc.h"

enum { PATH_BYTES = 8192, LINE_BYTES = 40 };

/*
 * What its shim wrote down. The agent could have written there too: only a group of this run's name
 * is believed.
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

/* When the shim began, as its lock says; UINT64_MAX: it is not known. */
static uint64_t shim_began(struct arena *a, const char *dir)
{
	uint64_t start;
	str text, pid;

	if (file_read(a, path_join(a, dir, RUN_LOCK), 64, &text, NULL) < 0)
		return UINT64_MAX;
	text = str_trim(text);
	return str_split(&text, ' ', &pid) && str_to_u64(str_trim(text), &start) && start
			? start
			: UINT64_MAX;
}

/*
 * Whom its shim wrote down when it last looked. The agent could have written there too, so only
 * those are believed that began after the shim: nobody whom it found on this machine is ended
 * in its name.
 */
static size_t read_known(struct arena *a, const char *dir, struct proc_known **ret)
{
	struct proc_known *known = arena_array(a, struct proc_known, RUN_DESCENDANTS_MAX);
	uint64_t since = shim_began(a, dir), pid, start;
	char boot[37];
	str text, line, first;
	size_t n = 0;

	*ret = known;
	proc_boot_id(boot);
	if (file_read(a, path_join(a, dir, RUN_DESCENDANTS), RUN_DESCENDANTS_MAX * LINE_BYTES,
			    &text, NULL) < 0 ||
			!boot[0] || !str_split(&text, '\n', &line) || !str_is(line, boot))
		return 0;
	while (n < RUN_DESCENDANTS_MAX && str_split(&text, '\n', &line))
		if (str_split(&line, ' ', &first) && str_to_u64(first, &pid) && pid > 1 &&
				pid <= INT32_MAX && str_to_u64(line, &start) && start >= since)
			known[n++] = (struct proc_known){ (int)pid, start };
	return n;
}

void run_lost(struct arena *a, const char *dir, const char *id, const char *why,
		struct run_end *ret)
{
	const char *group = group_of(a, dir, id);
	ov_time ended_at = ret->ended_at;
	size_t killed = 0, more = 0, known_n;
	struct proc_known *known;
	struct ov_err err = { 0 };
	bool sure = false;
	str text;
	int r = 0;

	*ret = (struct run_end){ .lost = true,
		.started = true,
		.exit_code = -1,
		.ended_at = ended_at,
		.grouped = group != NULL };
	if (file_read(a, path_join(a, dir, RUN_STARTED), 64, &text, NULL) == 0)
		str_to_i64(str_trim(text), &ret->started_at);
	known_n = read_known(a, dir, &known);
	if (group)
		r = cgroup_end(group, &killed, &err);
	if (r == 0 || r == OV_ENOTFOUND)
		r = proc_sweep_known(STR(RUN_ENV), str_from(id), known, known_n, &more, &sure,
				&err);
	else
		proc_sweep_known(STR(RUN_ENV), str_from(id), known, known_n, &more, &sure, NULL);
	ret->swept = killed + more;
	/*
	 * The kernel ended its group as a whole: only who was found outside of it makes one doubt.
	 */
	sure |= group && r == 0 && !more;
	ret->unsure = !sure;
	if (r < 0)
		ret->message = arena_printf(a, "%s; %s; some may be left", why, err.msg);
	else
		ret->message = arena_printf(a, "%s; %zu processes that it left were killed%s", why,
				ret->swept, sure ? "" : "; others may be left");
	sparse_measure(path_join(a, dir, RUN_OUTPUT), &ret->output_bytes, &ret->dropped_bytes,
			NULL);
}

int run_sweep(str id, size_t *ret_killed, bool *ret_sure, struct ov_err *err)
{
	return proc_sweep_known(STR(RUN_ENV), id, NULL, 0, ret_killed, ret_sure, err);
}
