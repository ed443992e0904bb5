#pragma once
/*
 * Stands in for app/exec/executor and the drivers below it: carries out committed effects on the
 * models of git and machine, in the time that they take, listens to runs (with the real
 * app/engine/run_output), takes the looks that the tick asks for. Dies with its daemon: what was
 * under way then is cut off anywhere.
 */
#include "core/event/event.h"
#include "core/model/model.h"
#include "tests/sim/daemon.h"

struct sim_exec *exec_new(struct sim_daemon *d);
/* The daemon died: actions under way happen in part, nothing is told. */
void exec_free(struct sim_exec *x);
/* Finds the runs of former lives again; before engine_start. */
void exec_adopt(struct sim_exec *x);
void exec_perform(struct sim_exec *x, const struct effect *fx);
void exec_look(struct sim_exec *x, const struct run *r);
/* Some of what is durable now asks for more than effects. */
void exec_published(struct sim_exec *x, const struct event *const *events, size_t n);
/* The clock was set by that much. */
void exec_clock_moved(struct sim_exec *x, ov_time by);
const struct map *exec_observations(const struct sim_exec *x);
/* What makes an accept of this assignment happen once, after so many reverts of its node. */
str exec_accept_key(struct arena *a, str assignment, int64_t reverts);
