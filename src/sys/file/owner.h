#pragma once
/*
 * Whose files these are. A store names commands that run as whoever uses it, so it is trusted only
 * when nobody else could have written it: the caller owns its folder and its configuration, and no
 * other user may write to them. Loop-free, so that the command line can use it too.
 */
#include "base/ov.h"

/*
 * The folder of a store, and config.toml in it: OV_EUNAUTHORIZED with the reason and the command
 * that changes it. The group may write when it is the owner's private one; for root, files of the
 * user who called sudo (SUDO_UID) are fine as well. What does not exist is fine.
 */
int owner_check_store(const char *dir, struct ov_err *err);
