#pragma once
/*
 * A non-blocking byte stream on a socket or pipe: reads in bounded pieces, queues writes with a
 * bound, closes slow readers. Owns its fd and buffers. Callbacks come from the loop only, never
 * from inside a call into the stream.
 */
#include "base/ov.h"

struct loop;
struct stream;

struct stream_ops {
	/* Some bytes, at most 64 KiB. The callee may call stream_close. */
	void (*data)(void *user, str bytes);
	/* The other side closed its writing half; ours may still be open. */
	void (*eof)(void *user);
	/*
	 * Broken, or the write queue passed its bound. The stream sends and reads nothing more; the
	 * owner closes it.
	 */
	void (*failed)(void *user, const struct ov_err *err);
	/*
	 * All that had to be queued has been passed to the kernel; may be NULL. What the kernel
	 * takes at once was never queued: stream_queued says so when stream_write returns.
	 */
	void (*drained)(void *user);
};

/* Takes fd over (also on failure). At most max_queued bytes wait for a slow reader. */
int stream_open(struct loop *l, int fd, const struct stream_ops *ops, void *user, size_t max_queued,
		struct stream **ret, struct ov_err *err);
/*
 * Sends or queues bytes; false when the bound is passed or it is broken (failed() is called from
 * the loop).
 */
bool stream_write(struct stream *s, str bytes);
size_t stream_queued(const struct stream *s);
/*
 * Stops or resumes reading: back-pressure. While paused, the other side's end is not seen either.
 */
void stream_pause(struct stream *s, bool paused);
int stream_fd(const struct stream *s);
/*
 * NULL allowed; safe inside callbacks. What is queued is dropped: wait for drained() to avoid that.
 */
void stream_close(struct stream *s);
