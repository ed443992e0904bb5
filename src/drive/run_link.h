#pragma once
/*
 * The line to a run's shim: requests over the socket in the run's folder (shim/proto.h), queued
 * until the shim listens, connected at the first of them. Nothing waits for an answer; an error
 * that the shim answers, or a broken line, is reported by the next request. Owned by its run.
 */
#include "base/ov.h"

struct loop;
struct run_link;

/* dir is borrowed. */
struct run_link *run_link_new(struct loop *l, const char *dir);
/* The shim listens: send what is waiting. */
void run_link_ready(struct run_link *k);
/* Whole requests; taken together or, when there is no room (OV_ELIMIT), not at all. */
int run_link_request(struct run_link *k, str requests, struct ov_err *err);
void run_link_close(struct run_link *k);
