#include "app/agents/run_note.h"

#include "agent/table/formats.h"
#include "base/arena.h"
#include "base/str.h"
#include "data/value/json.h"
#include "sys/file/file.h"

#define NOTE "driver.json"

enum { NOTE_MAX = 64 << 10 };

int run_note_write(const char *dir, const struct run_note *n, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *v = value_object(&a);

	value_put(&a, v, "runtime", value_cstr(&a, n->runtime));
	value_put(&a, v, "format", value_cstr(&a, n->format->name));
	value_put(&a, v, "hooks", value_bool(&a, n->hooks));
	value_put(&a, v, "sandbox", value_cstr(&a, n->sandbox ? n->sandbox : ""));
	value_put(&a, v, "input", value_bool(&a, n->input));
	value_put(&a, v, "trusted", value_bool(&a, n->trusted));
	return file_write_atomic(path_join(&a, dir, NOTE), json_text(&a, v), 0600, err);
}

bool run_note_find(const char *dir, struct run_note *ret)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	*ret = run_note_read(dir);
	return file_exists(path_join(&a, dir, NOTE));
}

struct run_note run_note_read(const char *dir)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct run_note n = { 0 };
	value *v = NULL;
	str text;

	if (file_read(&a, path_join(&a, dir, NOTE), NOTE_MAX, &text, NULL) == 0)
		(void)json_parse(&a, text, NULL, &v, NULL);
	n.format = v ? format_find(value_str_at(v, "format")) : NULL;
	if (!n.format)
		n.format = format_find(STR("raw"));
	n.runtime = v && str_is(value_str_at(v, "runtime"), "tmux") ? "tmux" : "exec";
	n.hooks = v && value_bool_at(v, "hooks");
	n.sandbox = "";
	for (size_t i = 0; v && sandbox_names[i]; i++)
		if (str_is(value_str_at(v, "sandbox"), sandbox_names[i]))
			n.sandbox = sandbox_names[i];
	n.input = !v || value_bool_at(v, "input");
	n.trusted = v && value_bool_at(v, "trusted");
	return n;
}
