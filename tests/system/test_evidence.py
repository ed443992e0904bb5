#!/usr/bin/env python3
"""What is known of every run without its agent's help: tests, coverage, touched files, repeated calls."""

import json
import os
import unittest

from harness import FAST, SiteCase, plan, task
from spoken import SCRIPT, Spoken, claude_init, claude_result, claude_says, claude_tool, claude_tool_result, config

REPORTS = FAST + """
[workspace]
test_report = ["build/*.xml", "more/*/results.tap"]
coverage_report = ["cov/lcov.info"]
"""
# A second attempt leaves a mark that the checks look for; reports that lie there are the agent's own.
AGENT = r"""
echo x > "$OVERSEER_NODE.txt"
if [ "$OVERSEER_ATTEMPT" != 1 ]; then echo again > again.txt; fi
if [ "$OVERSEER_NODE" = T4 ]; then
	mkdir build cov
	echo '<testsuite><testcase name="old"><failure/></testcase></testsuite>' > build/old.xml
	printf 'SF:a\nLF:4\nLH:1\nend_of_record\n' > cov/lcov.info
fi
"""
PYTEST = r"""
if [ -e again.txt ]; then echo '===== 4 passed, 1 skipped in 0.10s ====='; exit 0; fi
echo '===== test session starts ====='
echo 'FAILED tests/test_a.py::test_one - assert 1 == 2'
echo '===== 1 failed, 3 passed, 1 skipped in 0.10s ====='
exit 1
"""
TAP = r"printf '1..3\nok 1 - a\nnot ok 2 - b\nok 3 # SKIP c\n'"
CARGO = r"""
echo 'test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s'
echo 'test result: ok. 4 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s'
mkdir cov; printf 'SF:a\nLF:3\nLH:3\nend_of_record\nSF:b\nLF:1\nLH:0\nend_of_record\n' > cov/lcov.info
"""
# What it links to is as new as can be, and lies outside.
OUTSIDE = r"""
mkdir "$HOME/out" build more
echo '<testsuite><testcase name="no"><failure/></testcase></testsuite>' > "$HOME/out/x.xml"
printf '1..1\nnot ok 1 - no\n' > "$HOME/out/results.tap"
printf 'SF:a\nLF:1\nLH:1\n' > "$HOME/out/lcov.info"
ln -s "$HOME/out/x.xml" build/x.xml
ln -s "$HOME/out" more/there
ln -s "$HOME/out" cov
mkfifo build/y.xml
"""
JUNIT = r"""
mkdir -p build more/one
echo '<testsuites><testsuite><testcase name="a"/><testcase name="b"/></testsuite></testsuites>' > build/1.xml
echo '<testsuite><testcase classname="s" name="c"><error/></testcase></testsuite>' > build/2.xml
echo 'test result: ok. 9 passed; 0 failed; 0 ignored'
"""

REPORT = """```json
{"overseerUpdate": {"status": "in_progress", "percentComplete": 37.5, "learnings": ["the tests need a database"]}}
```
"""


class Evidence(SiteCase):
    def test_checks(self):
        site = self.site(REPORTS, AGENT)
        site.up()
        checks = {"T1": PYTEST, "T2": TAP, "T3": CARGO, "T4": "true", "T5": OUTSIDE, "T6": JUNIT}
        goal = site.call("goal.create", title="Checks",
                         plan=plan(*[task(node, checkCommand=text) for node, text in checks.items()]))["goal"]
        site.wait_goal(goal)
        runs = {}
        for run in site.runs():
            runs.setdefault(run["node_id"], []).append(run)

        def tests(run):
            return (run["verification"], run["tests"], run["tests_format"], run["tests_passed"], run["tests_failed"],
                    run["tests_skipped"], run["failing_tests"])

        self.assertEqual([len(runs[node]) for node in checks], [2, 1, 1, 1, 1, 1])
        first, second = sorted(runs["T1"], key=lambda run: run["attempt"])
        self.assertEqual(tests(first), ("failed", "failing", "pytest", 3, 1, 1, ["tests/test_a.py::test_one"]))
        self.assertEqual(tests(second), ("passed", "passing", "pytest", 4, 0, 1, []))
        self.assertEqual((first["files"], first["touched"]), (["T1.txt"], ["T1.txt"]))
        self.assertEqual((second["files"], second["touched"]), (["T1.txt", "again.txt"], ["again.txt"]))
        # The command decides what is accepted; what the tests said is kept beside.
        self.assertEqual(tests(runs["T2"][0]), ("passed", "failing", "tap", 1, 1, 1, ["b"]))
        self.assertEqual(tests(runs["T3"][0]), ("passed", "passing", "cargo", 7, 0, 2, []))
        self.assertEqual((runs["T3"][0]["coverage_format"], runs["T3"][0]["coverage_centi"]), ("lcov", 7500))
        # Reports that the command did not write, or that are not in the worktree, say nothing.
        for node in ("T4", "T5"):
            self.assertEqual(tests(runs[node][0]), ("passed", "passing", "exit", 0, 0, 0, []))
            self.assertEqual(runs[node][0]["coverage_format"], "")
        # Reports come before what is printed, and are added up.
        self.assertEqual(tests(runs["T6"][0]), ("passed", "failing", "junit", 2, 1, 0, ["s.c"]))
        shown = json.loads(site.cli("run", "show", first["id"], "--json"))
        self.assertEqual(tests(shown.get("run", shown)), tests(first))
        # And so it is what an iteration is made of.
        iteration = site.wait_type("iteration.recorded", run=first["id"])["data"]["iteration"]
        self.assertEqual([iteration[key] for key in ("number", "failed", "files", "tests", "tests_format",
                                                     "tests_failed", "failing_tests")],
                         [1, True, ["T1.txt"], "failing", "pytest", 1, ["tests/test_a.py::test_one"]])
        iteration = site.wait_type("iteration.recorded", run=runs["T3"][0]["id"])["data"]["iteration"]
        self.assertEqual((iteration["coverage_format"], iteration["coverage_centi"]), ("lcov", 7500))
        # All of it is in the log, so it is there after a restart.
        site.down()
        site.up()
        self.assertEqual({run["id"]: tests(run) for run in site.runs()},
                         {run["id"]: tests(run) for node in runs for run in runs[node]})

    def test_calls_and_reports(self):
        site = self.site("")
        os.chmod(site.write("../agent.sh", "#!/bin/sh\n" + SCRIPT), 0o755)
        env = 'env_pass = ["HOME", "PATH", "LC_ALL", "ASAN_OPTIONS", "UBSAN_OPTIONS"]\n'
        site.configure("[planner]\nfallback = false\n" + config(site.root, "claude", env))
        agent = Spoken(site)
        site.up()
        goal = site.call("goal.create", title="Calls", plan=plan(task("T1")))["goal"]
        run = agent.up()
        agent.say(claude_init())
        for i in range(4):
            agent.say(claude_tool(tool_id=f"toolu_{i}", number=i, command="make test", description=f"try {i}"),
                      claude_tool_result(f"toolu_{i}", "1 failed"))
        agent.say(claude_tool("Edit", "toolu_8", file_path="a", new_string="x"), claude_tool_result("toolu_8"),
                  claude_tool("Edit", "toolu_9", file_path="a", new_string="y"), claude_tool_result("toolu_9"),
                  claude_says(REPORT, number=9))
        site.wait_type("node.reported", run=run)
        agent.sh('echo x > "$OVERSEER_NODE.txt"\n')
        agent.say(claude_result())
        agent.end()
        end = site.wait_type("run.ended", run=run)["data"]
        self.assertEqual((end["tool"], end["tool_repeats"], end["tool_calls"]), ("Bash: make test", 4, 6))
        self.assertRegex(end["tool_digest"], "^[0-9a-f]{64}$")
        iteration = site.wait_type("iteration.recorded", run=run)["data"]["iteration"]
        self.assertEqual([iteration[key] for key in ("tool", "tool_repeats", "completion_source", "completion_centi",
                                                     "learnings")],
                         ["Bash: make test", 4, "reported", 3750, ["the tests need a database"]])
        site.wait_goal(goal)
        report = site.node("T1")["report"]
        self.assertEqual((report["percentComplete"], report["learnings"]), (37.5, ["the tests need a database"]))


if __name__ == "__main__":
    unittest.main()
