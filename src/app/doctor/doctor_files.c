/* The doctor's checks of what lies around the store: runs, worktrees, temporary files, the disk. */
#include <errno.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "app/doctor/doctor_impl.h"
#include "app/store/rescue.h"
#include "app/watch/worktree.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/event/event.h"
#include "sys/file/file.h"
#include "sys/file/owner.h"

enum {
	PAGE = 4096,
	DIR_MAX = 1000 * 1000,
	NAMED_MAX = 5, /* names that a finding tells */
	MIB = 1024 * 1024,
	SPACE_PROBLEM_MIB = 100,
	SPACE_WARNING_MIB = 1024,
};

/* The state forgets old runs; the log does not. */
static int learn_runs(struct doctor *d, struct ov_err *err)
{
	uint64_t after = 0;
	size_t n = 1;
	int r = 0;

	while (r == 0 && n > 0 && d->s.store) {
		_cleanup_(arena_done) struct arena a = ARENA_INIT;
		struct store_record *recs;
		struct event e;

		r = store_read(d->s.store, after, PAGE, &a, &recs, &n, err);
		for (size_t i = 0; r == 0 && i < n; i++) {
			after = recs[i].seq;
			if (!str_is(recs[i].kind, "run.created"))
				continue;
			r = event_decode(&a, recs[i].seq, recs[i].at, recs[i].kind, recs[i].body,
					&e, err);
			if (r == 0)
				map_put(&d->known_runs, arena_str(d->a, e.run), d);
		}
	}
	return r;
}

static int list_names(struct doctor *d, const char *folder, str **ret, size_t *ret_n)
{
	struct ov_err err = { 0 };
	int r = dir_list(d->a, folder, DIR_MAX, ret, ret_n, &err);

	if (r == OV_ENOTFOUND)
		*ret_n = 0;
	else if (r < 0)
		doctor_say(d, DOCTOR_WARNING, "%s", err.msg);
	return r == OV_ENOTFOUND ? 0 : r;
}

/* "a, b and 3 more" */
static void name_some(struct buf *out, size_t n, str name)
{
	if (n <= NAMED_MAX)
		buf_addf(out, "%s" STR_FMT, n > 1 ? ", " : "", STR_ARG(name));
	else if (n == NAMED_MAX + 1)
		buf_adds(out, STR(", ..."));
}

static void check_run_folders(struct doctor *d, const char *folder)
{
	_cleanup_(buf_done) struct buf unknown = BUF_INIT;
	size_t n, strangers = 0;
	str *names;

	if (list_names(d, folder, &names, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		const char *dir = path_join(d->a, folder, arena_cstr(d->a, names[i]));
		bool lives = false;

		if (map_get(&d->known_runs, names[i]))
			continue;
		name_some(&unknown, ++strangers, names[i]);
		if (lock_probe(path_join(d->a, dir, "lock"), &lives, NULL) == 0 && lives)
			doctor_say(d, DOCTOR_PROBLEM,
					"run " STR_FMT " lives, but the log does not know it",
					STR_ARG(names[i]));
	}
	if (strangers) {
		doctor_say(d, DOCTOR_WARNING,
				"%zu run folder%s not in the log, as after the loss of its end: %s",
				strangers, strangers == 1 ? " is" : "s are", buf_cstr(&unknown));
		doctor_next(d, "look into %s; nothing in it is removed by itself", folder);
	}
}

void doctor_runs(struct doctor *d)
{
	const char *folder = path_join(d->a, d->dir, "runs");
	struct ov_err err = { 0 };
	size_t missing = 0;

	if (learn_runs(d, &err) < 0)
		doctor_say(d, DOCTOR_WARNING, "not all runs of the log are known: %s", err.msg);
	check_run_folders(d, folder);
	if (d->s.state) {
		list_each (it, &d->s.state->runs) {
			const struct run *r = list_entry(it, struct run, link);

			missing += r->status == RUN_RUNNING &&
					!file_exists(path_join(d->a, folder,
							arena_cstr(d->a, r->id)));
		}
	}
	if (missing) {
		doctor_say(d, DOCTOR_PROBLEM, "%zu running run%s no folder", missing,
				missing == 1 ? " has" : "s have");
		doctor_next(d, "overseer run list --status running");
	}
	if (d->level == DOCTOR_OK && !d->text.n)
		doctor_say(d, DOCTOR_OK, "%zu runs, each folder is one of them", d->known_runs.n);
}

static bool is_workers(struct doctor *d, str name)
{
	str path = arena_printf(d->a, "worktrees/" STR_FMT, STR_ARG(name));

	for (size_t i = 0; d->s.state && i < d->s.state->workers.n; i++)
		if (str_eq(d->s.state->workers.p[i]->path, path))
			return true;
	return false;
}

/* It can be typed as it is. */
static bool is_plain(str name)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				(c >= '0' && c <= '9');

		if (!word && (i == 0 || (c != '-' && c != '_' && c != '.')))
			return false;
	}
	return name.n > 0;
}

/*
 * Folders that are no worker's. No git looks into them: what is there an agent may have written,
 * with configuration that names programs.
 */
static void say_stray(struct doctor *d, const char *folder, str name)
{
	const char *path = path_join(d->a, folder, arena_cstr(d->a, name));
	bool aside = str_contains(name, STR(".aside-"));

	if (aside)
		doctor_say(d, DOCTOR_WARNING, STR_FMT " was moved aside with what no ref can keep",
				STR_ARG(name));
	else
		doctor_say(d, DOCTOR_WARNING, STR_FMT " belongs to no worker", STR_ARG(name));
	if (!is_plain(name))
		doctor_next(d, "look into %s, and remove what you do not need", folder);
	else if (aside)
		doctor_next(d, "rm -rf %s     (once you need nothing in it)", path);
	else
		doctor_next(d,
				"overseer rescue list --worker " STR_FMT
				"     (what was kept of it; then rm -rf %s)",
				STR_ARG(name), path);
}

void doctor_worktrees(struct doctor *d)
{
	const char *folder = path_join(d->a, d->dir, "worktrees");
	size_t n, known = 0;
	str *names;

	if (list_names(d, folder, &names, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		if (is_workers(d, names[i]))
			known++;
		else
			say_stray(d, folder, names[i]);
	}
	if (d->level == DOCTOR_OK && !d->text.n)
		doctor_say(d, DOCTOR_OK, "%zu worktree%s, each of a worker", known,
				known == 1 ? "" : "s");
}

/* Worktrees that git itself lists are of an earlier version; their next task replaces them. */
static size_t check_linked(struct doctor *d)
{
	const char *const argv[] = { "git", "-C", d->repo, "worktree", "list", "--porcelain",
		NULL };
	str ours = str_from(path_join(d->a, d->dir, "worktrees/"));
	str out = STR(""), line, path = STR("");
	struct ov_err err = { 0 };
	size_t n = 0;
	int r = doctor_ask(d, argv, &out, &err);

	if (r != 0) {
		doctor_say(d, DOCTOR_PROBLEM, "%s: git worktree list: %s", d->repo,
				r < 0 ? err.msg : "failed");
		return 0;
	}
	while (str_split(&out, '\n', &line)) {
		if (str_starts(line, STR("worktree ")))
			path = str_sub(line, 9, line.n);
		if (!str_starts(path, ours))
			continue;
		n += str_starts(line, STR("worktree "));
		if (str_starts(line, STR("prunable"))) {
			doctor_say(d, DOCTOR_WARNING,
					"git lists " STR_FMT
					", which an earlier version made and which is gone",
					STR_ARG(path));
			doctor_next(d, "git -C %s worktree prune", d->repo);
		}
	}
	return n;
}

void doctor_git_folders(struct doctor *d)
{
	size_t n = 0, linked = check_linked(d);

	for (size_t i = 0; d->s.state && i < d->s.state->workers.n; i++) {
		const struct worker *w = d->s.state->workers.p[i];
		const char *path = path_join(d->a, d->dir, arena_cstr(d->a, w->path));

		if (!w->path.n || !file_exists(path))
			continue;
		n++;
		if (worktree_is_whole(str_from(path)))
			continue;
		doctor_say(d, DOCTOR_WARNING,
				STR_FMT ": its .git file is gone or names another git folder",
				STR_ARG(w->name));
		doctor_next(d,
				"overseer worker reset " STR_FMT
				"     (keeps its work, and makes the worktree again)",
				STR_ARG(w->name));
	}
	if (d->level == DOCTOR_OK && !d->text.n)
		doctor_say(d, DOCTOR_OK, "%zu worktree%s, each with its git folder%s", n,
				n == 1 ? "" : "s",
				linked ? "; some as an earlier version made them" : "");
}

void doctor_rescue(struct doctor *d)
{
	const char *const argv[] = { "git", "-C", d->repo, "for-each-ref", "--format=%(refname)",
		"refs/overseer/", NULL };
	str out = STR(""), line;
	size_t n = 0;

	if (doctor_ask(d, argv, &out, NULL) != 0) {
		doctor_say(d, DOCTOR_WARNING, "%s: git for-each-ref failed", d->repo);
		return;
	}
	while (str_split(&out, '\n', &line))
		n += line.n > 0 && !str_starts(line, STR(REMOTE_PREFIX));
	doctor_say(d, DOCTOR_OK, "%zu ref%s", n, n == 1 ? " keeps what was rescued" : "s");
}

/* What our atomic writers name their unfinished files. Young ones may be somebody's at work. */
static bool is_leftover(struct doctor *d, const char *path, str name)
{
	struct stat st;

	if (!str_contains(name, STR(".tmp-")) || lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	return (ov_time)st.st_mtim.tv_sec * OV_SECOND < d->cx->now - OV_HOUR;
}

static size_t each_leftover(struct doctor *d, bool remove, struct ov_err *err)
{
	static const char *const folders[] = { ".", "backups", "logs" };
	size_t found = 0;

	for (size_t k = 0; k < ARRAY_LEN(folders); k++) {
		const char *folder = path_join(d->a, d->dir, folders[k]);
		str *names;
		size_t n;

		if (list_names(d, folder, &names, &n) < 0)
			continue;
		for (size_t i = 0; i < n; i++) {
			const char *path = path_join(d->a, folder, arena_cstr(d->a, names[i]));

			if (!is_leftover(d, path, names[i]))
				continue;
			found++;
			if (remove)
				(void)file_remove(path, err);
		}
	}
	return found;
}

void doctor_temporary(struct doctor *d)
{
	size_t n = each_leftover(d, false, NULL);

	if (n == 0) {
		doctor_say(d, DOCTOR_OK, "none");
		return;
	}
	doctor_say(d, DOCTOR_WARNING, "%zu unfinished file%s older than an hour", n,
			n == 1 ? " is" : "s are");
	doctor_next(d, "overseer doctor --fix");
}

int doctor_fix_temporary(struct doctor *d, struct ov_err *err)
{
	struct ov_err failed = { 0 };

	(void)each_leftover(d, true, &failed);
	if (failed.code && err)
		*err = failed;
	return failed.code;
}

void doctor_space(struct doctor *d)
{
	struct statvfs st;
	unsigned long long mib;

	if (statvfs(d->dir, &st) < 0) {
		doctor_say(d, DOCTOR_WARNING, "%s: %s", d->dir, strerror(errno));
		return;
	}
	mib = (unsigned long long)st.f_bavail * st.f_frsize / MIB;
	doctor_say(d,
			mib < SPACE_PROBLEM_MIB                   ? DOCTOR_PROBLEM
					: mib < SPACE_WARNING_MIB ? DOCTOR_WARNING
								  : DOCTOR_OK,
			"%llu MiB are free", mib);
	if (d->level != DOCTOR_OK)
		doctor_next(d, "make room on the disk of %s", d->dir);
}

/* What nobody but its owner may read. */
static const char *const private_files[] = { ".", "token", "store.db", "store.db-wal", "backups" };

static bool is_open_to_others(const char *path, struct stat *st)
{
	return stat(path, st) == 0 && (st->st_mode & 077);
}

void doctor_permissions(struct doctor *d)
{
	struct ov_err err = { 0 };
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(private_files); i++) {
		const char *path = path_join(d->a, d->dir, private_files[i]);

		if (is_open_to_others(path, &st))
			doctor_say(d, i ? DOCTOR_PROBLEM : DOCTOR_WARNING,
					"others may use %s (mode %03o)",
					i ? private_files[i] : d->dir, (unsigned)st.st_mode & 0777);
	}
	if (owner_check_store(d->dir, &err) < 0) {
		doctor_say(d, DOCTOR_PROBLEM, "%s", err.msg);
		doctor_next(d, "%s", err.next);
	}
	if (d->level == DOCTOR_OK)
		doctor_say(d, DOCTOR_OK, "only its owner can read it");
	else
		doctor_next(d, "overseer doctor --fix");
}

int doctor_fix_permissions(struct doctor *d, struct ov_err *err)
{
	const char *config = path_join(d->a, d->dir, "config.toml");
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(private_files); i++) {
		const char *path = path_join(d->a, d->dir, private_files[i]);

		if (is_open_to_others(path, &st) && chmod(path, st.st_mode & 0700) < 0)
			return ov_fail_errno(err, errno, "%s", path);
	}
	if (stat(config, &st) == 0 && (st.st_mode & 022) && chmod(config, st.st_mode & 0755) < 0)
		return ov_fail_errno(err, errno, "%s", config);
	return 0;
}
