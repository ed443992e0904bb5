#pragma once
/* What runs used and cost, as people are shown it. */
#include "base/ov.h"
#include "data/value/value.h"

/* "12.3k" */
str tokens_text(struct arena *a, int64_t n);
/* "$3.12" */
str cost_text(struct arena *a, int64_t microusd);
/* Of sums as cost.get has them: do the tokens, or the cost, lack what some runs used? */
bool tokens_partly(const value *sum);
bool cost_partly(const value *sum);
