#pragma once
/*
 * Whether a store may be used by the caller: its configuration names commands, and they run as the
 * caller. Asked before anything of it is run.
 */
#include "base/ov.h"

/*
 * OV_EUNAUTHORIZED when somebody else owns the store's folder or its config.toml or can write to
 * them, or when git tracks files of it: such a store came with the repository, and its commands are
 * another person's. The message shows them. A folder that does not exist is fine.
 */
int store_trusted(struct arena *a, const char *dir, struct ov_err *err);
