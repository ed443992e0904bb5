#pragma once
/*
 * Prompt templates: texts with {placeholders}. Those of share/templates are built in; a file of the
 * same name in the store's folder may stand in for one. A template's id is its file's name without
 * the extension, and its hash is that of the text that was really used. Filling is done once: what
 * is put in is never looked at again, so braces in somebody's text stay text.
 */
#include "base/ov.h"

struct template
{
	const char *id; /* "plan.v1" */
	str text;
};

extern const struct template templates[]; /* made from share/templates */
extern const size_t templates_n;

/* The built-in one with this id, or NULL. */
const struct template *template_find(str id);

struct template_var {
	const char *name;
	str value;
};

/*
 * "{name}", with a name of letters and digits that begins with a letter, is a placeholder; any
 * other brace stands for itself. A placeholder that is not in vars is OV_EINVALID, with the
 * nearest name.
 */
int template_fill(struct arena *a, const struct template *t, const struct template_var *vars,
		size_t n, str *ret, struct ov_err *err);
