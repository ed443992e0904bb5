#pragma once
/* When people are left in peace. */
#include "core/policy/policy.h"
/* When the quiet hours that now is in end; 0 when it is in none. */
ov_time quiet_until(const struct policy *p, ov_time now);
