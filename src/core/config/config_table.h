#pragma once
/*
 * For config_options*.c, which have the options of one subject each: how a row says where its
 * value goes.
 */
#include "core/config/config_impl.h"

#define KIB ((int64_t)1024)
#define MIB (1024 * KIB)
#define TIB (1024 * 1024 * MIB)
#define MILLION ((int64_t)1000 * 1000)
#define AT(member) .offset = offsetof(struct config, member)
#define LIST_AT(member) AT(member), .count_offset = offsetof(struct config, member##_n)

extern const struct options config_options_supervisor;
extern const struct options config_options_escalation;
extern const struct options config_options_goal;
extern const struct options config_options_work;
extern const struct options config_options_accept;
extern const struct options config_options_daemon;
