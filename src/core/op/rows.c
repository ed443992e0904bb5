/* The words in which rows_*.def are written, and the table. */
#include "base/moment.h"
#include "core/model/limits.h"
#include "core/op/op.h"
#include "core/policy/caller.h"
#include "core/policy/scope.h"

/* clang-format off */
#define COUNT(...) (sizeof((const struct op_param[]){ __VA_ARGS__ }) / sizeof(struct op_param))
#define PARAMS(...) .params = (const struct op_param[]){ __VA_ARGS__ }, .params_n = COUNT(__VA_ARGS__),
#define COMMAND(n, v, text) .noun = n, .verb = v, .summary = text,
#define MORE(text) .more = text,
#define EXAMPLE(text) .example = text,
#define PATIENCE(ms) .wait_ms = ms,
#define VARIANT(of, key, text) .variant = OP_##of, .fixed = key, .fixed_value = text,
#define ARGS(text, min) .args = text, .args_min = min, .args_max = OP_ARGS_MAX,
#define ARGS_UP_TO(text, n) .args = text, .args_min = 0, .args_max = n,

/* A parameter of the operation; then what is of the command line alone. */
#define P(n, t, text, ...) { .name = #n, .type = SHAPE_##t, .help = text, ##__VA_ARGS__ },
#define NEED .required = true
#define WITH(name, arg) .flag = name, .word = arg
#define OPTION(f, arg, t, text, ...) { .flag = f, .word = arg, .type = SHAPE_##t, .help = text, ##__VA_ARGS__ },
#define SWITCH(f, text) { .flag = f, .type = SHAPE_FLAG, .help = text },
#define ARG(at, arg, t, text, ...) { .place = at, .word = arg, .type = SHAPE_##t, .help = text, ##__VA_ARGS__ },
#include "core/op/words.def"

#define OP(sym, needs, who, shown, n, text, ...) \
	[OP_##sym] = { .name = n, .kind = OP_##needs, .callers = who, .help = text, __VA_ARGS__ },
const struct op op_rows[OP_COUNT] = {
#include "core/op/rows.def"
};
