"""What needs no daemon: arguments, help, plan check, config check, version, finding the store."""

import json
import os
import re
import subprocess

from cli_case import CLI, PATIENCE, Case, main

TASKS = [{"id": "T1.1", "name": "First", "acceptance": ["it works"]}]


def plan(*phases):
    return json.dumps({"phases": list(phases)})


def phase(ident, *tasks):
    return {"id": ident, "name": "Phase " + ident, "tasks": list(tasks)}


def task(ident, **more):
    return {"id": ident, "name": "Task " + ident, "acceptance": ["yes"], **more}


class Arguments(Case):
    def test_version(self):
        self.assertRegex(self.ok("version").out, r"^overseer \d+\.\d+\.\d+\n$")
        self.assertEqual(self.ok("--version").out, self.ok("version").out)
        self.assertRegex(self.ok("version", "--json").json()["version"], r"^\d+\.\d+\.\d+$")

    def test_no_command_is_help_on_stderr(self):
        done = self.fails(2)
        self.assertEqual(done.out, "")
        self.assertIn("usage: overseer", done.err)

    def test_half_a_command(self):
        done = self.fails(2, "goal")
        self.assertEqual(done.out, "")
        self.assertIn("goal create", done.err)

    def test_nearest_command(self):
        for words, near in ((["stauts"], "overseer status"), (["goal", "crate"], "overseer goal create"),
                            (["plan", "chekc"], "overseer plan check")):
            done = self.fails(2, *words)
            self.assertIn("Next  " + near + "\n", done.err)
        done = self.fails(2, "run", "zzz")
        self.assertIn("list, show, log", done.err)

    def test_unknown_option(self):
        done = self.fails(2, "goal", "create", "--titel", "x")
        self.assertIn("unknown option --titel (did you mean --title?)", done.err)
        self.assertIn("Next  overseer help goal create", done.err)
        self.fails(2, "status", "-x")

    def test_values(self):
        self.assertIn("--title needs a value", self.fails(2, "goal", "create", "--title").err)
        self.assertIn("--title TEXT is missing", self.fails(2, "goal", "create").err)
        self.assertIn("--watch takes no value", self.fails(2, "status", "--watch=1").err)
        self.assertIn("given twice", self.fails(2, "goal", "list", "--status", "a", "--status", "b").err)
        self.assertIn("needs a number", self.fails(2, "events", "--after", "x").err)
        self.assertIn("needs a number", self.fails(2, "events", "--limit=-3").err)
        self.assertIn("not a time", self.fails(2, "status", "--timeout", "soon").err)
        self.assertIn("ID is missing", self.fails(2, "explain").err)
        self.assertIn("one argument too many", self.fails(2, "explain", "a", "b").err)

    def test_too_many(self):
        self.fails(6, "version", *["--json"] * 1, *["x"] * 300)
        self.fails(6, "goal", "create", *["--success", "x"] * 300)

    def test_usage_error_in_json(self):
        error = self.fails(2, "--json", "stauts").error()
        self.assertEqual((error["code"], error["next"]), ("E_INVALID", "overseer status"))
        error = self.fails(2, "goal", "create", "--json").error()
        self.assertEqual(error["code"], "E_INVALID")

    def test_full_disk(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([CLI, "help"], env=self.env, stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE)
        self.assertEqual(done.returncode, 8)
        self.assertIn(b"No space left", done.stderr)


class Help(Case):
    def test_every_command_has_help(self):
        listed = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  +[A-Z]", self.ok("help").out, re.M)
        self.assertGreaterEqual(len(listed), 26)
        for name in listed:
            done = self.ok(*name.split(), "--help")
            self.assertTrue(done.out.startswith("usage: overseer " + name), done)
            self.assertEqual(done.out, self.ok("help", *name.split()).out)
            self.assertEqual(done.out, self.ok(*name.split(), "-h").out)

    def test_noun(self):
        out = self.ok("help", "work").out
        self.assertIn("work unblock", out)
        self.assertNotIn("goal create", out)
        self.assertEqual(self.ok("work", "--help").out, out)

    def test_unknown(self):
        self.assertIn("overseer help", self.fails(2, "help", "zzzzzz").err)

    def test_markdown_has_every_command(self):
        out = self.ok("help", "--markdown").out
        for name in re.findall(r"^  ([a-z]+(?: [a-z]+)?)  +[A-Z]", self.ok("help").out, re.M):
            self.assertIn(f"\n## `overseer {name}`\n", out)
        self.assertIn("| `E_UNAVAILABLE` | 7 |", out)

    def test_examples_and_notes_come_from_the_row(self):
        out = self.ok("help", "goal", "create").out
        self.assertIn("\nExample  overseer goal create --title ", out)
        self.assertRegex(out, r"--stakeholder NAME +who else cares \(repeatable\)\n")
        self.assertIn("usage: overseer plan diff GOAL [V1 [V2]]\n", self.ok("help", "plan", "diff").out)

    def test_operations_with_their_schema(self):
        """Every operation of the documents, its parameters as JSON Schema; options of commands are none."""
        found = {op["name"]: op for op in json.loads(self.ok("help", "--operations").out)}
        page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/operations.md")
        with open(page, encoding="utf-8") as f:
            self.assertEqual(sorted(found), sorted(re.findall(r"^## `([a-z.]+)`$", f.read(), re.M)))
        for op in found.values():
            schema = op["parameters"]
            self.assertEqual((schema["type"], schema["additionalProperties"]), ("object", False), op)
            self.assertLessEqual(set(schema.get("required", [])), set(schema["properties"]), op)
        self.assertEqual(found["status.get"]["parameters"]["properties"], {})
        self.assertEqual(found["goal.create"]["parameters"]["required"], ["title"])
        self.assertEqual(found["goal.create"]["parameters"]["properties"]["stakeholders"],
                         {"type": "array", "description": "who else cares", "items": {"type": "string"}, "maxItems": 64})
        self.assertEqual(found["goal.create"]["callers"], "person")

    def test_no_trailing_blanks(self):
        for args in (["help"], ["help", "goal", "create"], ["help", "--markdown"]):
            self.assertNotRegex(self.ok(*args).out, r"(?m)[ \t]+$")


class PlanCheck(Case):
    def check(self, text, code=2):
        self.write("plan.json", text)
        return self.fails(code, "plan", "check", "plan.json")

    def test_good(self):
        done = self.check(plan(phase("P1", task("T1.1"), task("T1.2", deps=["T1.1"]))), 0)
        self.assertEqual(done.out, "plan.json: a good plan: 1 phase, 2 tasks, 0 subtasks\n1 of 2 can start at once\n")

    def test_phases_alone_make_nobody_wait(self):
        text = plan(phase("P1", task("T1.1")), phase("P2", task("T2.1")))
        self.assertTrue(self.check(text, 0).out.endswith(
            '2 of 2 can start at once\nPhases do not make tasks wait: only "deps" and "sequential": true do.\n'))
        text = json.dumps({**json.loads(text), "sequential": True})
        self.assertTrue(self.check(text, 0).out.endswith("1 of 2 can start at once\n"))

    def test_what_the_documents_show_is_good(self):
        page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/plans.md")
        with open(page, encoding="utf-8") as f:
            shown = re.findall(r"```json\n(.*?)```", f.read(), re.S)
        self.assertGreater(len(shown), 0)
        for text in shown:
            self.check(text, 0)

    def test_malformed(self):
        for text in ("", "{", "[1, 2", '{"phases": [}', '{"a": 1, "a": 2}', b"\xff\xfe".decode("latin-1"),
                     '{"phases": "\\ud800"}', plan() + "x"):
            self.check(text)
        self.assertIn("nested too deeply", self.check("[" * 200, 6).err)
        with open(self.path("plan.json"), "wb") as f:
            f.write(b'{"phases": [{"id": "P1", "name": "\xff", "tasks": []}]}')
        self.assertIn("UTF-8", self.fails(2, "plan", "check", "plan.json").err)
        with open(self.path("plan.json"), "wb") as f:
            f.write(b'{"phases": [{"id": "P1", "name": "a\x00b", "tasks": []}]}')
        self.fails(2, "plan", "check", "plan.json")
        self.assertIn("NUL", self.check(plan(phase("P1", task("T1", objective="a\0b")))).out)
        self.assertIn("at most 65536", self.check(plan(phase("P1", task("T1", objective="x" * 66000)))).out)

    def test_the_three_problems_of_the_picture(self):
        done = self.check(plan(
            phase("P1", task("T1.2", deps=["T2.3"]), task("T1.9")),
            phase("P2", task("T2.1", deps=["T9.9"]), task("T2.2", acceptence=["typo"]),
                  task("T2.3", deps=["T1.2"]))))
        lines = done.out.splitlines()
        self.assertEqual(lines[0], "plan.json: 3 problems")
        self.assertRegex(done.out, r'phases\[1\]\.tasks\[0\]\.deps\[0\] +"T9\.9" is not a node .*T1\.9')
        self.assertRegex(done.out, r'phases\[1\]\.tasks\[1\] +unknown key "acceptence" \(did you mean "acceptance"\?\)')
        self.assertRegex(done.out, r"T1\.2 -> T2\.3 -> T1\.2 +dependency cycle")
        self.assertEqual(done.err, "")

    def test_json(self):
        self.write("plan.json", plan(phase("P1", task("T1.1", deps=["T7"]))))
        done = self.fails(2, "plan", "check", "--json", "plan.json")
        report = done.json()
        self.assertEqual(report["file"], "plan.json")
        self.assertEqual(len(report["problems"]), 1)
        self.assertEqual(report["problems"][0]["path"], "phases[0].tasks[0].deps[0]")

    def test_not_json(self):
        done = self.check('{"phases": [}')
        self.assertIn("plan.json", done.err)
        self.assertEqual(self.fails(2, "plan", "check", "--json", "plan.json").error()["code"], "E_INVALID_PLAN")

    def test_binary(self):
        self.check(b"\x00\xff\xfe" * 100)

    def test_missing_and_too_big(self):
        self.fails(3, "plan", "check", "nothing.json")
        self.write("plan.json", " " * (16 * 1024 * 1024 + 1))
        self.fails(6, "plan", "check", "plan.json")
        # Indentation does not count; words do.
        tasks = [task(f"T{i}", objective="x" * 8000) for i in range(200)]
        phases = [phase(f"P{p}", *[{**t, "id": f"{t['id']}.{p}"} for t in tasks]) for p in range(3)]
        self.write("plan.json", " " * 1024 * 1024 + plan(*phases[:2]))
        self.ok("plan", "check", "plan.json")
        self.write("plan.json", plan(*phases))
        self.assertIn("bytes without spaces, at most 4194304", self.fails(6, "plan", "check", "plan.json").err)

    def test_folder(self):
        os.mkdir(self.path("d"))
        self.assertIn(self.run_cli("plan", "check", "d").code, (2, 3, 8))

    def test_standard_input(self):
        text = plan(phase("P1", task("T1.1")))
        self.assertIn("a good plan", self.ok("plan", "check", "-", stdin=text).out)

    def test_limits_of_the_planner_are_not_those_of_people(self):
        self.write(".overseer/config.toml", "planner.max_tasks_per_phase = 1\n")
        self.check(plan(phase("P1", *[task(f"T{i}") for i in range(200)])), 0)
        self.assertIn("201 tasks, at most 200", self.check(plan(phase("P1", *[task(f"T{i}") for i in range(201)]))).out)

    def test_verification_is_refused_with_the_reason(self):
        done = self.check(plan(phase("P1", task("T1.2", verification={"tests": []}))))
        self.assertIn('remove "verification" from T1.2, or give it a "checkCommand"', done.out)

    def test_hostile_names(self):
        text = plan(phase("P1", task("T1.1", deps=["\x1b[31mred\x07"])))
        done = self.check(text)
        self.assertNotIn("\x1b", done.out)
        self.assertNotIn("\x07", done.out)


class ConfigCheck(Case):
    def test_good(self):
        self.write("c.toml", '[agents.a]\ncommand = ["true"]\n')
        self.assertEqual(self.ok("config", "check", "c.toml").out, "c.toml: good, 1 agent\n")
        self.assertEqual(self.ok("config", "check", "c.toml", "--json").json(),
                         {"file": "c.toml", "ok": True, "problems": [], "notes": []})

    def test_of_the_store(self):
        path = self.write(".overseer/config.toml", "workers.max = 3\n")
        self.assertEqual(self.ok("config", "check").out, path + ": good, 0 agents\n")

    def test_problems(self):
        self.write("c.toml", "workers.maxx = 3\nhttp.port = -1\n")
        done = self.fails(2, "config", "check", "c.toml")
        self.assertIn("workers.maxx", done.out)
        self.assertIn("workers.max", done.out)
        self.assertIn("http.port", done.out)
        report = self.fails(2, "config", "check", "c.toml", "--json").json()
        self.assertFalse(report["ok"])
        self.assertGreaterEqual(len(report["problems"]), 2)

    def test_not_toml_and_absent(self):
        self.write("c.toml", "= = =\n")
        self.assertIn("line 1", self.fails(2, "config", "check", "c.toml").out)
        self.fails(3, "config", "check", "nothing.toml")
        self.fails(3, "config", "check")


class Store(Case):
    def test_none(self):
        done = self.fails(3, "status")
        self.assertIn("there is no .overseer folder", done.err)
        self.assertIn("Next  overseer init", done.err)
        self.fails(3, "status", "--dir", self.path("absent"))
        self.fails(3, "status", "--dir", self.root)

    def test_found_from_below(self):
        self.write(".overseer/config.toml", "workers.max = 7\n")
        os.makedirs(self.path("a b/c"))
        self.cwd = self.path("a b/c")
        self.assertIn(self.path(".overseer/config.toml"), self.ok("config", "check").out)

    def test_named(self):
        self.write("x/.overseer/config.toml", "")
        self.write("y/config.toml", "")
        want = self.path("x/.overseer/config.toml")
        self.assertIn(want, self.ok("config", "check", "--dir", self.path("x")).out)
        self.assertIn(want, self.ok("--dir", self.path("x/.overseer"), "config", "check").out)
        self.assertIn(want, self.ok("config", "check", env={"OVERSEER_DIR": self.path("x")}).out)
        self.assertIn(self.path("y/config.toml"),
                      self.ok("config", "check", "--dir=y", env={"OVERSEER_DIR": self.path("x")}).out)


if __name__ == "__main__":
    main()
