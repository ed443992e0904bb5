#include "tests/test.h"

#include "base/ov.h"
#include "base/vec.h"

TEST(push_and_remove_keep_order)
{
	VEC(int) v = { 0 };

	for (int i = 0; i < 1000; i++)
		vec_push(&v, i);
	assert_int_equal(v.n, 1000);
	assert_int_equal(vec_last(&v), 999);
	vec_remove(&v, 0);
	vec_remove(&v, 500);
	vec_remove(&v, v.n - 1);
	assert_int_equal(v.n, 997);
	for (size_t i = 0; i < v.n; i++)
		assert_int_equal(v.p[i], (int)i + 1 + (i >= 500));
	vec_clear(&v);
	assert_int_equal(v.n, 0);
	vec_done(&v);
	assert_null(v.p);
	vec_done(&v);
}

TEST(remove_by_swapping)
{
	VEC(int) v = { 0 };

	for (int i = 0; i < 3; i++)
		vec_push(&v, i);
	vec_remove_swap(&v, 0);
	assert_int_equal(v.p[0], 2);
	assert_int_equal(v.p[1], 1);
	vec_remove_swap(&v, 1);
	vec_remove_swap(&v, 0);
	assert_int_equal(v.n, 0);
	vec_done(&v);
}

TEST(elements_may_be_structs)
{
	VEC(struct {
		int a;
		double b;
	})
	v = { 0 };

	vec_push(&v, ((__typeof__(*v.p)){ 1, 2.5 }));
	assert_int_equal(v.p[0].a, 1);
	assert_true(v.p[0].b == 2.5);
	vec_done(&v);
}

TEST_MAIN
