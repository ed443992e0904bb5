#pragma once
/*
 * JSON Schema over the value tree: the subset that our own tables need (type, enum, const,
 * required, properties, additionalProperties, items, minItems/maxItems, minLength/maxLength,
 * minimum/maximum, pattern-free formats, $ref to local definitions, anyOf/oneOf/allOf/not...).
 * A schema is compiled once, so that an unknown keyword or a bad $ref is found at start and not
 * at the first request. The compiled schema lives in the arena it was compiled into.
 */
#include "base/ov.h"
#include "data/value.h"

struct schema;

int schema_compile(struct arena *a, const value *doc, struct schema **ret, struct ov_err *err);
/* 0, or OV_EINVALID with path and reason of the first mismatch (unknown keys name the nearest). */
int schema_check(const struct schema *s, const value *v, struct ov_err *err);
