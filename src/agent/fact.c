#include "agent/fact.h"

#include "base/str.h"

#define NAME(sym, name) [sym] = name,
static const char *const fact_names[] = { FACTS(NAME) };
static const char *const trouble_names[] = { TROUBLES(NAME) };
#undef NAME

const char *fact_name(enum fact_kind kind)
{
	return fact_names[kind];
}

const char *trouble_name(enum trouble t)
{
	return trouble_names[t];
}

int trouble_parse(str name)
{
	for (int i = 0; i < TROUBLE_COUNT; i++)
		if (str_is(name, trouble_names[i]))
			return i;
	return -1;
}
