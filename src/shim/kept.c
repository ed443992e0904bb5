#include "shim/shim_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 65536, STEPS = 16, TERMINAL_HOLDS = 1 << 20 };

int kept_open(struct kept *k, const char *file)
{
	struct stat st;

	k->file = open_file(file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW);
	if (k->file < 0 || fstat(k->file, &st) < 0)
		return -1;
	k->size = k->bytes = (uint64_t)st.st_size;
	k->block = (uint64_t)MAX(st.st_blksize, (blksize_t)1);
	return 0;
}

static void close_pipe(struct kept *k)
{
	if (k->pipe >= 0)
		close(k->pipe);
	k->pipe = -1;
}

static uint64_t whole_blocks(const struct kept *k, uint64_t n)
{
	return n - n % k->block;
}

/*
 * The bound is reached: the oldest of the newest half goes. A sixteenth at a time, so that there
 * are few holes to punch and the newest half is always nearly whole; whole blocks only, since of a
 * part of one only zeros would be left, which nobody could tell from what was written.
 */
static bool make_room(struct kept *k, uint64_t max)
{
	uint64_t half = whole_blocks(k, max / 2), step = whole_blocks(k, max / STEPS), from, to;

	if (k->no_holes || step == 0 || k->size < max)
		return false;
	from = k->hole_to ? k->hole_to : half;
	to = whole_blocks(k, k->size - (max - half)) + step;
	if (to <= from)
		return false;
	if (fallocate(k->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
			    (off_t)(to - from)) < 0) {
		k->no_holes = true;
		return false;
	}
	k->hole_to = to;
	k->bytes -= to - from;
	k->dropped += to - from;
	return true;
}

/* Keeps what fits into the bound and onto the disk; the rest is counted, never waited for. */
static void kept_add(struct shim *s, struct kept *k, const char *p, size_t n)
{
	while (n > 0 && (k->bytes < s->max_output || make_room(k, s->max_output))) {
		size_t fits = (size_t)MIN((uint64_t)n, s->max_output - k->bytes);
		ssize_t done = write(k->file, p, fits);

		if (done <= 0)
			break;
		k->bytes += (uint64_t)done;
		k->size += (uint64_t)done;
		p += done;
		n -= (size_t)done;
	}
	k->dropped += n;
}

const char *kept_what(const struct kept *k)
{
	return k->dropped == 0 ? "all" : k->hole_to ? "ends" : "beginning";
}

/* Reads at most max bytes; false when there is nothing more for now. */
static bool read_piece(struct shim *s, struct kept *k, size_t max, size_t *ret_n)
{
	char piece[PIECE];
	ssize_t n = read(k->pipe, piece, MIN(max, sizeof(piece)));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		close_pipe(k);
		return false;
	}
	kept_add(s, k, piece, (size_t)n);
	if (k == &s->output)
		terminal_show(s, piece, (size_t)n);
	*ret_n = (size_t)n;
	return true;
}

void kept_read(struct shim *s, struct kept *k)
{
	size_t n;

	read_piece(s, k, PIECE, &n);
}

/*
 * What is in the pipe now, and no more: a descendant may hold its other end and write for ever,
 * but the last words of a process that has ended are there.
 */
void kept_end(struct shim *s, struct kept *k)
{
	int left = 0;
	size_t n;

	if (k->pipe < 0)
		return;
	/* A terminal does not say how much that is; it holds no more than this. */
	if (s->terminal.on)
		left = TERMINAL_HOLDS;
	else if (ioctl(k->pipe, FIONREAD, &left) < 0)
		left = 0;
	while (left > 0 && k->pipe >= 0 && read_piece(s, k, (size_t)left, &n))
		left -= (int)n;
	close_pipe(k);
}
