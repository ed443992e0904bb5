#pragma once
/* Intrusive doubly linked list: the node is a member of the element; the list owns nothing. */
#include "base/ov.h"

struct list {
	struct list *next, *prev;
};

#define list_entry(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))
#define list_each(it, head)                                                    \
	for (struct list *it = (head)->next, *it##_n = it->next; it != (head); \
			it = it##_n, it##_n = it->next)

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_append(struct list *head, struct list *node)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

/* Safe on a node that is in no list, if it was initialised. */
static inline void list_remove(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}
