#pragma once
/*
 * Whether this process may make user namespaces, which sandboxes of unprivileged programs need:
 * many containers, a chroot and some kernels forbid it. Tried in a child, so that nothing
 * changes here.
 */
#include "base/ov.h"

/* 0: it may; else the errno that says why not. */
int userns_try(void);
