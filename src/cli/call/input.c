#include "cli/call/input.h"

#include <errno.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "sys/file/file.h"

static int read_stdin(struct cli *c, size_t max, str *ret, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	char piece[16384];
	ssize_t n;

	while ((n = read(STDIN_FILENO, piece, sizeof(piece))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ov_fail_errno(err, errno, "reading standard input");
		buf_add(&b, piece, (size_t)n);
		if (b.n > max)
			return ov_fail(err, OV_ELIMIT, "standard input has more than %zu bytes",
					max);
	}
	*ret = arena_str(c->arena, buf_str(&b));
	return 0;
}

int input_read(struct cli *c, str path, size_t max, str *ret, struct ov_err *err)
{
	if (str_is(path, "-"))
		return read_stdin(c, max, ret, err);
	return file_read(c->arena, arena_cstr(c->arena, path), max, ret, err);
}

int input_text(struct cli *c, str arg, size_t max, str *ret, struct ov_err *err)
{
	str text;
	int r;

	if (!str_starts(arg, STR("@"))) {
		*ret = arg;
		return 0;
	}
	r = input_read(c, str_sub(arg, 1, arg.n), max, &text, err);
	if (r == 0)
		*ret = str_trim(text);
	return r;
}
