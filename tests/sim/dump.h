#pragma once
/*
 * What a seed's log says, and what the program says of it, for somebody who compares them
 * (tests/sim/oracle.py). One line of JSON for each: the records of the log as they are stored, the
 * reports as the operations answer them, and the rescue refs with what the model of git
 * really holds.
 */
#include <stdio.h>

#include "tests/sim/sim.h"

/* After sim_run, when everything held. Writes nothing but the seed when no daemon is up. */
void dump_reports(struct sim *s, FILE *f);
