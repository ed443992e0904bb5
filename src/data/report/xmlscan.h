#pragma once
/*
 * The tags of an XML text, one after the other, as far as reports of tools need them. Nothing is
 * expanded and nothing is fetched: comments, CDATA, processing instructions and document types are
 * passed over, and an entity that XML does not define itself stays as it is written. What is not
 * well formed ends the scan or is passed over; every byte is looked at once or twice. Slices are
 * borrowed from the text.
 */
#include "base/ov.h"

struct xml_scan {
	str rest;
};

struct xml_tag {
	str name;
	str attributes; /* raw */
	bool end;       /* </name> */
	bool empty;     /* <name/> */
};

/* The next tag; false when there is none. */
bool xml_next(struct xml_scan *s, struct xml_tag *ret);
/* The value of an attribute as it is written; false when there is none. */
bool xml_attribute(const struct xml_tag *t, const char *name, str *ret);
/* With the entities of XML in their place, and characters given by number. */
str xml_text(struct arena *a, str raw);
