/*
 * What is said to a run: input and requests through its shim's socket, and the signal that
 * stops it.
 */
#include "drive/run/run_impl.h"

#include <signal.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"
#include "drive/run/run_link.h"
#include "shim/proto.h"

static int check_live(const struct run_handle *r, struct ov_err *err)
{
	if (r->over || r->concluding)
		return ov_fail(err, OV_ESTATE, "run %s has ended", r->id);
	return 0;
}

int run_send(struct run_handle *r, str bytes, struct ov_err *err)
{
	struct buf whole = BUF_INIT;
	int code = check_live(r, err);
	size_t n = 0;

	if (code < 0)
		return code;
	for (size_t at = 0; at < bytes.n; at += RUN_SEND_MAX) {
		str piece = str_sub(bytes, at, RUN_SEND_MAX);

		buf_addf(&whole, "send %zu\n", piece.n);
		buf_adds(&whole, piece);
		n++;
	}
	code = run_link_request(r->link, buf_str(&whole), n, NULL, NULL, err);
	buf_done(&whole);
	return code;
}

int run_deliver(struct run_handle *r, str id, str bytes, run_delivered_fn *done, void *user,
		struct ov_err *err)
{
	struct buf whole = BUF_INIT;
	int code = check_live(r, err);

	if (code < 0)
		return code;
	assert(id.n > 0 && id.n <= RUN_ID_MAX && str_find_byte(id, ' ') == id.n);
	if (bytes.n > RUN_SEND_MAX)
		return ov_fail(err, OV_ELIMIT,
				"run %s: a message of %zu bytes is longer than the %d that an "
				"agent's input takes",
				r->id, bytes.n, RUN_SEND_MAX);
	buf_addf(&whole, "deliver %zu " STR_FMT "\n", bytes.n, STR_ARG(id));
	buf_adds(&whole, bytes);
	code = run_link_request(r->link, buf_str(&whole), 1, done, user, err);
	buf_done(&whole);
	return code;
}

int run_close_input(struct run_handle *r, struct ov_err *err)
{
	int code = check_live(r, err);

	return code < 0 ? code
			: run_link_request(r->link, STR("close-input\n"), 1, NULL, NULL, err);
}

int run_signal(struct run_handle *r, int signo, struct ov_err *err)
{
	int code = check_live(r, err);
	char line[RUN_LINE_MAX];

	snprintf(line, sizeof(line), "signal %d\n", signo);
	return code < 0 ? code : run_link_request(r->link, str_from(line), 1, NULL, NULL, err);
}

int run_interrupt(struct run_handle *r, struct ov_err *err)
{
	int code = check_live(r, err);

	return code < 0 ? code : run_link_request(r->link, STR("interrupt\n"), 1, NULL, NULL, err);
}

int run_freeze(struct run_handle *r, bool frozen, run_delivered_fn *done, void *user,
		struct ov_err *err)
{
	int code = check_live(r, err);

	return code < 0 ? code
			: run_link_request(r->link, frozen ? STR("freeze\n") : STR("thaw\n"), 1,
					  done, user, err);
}

/* Not by the socket: SIGTERM means stop to the shim, and needs nothing of it but its life. */
int run_stop(struct run_handle *r, struct ov_err *err)
{
	int code = check_live(r, err);

	if (code < 0)
		return code;
	r->stop_wanted = true;
	/* Until it is up, it would die of the signal instead of minding it. */
	if (r->shim.pidfd < 0 || r->complaints >= 0)
		return 0;
	code = proc_signal(&r->shim, SIGTERM, err);
	return code == OV_ENOTFOUND ? 0 : code;
}
