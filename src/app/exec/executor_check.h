#pragma once
/*
 * What a check command tells besides whether it passed: tests, from the reports that it wrote or
 * what it printed, and coverage, from its reports. Evidence for oversight alone: whether work is
 * good is decided by the command's own status.
 */
#include "app/exec/executor_impl.h"

/*
 * All but the exit status. A command that failed has
 * failing tests, whatever they say; one that passed has them when they say so. Without a report or
 * summary its status is all that is known (format "exit"). Only reports that were written since the
 * command began count.
 */
void check_evidence(struct task *t, struct out_command *ret, str output, bool passed);
