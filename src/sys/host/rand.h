#pragma once
/* The only reader of randomness (getrandom). Cannot fail. */
#include "base/ov.h"

void rand_bytes(void *p, size_t n);
uint64_t rand_u64(void);
