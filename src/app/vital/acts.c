#include "app/vital/acts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "sys/file/file.h"

enum { PIECE = 64 * 1024, FILE_READ_MAX = 4 * ACTS_BYTES };

bool acts_open(struct acts *r, const char *path)
{
	struct stat st;

	*r = (struct acts)ACTS_INIT;
	r->fd = file_open(path, O_RDONLY | O_NOFOLLOW, 0);
	if (r->fd >= 0 && fstat(r->fd, &st) < 0)
		acts_close(r);
	if (r->fd < 0)
		return false;
	if (st.st_size > FILE_READ_MAX) {
		r->offset = (uint64_t)st.st_size - FILE_READ_MAX;
		r->skipping = true;
		r->bad++;
	}
	return true;
}

bool acts_is_current(const struct acts *r, const char *path)
{
	struct stat ours, named;

	return r->fd >= 0 && fstat(r->fd, &ours) == 0 && lstat(path, &named) == 0 &&
			ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

/* After a power loss a line may stand behind half of another. */
static bool read_act(str line, struct act *ret)
{
	const str begin = STR("{\"n\":");
	size_t at;

	if (act_read(line, ret))
		return true;
	at = line.n ? str_find(str_sub(line, 1, line.n), begin) + 1 : 0;
	return at < line.n && act_read(str_sub(line, at, line.n), ret);
}

static void take_line(struct acts *r, str line, acts_fn *fn, void *user)
{
	struct act x;

	if (r->skipping) {
		r->skipping = false;
		return;
	}
	line = str_trim(line);
	if (!line.n)
		return;
	if (read_act(line, &x))
		fn(user, &x);
	else
		r->bad++;
}

/* Takes whole lines; how many bytes they are. */
static size_t take_lines(struct acts *r, str piece, acts_fn *fn, void *user)
{
	size_t taken = 0;

	for (;;) {
		str rest = str_sub(piece, taken, piece.n);
		size_t end = str_find_byte(rest, '\n');

		if (end == rest.n)
			return taken;
		take_line(r, str_sub(rest, 0, end), fn, user);
		taken += end + 1;
	}
}

void acts_read(struct acts *r, acts_fn *fn, void *user)
{
	char piece[PIECE];
	struct stat st;

	if (r->fd < 0 || fstat(r->fd, &st) < 0)
		return;
	if ((uint64_t)st.st_size < r->offset) {
		r->offset = 0;
		r->skipping = false;
	}
	for (;;) {
		ssize_t n = pread(r->fd, piece, sizeof(piece), (off_t)r->offset);
		size_t taken;

		if (n <= 0)
			return;
		taken = take_lines(r, (str){ piece, (size_t)n }, fn, user);
		if (taken == 0 && n < PIECE)
			return;
		if (taken == 0) {
			r->bad += !r->skipping;
			r->skipping = true;
			taken = (size_t)n;
		}
		r->offset += taken;
	}
}

void acts_close(struct acts *r)
{
	fd_closep(&r->fd);
	r->fd = -1;
}

size_t acts_read_file(const char *path, acts_fn *fn, void *user)
{
	struct acts r;

	if (!acts_open(&r, path))
		return 0;
	acts_read(&r, fn, user);
	acts_close(&r);
	return r.bad;
}
