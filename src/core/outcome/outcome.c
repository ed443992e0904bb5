#include "core/outcome/outcome.h"

#include "base/utf8.h"
#include "core/model/transition.h"

#include "core/shape/rows.def"
/* The formatter would take the halves of a function for whole statements. */
/* clang-format off */
#define OUTCOME(type)                                    \
	static struct shape shape_of_##type(void)        \
	{                                                \
		typedef struct out_##type THIS;          \
		static const struct shape_field rows[] = {
#define END(type)                                                                   \
		};                                                                  \
		return (struct shape){ #type, rows, ARRAY_LEN(rows), sizeof(THIS) }; \
	}
/* clang-format on */
#include "core/outcome/outcomes.def"

static struct shape (*const shapes[EFFECT_KIND_COUNT])(void) = {
	[FX_WORKSPACE] = shape_of_git,
	[FX_HARVEST] = shape_of_git,
	[FX_REBASE] = shape_of_git,
	[FX_ACCEPT] = shape_of_git,
	[FX_REVERT] = shape_of_git,
	[FX_WORKER] = shape_of_git,
	[FX_CHECK] = shape_of_command,
	[FX_GATE] = shape_of_command,
	[FX_POST] = shape_of_command,
	[FX_PLAN] = shape_of_plan,
	[FX_POOL] = shape_of_pool,
	[FX_NOTIFY] = shape_of_notify,
};

static struct shape shape_of(enum effect_kind kind)
{
	return shapes[kind] ? shapes[kind]() : (struct shape){ .name = "nothing" };
}

bool outcome_is_git(enum effect_kind kind)
{
	return shapes[kind] == shape_of_git;
}

value *outcome_value(struct arena *a, str effect, enum effect_kind kind, const struct outcome *o)
{
	struct shape s = shape_of(kind);
	value *v = value_object(a);

	value_put(a, v, "effect", value_str(a, effect));
	value_put(a, v, "outcome", value_cstr(a, status_name(&effect_outcomes, (int)o->is)));
	/* Output of tools is not always text; the log holds only text. */
	value_put(a, v, "detail", value_str(a, utf8_clean(a, o->detail)));
	value_put(a, v, "data", o->data ? shape_data(a, &s, o->data) : value_object(a));
	return v;
}

struct outcome outcome_from(struct arena *a, enum effect_kind kind, const value *params)
{
	int is = status_parse(&effect_outcomes, value_str_at(params, "outcome"));
	struct shape s = shape_of(kind);

	return (struct outcome){ .is = is < 0 ? ENDED_ERROR : (enum effect_outcome)is,
		.ok = is == ENDED_OK,
		.detail = value_str_at(params, "detail"),
		.data = shape_fill(a, &s, value_at(params, "data")) };
}
