#pragma once
/*
 * What the daemon itself tells the core: one struct msg_NAME per message, filled by whoever saw it,
 * and taken by decide_NAME. On the way it is the object of which the rows of
 * core/message/messages.def give the members. A list of objects has rows of its own:
 * struct pt_NAME.
 */
#include "agent/fact/fact.h"
#include "core/model/model.h"
#include "core/shape/shape.h"

#include "core/shape/members.def"
/* The formatter would take the halves of a struct for whole statements. */
/* clang-format off */
#define MESSAGE(type, name) struct msg_##type {
#define PART(type) struct pt_##type {
#define END(type) };
/* clang-format on */
#include "core/message/messages.def"

#define MESSAGE(type, name) MESSAGE_##type,
enum message {
#include "core/message/names.def"
	MESSAGE_COUNT
};

/* The command's name. */
const char *message_name(enum message m);
struct shape message_shape(enum message m);
/* The parameters of that command; they share nothing with the struct. */
value *message_data(struct arena *a, enum message m, const void *is);

enum message_part { PART_pair, PART_commit, PART_fact, PART_act };
/* One such struct as an object, which shares nothing with it. */
value *part_data(struct arena *a, enum message_part part, const void *is);
/*
 * A list of them as an array of value_count(list) structs; what is no object is empty. Texts
 * are borrowed.
 */
const void *parts_from(struct arena *a, enum message_part part, const value *list);
