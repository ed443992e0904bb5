/* What is done about a run that makes the same call again and again. */
#include "base/str.h"
#include "core/intervene/oversee.h"
#include "core/oversight/repetition.h"

void tick_loop(struct decide_ctx *cx, const struct decision *d)
{
	const struct assignment *as = d->assignment;
	struct detect_context context = repetition_context(as->node, d->call);
	struct subject about = about_assignment(as);
	struct detection_words w;
	struct repetition c;
	str id;

	if (!repetition_judge(cx->policy, as, &(struct repeated){ d->calls, d->call, d->output },
			    &c))
		return;
	detection_describe(cx->arena, &context, &c.found, c.level, &w);
	/* Its run is not counted among the iterations yet. */
	id = detection_emit(cx, about, &c.found, &w, as->node->watch.iterations_n,
			as->node->watch.round);
	intervene(cx,
			&(struct intervention){ .detection = id,
					.about = about,
					.goal = d->goal,
					.node = d->node,
					.live = as,
					.type = c.found.type,
					.severity = c.found.severity,
					.level = c.level,
					.fingerprint = w.fingerprint,
					.message = w.message,
					.reason = w.reason,
					.quote = value_str_at(w.evidence,
							d->output ? "repeatedOutput"
								  : "repeatedToolCall"),
					.text = w.guidance,
					.pause = c.o.pause });
}
