#pragma once
/*
 * What waits for a node, over all its dependants and those of the whole that it is a part of. Pure.
 */
#include "core/state/state.h"

/* Leaves that are not finished and wait for the node, directly or for others that do. */
size_t dependants_count(struct arena *a, const struct node *n);
/*
 * There is other work in its goal that neither waits for the node nor is blocked, except by a wait
 * for its agent.
 */
bool others_can_go_on(struct arena *a, const struct node *n);
