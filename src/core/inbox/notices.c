#include "core/inbox/notices.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/inbox/inbox.h"
#include "core/model/limits.h"
#include "core/policy/quiet_hours.h"
#include "core/text/redact.h"

enum urgency urgency_of(enum level level, enum severity severity)
{
	switch (level) {
	case LEVEL_REDIRECT:
		return severity == SEVERITY_CRITICAL ? URGENCY_CRITICAL : URGENCY_WARNING;
	case LEVEL_PAUSE: return URGENCY_CRITICAL;
	case LEVEL_ABORT: return URGENCY_EMERGENCY;
	default: return URGENCY_INFO;
	}
}

bool alarm_wanted(const struct policy *p, enum level level)
{
	return level == LEVEL_ABORT || (p->notify && level != LEVEL_NONE);
}

const struct policy_channel *notice_channel(const struct policy *p, const struct notice *x)
{
	for (size_t i = 0; i < p->channels_n; i++)
		if (str_eq(p->channels[i].name, x->channel))
			return &p->channels[i];
	return NULL;
}

bool notice_is_needless(const struct state *s, const struct notice *x)
{
	const struct escalation *asked = x->escalation ? state_escalation(s, x->escalation) : NULL;

	return x->escalation && (!asked || asked->status != ESC_OPEN || asked->snoozed_until);
}

ov_time notice_due(const struct policy *p, const struct notice *x, ov_time now)
{
	ov_time at = MAX(x->not_before, now);

	return x->urgency == URGENCY_EMERGENCY ? at : MAX(at, quiet_until(p, at));
}

ov_time notice_backoff(const struct policy *p, int64_t attempts)
{
	ov_time wait = p->notice_retry;

	for (int64_t i = 1; i < attempts && wait < p->notice_retry_max; i++)
		wait *= 2;
	return MIN(wait, p->notice_retry_max);
}
