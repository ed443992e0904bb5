/*
 * What a worktree looks like, as one hash: two that differ tell that somebody worked in it. The
 * agent is at work meanwhile, so nothing is locked, written or tidied up here.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "data/id/sha256.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/worktree/worktree.h"

/* Beyond so many changed files their names and hashes have to do. */
enum { STATS_MAX = 4096 };

static int find_only(struct git_call *c, struct ov_err *err)
{
	int r = git_find(c, err);

	if (r < 0)
		return r;
	if (!c->own || !c->folder || c->making)
		return ov_fail(err, OV_ENOTFOUND, "%s is not a worktree of %s", c->path,
				c->g->repo);
	git_room_head(c);
	return GIT_SKIP;
}

static int status_build(struct git_call *c, struct ov_err *err _unused_)
{
	return git_run(c, AT_TREE, GIT_READS, "status", "--porcelain=v2", "-z",
			"--untracked-files=all", "--ignore-submodules=all", "--no-renames", NULL);
}

/* The name in an entry of the second format, behind so many fields; empty for a header. */
static str entry_name(str entry)
{
	static const struct {
		char kind;
		size_t fields;
	} kinds[] = { { '1', 8 }, { 'u', 10 }, { '?', 1 } };
	str part;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (!entry.n || entry.p[0] != kinds[i].kind)
			continue;
		for (size_t f = 0; f < kinds[i].fields; f++)
			if (!str_split(&entry, ' ', &part))
				return (str){ 0 };
		return entry;
	}
	return (str){ 0 };
}

/* The same file edited twice has the same entry both times: its size and time tell them apart. */
static void add_stat(struct sha256 *h, int dir, const char *name)
{
	struct stat st;
	char text[96] = "gone";

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		snprintf(text, sizeof(text), "%o %lld %lld.%09ld", (unsigned)st.st_mode,
				(long long)st.st_size, (long long)st.st_mtim.tv_sec,
				st.st_mtim.tv_nsec);
	sha256_add(h, text, strlen(text) + 1);
}

static int status_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	uint8_t sum[SHA256_LEN];
	char hex[SHA256_HEX + 1];
	struct sha256 h;
	str rest = o->out, entry, name;
	size_t n = 0;

	sha256_init(&h);
	sha256_add(&h, c->head_name.p, c->head_name.n);
	sha256_add(&h, c->head_ref.p, c->head_ref.n);
	sha256_add(&h, o->out.p, o->out.n);
	while (n < STATS_MAX && str_split(&rest, '\0', &entry)) {
		name = entry_name(entry);
		if (!name.n)
			continue;
		/* Every entry is followed by its NUL, so its name is a C string. */
		add_stat(&h, c->tree_fd, name.p);
		n++;
	}
	sha256_end(&h, sum);
	hex_format(sum, sizeof(sum), hex);
	c->res.fingerprint = arena_str(&c->arena, str_from(hex));
	return GIT_NEXT;
}

static const struct git_step fingerprint_steps[] = {
	STEP_RUN("find the worktree", find_only, NULL),
	STEP_TAKE("see what has changed", status_build, status_take),
	STEP_END,
};

void git_fingerprint(struct git *g, str path, git_done_fn *done, void *user)
{
	struct git_call *c = git_call_new(g, "fingerprint", path, done, user);

	c->peeks = true;
	git_call_start(c, fingerprint_steps, 0, NULL);
}
