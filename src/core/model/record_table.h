#pragma once
/* Rows of a record (core/model/record.h) as its table. Private to core. */
#include "core/model/record.h"
#include "core/model/transition.h"

/* The formatter would take a row apart. */
/* clang-format off */
#define FIELD(record, type, name, ...) FIELD_AS(record, name, type, name, __VA_ARGS__)
#define FIELD_AS(record, stored, type, name, ...) \
	{ #stored, F_##type, offsetof(struct record, name), TABLE_##type(__VA_ARGS__) },
#define TABLE_TEXT(...) NULL
#define TABLE_NUM(...) NULL
#define TABLE_FLAG(...) NULL
#define TABLE_TIME(...) NULL
#define TABLE_CALENDAR(...) NULL
#define TABLE_STAMP(...) NULL
#define TABLE_LIST(...) NULL
#define TABLE_JSON(...) NULL
#define TABLE_SEQS(...) NULL
#define TABLE_STATUS(type, table, ...) &(table)
#define TABLE_COUNTS(count, table, ...) &(table)
#define TABLE_AMOUNTS(...) &resources
#define RECORD(record, ...) \
	static const struct field record##_fields[] = { __VA_ARGS__ }; \
	const struct record_type record##_record = { #record, record##_fields, ARRAY_LEN(record##_fields) }
/* clang-format on */
