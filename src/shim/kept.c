#include "shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { PIECE = 65536 };

int kept_open(struct kept *k, const char *file)
{
	k->file = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	return k->file < 0 ? -1 : 0;
}

static void close_pipe(struct kept *k)
{
	if (k->pipe >= 0)
		close(k->pipe);
	k->pipe = -1;
}

/* Keeps what fits into the bound and onto the disk; the rest is counted, never waited for. */
static void keep(struct shim *s, struct kept *k, const char *p, size_t n)
{
	while (n > 0 && k->bytes < s->max_output) {
		size_t fits = (size_t)MIN((uint64_t)n, s->max_output - k->bytes);
		ssize_t done = write(k->file, p, fits);

		if (done <= 0)
			break;
		k->bytes += (uint64_t)done;
		p += done;
		n -= (size_t)done;
	}
	k->dropped += n;
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
	keep(s, k, piece, (size_t)n);
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

	if (k->pipe < 0 || ioctl(k->pipe, FIONREAD, &left) < 0)
		left = 0;
	while (left > 0 && k->pipe >= 0 && read_piece(s, k, (size_t)left, &n))
		left -= (int)n;
	close_pipe(k);
}
