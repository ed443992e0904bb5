#pragma once
/*
 * Names that no commit of an agent's may bring: git's own folder, and Overseer's store. On another
 * file system a name can be the same folder although its bytes differ: case and Unicode
 * normalisation, code points that HFS+ and others ignore, what NTFS drops at the end, and its short
 * names. Checking out such a commit would install a repository's settings, or a store's commands,
 * that an agent wrote. Pure; errs on the side of refusing.
 */
#include "base/ov.h"

enum repo_name {
	REPO_NAME_FREE,
	REPO_NAME_GIT,
	REPO_NAME_OVERSEER,
};

/* Of one component of a path, without its separators. */
enum repo_name repo_name_of(str component) _pure_;
/* The first component that is not free; "/" separates, and "\" as it does elsewhere. */
enum repo_name repo_path_of(str path) _pure_;
