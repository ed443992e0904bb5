#pragma once
/*
 * Whoever looks at the daemon's own terminal (`up --foreground`) sees when oversight stops a goal:
 * a box with the reason, and what to type next. Nothing is printed where stderr is no terminal.
 */
#include "base/buf.h"
#include "base/ov.h"

struct event;

/* To stderr, if that is a terminal. */
void console_alert_published(const struct event *const *events, size_t n);
