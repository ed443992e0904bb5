#include "core/policy/quiet_hours.h"

ov_time quiet_until(const struct policy *p, ov_time now)
{
	ov_time local = now + p->utc_offset, day = local - local % OV_DAY, since = local - day;
	ov_time from = p->quiet_from * OV_MINUTE, to = p->quiet_to * OV_MINUTE;

	if (from == to)
		return 0;
	if (since < to && (from > to || since >= from))
		return day + to - p->utc_offset;
	if (since >= from && from > to)
		return day + OV_DAY + to - p->utc_offset;
	return 0;
}
