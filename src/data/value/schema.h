#pragma once
/*
 * JSON Schema over the value tree: drafts 6 and (where they agree) 4, without regular expressions,
 * remote references and format checks. Known: type, enum, const, properties, required,
 * additionalProperties, propertyNames, dependencies, items, additionalItems, contains, uniqueItems,
 * multipleOf, all min and max keywords, allOf, anyOf, oneOf, not, $ref into the document itself,
 * and the annotations. A schema is compiled once, so that an unknown keyword or a bad $ref is found
 * at start and not at the first request; what the drafts would silently ignore is refused. The
 * compiled schema lives in the arena it was compiled into and borrows nothing of the document.
 */
#include "base/ov.h"
#include "data/value/value.h"

struct schema;

int schema_compile(struct arena *a, const value *doc, struct schema **ret, struct ov_err *err);
/*
 * 0, or OV_EINVALID with path and reason of the first mismatch (unknown keys name the nearest).
 * OV_ELIMIT when the check would take unreasonably long. err may be NULL.
 */
int schema_check(const struct schema *s, const value *v, struct ov_err *err);
