#include "app/agents/run_words.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "agent/read/stream.h"
#include "base/arena.h"
#include "base/str.h"
#include "core/text/last_lines.h"
#include "core/text/redact.h"
#include "sys/file/file.h"
#include "sys/file/sparse.h"

/* So much of the end of a file that no secret in the last lines is cut in two. */
enum { TAIL_BYTES = 64 * 1024 };

static str tail(struct arena *a, const char *dir, const char *name)
{
	_cleanup_(fd_closep) int fd = file_open(path_join(a, dir, name), O_RDONLY | O_NOFOLLOW, 0);
	char *p = arena_alloc(a, TAIL_BYTES + 1);
	struct stat st;
	uint64_t at;
	size_t n = 0;
	bool more = true;

	if (fd < 0 || fstat(fd, &st) < 0)
		return STR("");
	at = st.st_size > TAIL_BYTES ? (uint64_t)st.st_size - TAIL_BYTES : 0;
	while (more && n < TAIL_BYTES) {
		ssize_t r = sparse_read(fd, p + n, TAIL_BYTES - n, &at, &more);

		if (r <= 0)
			break;
		n += (size_t)r;
		at += (uint64_t)r;
	}
	/* Before it is cut: what is left of a secret would not be known for one. */
	return redact(a, (str){ p, n });
}

static str run_words_joined(struct arena *a, str one, str two)
{
	if (!one.n || !two.n)
		return one.n ? one : two;
	return arena_printf(a, STR_FMT "\n" STR_FMT, STR_ARG(one), STR_ARG(two));
}

str run_words(struct arena *a, const char *dir, const struct account *account)
{
	str errors, words;

	if (!account)
		return last_lines(a, tail(a, dir, "output"));
	errors = last_lines(a, tail(a, dir, "errors"));
	words = str_from(account->trouble_text);
	/* What it names as its trouble comes last, since that is what people look at first. */
	if (words.n)
		return str_contains(errors, last_lines(a, words))
				? errors
				: last_lines(a, run_words_joined(a, errors, redact(a, words)));
	return last_lines(a, run_words_joined(a, redact(a, str_from(account->message)), errors));
}

static void on_fact(void *user, const struct fact *f)
{
	account_fact(user, f, 0);
}

str run_words_said(struct arena *a, const char *dir, const struct agent_format *f)
{
	struct account *account = arena_new(a, struct account);
	struct agent_stream *stream;
	str out, line;

	if (!f)
		return run_words(a, dir, NULL);
	account_init(account, NULL, 0);
	stream = stream_new(f, on_fact, account);
	out = tail(a, dir, "output");
	if (out.n >= TAIL_BYTES)
		(void)str_split(&out, '\n', &line); /* which may have been cut */
	stream_bytes(stream, out, 0);
	stream_end(stream);
	stream_free(stream);
	return last_lines(a, redact(a, str_from(account->message)));
}
