/* What oversight saw, as people see it: iterations of a node, and what was found in them. */
#include "base/arena.h"
#include "base/str.h"
#include "core/view/view.h"

value *view_iterations(struct arena *a, const struct node *n)
{
	value *list = value_array(a);

	for (size_t i = 0; i < n->iterations.n; i++)
		value_push(a, list, record_to_value(a, &iteration_record, n->iterations.p[i]));
	return list;
}

value *view_detections(struct arena *a, const struct goal *g, const struct node *n)
{
	value *list = value_array(a);

	for (size_t i = g->detections.n; i-- > 0;)
		if (!n || str_eq(g->detections.p[i]->node_id, n->id))
			value_push(a, list,
					record_to_value(a, &detection_record, g->detections.p[i]));
	return list;
}
