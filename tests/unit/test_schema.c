#include "tests/test.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"
#include "data/value/schema.h"
#include "data/value/toml.h"

/* JSON with ' for ", so that schemas can be read here. */
static value *json(struct arena *a, const char *text)
{
	char *copy = arena_cstr(a, str_from(text));
	struct ov_err err = { 0 };
	value *v = NULL;

	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	if (json_parse(a, str_from(copy), NULL, &v, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return v;
}

static struct schema *compiled(struct arena *a, const char *text)
{
	struct ov_err err = { 0 };
	struct schema *s = NULL;

	if (schema_compile(a, json(a, text), &s, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return s;
}

/* schema, value, message of the mismatch; NULL when it fits. Drafts are covered by the suite. */
static const struct {
	const char *schema, *value, *message;
} checks[] = {
	{ "{}", "[1]", NULL },
	{ "true", "null", NULL },
	{ "false", "null", "not allowed" },
	{ "{'type':'string'}", "1", "expected string, got integer" },
	{ "{'type':['integer','null']}", "1.0", NULL },
	{ "{'type':['integer','null']}", "1.5", "expected null or integer, got number" },
	{ "{'properties':{'a':{'items':{'type':'boolean'}}}}", "{'a':[true,0]}",
			"a[1]: expected boolean, got integer" },
	{ "{'properties':{'a b':{'type':'null'}}}", "{'a b':1}",
			"['a b']: expected null, got integer" },
	{ "{'properties':{'a':{'properties':{'b':{'const':1}}}}}", "{'a':{'b':2}}",
			"a.b: expected 1, got 2" },
	{ "{'enum':['active','paused',3]}", "'pausd'",
			"expected one of 'active', 'paused', 3; got 'pausd' (did you mean "
			"'paused'?)" },
	{ "{'enum':[[1],{}]}", "[2]", "expected one of an array, an object; got an array" },
	{ "{'properties':{'title':{},'notes':{}},'required':['title'],'additionalProperties':"
	  "false}",
			"{'titel':1}", "unknown key 'titel' (did you mean 'title'?)" },
	{ "{'properties':{'n':{'properties':{'title':{}},'additionalProperties':false}}}",
			"{'n':{'zzz':1}}", "n: unknown key 'zzz'" },
	{ "{'items':{'required':['id']}}", "[{'id':1},{}]", "[1].id: missing" },
	{ "{'additionalProperties':{'type':'integer'}}", "{'x':'y'}",
			"x: expected integer, got string" },
	{ "{'minimum':1}", "0", "0 must be at least 1" },
	{ "{'minimum':1,'exclusiveMinimum':true}", "1", "1 must be above 1" },
	{ "{'maximum':1.5}", "2", "2 must be at most 1.5" },
	{ "{'exclusiveMinimum':0}", "0", "0 must be above 0" },
	{ "{'exclusiveMaximum':0}", "0", "0 must be below 0" },
	{ "{'maximum':9007199254740992.0}", "9007199254740993",
			"9007199254740993 must be at most 9007199254740992.0" },
	{ "{'maximum':9223372036854775808.0}", "9223372036854775807", NULL },
	{ "{'minimum':-2.5}", "-2", NULL },
	{ "{'maximum':-2.5}", "-2", "-2 must be at most -2.5" },
	{ "{'multipleOf':0.01}", "19.99", NULL },
	{ "{'multipleOf':0.01}", "19.995", "19.995 must be a multiple of 0.01" },
	{ "{'multipleOf':3}", "-9", NULL },
	{ "{'multipleOf':3}", "1e20", "1e20 must be a multiple of 3" },
	{ "{'minLength':2}", "'\xc3\xa9'", "1 character, at least 2 needed" },
	{ "{'maxLength':1}", "'\xf0\x9f\x98\x80'", NULL },
	{ "{'maxLength':1}", "'ab'", "2 characters, at most 1 allowed" },
	{ "{'minItems':1}", "[]", "0 items, at least 1 needed" },
	{ "{'items':[{},{}],'additionalItems':false}", "[1,2,3]", "at most 2 items allowed" },
	{ "{'uniqueItems':true}", "[1,{'a':1,'b':2},2,{'b':2.0,'a':1}]",
			"items 1 and 3 are equal" },
	{ "{'uniqueItems':true}", "[1,true,'1',null,[1],0,false,'',[],{}]", NULL },
	{ "{'contains':{'const':1}}", "[2,3]", "no item has the form that at least one must have" },
	{ "{'maxProperties':1}", "{'a':1,'b':2}", "2 keys, at most 1 allowed" },
	{ "{'propertyNames':{'maxLength':1}}", "{'ab':1}",
			"the name of a key: ab: 2 characters, at most 1 allowed" },
	{ "{'dependencies':{'a':['b']}}", "{'a':1}", "b: missing (needed beside 'a')" },
	{ "{'dependencies':{'a':{'minProperties':2}}}", "{'a':1}", "1 key, at least 2 needed" },
	{ "{'allOf':[{'minimum':1},{'maximum':2}]}", "3", "3 must be at most 2" },
	{ "{'anyOf':[{'type':'string'},{'properties':{'a':{'type':'null'}},'type':'object'}]}",
			"{'a':1}",
			"none of the 2 allowed forms fits; the nearest: a: expected null, got "
			"integer" },
	{ "{'oneOf':[{'type':'integer'},{'minimum':0}]}", "1",
			"fits forms 1 and 2, but exactly one may fit" },
	{ "{'oneOf':[{'type':'integer'}]}", "'x'", "expected integer, got string" },
	{ "{'not':{'type':'null'}}", "null", "has a form that is not allowed" },
	{ "{'$ref':'#/$defs/a~1b/%24defs/~0%7e1','$defs':{'a/"
	  "b':{'$defs':{'~/':{'type':'null'}}}}}",
			"1", "expected null, got integer" },
	{ "{'$defs':{'t':{'properties':{'kid':{'$ref':'#/$defs/t'},'n':{'type':'integer'}}}},"
	  "'$ref':'#/$defs/t'}",
			"{'kid':{'kid':{'n':'x'}}}", "kid.kid.n: expected integer, got string" },
};

static void expect_message(const char *got, const char *want)
{
	char copy[1024];

	snprintf(copy, sizeof(copy), "%s", want);
	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	assert_string_equal(got, copy);
}

TEST(checks)
{
	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		struct arena a = ARENA_INIT;
		struct schema *s = compiled(&a, checks[i].schema);
		value *v = json(&a, checks[i].value);
		struct ov_err err = { 0 };
		int r = schema_check(s, v, &err);

		assert_int_equal(schema_check(s, v, NULL), r);
		assert_int_equal(r, checks[i].message ? OV_EINVALID : 0);
		if (checks[i].message)
			expect_message(err.msg, checks[i].message);
		arena_done(&a);
	}
}

static const struct {
	const char *schema, *message;
} refused[] = {
	{ "1", "schema: expected a schema (an object, true or false), got integer" },
	{ "{'items':1}",
			"schema: items: expected a schema (an object, true or false), got "
			"integer" },
	{ "{'propertys':{}}", "schema: unknown keyword 'propertys' (did you mean 'properties'?)" },
	{ "{'properties':{'a':{'minLenght':1}}}",
			"schema: properties.a: unknown keyword 'minLenght' (did you mean "
			"'minLength'?)" },
	{ "{'definitions':{'a':{'xyzzy':1}}}", "schema: definitions.a: unknown keyword 'xyzzy'" },
	{ "{'type':'int'}", "schema: type: unknown type 'int'" },
	{ "{'type':'strng'}", "schema: type: unknown type 'strng' (did you mean 'string'?)" },
	{ "{'type':[]}", "schema: type: an empty list of types allows nothing" },
	{ "{'type':1}", "schema: type: expected the name of a type, got integer" },
	{ "{'enum':[]}", "schema: enum: expected a list of values that is not empty" },
	{ "{'minimum':'1'}", "schema: minimum: expected a number, got string" },
	{ "{'exclusiveMinimum':true}",
			"schema: 'exclusiveMinimum': true needs 'minimum' beside it" },
	{ "{'multipleOf':0}", "schema: multipleOf: expected a number above 0" },
	{ "{'minLength':-1}", "schema: minLength: expected an integer of at least 0" },
	{ "{'minLength':1.5}", "schema: minLength: expected an integer of at least 0" },
	{ "{'uniqueItems':1}", "schema: uniqueItems: expected true or false, got integer" },
	{ "{'required':'a'}", "schema: required: expected a list of keys, got string" },
	{ "{'required':['a',1]}",
			"schema: required: expected a list of keys, but item 1 is integer" },
	{ "{'anyOf':[]}", "schema: anyOf: expected a list of schemas that is not empty" },
	{ "{'anyOf':[{},1]}",
			"schema: anyOf[1]: expected a schema (an object, true or false), got "
			"integer" },
	{ "{'dependencies':[]}", "schema: dependencies: expected an object, got array" },
	{ "{'pattern':'a'}", "schema: pattern: regular expressions are not supported here" },
	{ "{'items':{'$id':'x'}}",
			"schema: items.$id: is supported only at the top of the document" },
	{ "{'$ref':1}", "schema: $ref: expected a string, got integer" },
	{ "{'$ref':'other#'}",
			"schema: other#: only references inside the document ('#/definitions/...') "
			"are "
			"supported" },
	{ "{'$ref':'#/definitions/a'}", "schema: #/definitions/a: this reference leads nowhere" },
	{ "{'$ref':'#/%2'}", "schema: #/%2: this reference leads nowhere" },
	{ "{'$ref':'#/~2'}", "schema: #/~2: this reference leads nowhere" },
	{ "{'$ref':'#a'}", "schema: #a: this reference leads nowhere" },
	{ "{'properties':{'a':{'$ref':'#','minimum':1}}}",
			"schema: properties.a.minimum: has no effect beside '$ref'; put both into "
			"'allOf'" },
	{ "{'$ref':'#'}", "schema: a $ref leads back to itself without descending into the value" },
	{ "{'$defs':{'a':{'anyOf':[{'$ref':'#/$defs/b'}]},'b':{'not':{'$ref':'#/$defs/a'}}}}",
			"schema: a $ref leads back to itself without descending into the value" },
	{ "{'dependencies':{'a':{'$ref':'#'}}}",
			"schema: a $ref leads back to itself without descending into the value" },
};

TEST(bad_schemas_are_refused)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct arena a = ARENA_INIT;
		struct ov_err err = { 0 };
		struct schema *untouched = (struct schema *)&a, *s = untouched;

		assert_int_equal(schema_compile(&a, json(&a, refused[i].schema), &s, &err),
				OV_EINVALID);
		expect_message(err.msg, refused[i].message);
		assert_ptr_equal(s, untouched);
		arena_done(&a);
	}
}

TEST(the_document_is_not_borrowed)
{
	struct arena a = ARENA_INIT, doc = ARENA_INIT;
	struct ov_err err = { 0 };
	struct schema *s = NULL;
	value *v;

	v = json(&doc, "{'properties':{'name':{'enum':['x']}},'additionalProperties':false}");
	assert_int_equal(schema_compile(&a, v, &s, &err), 0);
	arena_done(&doc);
	assert_int_equal(schema_check(s, json(&a, "{'name':'x'}"), &err), 0);
	assert_int_equal(schema_check(s, json(&a, "{'nam':'x'}"), &err), OV_EINVALID);
	expect_message(err.msg, "unknown key 'nam' (did you mean 'name'?)");
	arena_done(&a);
}

TEST(toml_values_are_checked_too)
{
	struct arena a = ARENA_INIT;
	struct schema *s = compiled(&a, "{'properties':{'d':{'type':'string'},'n':{'minimum':0}}}");
	struct ov_err err = { 0 };
	value *v = NULL;

	assert_int_equal(toml_parse(&a, STR("d = 1979-05-27\nn = inf"), &v, &err), 0);
	assert_int_equal(schema_check(s, v, &err), 0);
	assert_int_equal(toml_parse(&a, STR("n = nan"), &v, &err), 0);
	assert_int_equal(schema_check(s, v, &err), OV_EINVALID);
	arena_done(&a);
}

/* 2^40 ways through the alternatives: refused for the work, not endured. */
TEST(work_is_bounded)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	struct ov_err err = { 0 };
	struct schema *s;

	buf_adds(&b, STR("{'$ref':'#/$defs/d0','$defs':{"));
	for (int i = 0; i < 30; i++)
		buf_addf(&b, "'d%d':{'oneOf':[{'$ref':'#/$defs/d%d'},{'$ref':'#/$defs/d%d'}]},", i,
				i + 1, i + 1);
	buf_adds(&b, STR("'d30':{'type':'null'}}}"));
	s = compiled(&a, b.p);
	assert_int_equal(schema_check(s, json(&a, "1"), &err), OV_ELIMIT);
	assert_string_equal(err.msg, "too much work: the value is too big for its schema");
	buf_done(&b);
	arena_done(&a);
}

static void expect_chain_refused(int length, const char *message)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	struct ov_err err = { 0 };
	struct schema *s = NULL;

	buf_adds(&b, STR("{'$defs':{"));
	for (int i = 0; i < length; i++)
		buf_addf(&b, "'d%d':{'$ref':'#/$defs/d%d'},", i, i + 1);
	buf_addf(&b, "'d%d':true}}", length);
	assert_int_equal(schema_compile(&a, json(&a, b.p), &s, &err), OV_EINVALID);
	assert_string_equal(err.msg, message);
	buf_done(&b);
	arena_done(&a);
}

TEST(long_chains_of_references_are_refused)
{
	expect_chain_refused(1000,
			"schema: more than 64 schemas apply to one value, one through the other");
	expect_chain_refused(100000,
			"schema: #/$defs/d200: too many references for so many definitions");
}

TEST(big_arrays_are_compared_quickly)
{
	enum { MANY = 300000 };
	struct arena a = ARENA_INIT;
	struct schema *s = compiled(&a, "{'uniqueItems':true}");
	value *v = value_array(&a);

	for (int i = 0; i < MANY; i++)
		value_push(&a, v, value_int(&a, i));
	assert_int_equal(schema_check(s, v, NULL), 0);
	value_push(&a, v, value_real(&a, 7));
	assert_int_equal(schema_check(s, v, NULL), OV_EINVALID);
	arena_done(&a);
}

TEST_MAIN
