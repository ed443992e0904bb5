#pragma once
/* What the back-ends share among themselves; users of the store include store/store.h alone. */
#include "store/store.h"

extern const struct store_ops store_mem_ops;
extern const struct store_ops store_sqlite_ops;

/* OV_ELIMIT when a record is above the bounds; each append begins with it. */
int store_check_records(const struct store_record *recs, size_t n, struct ov_err *err);
