"""The lints must catch what they are there for: plant a violation, expect a refusal."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("OV_SOURCE_ROOT", Path(__file__).resolve().parents[2]))
TOOLS = ROOT / "tools"
CC = os.environ.get("CC", "cc")


def run(*command):
    done = subprocess.run([str(c) for c in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout


class Lint(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="overseer-lint-")
        self.addCleanup(scratch.cleanup)
        self.dir = Path(scratch.name)

    def refused(self, result, *words):
        status, out = result
        self.assertEqual(status, 1, out)
        for word in words:
            self.assertIn(word, out)

    def accepted(self, result):
        self.assertEqual(result[0], 0, result[1])


class Tree(Lint):
    """A source tree to plant in."""

    def setUp(self):
        super().setUp()
        self.plant("base/ov.h", "#pragma once\n")
        self.plant("store/store.h", '#pragma once\n#include "base/ov.h"\n#include "data/value/value.h"\n')
        self.plant("store/meson.build", "store_dep = declare_dependency(dependencies: [data_dep])\n")

    def plant(self, name, text):
        path = self.dir / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def readme(self, room, uses="", text="Talks to nobody.\n\n## Entry points\n\n## Never here\n\nNoise.\n"):
        self.plant(f"{room}/README.md", f"# {room}\n\n{text}\nUses: {uses}\n")


class Layers(Tree):
    def check(self):
        """With a README in every folder, so that only what a test planted is wrong."""
        for folder in {p.parent for p in (self.dir / "src").rglob("*.[ch]")}:
            self.readme(str(folder.relative_to(self.dir / "src")))
        self.assertEqual(run(TOOLS / "rooms", "--write-uses", self.dir), (0, ""))
        return run(sys.executable, TOOLS / "check-layers.py", self.dir)

    def test_a_clean_tree(self):
        self.accepted(self.check())

    def test_core_must_not_include_store(self):
        self.plant("core/planted.c", '#include "store/store.h"\n')
        self.refused(self.check(), "src/core/planted.c:1", "store/store.h")

    def test_base_uses_nothing(self):
        self.plant("base/planted.c", '#include "base/ov.h"\n#include "data/value/value.h"\n')
        self.refused(self.check(), "src/base/planted.c:2")

    def test_drive_sees_only_the_protocol_of_the_shim(self):
        self.plant("drive/planted.c", '#include "shim/proto.h"\n')
        self.accepted(self.check())
        self.plant("drive/planted.c", '#include "shim/shim_impl.h"\n')
        self.refused(self.check(), "shim/shim_impl.h")

    def test_cli_sees_only_the_loop_free_half_of_sys(self):
        self.plant("cli/planted.c", '#include "sys/file/file.h"\n#include "sys/host/clock.h"\n')
        self.accepted(self.check())
        self.plant("cli/planted.c", '#include "sys/loop/loop.h"\n')
        self.refused(self.check(), "sys/loop/loop.h")

    def test_includes_name_their_layer(self):
        self.plant("core/planted.c", '#include "../store/store.h"\n#include "state.h"\n')
        self.refused(self.check(), "planted.c:1", "planted.c:2")

    def test_a_long_source_is_refused(self):
        self.plant("core/planted.c", "/* line */\n" * 600)
        self.accepted(self.check())
        self.plant("core/planted.c", "/* line */\n" * 700)
        self.refused(self.check(), "700 lines", "600")

    def test_a_long_header_is_refused(self):
        self.plant("core/planted.h", "#pragma once\n" + "/* line */\n" * 250)
        self.refused(self.check(), "251 lines", "200")

    def test_a_header_needs_its_guard(self):
        self.plant("core/planted.h", "int x(void);\n")
        self.refused(self.check(), "#pragma once")

    def test_an_unknown_layer_needs_a_rule(self):
        self.plant("misc/planted.c", "\n")
        self.refused(self.check(), "misc is not a known layer")

    def test_sys_must_not_link_store(self):
        self.plant("sys/meson.build", "sys_dep = declare_dependency(dependencies: [store_dep])\n")
        self.refused(self.check(), "sys may not link store_dep")

    def test_an_implementation_header_is_private(self):
        self.plant("net/planted_impl.h", "#pragma once\n")
        self.plant("net/planted.c", '#include "net/planted_impl.h"\n')
        self.accepted(self.check())
        self.plant("drive/planted.c", '#include "net/planted_impl.h"\n')
        self.refused(self.check(), "src/drive/planted.c:1", "is private to net")


class Rooms(Tree):
    """The layer net, in two rooms."""

    def setUp(self):
        super().setUp()
        self.plant("net/meson.build", "net_dep = declare_dependency()\n")
        self.plant("net/wire/line.h", '#pragma once\n#include "base/ov.h"\n')
        self.plant("net/serve/serve.c", '#include "net/wire/line.h"\n#include "version.h"\n#include "net/serve/own.h"\n')
        self.plant("net/serve/own.h", "#pragma once\n")
        self.readme("net/wire", "base")
        self.readme("net/serve", "net/wire")
        self.readme("base", "nothing")
        self.readme("store", "base, data/value")

    def check(self):
        return run(sys.executable, TOOLS / "check-layers.py", self.dir)

    def test_what_is_used_must_be_said(self):
        self.accepted(self.check())
        self.readme("net/serve", "nothing")
        self.refused(self.check(), 'src/net/serve/serve.c:1: "net/wire/line.h"', "not in the line `Uses:` of src/net/serve/README.md")

    def test_what_is_declared_must_be_defined_in_the_room(self):
        self.plant("net/wire/line.h", '#pragma once\n#include "base/ov.h"\nint line_read(int fd);\n')
        self.plant("net/wire/line.c", '#include "net/wire/line.h"\n\nint line_read(int fd)\n{\n\treturn fd;\n}\n')
        self.accepted(self.check())
        self.plant("net/wire/line.c", "")
        self.plant("net/serve/read.c", '#include "net/wire/line.h"\n\nint line_read(int fd)\n{\n\treturn fd;\n}\n')
        self.refused(self.check(), "src/net/wire/line.h: declares line_read(), which is defined in net/serve")

    def test_what_is_said_must_be_used(self):
        self.readme("net/serve", "base, `net/wire`")
        self.refused(self.check(), "src/net/serve/README.md: Uses: base, which nothing here includes")

    def test_the_parts_of_a_readme(self):
        for text, word in (("Talks.\n\nNever here: noise.\n", "entry points"), ("Talks.\n\nEntry points: none.\n", "never belongs"),
                           ("Entry points:\n- `gone.h`: nothing.\n\nNever here: noise.\n", "there is no gone.h")):
            self.readme("net/serve", "net/wire", text)
            self.refused(self.check(), "src/net/serve/README.md", word)
        self.readme("net/serve", "net/wire", "Entry points:\n- `own.h`: all.\n\nWhat never belongs here: noise.\n")
        self.accepted(self.check())
        self.plant("net/serve/README.md", "# net/wire\n\nEntry points: none.\n\nNever here: noise.\n")
        self.refused(self.check(), "a title", "no line `Uses:` (here: Uses: net/wire)")
        (self.dir / "src/net/serve/README.md").unlink()
        self.refused(self.check(), "src/net/serve/README.md: is missing")

    def test_rooms_in_a_circle(self):
        self.plant("net/wire/line.c", '#include "net/wire/line.h"\n#include "net/serve/own.h"\n')
        self.readme("net/wire", "base, net/serve")
        self.refused(self.check(), "rooms in a circle: net/serve -> net/wire -> net/serve",
                     'src/net/serve/serve.c:1: includes "net/wire/line.h"', 'src/net/wire/line.c:2: includes "net/serve/own.h"')

    def test_a_layer_with_rooms_has_no_files_beside_them(self):
        self.plant("net/planted.c", "\n")
        self.readme("net")
        self.refused(self.check(), "src/net: a layer with rooms keeps no .c or .h")

    def test_rooms_are_one_level_deep(self):
        self.plant("net/wire/deep/planted.c", "\n")
        self.readme("net/wire/deep")
        self.refused(self.check(), "src/net/wire/deep: rooms are one level below")

    def test_a_full_folder(self):
        for n in range(23):
            self.plant(f"net/serve/planted{n}.txt", "\n")
        self.refused(self.check(), "src/net/serve: 26 files, the limit is 25")
        (self.dir / "src/net/serve/planted0.txt").unlink()
        self.accepted(self.check())

    def test_the_tables(self):
        status, out = run(TOOLS / "rooms", self.dir)
        self.assertEqual(status, 0, out)
        self.assertIn("| 2 | net/serve | 2 | 4 |", out)
        self.assertIn("| 2 net/serve |  | 1 |", out)


class Purity(Lint):
    def library(self, layer, source):
        folder = self.dir / "src" / layer
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "planted.c").write_text(source)
        for command in (
            [CC, "-c", "-O2", "-fPIE", "-o", folder / "planted.o", folder / "planted.c"],
            ["ar", "rcs", folder / f"lib{layer}.a", folder / "planted.o"],
        ):
            status, out = run(*command)
            self.assertEqual(status, 0, out)

    def check(self):
        return run(sys.executable, TOOLS / "check-purity", self.dir)

    def test_memory_strings_and_lower_layers_are_pure(self):
        self.library("base", "int base_f(int x) { return x + 1; }\n")
        self.library("core", "#include <string.h>\nint base_f(int);\n"
                             "static const char *const names[] = {\"a\", \"b\"};\n"
                             "int core_f(const char *s) { return base_f((int)strlen(s))"
                             " + strcmp(s, names[s[0] & 1]); }\n")
        self.accepted(self.check())

    def test_a_clock_in_core_is_caught(self):
        self.library("core", "#include <time.h>\nlong f(void) { return time(0); }\n")
        self.refused(self.check(), "core: uses time()")

    def test_output_environment_and_randomness_are_caught(self):
        self.library("data", "#include <stdio.h>\n#include <stdlib.h>\n#include <sys/random.h>\n"
                             "int f(void) { char b[4]; puts(getenv(\"X\"));"
                             " return getrandom(b, 4, 0) > 0; }\n")
        self.refused(self.check(), "puts()", "getenv()", "getrandom()")

    def test_base_must_not_use_core(self):
        self.library("base", "int core_f(void);\nint base_f(void) { return core_f(); }\n")
        self.library("core", "int core_f(void) { return 1; }\n")
        self.refused(self.check(), "base: uses core_f()")

    def test_state_outside_the_arguments_is_caught(self):
        self.library("core", "static int calls;\nint f(void) { return ++calls; }\n")
        self.refused(self.check(), "variable calls can change")

    def test_nothing_to_check_is_no_success(self):
        self.refused(self.check(), "no library")


class Dead(Lint):
    """src/a.c offers f; what else there is uses it, or does not."""

    def build(self, **sources):
        commands = []
        for name, source in sources.items():
            folder = "tests" if name.startswith("test") else "src"
            path, output = self.dir / folder / f"{name}.c", f"{folder}/{name}.o"
            for place in (path.parent, self.dir / "build" / folder):
                place.mkdir(parents=True, exist_ok=True)
            path.write_text(source)
            self.accepted(run(CC, "-c", "-O2", "-fPIE", "-o", self.dir / "build" / output, path))
            commands.append({"directory": str(self.dir / "build"), "file": str(path), "output": output})
        (self.dir / "build").mkdir(exist_ok=True)
        (self.dir / "build" / "compile_commands.json").write_text(json.dumps(commands))

    def allow(self, text):
        (self.dir / "tools").mkdir(exist_ok=True)
        (self.dir / "tools" / "dead-allow.txt").write_text(text)

    def check(self):
        return run(sys.executable, TOOLS / "check-dead", self.dir, self.dir / "build")

    def test_what_another_file_uses_lives(self):
        self.build(a="int f(void) { return 1; }\n", main="int f(void);\nint main(void) { return f(); }\n")
        self.accepted(self.check())

    def test_what_nobody_uses_is_dead(self):
        self.build(a="int f(void) { return 1; } /* f is fine */\n", main="int main(void) { return 0; }\n")
        self.refused(self.check(), "src/a.c: f is used by nobody")

    def test_what_only_tests_use_is_dead(self):
        self.build(a="int f(void) { return 1; }\n", test_a="int f(void);\nint main(void) { return f(); }\n")
        self.refused(self.check(), "src/a.c: f is used by tests alone")
        self.allow("f why not\n")
        self.accepted(self.check())
        self.allow("f\n")
        self.refused(self.check(), "f needs a reason")

    def test_what_only_its_file_uses_is_static(self):
        self.build(main="int f(int x) { return x + 1; }\nint main(int n, char **v) { (void)v; return f(n); }\n")
        self.refused(self.check(), "src/main.c: f is used by this file alone: make it static")

    def test_what_a_macro_puts_into_a_table_lives(self):
        self.build(a="int do_f(void) { return 1; }\n#define X(n) do_##n,\nint (*const table[])(void) = { X(f) };\n",
                   main="extern int (*const table[])(void);\nint main(void) { return table[0](); }\n")
        self.accepted(self.check())

    def test_what_is_allowed_for_nothing(self):
        self.build(a="int f(void) { return 1; }\n", main="int f(void);\nint main(void) { return f(); }\n")
        self.allow("f tests need it\ngone tests need it\n")
        self.refused(self.check(), "dead-allow.txt:1: f is used", "dead-allow.txt:2: gone is used, or is gone")

    def test_nothing_to_check_is_no_success(self):
        self.build()
        self.refused(self.check(), "no object")


class Names(Tree):
    def check(self):
        return run(sys.executable, TOOLS / "check-names", self.dir)

    def four(self, text):
        for name in "abcd":
            self.plant(f"core/{name}.c", text)

    def test_different_names(self):
        self.plant("core/a.c", "struct a {\n\tint x;\n};\n\nint a_f(struct a *a)\n{\n\treturn tell(a);\n}\n")
        self.plant("core/b.c", "struct b {\n\tint x;\n};\n\nint b_f(struct b *b)\n{\n\treturn tell(b);\n}\n")
        self.accepted(self.check())

    def test_two_public_functions(self):
        self.plant("core/a.c", "int f(void)\n{\n\treturn 1;\n}\n")
        self.plant("app/a.c", "const char *f(int x,\n\t\tint y)\n{\n\treturn 0;\n}\n")
        self.refused(self.check(), "function f is defined in src/app/a.c, src/core/a.c")

    def test_a_public_struct_and_another(self):
        self.plant("core/a.h", "#pragma once\nstruct command {\n\tint x;\n};\n")
        self.plant("app/a.c", "struct command {\n\tint y;\n};\n")
        self.refused(self.check(), "struct command is defined in src/app/a.c, src/core/a.h")

    def test_an_opaque_struct_and_another(self):
        self.plant("core/a.h", "#pragma once\nstruct stream;\n")
        self.plant("core/a.c", "struct stream {\n\tint x;\n};\n")
        self.plant("app/a.c", "struct stream {\n\tint y;\n};\n")
        self.refused(self.check(), "struct stream is defined in")

    def test_a_public_enum_and_another(self):
        self.plant("core/a.h", "#pragma once\nenum stage { A, B };\n")
        self.plant("app/a.h", "#pragma once\nenum stage { C };\n")
        self.refused(self.check(), "enum stage is defined in")

    def test_what_is_local_may_be_called_the_same_in_few_files(self):
        self.four("static void tell(int x)\n{\n}\n")
        self.refused(self.check(), "static tell is defined in", "src/core/d.c")
        (self.dir / "src/core/d.c").unlink()
        self.accepted(self.check())

    def test_what_is_not_used_is_declared_so(self):
        self.plant("core/a.c", "int f(int x _unused_)\n{\n\t(void)g(x);\n}\n")
        self.accepted(self.check())
        self.plant("core/a.c", "int f(int x)\n{\n\t(void)x;\n}\n")
        self.refused(self.check(), "src/core/a.c: x is not used: declare it _unused_")

    def test_comments_and_macros_define_nothing(self):
        self.four("/*\nint f(void)\n{\n */\n#define X(n) \\\n\tint f_##n(void) \\\n\t{ }\nint f(void);\n")
        self.plant("core/e.c", "int e(void)\n{\n}\n")
        self.accepted(self.check())

    def test_what_is_allowed(self):
        self.four("struct place {\n\tint x;\n};\n")
        (self.dir / "tools").mkdir()
        for text, word in (("place of each\nother why\n", "other needs no leave"), ("place\n", "place needs a reason")):
            (self.dir / "tools/names-allow.txt").write_text(text)
            self.refused(self.check(), word)
        (self.dir / "tools/names-allow.txt").write_text("place each has its own\n")
        self.accepted(self.check())


class Texts(Lint):
    def check(self, name, text, mode=0o644):
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return run(sys.executable, TOOLS / "check-text", self.dir)

    def test_plain_text_is_accepted(self):
        self.accepted(self.check("docs/a.md", "See http://127.0.0.1:8677/ and /etc/fstab.\n"))

    def test_paths_of_one_machine_are_caught(self):
        self.refused(self.check("docs/a.md", "ok\nlook in /home/adam/src\n"), "docs/a.md:2")
        self.refused(self.check("docs/a.md", "/root/x\n"), "docs/a.md:1")

    def test_package_hosts_are_caught(self):
        self.refused(self.check("tools/x.py", "u = 'https://registry.host.invalid.io/x'\n"), "host")
        self.refused(self.check("a.txt", "deb.some-distribution.org\n"), "host")

    def test_scripts_must_parse(self):
        self.refused(self.check("tools/x.py", "def f(:\n"), "tools/x.py:1")
        (self.dir / "tools/x.py").unlink()
        self.refused(self.check("tools/y", "#!/bin/bash\nif true; then\n", 0o755), "tools/y")

    def test_scripts_must_be_executable(self):
        self.refused(self.check("tools/y", "#!/bin/bash\ntrue\n"), "not executable")

    def test_unfinished_work_is_caught(self):
        self.refused(self.check("src/core/a.c", "/* TODO: later */\n"), "unfinished")


class Format(Lint):
    def test_badly_formatted_code_is_caught(self):
        (self.dir / "tools").mkdir()
        (self.dir / "src").mkdir()
        shutil.copy(TOOLS / "check-format", self.dir / "tools")
        shutil.copy(ROOT / ".clang-format", self.dir)
        source = self.dir / "src/a.c"
        source.write_text("int f(void)\n{\n\treturn 1;\n}\n")
        self.accepted(run(self.dir / "tools/check-format"))
        source.write_text("int f(void) {\n  return 1; }\n")
        self.refused(run(self.dir / "tools/check-format"), "src/a.c:1")
        self.accepted(run(self.dir / "tools/check-format", "--fix"))
        self.accepted(run(self.dir / "tools/check-format"))


class Counting(Lint):
    """tools/run-tests is what every other gate hangs on."""

    PROJECT = """project('x')
python = find_program('python3')
test('one', python, args: ['-c', ONE], protocol: 'tap', suite: 'tap')
test('two', python, args: ['-c', TWO], suite: 'py')
test('three', python, args: ['-c', THREE], suite: 'plain')
"""

    def result(self, one, two, three, *targets):
        def quote(code):
            return "'''" + code + "'''"

        text = self.PROJECT
        for name, code in (("ONE", one), ("TWO", two), ("THREE", three)):
            text = text.replace(name, quote(code))
        (self.dir / "meson.build").write_text(text)
        build = self.dir / "b"
        status, out = run("meson", "setup", build, self.dir)
        self.assertEqual(status, 0, out)
        status, out = run(sys.executable, TOOLS / "run-tests", *[t if t[0] == "-" else f"{build}:{t}" for t in targets])
        self.out = out.splitlines()
        return status, self.out[-1]

    UNITTEST = ("import unittest\nclass T(unittest.TestCase):\n"
                "  def test_a(self): pass\n  def test_b(self): self.skipTest(\"x\")\n"
                "  def test_c(self): self.assertTrue(%s)\nunittest.main()")

    def test_single_tests_are_counted(self):
        tap = 'print("1..3\\nok 1 - a\\nnot ok 2 # SKIP b\\nok 3 - c")'
        self.assertEqual(self.result(tap, self.UNITTEST % "True", "", "tap,py,plain"),
                         (0, "5 passed, 0 failed, 2 skipped"))

    def test_agents_that_are_missing_are_counted_apart(self):
        skips = ("import unittest\nclass T(unittest.TestCase):\n"
                 "  def setUp(self): self.skipTest(\"agents: no npm (it is not there)\")\n"
                 "  def test_a(self): pass\n  def test_b(self): pass\nunittest.main(verbosity=2)")
        self.assertEqual(self.result("", skips, "", "py,plain"), (0, "1 passed, 0 failed, 2 skipped"))
        self.assertEqual(self.out[-2], "2 skipped (agents: no npm (it is not there))")

    def test_forbidden_namespaces_are_counted_apart(self):
        skips = ("import unittest\nclass T(unittest.TestCase):\n"
                 "  def test_a(self): self.skipTest(\"namespaces: forbidden\")\nunittest.main(verbosity=2)")
        tap = 'print("1..2\\n# skipped: namespaces: forbidden\\nnot ok 1 # SKIP a\\nok 2 - c")'
        self.assertEqual(self.result(tap, skips, "", "tap,py,plain"), (0, "2 passed, 0 failed, 2 skipped"))
        self.assertEqual(self.out[-2], "2 skipped (namespaces: forbidden)")

    def tier(self, one, two, three, rows):
        table = self.dir / "tiers.toml"
        table.write_text("".join(f'[[{tier}]]\nbuild = "{self.dir}/b"\n{row}\n' for tier, row in rows))
        return self.result(one, two, three, "--tier=full", f"--table={table}")

    def test_a_tier_runs_its_parts_and_who_sleeps_beside_them(self):
        """The sleeper ends only when a test of another part has run: it cannot have been before or after it."""
        waits = f"import os, time\nwhile not os.path.exists('{self.dir}/here'): time.sleep(0.01)"
        says = f"import os\nassert os.environ['OV_FULL']\nopen('{self.dir}/here', 'w')"
        rows = [("quick", 'tests = ["py"]'), ("full", 'tests = ["plain"]\nbeside = true'), ("full", 'tests = ["tap"]\nfull = true')]
        tap = says + '\nprint("1..1\\nok 1 - a")'
        self.assertEqual(self.tier(tap, "raise SystemExit(1)", waits, rows), (0, "2 passed, 0 failed, 0 skipped"))

    def test_a_tier_fails_for_a_test_that_is_in_none(self):
        rows = [("quick", 'tests = ["py"]'), ("full", 'tests = ["plain"]')]
        self.assertEqual(self.tier("", "", "", rows), (1, "1 passed, 1 failed, 0 skipped"))
        self.assertIn("  b: tap/one runs in no tier: name it in tests/tiers.toml", self.out)

    def test_the_slowest_are_shown(self):
        self.result("", "", "import time\ntime.sleep(0.5)", "py,plain")
        first = self.out.index("The 2 slowest:") + 1
        self.assertRegex(self.out[first], r"^ +[0-9.]+ s  b: plain / three$")

    def test_failures_crashes_and_missing_tests_are_counted(self):
        tap = 'print("1..3\\nok 1 - a\\nnot ok 2 - b")'
        self.assertEqual(self.result(tap, self.UNITTEST % "False", "raise SystemExit(3)",
                                     "tap,py,plain"),
                         (1, "2 passed, 4 failed, 1 skipped"))

    def test_a_crash_after_the_last_test_is_a_failure(self):
        tap = 'import os\nprint("1..1\\nok 1 - a", flush=True)\nos.abort()'
        self.assertEqual(self.result(tap, "", "", "tap"), (1, "1 passed, 1 failed, 0 skipped"))

    def test_a_suite_without_tests_is_a_failure(self):
        tap = 'print("1..1\\nok 1 - a")'
        self.assertEqual(self.result(tap, "", "", "tap,none", "none"), (1, "1 passed, 2 failed, 0 skipped"))


class Tiers(Lint):
    """Each test is in a tier (tests/tiers.toml)."""

    def check(self, table, tests=("a/one", "a/two", "b/three")):
        info = self.dir / "b" / "meson-info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "intro-tests.json").write_text(json.dumps(
            [{"suite": ["x:" + test.split("/")[0]], "name": test.split("/")[1]} for test in tests]))
        (self.dir / "tiers.toml").write_text(table)
        return run(TOOLS / "check-tiers", self.dir / "b", self.dir / "tiers.toml")

    QUICK = '[[quick]]\nbuild = "build"\ntests = ["a/one"]\n'

    def test_a_test_that_no_part_names(self):
        self.refused(self.check(self.QUICK), "a/two runs in no tier", "b/three runs in no tier")
        self.accepted(self.check(self.QUICK + '[[full]]\nbuild = "build"\ntests = ["a", "b"]\n'))

    def test_a_test_that_is_left_out_everywhere(self):
        rest = '[[check]]\nbuild = "build"\ntests = ["a", "b"]\nexcept = ["a/tw*"]\n'
        self.refused(self.check(self.QUICK + rest), "a/two runs in no tier")
        self.accepted(self.check(self.QUICK + rest + '[[full]]\nbuild = "build"\ntests = ["a/two"]\n'))

    def test_another_build_does_not_count_for_the_plain_one(self):
        for other in ('build = "build-san"\n', 'build = "build"\nwrapper = "valgrind"\n'):
            self.refused(self.check(self.QUICK + "[[full]]\n" + other + 'tests = ["a", "b"]\n'), "a/two runs in no tier")

    def test_names_without_a_test(self):
        rest = '[[full]]\nbuild = "build"\ntests = ["a", "b", "gone", "a/gone"]\n'
        self.refused(self.check(self.QUICK + rest), "[[full]] names gone", "[[full]] names a/gone")

    def test_two_tests_of_one_name(self):
        rest = '[[full]]\nbuild = "build"\ntests = ["a", "b"]\n'
        self.refused(self.check(self.QUICK + rest, ("a/one", "b/one")), "2 tests are called one")

    def test_a_table_that_is_wrong(self):
        for text in ('[[slow]]\nbuild = "build"\ntests = ["a"]\n', '[[quick]]\ntests = ["a"]\n',
                     '[[quick]]\nbuild = "build"\ntests = "a"\n', self.QUICK + "fulll = true\n"):
            status, out = self.check(text)
            self.assertNotEqual(status, 0, text)
            self.assertIn("tiers.toml", out)


class FailuresTable(Lint):
    ROW = '[[group.row]]\nid = "%s"\nfailure = "f"\ninjection = "i"\nrecovery = "r"\nby = "%s"\n'

    def check(self, rows, marks, *args):
        (self.dir / "docs").mkdir(exist_ok=True)
        folder = self.dir / "tests/failures"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "table.toml").write_text('[[group]]\ntitle = "t"\n' + "".join(self.ROW % r for r in rows))
        (folder / "test_x.py").write_text("class X:\n    y = 0\n" + "".join(
            f'    @row("{m}")\n    def test_{m}_{n}(self): pass\n' for n, m in enumerate(marks)))
        return run(TOOLS / "failures-table", "--rows=1", *args, self.dir)

    def test_each_row_has_its_test_and_each_test_its_row(self):
        row = ("1", "person")
        self.refused(self.check([row], []), "row 1: 0 tests")
        self.refused(self.check([row], ["1", "1"]), "row 1: 2 tests")
        self.refused(self.check([row], ["1", "2a"]), "test_x.X.test_2a_1: there is no row 2a")
        self.refused(self.check([row, row], ["1"]), "the rows are 1, 1, not 1")
        self.refused(self.check([("1", "luck")], ["1"]), "by is of automatic")

    def test_the_document_is_up_to_date_whatever_the_times(self):
        row = ("1", "automatic, person")
        self.refused(self.check([row], ["1"], "--check"), "not up to date")
        times = self.dir / "times"
        times.write_text('{"row": "1", "seconds": 1.25}\n')
        self.accepted(self.check([row], ["1"], "--times", times))
        self.assertIn("| 1.2 s |", (self.dir / "docs/failures.md").read_text())
        self.accepted(self.check([row], ["1"]))
        self.assertIn("| 1.2 s |", (self.dir / "docs/failures.md").read_text())
        times.write_text('{"row": "1", "seconds": 9}\n')
        self.accepted(self.check([row], ["1"], "--check", "--times", times))
        self.refused(self.check([("1", "person")], ["1"], "--check"), "not up to date")


class HearingTable(Lint):
    """Every agent, runtime and trouble has its row, and every row its tests, or says why not."""

    AGENTS, RUNTIMES = ("claude", "codex", "gemini", "opencode", "raw"), ("exec", "tmux")
    TROUBLES = ("hang", "hung tool", "loop", "sub-agent loop", "limit", "login", "overflow", "permission")
    HEARD = 'heard = "h"\nafter = "a"\ndone = "d"\n'

    def check(self, first, *args, drop=None, gaps=""):
        """All cells; `first` is what the first of them says, `drop` one that is left out, `gaps` rows of the other table."""
        (self.dir / "docs").mkdir(exist_ok=True)
        document = self.dir / "docs/agents.md"
        if not document.exists():
            document.write_text("before\n<!-- hearing: begin -->\n<!-- hearing: end -->\n"
                                "<!-- gaps: begin -->\n<!-- gaps: end -->\nafter\n")
        (self.dir / "src/agent/table").mkdir(parents=True, exist_ok=True)
        kinds = {"hang": "hangs", "login": "logins", "cost": "cost", "sub_agent_loop": "loops"}
        (self.dir / "src/agent/table/gaps.h").write_text("".join(f'X(GAP_{k.upper()}, "{k}", "{v}") ' for k, v in kinds.items()))
        (self.dir / "src/agent/table/gaps.c").write_text(f"const struct agent_gap agent_gaps[] = {{\n{gaps}}};\n")
        folder = self.dir / "tests/agents"
        folder.mkdir(parents=True, exist_ok=True)
        cells = [(t, a, r) for t in self.TROUBLES for a in self.AGENTS for r in self.RUNTIMES]
        rows = [f'[[row]]\ntrouble = "{t}"\nagents = ["{a}"]\nruntime = "{r}"\n' for t, a, r in cells if (t, a, r) != drop]
        (folder / "hearing.toml").write_text(rows[0] + first + "".join(row + 'unheard = "u"\n' for row in rows[1:]))
        (folder / "base.py").write_text("class Base:\n    def test_a(self): pass\n    def test_b(self): pass\n")
        (folder / "test_x.py").write_text("import base\nclass X(base.Base):\n    test_b = None\n    def test_c(self): pass\n")
        return run(TOOLS / "hearing-table", *args, self.dir)

    def shown(self, *names):
        return self.HEARD + f"tests = {list(names)}\n"

    def test_tests_exist(self):
        for name in ("test_a", "test_c"):
            self.accepted(self.check(self.shown(f"agents/test_x.X.{name}")))
        for name in ("agents/test_x.X.test_b", "agents/test_x.X.test_d", "agents/test_x.Y.test_a", "agents/test_y.X.test_a", "x"):
            self.refused(self.check(self.shown(name)), f"there is no test {name}")

    def test_rows_say_what_they_must(self):
        self.accepted(self.check(self.HEARD + 'untested = "why"\n'))
        self.refused(self.check(self.HEARD), "either tests, or untested")
        self.refused(self.check('untested = "why"\n'), "heard missing")
        self.refused(self.check(self.HEARD + 'unheard = "u"\n'), "no more to say")
        self.refused(self.check('unheard = "u"\nlouder = 1\n'), "louder: no such field")

    def test_no_cell_is_missing_or_there_twice(self):
        self.refused(self.check('unheard = "u"\n', drop=("login", "raw", "tmux")), "no row for login, raw, tmux")
        twice = 'unheard = "u"\n[[row]]\ntrouble = "hang"\nagents = ["claude"]\nruntime = "exec"\nunheard = "u"\n'
        self.refused(self.check(twice), "row 1 has claude already")

    def test_what_a_format_cannot_tell(self):
        """Each cell is in one of the two tables."""
        login = '\t{ "raw", "tmux", GAP_LOGIN,\n\t\t\t"one "\n\t\t\t"two" },\n'
        heard = self.HEARD + 'untested = "why"\n'
        self.refused(self.check(heard, drop=("login", "raw", "tmux")), "no row for login, raw, tmux")
        self.accepted(self.check(heard, drop=("login", "raw", "tmux"), gaps=login + '\t{ "codex", NULL, GAP_COST, "three" },\n'))
        text = (self.dir / "docs/agents.md").read_text()
        self.assertIn("| login | raw | tmux | **not heard**: one two |", text)
        self.assertIn("| raw | tmux | logins | `login` | one two |", text)
        self.assertIn("| cost | `cost` | three |", text)
        # The first cell is heard.
        self.refused(self.check(heard, gaps='\t{ "claude", "exec", GAP_HANG, "x" },\n'), "row 1 has claude already")
        sub = '\t{ "claude", "exec", GAP_SUB_AGENT_LOOP, "x" },\n'
        self.accepted(self.check(heard, gaps=sub, drop=("sub-agent loop", "claude", "exec")))
        self.refused(self.check(heard, gaps='\t{ "raw", "tmux", GAP_LOGIN, why },\n'), "is not understood")

    def test_the_document_is_up_to_date(self):
        told = self.shown("agents/test_x.X.test_a")
        self.refused(self.check(told, "--check"), "not up to date")
        self.accepted(self.check(told))
        self.accepted(self.check(told, "--check"))
        text = (self.dir / "docs/agents.md").read_text()
        self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n"), text)
        self.assertIn("| hang | claude | exec | h | a | d | `agents/test_x.X.test_a` |", text)
        self.refused(self.check('unheard = "u"\n', "--check"), "not up to date")


class CoveredCorpus(Lint):
    def test_an_empty_corpus_is_a_failure(self):
        fuzzer = self.dir / "fuzz_x.c"
        fuzzer.write_text('#include "tests/fuzz/fuzz.h"\n'
                          "int LLVMFuzzerTestOneInput(const uint8_t *d, size_t n)"
                          " { return d && n > 100; }\n")
        program = self.dir / "x"
        status, out = run(CC, "-D_GNU_SOURCE", "-I", ROOT, fuzzer,
                          ROOT / "tests/fuzz/corpus_main.c", "-o", program)
        self.assertEqual(status, 0, out)
        corpus = self.dir / "corpus"
        self.refused(run(program, corpus), "not ok 1")
        corpus.mkdir()
        self.refused(run(program, corpus), "not ok 1")
        (corpus / "a").write_text("x")
        self.accepted(run(program, corpus))


class Options(Lint):
    """What documents name is in the tables of commands and options."""

    def setUp(self):
        super().setUp()
        shutil.copytree(ROOT / "docs", self.dir / "docs")
        for name in ("README.md", "CONTRIBUTING.md"):
            shutil.copy(ROOT / name, self.dir / name)
        (self.dir / "examples").mkdir()

    def check(self, line):
        with open(self.dir / "README.md", "a") as f:
            f.write("\n" + line + "\n")
        return run(sys.executable, TOOLS / "check-options", self.dir)

    def test_what_exists(self):
        self.accepted(self.check("`accept.review`, `agents.NAME.command`, `--follow`, `overseer events --follow --since 2h`, "
                                 "`git rebase --continue`, `run.started`, `config.toml`\n\n    overseer --json goal create --title x"))

    def test_what_does_not(self):
        for line, word in (("`accept.reviews`", "there is no option accept.reviews"),
                           ("`--folow`", "no command has the option --folow"),
                           ("`overseer events --title x`", '"overseer events" has no option --title'),
                           ("    overseer goal create --titel x", '"overseer goal create" has no option --titel'),
                           ("`overseer evnts`", 'there is no command "overseer evnts"')):
            self.setUp()
            self.refused(self.check(line), "README.md", word)


class References(Lint):
    """What documents point at exists."""

    def setUp(self):
        super().setUp()
        self.plant("tests/system/test_walls.py", "class Base:\n    def test_door(self):\n        pass\n\n\nclass Walls(Base):\n    pass\n")
        self.plant("tests/fence/room.py", "CASES = {'index-forged': 1}\n")
        self.plant("tests/fence/table.py", "import room\n")
        self.plant("tests/sim/disk.c", "")

    def plant(self, name, text):
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def check(self, line):
        self.plant("docs/security.md", f"# Security\n\n{line}\n")
        return run(sys.executable, TOOLS / "check-references", self.dir)

    def test_what_exists(self):
        self.accepted(self.check("`Walls.test_door`, `Base.test_door`, `fence/index-forged`, `fence/index-*`, `tests/system/test_walls.py`, "
                                 "`tests/system/test_*.py`, `tests/sim/disk`, `tests/system/test_walls.py NAME`, `tests/unit/test_<x>.c`, "
                                 "[this](#security), [page](security.md), [code](../tests/sim/disk.c), [far](https://keepachangelog.com)"))

    def test_what_does_not(self):
        for line, word in (("`Walls.test_window`", "there is no test Walls.test_window"),
                           ("`Halls.test_door`", "there is no test Halls.test_door"),
                           ("`fence/index-gone`", "no case index-gone"),
                           ("`fence/head-*`", "no case head-*"),
                           ("`tests/system/test_halls.py`", "there is no tests/system/test_halls.py"),
                           ("[that](#walls)", "security.md has no heading walls"),
                           ("[page](walls.md)", "there is no walls.md")):
            self.refused(self.check(line), "docs/security.md:3", word)


class Open(Lint):
    def check(self, source, allow=""):
        (self.dir / "tools").mkdir(exist_ok=True)
        (self.dir / "tools" / "open-allow.txt").write_text(allow)
        path = self.dir / "src" / "app" / "planted.c"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        return run(sys.executable, TOOLS / "check-open", self.dir)

    def test_a_plain_open_is_refused(self):
        self.refused(self.check("int f(void)\n{\n\treturn open(path,\n\t\tO_RDONLY | O_CLOEXEC);\n}\n"), "planted.c:3", "file_open")
        self.refused(self.check('f = fopen(path, "re");\n'), "fopen")
        self.refused(self.check("fd = openat(dir, name, O_WRONLY | O_CREAT, 0600);\n"), "openat")

    def test_what_cannot_wait_is_accepted(self):
        self.accepted(self.check('a = open(p, O_PATH);\nb = openat(d, p, O_RDONLY | O_DIRECTORY);\n'
                                 'c = open("/dev/null", O_RDWR);\nd = file_open(p, O_RDONLY, 0);\n/* open(p, 0) */\n'))

    def test_the_list_of_exceptions_is_exact(self):
        self.accepted(self.check("open(p, O_RDONLY);\n", "src/app/planted.c 1 a test\n"))
        self.refused(self.check("open(p, O_RDONLY);\nopen(p, O_RDWR);\n", "src/app/planted.c 1 a test\n"), "planted.c:2")
        self.refused(self.check("", "src/app/planted.c 1 a test\n"), "has 0 such calls")
        self.refused(self.check("", "src/app/gone.c 1 a test\n"), "is not there")


class Style(Tree):
    def check(self, source):
        self.plant("app/planted.c", source)
        return run(sys.executable, TOOLS / "check-style", self.dir)

    def test_what_ov_next_returns_is_used(self):
        for source in ("\tif (x)\n\t\tov_next(err, \"a\");\n", "\tov_fail(err);\n\tov_next(err, \"a\");\n",
                       "\telse\n\t\tov_next(err, \"a\");\n"):
            self.refused(self.check(source), "planted.c:2", "ov_next")

    def test_comments_end_before_column_100(self):
        self.refused(self.check("int a;\n/* " + "x" * 95 + " */\n"), "planted.c:2", "beyond column 100")
        self.refused(self.check("/*\n * " + "x" * 98 + "\n */\n"), "planted.c:2")
        self.refused(self.check("\tint a; /* " + "x" * 80 + " */\n"), "planted.c:1")
        self.accepted(self.check("/* " + "x" * 94 + " */\nchar *s = \"/* " + "x" * 100 + "\";\n"))

    def test_ways_to_use_it(self):
        self.accepted(self.check('\treturn ov_next(err, "a");\n\tr = ov_next(err, "a");\n\t(void)ov_next(err, "a");\n'
                                 '\treturn x ? ov_next(err, "a")\n\t\t : ov_next(err, "b");\n'))


if __name__ == "__main__":
    unittest.main()
