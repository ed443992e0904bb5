#!/usr/bin/env python3
"""Reports of a real daemon's log: whether interventions helped, and pages that show anybody's words as text."""

import json
import os
import sys
import unittest
import xml.etree.ElementTree as ET

from harness import FAST, SiteCase, plan, task
from spoken import claude_init, claude_result, claude_says

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "oracle"))
import compare  # noqa: E402

PATIENT = FAST.replace("[retry]", "[retry]\nmax_attempts = 50")
TITLE = "Parse <script>alert(1)</script> | *all* of \u202eit"

# T1 does better once it is told to change its way; T2 does not listen.
AGENT = r"""
grep -q OVERRIDE && told=yes || told=no
n=$(cat "$HOME/n" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > "$HOME/n"
echo $n > "$OVERSEER_NODE.txt"
[ "$OVERSEER_NODE $told" = "T1 yes" ] && echo good >> T1.txt
git add -A; git commit -qm "attempt $n"
"""
CHECK = """'''f=T1.txt; [ -e T2.txt ] && f=T2.txt; grep -q good $f || { echo "error: </td><script>no()</script> in line $(cat $f)"; exit 1; }'''"""


# T1 is good; T2 changes nothing that its check wants; T3 waits to be told to go on.
TASKS_AGENT = r"""
case $OVERSEER_NODE in
T3) echo here > "$HOME/work.here"; read x < "$HOME/work.go" ;;
esac
echo "$OVERSEER_RUN" >> "$OVERSEER_NODE.txt"; git add -A; git commit -qm "$OVERSEER_NODE"
"""
PRICED = """
[budget]
cost_usd = 20
"""


def raw(events):
    """As the oracle reads them."""
    return [{"seq": e["seq"], "at": compare.ms(e["at"]), "type": e["type"], "actor": e.get("actor", ""), "data": e["data"],
             **{k: e.get(k, "") for k in ("goal", "node", "assignment", "run")}} for e in events]


class Truth(SiteCase):
    """What the commands say is what the log says, computed by others."""
    maxDiff = None

    def compare(self, site):
        events = raw(site.events())
        wrong = []
        for goal in {e["goal"] for e in events if e["type"] == "goal.created"}:
            wrong += compare.goal(events, goal, json.loads(site.cli("report", goal, "--json")))
            wrong += compare.detectors(events, goal, json.loads(site.cli("report", "--detectors", "--goal", goal, "--json")))
        for at in (events[0], events[len(events) // 2]):
            since = next(e["at"] for e in site.events() if e["seq"] == at["seq"])
            wrong += compare.period(events, at["at"], json.loads(site.cli("report", "--since", since, "--json")))
        self.assertEqual(wrong, [])

    def test_tasks_appear_once_with_what_became_of_them(self):
        site = self.site(FAST + PRICED + "[workers]\nmax = 1\n", agent=TASKS_AGENT)
        site.up()
        gate = site.gate("work")
        tasks = [task(f"T{i}", deps=[f"T{i - 1}"] if i > 1 else []) for i in range(1, 6)]
        goal = site.call("goal.create", title="Nine", plan=plan(*tasks))["goal"]
        gate.wait()
        # Two accepted; one under way is cancelled; one is declared done; one is left out.
        site.call("work.update", goal=goal, node="T4", status="done", reason="by hand")
        site.call("work.cancel", goal=goal, node="T3", reason="no longer wanted")
        site.wait_type("node.status", goal=goal, node="T5", to="done")
        site.wait_goal(goal)
        seq = site.seq()
        site.call("goal.reopen", goal=goal, reason="more")
        site.call("work.reopen", goal=goal, node="T2", reason="again")
        site.wait_type("goal.status", after=seq, goal=goal, to="completed")
        self.compare(site)
        doc = json.loads(site.cli("report", goal, "--json"))
        self.assertEqual({t["node"]: t["became"] for t in doc["tasks"]["rows"]},
                         {"T1": "accepted", "T2": "accepted", "T3": "cancelled", "T4": "overridden", "T5": "accepted"})
        self.assertEqual(doc["goal"]["progress_centi"], 10000)
        self.assertEqual(doc["progress"][-1]["done"], 4)
        status = next(g for g in site.call("goal.list")["goals"] if g["id"] == goal)
        self.assertEqual(status["progress"]["done_pct"], 100)
        text = site.cli("report", "--since", "1h")
        self.assertIn("3 accepted", text)
        self.assertIn("1 declared done by a person, 1 cancelled.", text)
        self.assertIn("| T3 |", site.cli("report", goal))

    def test_spent_of_what_budget(self):
        said = "\n".join(json.dumps(x) for x in (claude_init(), claude_says("Hm."), claude_result(cost=1.25)))
        site = self.site()
        script = site.write("../agent.sh", f"""#!/bin/sh
echo "$OVERSEER_RUN" >> "$OVERSEER_NODE.txt"; git add -A; git commit -qm "$OVERSEER_NODE"
cat "$HOME/said"
""")
        site.write("../said", said + "\n")
        os.chmod(script, 0o755)
        site.configure(FAST + PRICED + f'[defaults]\nagent = "priced"\n[agents.priced]\nformat = "claude"\ncommand = ["{script}"]\n')
        site.up()
        site.wait_goal(site.call("goal.create", title="One", plan=plan(task("T1"), task("T2")))["goal"])
        self.assertIn("$2.50 of $20.00.  ", site.cli("report", "--since", "1h"))
        site.wait_goal(site.call("goal.create", title="Two", plan=plan(task("T1")))["goal"])
        self.assertIn("$3.75 of $40.00.  ", site.cli("report", "--since", "1h"))
        self.compare(site)


class Report(SiteCase):
    maxDiff = None

    def test_a_loop_is_told_from_its_log(self):
        site = self.site(PATIENT + f"[workspace]\ncheck_command = {CHECK}\n", agent=AGENT)
        site.up()
        goal = site.call("goal.create", title=TITLE, plan=plan(task("T1"), task("T2", deps=["T1"])))["goal"]
        site.wait_type("goal.status", to="paused")
        self.verdicts(site)
        self.handed_on(site)
        self.detectors(site)
        self.metrics(site)
        self.markdown(site, goal)
        self.html(site, goal)
        self.wrong_forms(site, goal)
        Truth.compare(self, site)
        site.down()
        self.without_a_daemon(site, goal)

    def verdicts(self, site):
        made = {e["data"]["detection"]["id"]: e for e in site.events() if e["type"] == "detection.made"}
        judged = [(made[e["data"]["detection"]]["node"], e["data"]["effectiveness"], e["data"]["because"]) for e in site.events() if e["type"] == "detection.judged"]
        self.assertEqual([j[:2] for j in judged], [("T1", "helpful"), ("T2", "unhelpful")])
        self.assertIn("iteration 4", judged[0][2])
        self.assertEqual(judged[1][2], "iteration 4 has the same error again")

    def handed_on(self, site):
        lines = json.loads(site.cli("handoff", "show", "T1", "--json"))["crystallization"]["oversight"]
        self.assertEqual(len(lines), 1)
        self.assertTrue(lines[0].startswith("oversight: stuck (high) at iteration 3, answered by redirect, helped: "), lines)

    def detectors(self, site):
        doc = json.loads(site.cli("report", "--detectors", "--json"))
        stuck = next(d for d in doc["detectors"] if d["type"] == "stuck")
        self.assertEqual({k: stuck[k] for k in ("detections", "helpful", "unhelpful", "unknown", "open", "precision_milli")},
                         {"detections": 3, "helpful": 1, "unhelpful": 1, "unknown": 0, "open": 1, "precision_milli": 500})
        self.assertEqual(stuck["levels"], {"log": 0, "warn": 0, "redirect": 2, "pause": 1, "abort": 0})
        self.assertEqual(doc["iterations"], 9)
        text = site.cli("report", "--detectors")
        self.assertRegex(text, r"stuck +3 +1 +1 +0 +1 +0 +50.0 % +2 redirect, 1 pause")
        self.assertNotIn("Hint", text)

    def metrics(self, site):
        m = site.metrics()
        self.assertEqual(m["overseer_iterations_total"], 9)
        self.assertEqual(m['overseer_detections_total{type="stuck",severity="high"}'], 2)
        self.assertEqual(m['overseer_detections_total{type="stuck",severity="critical"}'], 1)
        self.assertEqual(m['overseer_interventions_total{level="redirect"}'], 2)
        self.assertEqual(m['overseer_goal_health{status="paused"}'], 1)

    def markdown(self, site, goal):
        text = site.cli("report", goal[:12])
        self.assertIn("# Parse \\<script\\>alert(1)\\</script\\> \\| \\*all\\* of", text)
        self.assertNotIn("\u202e", text)
        self.assertIn("**paused**, health **paused**", text)
        self.assertIn("- 1 of 2 tasks done", text)
        self.assertIn("9 iterations, 8 of them failed", text)
        self.assertIn("3 detections, answered by: 2 redirect, 1 pause. Helpful: 1, unhelpful: 1", text)
        self.assertIn(f"`overseer goal resume {goal} --reason", text)
        self.assertIn("## What people were asked", text)
        self.assertEqual(text.count("| check: "), 8)
        doc = json.loads(site.cli("report", goal, "--json"))
        self.assertEqual(doc["goal"]["title"], TITLE)
        self.assertEqual(doc["usage"]["iterations"]["used"], 9)
        self.assertEqual(doc["progress"][-1]["progress_centi"], 5000)
        self.assertEqual([d["effectiveness"] for d in doc["detections"]["rows"]], ["helpful", "unhelpful", "open"])

    def html(self, site, goal):
        said = site.cli("report", goal, "--html", site.root + "/report.html")
        self.assertIn("report.html", said)
        page = ET.parse(site.root + "/report.html").getroot()  # well-formed, or this fails
        names = {e.tag for e in page.iter()}
        self.assertIn("svg", names)
        self.assertNotIn("script", names)
        self.assertEqual(page.find(".//h1").text, TITLE.replace("\u202e", "\ufffd"))
        self.assertFalse([a for e in page.iter() for a in e.attrib if a.startswith("on") or a in ("src", "href")])
        self.assertEqual(len(page.findall(".//svg[@aria-label='Detections over time, by the level of the answer']/circle")), 3)
        cells = ["".join(c.itertext()) for c in page.findall(".//td")]
        self.assertEqual(len([c for c in cells if "</td><script>no()</script>" in c and c.startswith("check: ")]), 8)
        self.assertTrue(site.cli("report", goal, "--html", "-").startswith("<!DOCTYPE html>"))

    def wrong_forms(self, site, goal):
        self.assertIn("two forms", site.cli("report", goal, "--html", "x", "--json", code=2))
        self.assertIn("a report is of", site.cli("report", "--html", "x", code=2))
        self.assertIn("a report is of", site.cli("report", goal, "--since", "1h", code=2))
        self.assertIn("is not a time", site.cli("report", "--since", "noon", code=2))
        self.assertIn("there is no goal", site.cli("report", "nothing", code=3))

    def without_a_daemon(self, site, goal):
        self.assertIn("9 iterations, 8 of them failed", site.cli("report", goal))
        text = site.cli("report", "--since", "yesterday")
        self.assertIn("unattended", text)
        self.assertIn("9 runs, 1 accepted, 8 rejected by verification (1 fixed on retry)", text)
        self.assertIn("3 patterns found by oversight, 2 redirect, 1 pause.", text)
        self.assertIn("Waiting for you: #1 ", text)
        later = json.loads(site.cli("report", "--since", "0s", "--json"))
        self.assertEqual((later["runs"], later["people"]), (0, 0))


if __name__ == "__main__":
    unittest.main()
