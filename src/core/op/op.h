#pragma once
/*
 * Everything that can be asked of Overseer, one row each (rows_*.def): its parameters with types
 * and limits, who may call it, what it needs, its form on the command line, help and an example.
 * Socket, HTTP, command line, --help, docs/operations.md and docs/commands.md are made from these
 * rows. A row's handler (src/app) and what shows its answer (src/cli) are found by its symbol,
 * which each of them expands for itself: this layer links neither. All of it is constant; pure.
 */
#include "base/buf.h"
#include "base/ov.h"
#include "core/shape/shape.h"
#include "data/value/value.h"

#define OP(sym, ...) OP_##sym,
enum op_id {
#include "core/op/rows.def"
	OP_COUNT
};
#undef OP

/*
 * What it needs. OP_READ: the state and the store, so it is answered without a daemon, too.
 * OP_WRITE: the engine. OP_DAEMON: the daemon itself. OP_CHILD: the store's files; done by a
 * process of its own, with a daemon or without. OP_NOTHING: it is a command, and no operation.
 */
enum op_kind { OP_READ, OP_WRITE, OP_DAEMON, OP_CHILD, OP_NOTHING };

/* How words of the command line become a parameter's value. */
enum param_form {
	FORM_WORD,     /* as they are */
	FORM_TIME,     /* a time in the past, as base/moment.h; passed on as RFC 3339 */
	FORM_FILE,     /* TEXT or @FILE */
	FORM_JSON,     /* JSON or @FILE */
	FORM_AMOUNTS,  /* NAME=AMOUNT of resources */
	FORM_SETTINGS, /* KEY=VALUE of [oversight] */
	FORM_RISKS,    /* RISK|IMPACT|MITIGATION */
	FORM_COMMAS,   /* several in a word, with commas */
	FORM_PATH,     /* a file, as the daemon sees it */
	FORM_REST,     /* all that is left, as one text */
	FORM_ENTRY,    /* the number of an entry, 12 or #12 */
	FORM_VERSION,  /* of a plan, 2 or v2 */
	FORM_OWN,      /* the command itself sees to it */
};

struct op_param {
	const char *name; /* NULL: an option of the command alone */
	enum shape_type type;
	const char *help;
	size_t max; /* bytes of a text, entries of a list, greatest integer; 0: as everywhere */
	bool required;
	/*
	 * On the command line: an option, or the word at a place from 1 on, or (neither) not
	 * at all.
	 */
	const char *flag; /* without dashes */
	const char *word; /* what stands for its value in help; NULL: it has none */
	int place;
	enum param_form form;
};

enum { OP_ARGS_MAX = 256 };

struct op {
	const char *name; /* "goal.pause"; NULL: a command of the command line alone */
	enum op_kind kind;
	unsigned callers; /* who may call it (core/caller.h) */
	const char *help;
	const struct op_param *params;
	size_t params_n;
	const char *noun,
			*verb; /* its command; verb NULL: the noun alone; noun NULL: it has none */
	const char *summary;   /* of the command, without a full stop */
	const char *more;      /* further text of the command's help, or NULL */
	/* words after "overseer"; parameters in JSON when there is no command */
	const char *example;
	/* Where the places do not tell: "N[,N-N...] TEXT" and how many words that may be. */
	const char *args;
	int args_min, args_max;
	ov_time wait_ms; /* for its answer, when the person says nothing; 0: as usual */
	/* 0, or the operation that this command calls in place of its own ... */
	enum op_id variant;
	const char *fixed, *fixed_value; /* ... with this parameter */
};

extern const struct op op_rows[OP_COUNT];

static inline enum op_id op_id(const struct op *op)
{
	return (enum op_id)(op - op_rows);
}

/*
 * The operation with this name or alias ("overseer.goal.create", "overseer.status"), and its
 * parameters checked; NULL params are an empty object. OV_ENOTFOUND names the nearest operation.
 */
int op_find(str name, const value *params, const struct op **ret, struct ov_err *err);
/* Types, limits, required and unknown parameters, by the row. */
int op_check_params(const struct op *op, const value *params, struct ov_err *err);
/* May it be given several times on the command line? */
bool op_param_repeats(const struct op_param *p);
/* The words of the command beside its options: "GOAL [V1 [V2]]", and how many there may be. */
str op_args(struct arena *a, const struct op *op, int *ret_min, int *ret_max);
/* All operations as JSON, with the JSON Schema of their parameters: for whoever publishes tools. */
value *op_schemas(struct arena *a);
/* docs/operations.md */
void op_docs(struct buf *out);
