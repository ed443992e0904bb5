#include "tests/test.h"

#include "base/list.h"

struct item {
	int id;
	struct list node;
};

static int sum(struct list *head)
{
	int digits = 0;

	list_each (it, head)
		digits = digits * 10 + list_entry(it, struct item, node)->id;
	return digits;
}

TEST(append_and_remove)
{
	struct item a = { 1, { 0 } }, b = { 2, { 0 } }, c = { 3, { 0 } };
	struct list head;

	list_init(&head);
	assert_true(list_empty(&head));
	assert_int_equal(sum(&head), 0);
	list_append(&head, &a.node);
	list_append(&head, &b.node);
	list_append(&head, &c.node);
	assert_int_equal(sum(&head), 123);
	list_remove(&b.node);
	assert_int_equal(sum(&head), 13);
	list_remove(&b.node); /* in no list: nothing happens */
	assert_int_equal(sum(&head), 13);
	list_append(&head, &b.node);
	assert_int_equal(sum(&head), 132);
}

TEST(elements_may_leave_while_walking)
{
	struct item items[5];
	struct list head;

	list_init(&head);
	for (int i = 0; i < 5; i++) {
		items[i].id = i + 1;
		list_append(&head, &items[i].node);
	}
	list_each (it, &head) {
		if (list_entry(it, struct item, node)->id % 2)
			list_remove(it);
	}
	assert_int_equal(sum(&head), 24);
	list_each (it, &head)
		list_remove(it);
	assert_true(list_empty(&head));
}

TEST_MAIN
