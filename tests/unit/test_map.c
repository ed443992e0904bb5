#include "tests/test.h"

#include <stdio.h>

#include "base/map.h"
#include "base/str.h"
#include "tests/rng.h"

enum { KEYS = 300 };

static char keys[KEYS][8];
static int values[KEYS];

static str key_at(size_t i)
{
	snprintf(keys[i], sizeof(keys[i]), "k%zu", i);
	return str_from(keys[i]);
}

TEST(empty_map)
{
	struct map m;
	size_t i = 0;
	void *v;
	str k;

	map_init(&m, 1);
	assert_null(map_get(&m, STR("x")));
	assert_null(map_remove(&m, STR("x")));
	assert_false(map_next(&m, &i, &k, &v));
	map_done(&m);
}

TEST(put_get_replace_remove)
{
	int one = 1, two = 2;
	struct map m;

	map_init(&m, 7);
	map_put(&m, STR("a"), &one);
	map_put(&m, STR(""), &two); /* the empty key is a key */
	assert_ptr_equal(map_get(&m, STR("a")), &one);
	assert_ptr_equal(map_get(&m, STR("")), &two);
	map_put(&m, STR("a"), &two);
	assert_ptr_equal(map_get(&m, STR("a")), &two);
	assert_int_equal(m.n, 2);
	assert_ptr_equal(map_remove(&m, STR("a")), &two);
	assert_null(map_get(&m, STR("a")));
	assert_int_equal(m.n, 1);
	map_done(&m);
	assert_int_equal(m.n, 0);
}

/* Against an array as the model, through many removals and reinsertions. */
TEST(random_steps_agree_with_a_model)
{
	for (uint64_t seed = 0; seed < 5; seed++) {
		bool in[KEYS] = { false };
		struct rng r = { seed };
		size_t live = 0, seen = 0, i = 0;
		struct map m;
		void *v;
		str k;

		map_init(&m, seed);
		for (int step = 0; step < 20000; step++) {
			size_t at = rng_below(&r, KEYS);

			if (rng_below(&r, 2)) {
				map_put(&m, key_at(at), &values[at]);
				live += !in[at];
				in[at] = true;
			} else {
				assert_ptr_equal(map_remove(&m, key_at(at)),
						in[at] ? &values[at] : NULL);
				live -= in[at];
				in[at] = false;
			}
			at = rng_below(&r, KEYS);
			assert_ptr_equal(map_get(&m, key_at(at)), in[at] ? &values[at] : NULL);
			assert_int_equal(m.n, live);
		}
		while (map_next(&m, &i, &k, &v)) {
			assert_true(in[(int *)v - values]);
			assert_true(str_eq(k, str_from(keys[(int *)v - values])));
			seen++;
		}
		assert_int_equal(seen, live);
		assert_true(m.cap <= 1024); /* removals do not make it grow */
		map_done(&m);
	}
}

TEST_MAIN
