#pragma once
/*
 * [escalation.channels.NAME]: the ways by which people outside are told, as configured. What a type
 * needs and knows is a table. Beside those of the file there are "desktop" (unless
 * escalation.desktop is false) and "hook" (where escalation.hook names a command). Tokens and
 * secrets are never in the file: it says where they are found when something is sent. Owned by the
 * struct config.
 */
#include "base/arena.h"
#include "base/ov.h"
#include "core/policy/policy.h"
#include "data/value/value.h"

struct config;

struct config_channel {
	str name;
	enum channel_type type;
	/* Where it is reached; one of them. The address of a chat's webhook is itself a secret. */
	str url, url_file, url_env;
	str repo; /* "owner/name" */
	str token_file, token_env;
	str secret_file, secret_env; /* that requests are signed with; none: they are not */
	str command;                 /* of a hook, run by sh -c */
	ov_time timeout;             /* of one attempt */
	const str *labels;           /* of an issue; "<level>" stands for the urgency */
	size_t labels_n;
};

const struct config_channel *config_channel(const struct config *c, str name); /* or NULL */
/*
 * There is no session to show anything in: nobody is told by a desktop that the file does not ask
 * for, neither by escalation.desktop nor by a route. Before the configuration is used.
 */
void config_without_desktop(struct config *c);
