#include "tests/sim/queue.h"

#include "base/alloc.h"
#include "base/vec.h"

/* A binary heap of pointers. */
struct sim_queue {
	VEC(struct queue_entry *) heap;
	uint64_t order;
};

struct sim_queue *queue_new(void)
{
	return mem_zalloc(1, sizeof(struct sim_queue));
}

void queue_entry_free(struct queue_entry *e)
{
	mem_free(e);
}

void queue_free(struct sim_queue *q)
{
	for (size_t i = 0; i < q->heap.n; i++)
		queue_entry_free(q->heap.p[i]);
	vec_done(&q->heap);
	mem_free(q);
}

static bool before(const struct queue_entry *a, const struct queue_entry *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void swap(struct sim_queue *q, size_t i, size_t j)
{
	struct queue_entry *e = q->heap.p[i];

	q->heap.p[i] = q->heap.p[j];
	q->heap.p[j] = e;
}

static void sift_up(struct sim_queue *q, size_t i)
{
	while (i > 0 && before(q->heap.p[i], q->heap.p[(i - 1) / 2])) {
		swap(q, i, (i - 1) / 2);
		i = (i - 1) / 2;
	}
}

static void sift_down(struct sim_queue *q, size_t i)
{
	for (;;) {
		size_t least = i;

		for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < q->heap.n; child++)
			if (before(q->heap.p[child], q->heap.p[least]))
				least = child;
		if (least == i)
			return;
		swap(q, i, least);
		i = least;
	}
}

struct queue_entry *queue_push(struct sim_queue *q, ov_time at, int owner, sim_fn *fn, size_t size)
{
	struct queue_entry *e = mem_zalloc(1, sizeof(*e) + size);

	e->at = at;
	e->order = ++q->order;
	e->owner = owner;
	e->fn = fn;
	e->size = size;
	vec_push(&q->heap, e);
	sift_up(q, q->heap.n - 1);
	return e;
}

struct queue_entry *queue_pop(struct sim_queue *q)
{
	struct queue_entry *first;

	if (q->heap.n == 0)
		return NULL;
	first = q->heap.p[0];
	q->heap.p[0] = vec_last(&q->heap);
	q->heap.n--;
	sift_down(q, 0);
	return first;
}

void queue_drop(struct sim_queue *q, int owner)
{
	size_t kept = 0;

	for (size_t i = 0; i < q->heap.n; i++)
		if (q->heap.p[i]->owner == owner)
			queue_entry_free(q->heap.p[i]);
		else
			q->heap.p[kept++] = q->heap.p[i];
	q->heap.n = kept;
	for (size_t i = kept / 2; i-- > 0;)
		sift_down(q, i);
}
