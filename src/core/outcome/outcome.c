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
	struct msg_effect_end p = { .effect = effect,
		.outcome = o->is,
		/* Output of tools is not always text; the log holds only text. */
		.detail = utf8_clean(a, o->detail),
		.data = o->data ? shape_data(a, &s, o->data) : NULL };

	return message_data(a, MESSAGE_effect_end, &p);
}

struct outcome outcome_from(struct arena *a, enum effect_kind kind, const struct msg_effect_end *p)
{
	struct shape s = shape_of(kind);

	return (struct outcome){ .is = p->outcome,
		.ok = p->outcome == ENDED_OK,
		.detail = p->detail,
		.data = shape_fill(a, &s, p->data) };
}
