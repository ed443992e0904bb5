#pragma once
/* The option tables, shared by the reader of config.toml and what describes it. Private to core. */
#include "core/config/config.h"

enum option_type {
	OPT_STR,      /* str */
	OPT_INT,      /* int64_t */
	OPT_BOOL,     /* bool */
	OPT_DURATION, /* ov_time */
	OPT_BYTES,    /* int64_t */
	OPT_UP_TO,    /* int64_t, bytes; false is 0, true is all: INT64_MAX */
	OPT_DELAYS,   /* ov_time[3] */
	OPT_WORD,     /* str, one of choices */
	OPT_CHOICE,   /* enum (int), the index in choices */
	OPT_NAMES,    /* const str *, count: names of environment variables */
	OPT_COMMAND,  /* const str *, count: one text for the shell, or the words of a command */
	OPT_ENV,      /* const struct env_pair *, count */
	OPT_TEXTS,    /* const str *, count */
	OPT_USD,      /* int64_t, millionths of a dollar */
	OPT_CLOCK,    /* int64_t, minutes of the day; -1 for the empty text */
	OPT_MILLI,    /* int64_t, thousandths of a number */
	OPT_CENTI,    /* int64_t, hundredths of a number */
};

struct option {
	const char *key; /* "workers.max"; of agents without the prefix */
	enum option_type type;
	int64_t min, max; /* of numbers, durations (ms) and bytes; max of texts */
	const char *def;  /* as written in the file; NULL: the option must be given */
	const char *help;
	const char *const *choices; /* ends with NULL */
	size_t offset, count_offset;
	bool optional; /* may be left out though there is no default: a number stays -1 */
	bool preset;   /* left out, it is as oversight.preset says: nothing is read */
	bool budget;   /* a number that may also be "unlimited" (-1), or its default in words (0) */
};

struct options {
	const struct option *p;
	size_t n;
};

/* An option that means nothing any more: it is accepted, ignored, and people are told so. */
struct obsolete_option {
	const char *key, *why;
};
const struct obsolete_option *config_obsolete(size_t *ret_n);

/* Offsets in struct config: the i-th of all, NULL after the last. */
const struct option *config_option_at(size_t i);
size_t config_options_n(void);
struct options config_agent_options(void);   /* offsets in struct config_agent */
struct options config_price_options(void);   /* offsets in struct price */
struct options config_channel_options(void); /* offsets in struct config_channel */

/* Collects what is wrong, one line each: "workers.max: 0 is out of range: 1 to 256". */
struct config_reader {
	struct config *c; /* being filled; everything read is borrowed from its arena */
	struct buf problems;
};

void config_problem(struct config_reader *r, str key, const char *fmt, ...) _printf_(3, 4);
/* True when v has the kind; otherwise notes the problem. */
bool config_want(struct config_reader *r, str key, const value *v, enum value_kind kind);
void config_unknown(struct config_reader *r, str path, str key, const char *const *known, size_t n);
/* False when v is no text at all. */
bool config_read_text(struct config_reader *r, str key, const value *v, size_t max, str *ret);
bool config_env_name_valid(str s); /* of an environment variable */
bool config_name_valid(str s);     /* of an agent or a channel */
/* Every option of one [agents.NAME] or the like into the struct at base; others are unknown. */
void config_read_section(struct config_reader *r, str path, const value *v, struct options all,
		void *base);
/* What the file says (v, or NULL), else the default, into the struct at base. */
void config_read_option(struct config_reader *r, str key, const struct option *o, const value *v,
		void *base);

void config_read_prices(struct config_reader *r, const value *v);
/* [escalation.channels.NAME] and those that are there without a table; v may be NULL. */
void config_read_channels(struct config_reader *r, const value *v);
/* What the format of an agent asks for and does not go with; doc: its table in the file. */
void config_check_format(struct config_reader *r, str path, struct config_agent *agent,
		const value *doc);
/* What is contradictory in [planner]. */
void config_check_planner(struct config_reader *r);
/* What is contradictory in [watch]. */
void config_check_watch(struct config_reader *r);
/* What only the core is told, checked against the rest: allowed agents, budgets, quiet hours. */
void config_check_policy(struct config_reader *r);
void config_fill_policy(struct config *c);
/* The values of the preset that the document names, before what it says itself is read. */
void config_fill_preset(struct config *c);
void config_check_agent(struct config_reader *r, str key, str name); /* is it configured? */

/* Puts "KEY=VALUE" into the document. */
int config_put_set(struct arena *a, value *doc, str set, struct ov_err *err);

/*
 * The default as a value; null when there is none. And as it is written; empty when there is none.
 */
value *config_option_default(struct arena *a, const struct option *o);
str config_option_default_text(struct arena *a, const struct option *o);
/* "1 to 256"; empty for options without a range. */
str config_option_range(struct arena *a, const struct option *o);
/* A budget that may be said to follow from the estimate. */
bool config_budget_of_estimate(const struct option *o);
/* The value of an option in memory, as one would write it in the file. */
value *config_option_value(struct arena *a, const struct option *o, const void *base);
/* The value of an option in the document: {"workers": {"max": 2}} at "workers.max"; or NULL. */
const value *config_lookup(const value *doc, str key);
