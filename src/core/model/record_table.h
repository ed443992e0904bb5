#pragma once
/* How the tables of records are written: see core/model/record.h. Private to core. */
#include "core/model/record.h"

#define FIELD(type, name, ftype)                                \
	{                                                       \
#name, ftype, offsetof(struct type, name), NULL \
	}
#define STATUS(type, name, table)                                      \
	{                                                              \
#name, F_STATUS, offsetof(struct type, name), &(table) \
	}
#define COUNTS(type, name, table)                                      \
	{                                                              \
#name, F_COUNTS, offsetof(struct type, name), &(table) \
	}
#define AMOUNTS(type, name, table)                                      \
	{                                                               \
#name, F_AMOUNTS, offsetof(struct type, name), &(table) \
	}
#define RECORD(noun) \
	const struct record_type noun##_record = { #noun, noun##_fields, ARRAY_LEN(noun##_fields) }
