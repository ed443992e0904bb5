#pragma once
/*
 * The line to a run's shim: requests over the socket in the run's folder (shim/proto.h), queued
 * until the shim listens, connected at the first of them. The shim answers in order. Who wants to
 * know is told once: taken, refused, or (the line broke, no answer in time) not known. For the
 * others an error that the shim answers, or a broken line, is reported by the next request. Owned
 * by its run.
 */
#include "base/ov.h"

struct loop;
struct run_link;

/*
 * r: 0, OV_ESTATE when the shim refused, OV_EUNAVAILABLE when nobody knows; err is NULL on success.
 * Comes from the loop or from run_link_close, and must not close the link.
 */
typedef void run_link_fn(void *user, int r, const struct ov_err *err);

/* dir is borrowed. */
struct run_link *run_link_new(struct loop *l, const char *dir);
/* The shim listens: send what is waiting. */
void run_link_ready(struct run_link *k);
/*
 * So many whole requests; taken together or, when there is no room (OV_ELIMIT), not at all: then fn
 * (NULL allowed) is not called.
 */
int run_link_request(struct run_link *k, str requests, size_t n, run_link_fn *fn, void *user,
		struct ov_err *err);
/* Who still waits for an answer is told that there is none. */
void run_link_close(struct run_link *k);
