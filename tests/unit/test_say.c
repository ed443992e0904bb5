#include "tests/test.h"

#include "base/arena.h"
#include "base/str.h"
#include "cli/out/say.h"
#include "data/value/json.h"

static const char answer[] =
		"{\"name\":\"w1\\u001b[1m\",\"n\":1,\"many\":3,\"none\":0,\"yes\":true,\"no\":false,"
		"\"empty\":\"\",\"list\":[\"a\",\"b\"],\"at\":\"1970-01-01T00:00:00.000Z\","
		"\"of\":{\"it\":\"a text that is long\",\"cost\":3120000}}";

/* What a text becomes, in the ASCII of a plain file. */
static void check_text(const char *text, const char *expected)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct out o = { .arena = &a, .now = 17 * OV_MINUTE };
	value *v;

	assert_int_equal(json_parse(&a, str_from(answer), NULL, &v, NULL), 0);
	assert_string_equal(say_text(&o, v, text).p, expected);
	say(&o, v, text);
	assert_string_equal(arena_cstr(&a, buf_str(&o.buf)), expected);
	out_done(&o);
}

TEST(parts_are_filled_in_clean_and_in_their_form)
{
	check_text("nothing but text\n", "nothing but text\n");
	check_text("{name}", "w1?[1m");
	check_text("{of.it}", "a text that is long");
	check_text("{of.it:9}", "a text...");
	check_text("{n:#task}, {many:#task}, {none:#task}", "1 task, 3 tasks, 0 tasks");
	check_text("{many:n} {list:list} {list:count}", "3 a, b 2");
	check_text("{at:age} {of.cost:cost}", "17m $3.12");
	check_text("{missing}{missing:n}{missing.too}", "0");
	check_text("{empty|-} {missing|none yet} {n:n|-}", "- none yet 1");
}

TEST(pieces_stand_or_fall_with_their_first_part)
{
	check_text("[{?yes}yes][{?no}no][{!yes}not yes][{!no}not no]", "yesnot no");
	check_text("[{empty}, {name}][{of.it:6}, {n:n}]", "a t..., 1");
	check_text("[{?none}some|none] [{?list}{list:list}|no list]", "none a, b");
	check_text("[{?yes}a[{?no}b[{?yes}c]|d|e]f|g]", "ad|ef");
	check_text("[{?missing}x]|[{missing|y}]", "|");
}

TEST(brackets_can_be_written)
{
	check_text("[[--plan FILE] {{name}", "[--plan FILE] {name}");
}

TEST(styles_show_only_where_there_are_colours)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct out o = { .arena = &a, .colour = true };
	value *v = value_object(&a);

	value_put(&a, v, "status", value_cstr(&a, "failed"));
	assert_string_equal(say_text(&o, v, "{=A: b*bold} {status*status}").p, "A: b failed");
	say(&o, v, "{=A: b*bold} {status*status}");
	assert_string_equal(arena_cstr(&a, buf_str(&o.buf)),
			"\033[1mA: b\033[0m \033[31mfailed\033[0m");
	out_done(&o);
}

TEST(rows_are_made_of_columns_and_fields)
{
	static const struct column columns[] = {
		{ "{id}", .style = S_BOLD },
		{ "{n:n}", .right = true },
		{ .text = "{text|-}" },
	};
	static const struct shown_field fields[] = {
		{ "Named", .text = "{id}" },
		{ "Absent", .text = "{missing}" },
		{ "Parts", "parts", true },
	};
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct out o = { .arena = &a };
	value *v;

	assert_int_equal(json_parse(&a,
					 STR("[{\"id\":\"x\",\"n\":5},{\"id\":\"longer\",\"n\":17,"
					     "\"text\":\"t\",\"parts\":[\"p\",\"q\"]}]"),
					 NULL, &v, NULL),
			0);
	say_table(&o, v, columns, "  ");
	say_fields(&o, value_item(v, 1), fields);
	table_end(&o, "");
	assert_string_equal(arena_cstr(&a, buf_str(&o.buf)),
			"  x        5  -\n"
			"  longer  17  t\n"
			"Named  longer\n"
			"Parts  p\n"
			"       q\n");
	out_done(&o);
}

TEST_MAIN
