#include "core/message/message.h"

#include "base/arena.h"
#include "core/model/transition.h"

#include "core/shape/rows.def"
/* The formatter would take the halves of a function for whole statements. */
/* clang-format off */
#define MESSAGE(type, name) ROWS(type, struct msg_##type)
#define PART(type) ROWS(type, struct pt_##type)
#define ROWS(type, of)                                   \
	static struct shape shape_of_##type(void)        \
	{                                                \
		typedef of THIS;                         \
		static const struct shape_field rows[] = {
#define END(type)                                                                        \
		{ .name = NULL } };                                                      \
		return (struct shape){ #type, rows, ARRAY_LEN(rows) - 1, sizeof(THIS) }; \
	}
/* clang-format on */
#include "core/message/messages.def"

const char *message_name(enum message m)
{
	static const char *const names[] = {
#define MESSAGE(type, name) [MESSAGE_##type] = name,
#include "core/message/names.def"
	};

	return names[m];
}

struct shape message_shape(enum message m)
{
	static struct shape (*const shapes[])(void) = {
#define MESSAGE(type, name) [MESSAGE_##type] = shape_of_##type,
#include "core/message/names.def"
	};

	return shapes[m]();
}

value *message_data(struct arena *a, enum message m, const void *is)
{
	struct shape s = message_shape(m);

	return shape_data(a, &s, is);
}

static struct shape part_shape(enum message_part part)
{
	static struct shape (*const shapes[])(void) = { [PART_pair] = shape_of_pair,
		[PART_commit] = shape_of_commit,
		[PART_fact] = shape_of_fact,
		[PART_act] = shape_of_act };

	return shapes[part]();
}

value *part_data(struct arena *a, enum message_part part, const void *is)
{
	struct shape s = part_shape(part);

	return shape_data(a, &s, is);
}

const void *parts_from(struct arena *a, enum message_part part, const value *list)
{
	struct shape s = part_shape(part);
	size_t n = value_count(list);
	char *all = arena_alloc(a, arena_size_mul(n, s.size));

	for (size_t i = 0; i < n; i++)
		memcpy(all + i * s.size, shape_fill(a, &s, value_item(list, i)), s.size);
	return all;
}
