#!/usr/bin/env python3
"""Work that nothing checked waits for a person, and the person is told all there is to know about it."""

import json
import os
import unittest

from harness import BUILD, FAST, SiteCase, plan, task

# One commit of its own, and something that it forgot.
AGENT = r"""
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
echo left > "scratch notes"
"""
REVIEW = '[accept]\nunchecked = "review"\n'
NOTE = "no check is configured: finished work will wait for your review"


class Unchecked(SiteCase):
    def asked(self, site, after=0):
        """The first entry about a review, after the one with this number."""
        return site.wait_event(lambda e: e["type"] == "escalation.opened" and e["data"]["kind"] == "review" and
                               e["data"]["escalation"] > after)["data"]

    def waiting(self, config=REVIEW, agent=AGENT, args=()):
        """A site whose one task is finished and waits for a person: (site, goal, the entry)."""
        site = self.site(FAST + config, agent)
        site.args = list(args)
        site.up()
        goal = site.call("goal.create", title="g", plan=plan(task("T1")))["goal"]
        return site, goal, self.asked(site)

    def on_main(self, site):
        return site.git("log", "--format=%s", "main").split("\n")[:-1]

    def test_waits_and_is_accepted(self):
        site, goal, asked = self.waiting()
        number = str(asked["escalation"])
        self.assertEqual(self.on_main(site), ["start"], "nothing goes past the person")
        shown = site.cli("inbox", "show", number)
        for words in ("nothing checked the work of script", "It changes 2 files (+2 -0): T1.txt, scratch notes",
                      "left these uncommitted, and they are included: scratch notes",
                      "overseer worker review pool-1", f"overseer inbox answer {number} accept|reject: WHY",
                      f"overseer inbox approve {number}", f"overseer inbox deny {number}",
                      "set workspace.check_command", "overseer config reload"):
            self.assertIn(words, shown)
        entry = json.loads(site.cli("inbox", "show", number, "--json"))
        self.assertEqual(entry["work"]["leftover_files"], ["scratch notes"])
        self.assertEqual((entry["work"]["lines_added"], entry["work"]["checked_by"]), (2, "nothing"))
        self.assertIn("nothing checked", site.cli("inbox"))
        self.assertIn("nothing checked", site.cli("status"))
        self.assertIn("nothing checked its work", site.cli("explain", "T1"))
        self.assertIn("not checked: no check command is configured", site.cli("explain", "T1"))
        self.assertIn("+T1", site.cli("worker", "review", "pool-1"))
        worker = site.call("worker.list")["workers"][0]
        self.assertEqual(worker["status"], "reviewing")
        site.cli("inbox", "answer", number, "accept")
        site.wait_goal(goal)
        self.assertEqual(site.git("show", "main:T1.txt"), "T1\n")
        self.assertEqual(site.wait_type("node.accepted")["data"]["checked_by"], "review")
        self.assertIn("not checked but reviewed", site.cli("explain", "T1"))
        self.assertEqual(site.call("goal.show", goal=goal)["progress"]["unchecked"], 0)
        self.assertEqual(site.down(), 0)

    def test_rejected_then_survives_a_restart(self):
        site, goal, asked = self.waiting(agent=AGENT.replace("echo left >", "date +%N >>"))
        site.cli("inbox", "answer", str(asked["escalation"]), "reject: once more")
        again = self.asked(site, asked["escalation"])
        self.assertEqual(len(site.runs()), 2)
        site.kill()
        site.up()
        self.assertEqual(self.on_main(site), ["start"])
        site.cli("inbox", "approve", str(again["escalation"]))
        site.wait_goal(goal)
        self.assertEqual(site.down(), 0)

    def test_accepted_where_the_policy_says_so(self):
        site = self.site(FAST + REVIEW.replace("review", "accept"), AGENT)
        site.up()
        goal = site.call("goal.create", title="g", plan=plan(task("T1")))["goal"]
        site.wait_goal(goal)
        self.assertEqual(site.wait_type("node.accepted")["data"]["checked_by"], "nothing")
        self.assertIn("accepted as commit", site.cli("explain", "T1"))
        self.assertIn(", not checked", site.cli("explain", "T1"))
        self.assertIn("1 not checked", site.cli("status"))
        self.assertIn("1 accepted (1 not checked)", site.cli("report", "--since", "1h"))
        self.assertIn("1 accepted without a check or a review", site.cli("report", goal))
        self.assertEqual(site.down(), 0)

    def test_a_check_is_enough(self):
        for config, own, by in (('[workspace]\ncheck_command = "true"\n', {}, "check"),
                                ("", {"checkCommand": "true"}, "check"),
                                ('pre_accept_command = "true"\n', {}, "pre_accept")):
            site = self.site(FAST + REVIEW + config, AGENT)
            site.up()
            goal = site.call("goal.create", title="g", plan=plan({**task("T1"), **own}))["goal"]
            site.wait_goal(goal)
            self.assertEqual(site.wait_type("node.accepted")["data"]["checked_by"], by)
            self.assertEqual(site.down(), 0)

    def test_leftovers_of_checked_work(self):
        """accept.leftovers = ask: checked or not, a person sees what was swept in."""
        config = REVIEW + 'leftovers = "ask"\n[workspace]\ncheck_command = "true"\n'
        site, goal, asked = self.waiting(config)
        self.assertIn("files left uncommitted are in the work of script", asked["question"])
        self.assertIn("included: scratch notes", asked["question"])
        self.assertNotIn("check_command", asked["question"])
        site.cli("inbox", "approve", str(asked["escalation"]))
        site.wait_goal(goal)
        self.assertEqual(site.down(), 0)
        site = self.site(FAST + config, AGENT.replace('echo left > "scratch notes"\n', ""))
        site.up()
        site.wait_goal(site.call("goal.create", title="g", plan=plan(task("T1")))["goal"])
        self.assertEqual(site.down(), 0)

    def test_tasks_of_the_pool(self):
        """auto.pre_accept_command is a check of theirs; without one they wait, too."""
        for pre in ("", 'pre_accept_command = "true"\n'):
            site = self.site(FAST + REVIEW + '[auto]\ntask_pool_command = "sh $HOME/pool.sh"\n' + pre, AGENT)
            site.args = ["--auto"]
            site.write("../pool.sh", '[ -e "$HOME/given" ] && exit 4; touch "$HOME/given"; echo "One task"\n')
            site.up()
            self.assertEqual(site.call("status.get")["unchecked_waits"], not pre)
            if not pre:
                asked = self.asked(site)
                self.assertIn("nothing checked", asked["question"])
                site.cli("inbox", "approve", str(asked["escalation"]))
            site.wait_type("node.status", to="done")
            by = site.wait_type("node.accepted")["data"]["checked_by"]
            self.assertEqual(by, "pre_accept" if pre else "review")
            self.assertEqual(site.down(), 0)

    def test_it_is_said_beforehand(self):
        """init, up, goal create, status and doctor: whoever goes to bed knows it."""
        site = self.site(FAST + REVIEW, AGENT)
        site.env["OVERSEERD"] = os.path.join(BUILD, "src/app/overseerd")
        document = site.write("../plan.json", json.dumps(plan(task("T1"), {**task("T2"), "checkCommand": "true"})))
        said = site.cli("init")
        self.assertIn(NOTE, said)
        os.rename(os.path.join(site.dir, "config.toml"), os.path.join(site.root, "kept.toml"))
        self.assertIn(NOTE, site.cli("init"))
        os.rename(os.path.join(site.root, "kept.toml"), os.path.join(site.dir, "config.toml"))
        self.assertIn(NOTE, site.cli("up"))
        self.assertIn("1 of 2 tasks have no check: their finished work will wait for your review",
                      site.cli("goal", "create", "--title", "g", "--plan", document))
        self.assertIn(NOTE, site.cli("status"))
        self.assertIn(NOTE, site.cli("doctor"))
        self.assertIn("Next: set workspace.check_command", site.cli("status"))
        # And no more once there is one.
        site.configure(site.read(".overseer/config.toml") + '[workspace]\ncheck_command = "true"\n')
        site.cli("config", "reload")
        said = site.cli("goal", "create", "--title", "g", "--plan", document)
        self.assertNotIn("will wait for your review", said + site.cli("status") + site.cli("doctor") + site.cli("init"))
        site.cli("down")


if __name__ == "__main__":
    unittest.main()
