#pragma once
/*
 * The daemon's log for people: one line to stderr, which `up` puts into logs/daemon.log. Severity
 * is for eyes only; nothing in the program reads the log.
 */
#include "base/ov.h"

void log_info(const char *fmt, ...) _printf_(1, 2);
void log_warn(const char *fmt, ...) _printf_(1, 2);
