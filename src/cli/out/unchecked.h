#pragma once
/*
 * That finished work will wait for a review, since nothing checks it: said wherever work is begun.
 */
#include "cli/out/out.h"
#include "data/value/value.h"

/* Of a plan, or of the status; nothing when all of it is checked. */
void tell_unchecked(struct out *o, const value *v);
