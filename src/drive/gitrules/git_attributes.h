#pragma once
/* Inside the rooms of git only, and pure: rules of gitattributes(5) about one attribute. */
#include "base/ov.h"

struct git_attributes {
	str dir;  /* "a/b"; empty: the root, or a file that counts for all */
	str text; /* of the file */
};

/*
 * The lines that say something of the attribute `attr`, their patterns as seen from the root, in
 * the order in which the files are given: the later ones count more. *ret_cut (or NULL): there are
 * more macros, or they are nested more deeply, than is looked at.
 */
str git_attributes_rules(struct arena *a, const struct git_attributes *files, size_t n,
		const char *attr, bool *ret_cut);
/* One line after the other: its pattern, in quotes, and what it says. */
bool git_attributes_next(str *rules, str *ret_pattern, str *ret_token);
/* The line that says this of one file. */
str git_attributes_rule(struct arena *a, str path, const char *token);
/*
 * Of two patterns as git_attributes_next has them: can there be a path that both match (if in
 * doubt, yes); does the first match whatever the other does (if in doubt, no)?
 */
bool git_attributes_meet(str pattern, str other);
bool git_attributes_cover(str pattern, str other);
