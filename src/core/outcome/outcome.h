#pragma once
/*
 * What came of an effect: the executor fills it, and it goes to the core as the parameters of the
 * command effect.end. Which struct of core/outcome/outcomes.def comes with it follows from the
 * effect's kind; starting, stopping and telling runs have none.
 */
#include "core/message/message.h"
#include "core/model/model.h"
#include "core/shape/shape.h"

#include "core/shape/members.def"
/* The formatter would take the halves of a struct for whole statements. */
/* clang-format off */
#define OUTCOME(type) struct out_##type {
#define END(type) };
/* clang-format on */
#include "core/outcome/outcomes.def"

struct outcome {
	enum effect_outcome is;
	bool ok;                     /* ENDED_OK; known to who decides */
	const struct assignment *as; /* the same; NULL for what is about a goal */
	str detail;
	/* Of the effect's kind; NULL: nothing more is told. Who decides always has it. */
	union {
		const void *data;
		const struct out_git *git;
		const struct out_command *command;
		const struct out_plan *plan;
		const struct out_pool *pool;
		const struct out_notify *notify;
	};
};

/* Is it a step of git? */
bool outcome_is_git(enum effect_kind kind);
/* The parameters of effect.end; they share nothing with the outcome. */
value *outcome_value(struct arena *a, str effect, enum effect_kind kind, const struct outcome *o);
/* Back. Texts are borrowed. What is not known, or not as it should be, is not there. */
struct outcome outcome_from(struct arena *a, enum effect_kind kind, const struct msg_effect_end *p);
