"""`overseer detect`, which needs no daemon and no store; and thresholds of goals and nodes, with a real one."""

import json
import os

from cli_case import Case, main


def entry(number, **analysis):
    return {"number": number, "analysis": analysis}


STUCK = [entry(n, failureClass="Missing null check in validateInput()", completionPercentage=10) for n in range(2, 6)]


class Detect(Case):
    def detect(self, history, *args, code=1):
        path = self.write("history.json", history if isinstance(history, str) else json.dumps({"history": history}))
        done = self.run_cli("detect", path, *args)
        self.assertEqual(done.code, code, done)
        return done

    def test_healthy(self):
        done = self.detect([entry(1, completionPercentage=40)], code=0)
        self.assertEqual(done.out, "healthy: nothing found in 1 iteration\n")
        self.assertEqual(self.detect([], "--json", code=0).json(), {"status": "healthy", "detections": [], "interventions": []})

    def test_redirect(self):
        result = self.detect(STUCK, "--json").json()
        self.assertEqual(result["status"], "warning")
        found, answer = result["detections"][0], result["interventions"][0]
        self.assertEqual((found["type"], found["severity"]), ("stuck", "high"))
        self.assertEqual(found["message"], "Loop stuck: Same error repeated 4 times with minimal progress")
        self.assertEqual(found["evidence"], {"repeatedError": "Missing null check in validateInput()", "occurrences": 4, "avgProgressRate": 0})
        self.assertEqual(found["recommendations"][0], "Change approach or strategy")
        self.assertRegex(found["fingerprint"], "^[0-9a-f]{64}$")
        self.assertEqual((answer["level"], answer["requiresApproval"]), ("redirect", False))
        self.assertIn("OVERRIDE: Change approach immediately.\n", answer["strategyOverride"])

    def test_for_people(self):
        out = self.detect(STUCK).out
        self.assertTrue(out.startswith("warning: 1 detection in 4 iterations\n"), out)
        for text in ("stuck (high): Loop stuck: Same error repeated 4 times", "repeatedError    Missing null check",
                     "Answer  redirect: Loop stuck - forcing strategy change", "Advice  1. Change approach or strategy"):
            self.assertIn(text, out)

    def test_what_is_said_cannot_steer_the_terminal(self):
        out = self.detect([entry(n, error="boom \x1b]0;owned\x07") for n in (1, 2, 3)]).out
        self.assertNotIn("\x1b", out)

    def test_thresholds(self):
        self.detect(STUCK, "--set", "stuck.same_error_count=5", code=0)
        self.detect(STUCK[:2], "--set", "stuck.sameErrorCount=2")
        self.detect(STUCK[:2], "--preset", "strict")
        self.detect(STUCK, "--preset", "relaxed", code=0)
        self.detect(STUCK, "--exit-zero", code=0)
        self.detect(STUCK, "--set", "levels.stuck_high=log", code=0)
        self.assertEqual(self.detect(STUCK, "--set", "levels.stuck_high=none", "--json", code=0).json()["detections"], [])
        result = self.detect(STUCK, "--set", "levels.stuck_high=abort", "--json").json()
        self.assertEqual((result["status"], result["interventions"][0]["requiresApproval"]), ("aborted", True))
        self.assertEqual(result["interventions"][0]["abortReason"], result["detections"][0]["message"])

    def test_bad_thresholds(self):
        for args, text in ((["--preset", "mild"], 'is not one of: default, strict, relaxed, ci'),
                           (["--set", "stuck.same_eror_count=2"], 'did you mean "same_error_count"?'),
                           (["--set", "stuck.same_error_count=0"], "0 is out of range: 2 to 16"),
                           (["--set", "stuck.same_error_count=two"], "expected integer, found string"),
                           (["--set", "stuck.same_error_count"], "write KEY=VALUE")):
            self.assertIn(text, self.detect(STUCK, *args, code=2).err)

    def test_bad_input(self):
        good = entry(1)
        for history, text in (
                ("", "standard input"), ("{", "history.json: "), ("[]", 'expected {"history": [...]}'),
                ('{"history": 3}', "history: expected array, got integer"), ('{"histori": []}', "histori"),
                ([good, 7], "history[1]: expected object, found integer"),
                ([{"analysis": {}}], "history[0].number: is missing"), ([{"number": 1}], "history[0].analysis: is missing"),
                ([good, entry(1)], "history[1].number: 1 does not come after 1"),
                ([{"number": 1.5, "analysis": {}}], "history[0].number: expected integer"),
                ([{"number": -1, "analysis": {}}], "history[0].number: -1 is out of range"),
                ([good] + [entry(2), entry(3), entry(4, testsPassing="true")], "history[3].analysis.testsPassing: expected boolean, found string"),
                ([entry(1, testPassing=True)], 'history[0].analysis.testPassing: unknown (did you mean "testsPassing"?)'),
                ([entry(1, completionPercentage="40")], "history[0].analysis.completionPercentage: expected number, found string"),
                ([entry(1, completionPercentage=101)], "is out of range: 0 to 100"),
                ([entry(1, coveragePercent=-0.1)], "is out of range: 0 to 100"),
                ([entry(1, artifactsModified="a.c")], "history[0].analysis.artifactsModified: expected array, found string"),
                ([entry(1, learnings=["a", 3])], "history[0].analysis.learnings[1]: expected string, found integer"),
                ([{"number": 1, "context": {"maxIteration": 3}, "analysis": {}}], 'history[0].context.maxIteration: unknown (did you mean "maxIterations"?)'),
                ([{"number": 1, "context": [], "analysis": {}}], "history[0].context: expected object, found array"),
                ([entry(1, error="x" * 70000)], "history[0].analysis.error: 70000 bytes"),
                ('{"number":1,"analysis":{}}\n{"number":2,"analysis":{"costUsd":"1"}}', "line 2: analysis.costUsd: expected number, found string"),
                ('{"number":1,"analysis":{}}\nnonsense', "line 2: ")):
            done = self.run_cli("detect", "-", stdin="") if text == "standard input" else self.detect(history, code=2)
            self.assertEqual((done.code, done.out), (2, ""))
            self.assertIn(text, done.err)
        self.assertEqual(self.detect("[]", "--json", code=2).error()["code"], "E_INVALID")
        self.fails(3, "detect", self.path("missing.json"))

    def test_bounds(self):
        self.detect("\n".join(json.dumps(entry(n)) for n in range(1, 10001)), code=0)
        self.assertIn("more than 10000 iterations", self.detect([entry(n) for n in range(1, 10002)], code=2).err)

    def test_null_is_absent(self):
        self.detect([entry(n, failureClass=None, testsPassing=None, completionPercentage=None) for n in (1, 2, 3)], code=0)


class Overrides(Case):
    """What goals and nodes say of their own reaches the daemon, and is checked before."""

    def setUp(self):
        super().setUp()
        self.repository("repo")
        self.addCleanup(self.run_cli, "down")
        self.ok("init")
        with open(os.path.join(self.cwd, ".overseer/config.toml"), "a") as f:
            f.write('[oversight]\npreset = "strict"\nstuck.min_gain = 1.5\n[agents.s]\ncommand = ["true"]\n')

    def plan(self, **oversight):
        return self.write("plan.json", json.dumps({"phases": [{"id": "P1", "name": "P", "tasks": [
            {"id": "T1", "name": "T", "acceptance": ["x"], "oversight": oversight}]}]}))

    def test_overrides(self):
        bad = self.fails(2, "plan", "check", self.plan(stuck={"sameErorCount": 2}))
        self.assertIn("sameErorCount: unknown", bad.out + bad.err)
        plan = self.plan(stuck={"sameErrorCount": 4}, pause="node")
        self.ok("plan", "check", plan)
        self.ok("up")
        shown = self.ok("config", "show", "--effective", "--json").json()["options"]
        self.assertEqual(shown["oversight.stuck.same_error_count"]["value"], 2)
        self.assertEqual(shown["oversight.stuck.min_gain"]["value"], 1.5)
        self.assertIn("same_eror_count", self.fails(2, "goal", "create", "--title", "x", "--oversight", "stuck.same_eror_count=2").err)
        goal = self.ok("goal", "create", "--title", "A goal", "--plan", plan, "--oversight", "stuck.same_error_count=6",
                       "--oversight", "levels.resource_burn_critical=pause", "--json").json()["goal"]
        self.assertIn("stuck.same_error_count = 6", self.ok("goal", "show", goal).out)
        self.ok("goal", "update", goal, "--oversight", "stuck.same_error_count=", "--oversight", "stuck.min_gain=3")
        self.assertEqual(self.ok("goal", "show", goal, "--json").json()["oversight"],
                         {"levels": {"resource_burn_critical": "pause"}, "stuck": {"min_gain": 3}})
        node = self.ok("work", "show", "T1", "--json").json()
        self.assertEqual(node["oversight"], {"stuck": {"sameErrorCount": 4}, "pause": "node"})


if __name__ == "__main__":
    main()
