#pragma once
/* Is a worktree of ours whole? Reads a small file; knows no git. */
#include "base/ov.h"

/*
 * Its folder is there, with the file by which its agent's git finds its git folder, and
 * that folder.
 */
bool worktree_is_whole(str path);
