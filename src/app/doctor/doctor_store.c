/* The doctor's checks of the store itself. */
#include <unistd.h>

#include "app/doctor/doctor_impl.h"
#include "app/store/backup.h"
#include "app/store/fold.h"
#include "app/vital/holder.h"
#include "base/err.h"
#include "base/str.h"
#include "core/state/snapshot.h"
#include "data/value/json.h"
#include "sys/file/file.h"
#include "sys/host/rand.h"

enum { REGISTRATION_MAX = 64 * 1024, DIR_MAX = 100000 };

/* False, and said, when there is nothing to check. */
static bool doctor_store_is_open(struct doctor *d)
{
	if (d->opened == 0)
		return true;
	if (d->opened == OV_ENOTFOUND) {
		doctor_say(d, DOCTOR_OK, "there is no store yet");
		return false;
	}
	doctor_say(d, DOCTOR_PROBLEM, "%s", d->open_err.msg);
	doctor_next(d, "%s", d->open_err.next);
	return false;
}

static void say_damage(struct doctor *d, const char *what)
{
	doctor_say(d, DOCTOR_PROBLEM, "%s", what);
	doctor_next(d, "overseer down && overseer doctor --rebuild");
}

/* A missing archive is no damage: it has only to be put back. */
static void say_found(struct doctor *d, const struct ov_err *err)
{
	if (err->code != OV_EUNAVAILABLE) {
		say_damage(d, err->msg);
		return;
	}
	doctor_say(d, DOCTOR_PROBLEM, "%s", err->msg);
	doctor_next(d, "%s", err->next);
}

static void say_whole(struct doctor *d, uint64_t last)
{
	uint64_t border = 0;

	if (store_border(d->s.store, &border, NULL) == 0 && border)
		doctor_say(d, DOCTOR_OK, "%llu events, %llu of them in the archive",
				(unsigned long long)last, (unsigned long long)border);
	else
		doctor_say(d, DOCTOR_OK, "%llu events", (unsigned long long)last);
}

void doctor_integrity(struct doctor *d)
{
	struct ov_err err = { 0 };

	if (!doctor_store_is_open(d))
		return;
	if (store_check(d->s.store, &err) < 0)
		say_found(d, &err);
	else
		doctor_say(d, DOCTOR_OK, "SQLite finds nothing wrong");
}

void doctor_chain(struct doctor *d)
{
	struct ov_err err = { 0 };
	uint64_t last = 0;

	if (!doctor_store_is_open(d))
		return;
	if (store_verify(d->s.store, 0, &last, &err) < 0) {
		doctor_say(d, DOCTOR_PROBLEM, "verified up to event %llu",
				(unsigned long long)last);
		say_found(d, &err);
	} else if (d->s.safe.on) {
		say_damage(d, d->s.safe.reason);
	} else {
		say_whole(d, last);
	}
}

/* The state at a record, from the beginning of the log; NULL when that cannot be had. */
static struct state *fold_to(struct doctor *d, uint64_t seq, struct ov_err *err)
{
	struct state *s = state_new(rand_u64());

	if (fold_on(d->s.store, s, seq, err) == 0)
		return s;
	state_free(s);
	return NULL;
}

static bool same_state(const struct state *a, const struct state *b)
{
	_cleanup_(buf_done) struct buf x = BUF_INIT, y = BUF_INIT;

	snapshot_write(&x, a);
	snapshot_write(&y, b);
	return str_eq(buf_str(&x), buf_str(&y));
}

static void compare_snapshot(struct doctor *d, const struct store_snapshot *snap)
{
	struct state *kept = NULL, *folded = NULL;
	struct ov_err err = { 0 };

	if (snapshot_read(snap->bytes, rand_u64(), &kept, &err) < 0)
		doctor_say(d, DOCTOR_WARNING, "the snapshot at event %llu cannot be read: %s",
				(unsigned long long)snap->seq, err.msg);
	else if (!(folded = fold_to(d, snap->seq, &err)))
		doctor_say(d, DOCTOR_WARNING, "the log before the snapshot cannot be folded: %s",
				err.msg);
	else if (!same_state(kept, folded))
		doctor_say(d, DOCTOR_PROBLEM, "the snapshot at event %llu is not what the log says",
				(unsigned long long)snap->seq);
	else
		doctor_say(d, DOCTOR_OK, "the snapshot at event %llu is what the log says",
				(unsigned long long)snap->seq);
	state_free(kept);
	state_free(folded);
}

void doctor_snapshot(struct doctor *d)
{
	struct store_snapshot snap;
	struct ov_err err = { 0 };
	int r;

	if (!doctor_store_is_open(d))
		return;
	r = store_snapshot_get(d->s.store, d->a, &snap, &err);
	if (r == OV_ENOTFOUND)
		doctor_say(d, DOCTOR_OK, "there is none; the log is folded from its beginning");
	else if (r < 0)
		say_damage(d, err.msg);
	else if (snap.format != SNAPSHOT_FORMAT)
		doctor_say(d, DOCTOR_OK, "it is of another version; the next one replaces it");
	else
		compare_snapshot(d, &snap);
	/* Whatever was found instead. */
	if ((r == 0 || r == OV_ENOTFOUND) && store_damage(d->s.store).n && !d->s.safe.on)
		doctor_say(d, DOCTOR_WARNING, STR_FMT, STR_ARG(store_damage(d->s.store)));
	if (d->level != DOCTOR_OK)
		doctor_next(d, "overseer down && overseer doctor --fix");
}

/* The log is the truth: what it gives at its head takes the place of the snapshot. */
int doctor_fix_snapshot(struct doctor *d, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct store_snapshot snap = { .format = SNAPSHOT_FORMAT };
	struct store_lease lease;
	struct store *s = NULL;
	struct state *state = fold_to(d, UINT64_MAX, err);
	int r;

	if (!state)
		return err ? err->code : OV_EIO;
	snapshot_write(&bytes, state);
	snap.bytes = buf_str(&bytes);
	state_free(state);
	r = store_open(str_from(d->cx->daemon->store_url), STORE_READ_WRITE, &s, err);
	if (r == 0)
		r = store_lease_take(s, STR("{}"), d->a, &lease, err);
	if (r == 0)
		r = store_head(s, &snap.seq, snap.hash, err);
	if (r == 0)
		r = store_snapshot_put(s, &snap, err);
	store_close(s);
	return r;
}

static const char *socket_file(struct doctor *d)
{
	return path_join(d->a, d->dir, "overseer.sock");
}

void doctor_lease(struct doctor *d)
{
	const char *file = path_join(d->a, d->dir, "daemon.json");
	value *v = NULL;
	str text;
	bool there = file_read(d->a, file, REGISTRATION_MAX, &text, NULL) == 0,
	     lives = there && json_parse(d->a, text, NULL, &v, NULL) == 0 && holder_lives(v);

	if (d->held && lives)
		doctor_say(d, DOCTOR_OK, "a daemon runs (pid %lld)",
				(long long)value_int_at(v, "pid"));
	else if (d->held) {
		doctor_say(d, DOCTOR_WARNING,
				"a process holds the store, but daemon.json does not name it");
		doctor_next(d, "overseer down");
	} else if (lives) {
		doctor_say(d, DOCTOR_PROBLEM, "a daemon runs (pid %lld) without its lock",
				(long long)value_int_at(v, "pid"));
		doctor_next(d, "overseer down");
	} else if (there || file_exists(socket_file(d))) {
		doctor_say(d, DOCTOR_WARNING, "%s is left of a daemon that is gone",
				there ? "daemon.json" : "the socket");
		doctor_next(d, "overseer up     or     overseer doctor --fix");
	} else {
		doctor_say(d, DOCTOR_OK, "no daemon runs, and none left anything");
	}
}

/* Only what a daemon that is gone left, and only while none can come. */
int doctor_fix_lease(struct doctor *d, struct ov_err *err)
{
	int fd = -1, r = 0;

	if (d->store_path)
		r = store_hold(str_from(d->cx->daemon->store_url), &fd, err);
	if (r == 0)
		r = file_remove(path_join(d->a, d->dir, "daemon.json"), err);
	if (r == 0)
		r = file_remove(socket_file(d), err);
	fd_closep(&fd);
	return r;
}

static size_t count_corrupt(struct doctor *d)
{
	size_t n, found = 0;
	str *names;

	if (dir_list(d->a, d->dir, DIR_MAX, &names, &n, NULL) < 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		found += str_starts(names[i], STR("store.corrupt-")) &&
				str_ends(names[i], STR(".db"));
	return found;
}

void doctor_copies(struct doctor *d)
{
	size_t corrupt = count_corrupt(d), n = 0;
	const char **files = NULL;
	struct ov_err err = { 0 };
	uint64_t last = 0;

	if (corrupt) {
		doctor_say(d, DOCTOR_WARNING, "%zu cop%s of a damaged store %s kept (at most %d)",
				corrupt, corrupt == 1 ? "y" : "ies", corrupt == 1 ? "is" : "are",
				SAFE_COPIES_MAX);
		doctor_next(d, "ls %s/store.corrupt-*     and remove what is no longer needed",
				d->dir);
	}
	if (backup_list(d->a, d->dir, &files, &n, &err) < 0)
		doctor_say(d, DOCTOR_WARNING, "%s", err.msg);
	else if (n == 0)
		doctor_say(d, DOCTOR_OK, "no backup was made yet (overseer backup)");
	else if (backup_verify(d->a, files[n - 1], &last, &err) < 0) {
		doctor_say(d, DOCTOR_WARNING, "the newest of %zu backups is not good: %s", n,
				err.msg);
		doctor_next(d, "overseer backup");
	} else
		doctor_say(d, DOCTOR_OK, "%zu backup%s, the newest (%s) up to event %llu", n,
				n == 1 ? "" : "s", strrchr(files[n - 1], '/') + 1,
				(unsigned long long)last);
}
