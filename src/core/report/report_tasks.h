#pragma once
/*
 * The tasks of one goal as its log goes on: how far it was at any moment, and what finally became
 * of each task. The nodes are folded by core/fold/apply, so that progress is the state's own.
 * Private to core/report/report*.
 */
#include "core/event/event.h"
#include "core/report/report_doc.h"
#include "core/state/state.h"

struct report_tasks;
struct report_tasks *report_tasks_new(void);
struct report_tasks *report_tasks_free(struct report_tasks *t); /* returns NULL */
/*
 * Events about the goal, in order. The goal after it, if this may have changed its progress,
 * or NULL.
 */
const struct goal *report_tasks_add(struct report_tasks *t, const struct event *e);
/* Texts are those of the goal. */
struct report_task_list report_tasks_list(struct arena *a, const struct report_tasks *t,
		const struct goal *g);

/* What became of it; overridden: it is done by a person's word. */
enum task_end task_end_of(const struct node *n, bool overridden) _pure_;
