"""Goals without a plan: a model plans them, or their own words do."""

import hashlib
import json
import os
import subprocess
import unittest

from fake_model import FakeModel
from harness import CLI, SiteCase, plan, task

KEY = "sk-planner-secret-3141592653589793"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOOD = json.dumps(plan(task("T1.1"), task("T1.2", deps=["T1.1"])))


class Planner(SiteCase):
    def model(self, *steps):
        model = FakeModel(*steps)
        self.addCleanup(model.close)
        return model

    def planned(self, config, **env):
        """A site that is up, and the goal whose plan is awaited."""
        site = self.site(config)
        site.up(FAKE_MODEL_KEY=KEY, **env)
        goal = site.call("goal.create", title="The goal {goalTitle}", problem_statement="Solve it.",
                         success_criteria=["it is solved"])["goal"]
        return site, goal

    def applied(self, site, goal):
        return site.wait_type("plan.applied", goal=goal)["data"]

    def assertNoKey(self, site):
        """The key is in the daemon's environment and nowhere else."""
        with open(f"/proc/{site.daemon.pid}/cmdline", "rb") as f:
            self.assertNotIn(KEY.encode(), f.read())
        site.down()
        for folder, _, names in os.walk(site.root):
            for name in names:
                with open(os.path.join(folder, name), "rb") as f:
                    self.assertNotIn(KEY.encode(), f.read(), name)

    def test_wrong_answers_are_repaired_and_the_plan_is_kept_with_its_origin(self):
        wrong = json.dumps({"phases": [{"id": "P1", "name": "x", "tasks": [{"id": "T1", "name": "y", "deps": ["T9"]}]}]})
        model = self.model({"text": "I think so.", "in": 100, "out": 1}, {"text": wrong, "in": 200, "out": 2},
                           {"text": "```json\n" + GOOD + "\n```", "in": 300, "out": 3})
        site, goal = self.planned(model.config())
        self.assertEqual(self.applied(site, goal)["source"], "planner")
        self.assertEqual(len(model.requests), 3)
        self.assertIn("The goal {goalTitle}", model.prompt(0))
        self.assertIn('["it is solved"]', model.prompt(0))
        self.assertIn("Branch main at ", model.prompt(0))
        self.assertNotIn("Validation errors", model.prompt(0))
        self.assertIn("I think so.", model.prompt(1))
        self.assertIn('"T9"', model.prompt(2))
        self.assertIn("acceptance", model.prompt(2).split("Validation errors:")[1])
        self.assertEqual(model.requests[0]["headers"]["Authorization"], "Bearer " + KEY)

        made = site.call("goal.show", goal=goal)["planner"]
        with open(os.path.join(ROOT, "share/templates/plan.v1.txt"), "rb") as f:
            template = f.read()
        self.assertEqual(made["model_ref"], "openai/fake-1")
        self.assertEqual(made["template_id"], "plan.v1")
        self.assertEqual(made["template_hash"], hashlib.sha256(template).hexdigest())
        self.assertEqual(json.loads(made["raw"]), json.loads(GOOD))
        self.assertEqual([len(a["errors"]) > 0 for a in made["attempts"]], [True, True, False])
        self.assertEqual((made["tokens_in"], made["tokens_out"]), (600, 6))
        self.assertEqual(made["inputs"]["problemStatement"], "Solve it.")
        self.assertEqual([n["id"] for n in site.call("work.list", goal=goal)["nodes"]], ["T1.1", "T1.2"])
        self.assertNotIn("planner", [x["kind"] for x in site.call("status.get")["needs_you"]])
        self.assertNoKey(site)

    def test_answers_that_stay_wrong_give_one_task_and_an_inbox_entry(self):
        model = self.model("never JSON")
        site, goal = self.planned(model.config(max_repair_attempts=1))
        done = self.applied(site, goal)
        self.assertEqual(done["source"], "fallback")
        self.assertEqual(len(model.requests), 2)
        nodes = site.call("work.list", goal=goal)["nodes"]
        self.assertEqual([n["name"] for n in nodes], ["The goal {goalTitle}"])
        need = site.call("status.get")["needs_you"]
        self.assertEqual([n["kind"] for n in need], ["planner"])
        self.assertIn("one task", need[0]["question"])
        self.assertEqual(len(site.call("goal.show", goal=goal)["planner"]["attempts"]), 2)

    def test_a_silent_model_blocks_nobody_and_is_asked_again_after_a_crash(self):
        model = self.model({"hang": True})
        site, goal = self.planned(model.config(timeout="1h"))
        model.wait(1)
        self.assertEqual(site.call("status.get")["goals"][0]["id"], goal)
        site.call("goal.create", title="another", plan=plan(task("T1")))
        site.kill()
        model.steps[:] = [GOOD]
        site.up(FAKE_MODEL_KEY=KEY)
        self.assertEqual(self.applied(site, goal)["source"], "planner")
        self.assertEqual(len([e for e in site.events() if e["type"] == "effect.intended" and e["goal"] == goal
                              and e["data"]["kind"] == "plan"]), 1)

    def test_the_daemon_ends_while_a_model_thinks(self):
        model = self.model({"hang": True})
        site, _ = self.planned(model.config(timeout="1h"))
        model.wait(1)
        self.assertEqual(site.down(), 0)

    def test_a_busy_model_is_asked_again(self):
        model = self.model({"status": 429, "headers": {"Retry-After": "0"}, "body": "slow down"}, {"raw": b"garbage\r\n\r\n"}, GOOD)
        site, goal = self.planned(model.config("anthropic"))
        self.assertEqual(self.applied(site, goal)["source"], "planner")
        self.assertEqual([r["path"] for r in model.requests], ["/v1/messages"] * 3)
        self.assertEqual({name.lower(): value for name, value in model.requests[2]["headers"].items()}["x-api-key"], KEY)

    def test_a_server_that_repeats_the_key_does_not_spread_it(self):
        model = self.model({"status": 400, "body": json.dumps({"error": {"message": f"bad request with {KEY}"}})})
        site, goal = self.planned(model.config())
        self.assertEqual(self.applied(site, goal)["source"], "fallback")
        self.assertIn("status 400", site.call("status.get")["needs_you"][0]["question"])
        self.assertNoKey(site)

    def test_a_missing_key_is_told_and_the_goal_goes_on(self):
        model = self.model(GOOD)
        site = self.site(model.config())
        site.up()
        self.assertIn("FAKE_MODEL_KEY", site.call("status.get")["planner"]["trouble"])
        self.assertEqual([n["kind"] for n in site.call("status.get")["needs_you"]], ["planner_key"])
        goal = site.call("goal.create", title="g")["goal"]
        self.assertEqual(self.applied(site, goal)["source"], "fallback")
        self.assertEqual(model.requests, [])
        # Said once, however often the daemon starts, and taken back when the key is there.
        site.down()
        site.up()
        self.assertEqual([n["kind"] for n in site.call("status.get")["needs_you"]].count("planner_key"), 1)
        site.down()
        site.up(FAKE_MODEL_KEY=KEY)
        self.assertNotIn("planner_key", [n["kind"] for n in site.call("status.get")["needs_you"]])
        self.assertIsNone(site.call("status.get")["planner"]["trouble"])

    def test_a_command_plans(self):
        config = "\n[planner]\nprovider = 'command'\ncommand = 'cat > \"$HOME/prompt\"; cat \"$HOME/answer\"'\n"
        site = self.site(config)
        site.write("../answer", GOOD)
        site.up()
        goal = site.call("goal.create", title="By command")["goal"]
        self.assertEqual(self.applied(site, goal)["source"], "planner")
        self.assertIn("By command", site.home("prompt"))
        self.assertEqual(site.call("goal.show", goal=goal)["planner"]["model_ref"], "command")

    def test_without_a_planner_a_goal_becomes_one_task(self):
        site = self.site("[planner]\nprovider = 'none'\n")
        site.up()
        goal = site.call("goal.create", title="Just do it", success_criteria=["done"])["goal"]
        nodes = site.call("work.list", goal=goal)["nodes"]
        self.assertEqual([n["name"] for n in nodes], ["Just do it"])
        self.assertEqual(site.call("status.get")["needs_you"], [])
        self.assertEqual(site.call("goal.show", goal=goal)["plan_source"], "fallback")
        waiting = site.call("goal.create", title="Later", no_plan=True)["goal"]
        self.assertEqual(site.call("goal.show", goal=waiting)["plan_version"], 0)

    def test_a_person_may_be_faster_than_the_model(self):
        model = self.model({"hang": True})
        site, goal = self.planned(model.config(timeout="1h"))
        model.wait(1)
        site.call("plan.apply", goal=goal, plan=plan(task("T7")))
        model.steps[:] = [GOOD]
        site.kill()
        site.up(FAKE_MODEL_KEY=KEY)
        site.wait_type("effect.ended", goal=goal, outcome="ok")
        self.assertEqual([n["id"] for n in site.call("work.list", goal=goal)["nodes"]], ["T7"])
        self.assertEqual(site.call("goal.show", goal=goal)["plan_version"], 1)

    def test_a_node_that_keeps_failing_is_diagnosed_split_and_done(self):
        answers = {
            "diagnose": {"actions": [{"type": "replan", "message": "too large"}]},
            "split": {"subtasks": [{"id": "1", "name": "Small one", "acceptance": ["a"]},
                                   {"id": "2", "name": "Small two", "acceptance": ["b"], "deps": ["1"]}]},
        }
        # Each first answer says more than a model may; it is told so and asked again.
        greedy = {
            "diagnose": {"actions": [{"type": "reassign", "agent": "other"}]},
            "split": {"subtasks": [{**part, "priority": 1, "oversight": {}} for part in answers["split"]["subtasks"]]},
        }
        # It answers by what it is asked: the prompts tell themselves apart.
        config = """
[planner]
provider = "command"
diagnose = true
command = '''
cat > "$HOME/prompt"
if grep -q "Choose what to do next" "$HOME/prompt"; then kind=diagnose; else kind=split; fi
if grep -q "Validation errors" "$HOME/prompt"; then cp "$HOME/prompt" "$HOME/again.$kind"; cat "$HOME/$kind"
else cp "$HOME/prompt" "$HOME/asked.$kind"; cat "$HOME/greedy.$kind"; fi
'''
[retry]
max_attempts = 1
delays = ["10ms", "10ms", "10ms"]
[supervisor]
backoff.base = "10ms"
"""
        # The whole is too much for it; the parts are not.
        agent = """
case "$(cat)" in *"Small "*) ;; *) echo "too much"; exit 1;; esac
name=$OVERSEER_RUN.txt; echo work > "$name"; git add "$name"; git commit -qm "$name"
"""
        site = self.site(config, agent)
        for name, answer in answers.items():
            site.write(f"../{name}", json.dumps(answer))
            site.write(f"../greedy.{name}", json.dumps(greedy[name]))
        site.up()
        goal = site.call("goal.create", title="Big", plan=plan(task("T1.1")))["goal"]
        site.wait_goal(goal)
        nodes = {n["id"]: n["status"] for n in site.call("work.list", goal=goal)["nodes"]}
        self.assertEqual(nodes, {"S1.1.1": "done", "S1.1.2": "done"})
        shown = site.call("goal.show", goal=goal)
        self.assertEqual((shown["plan_version"], shown["plan_source"]), (2, "replan"))
        self.assertEqual(shown["planner"]["template_id"], "split.v1")
        self.assertEqual([e["data"]["purpose"] for e in site.events() if e["type"] == "plan.generated"],
                         ["diagnose", "split"])
        self.assertIn("Task T1.1", site.home("asked.diagnose"))
        self.assertIn("Stalled: ", site.home("asked.split"))
        self.assertIn('unknown key "agent"', site.home("again.diagnose"))
        self.assertIn('a planner may not set "priority"', site.home("again.split"))
        self.assertIn('a planner may not set "oversight"', site.home("again.split"))

    def test_a_model_sets_no_policy(self):
        """What it may not say goes back to it; a model that insists gets nothing of it."""
        extras = {"oversight": {"levels": {"stuckCritical": "none"}}, "suggestedAgent": "other", "priority": 1,
                  "checkCommand": "true", "verification": {}, "toolsAllow": ["edit"], "toolsDeny": ["edit"]}
        greedy = plan(task("T1.1", **extras))
        greedy["sequential"] = True
        stranger = json.dumps(plan(task("T1.1", role="root")))
        model = self.model(json.dumps(greedy), stranger, json.dumps(plan(task("T1.1", role="writer", risk="low"))),
                           json.dumps(greedy))
        site, goal = self.planned(model.config(max_repair_attempts=2) + '[roles]\nwriter = "script"\n'
                                  '[agents.script]\ncommand = ["true"]\n')
        applied = self.applied(site, goal)
        self.assertEqual(applied["source"], "planner")
        errors = model.prompt(1).split("Validation errors:")[1].split("Previous output:")[0]
        for key in ["sequential", *extras]:
            self.assertIn(f'a planner may not set "{key}"', errors)
        self.assertIn('"root" is not a configured role (one of ["writer"])', model.prompt(2))
        self.assertIn('role (only one of ["writer"])', model.prompt(0))
        node = site.node("T1.1")
        self.assertEqual((node["role"], node["oversight"], node["suggested_agent"], node["priority"]), ("writer", None, "", 0))
        # The last answer is repeated for ever: the goal becomes one task, and a person is told why.
        other = site.call("goal.create", title="Another")["goal"]
        self.assertEqual(self.applied(site, other)["source"], "fallback")
        need = [n for n in site.call("status.get")["needs_you"] if n["kind"] == "planner"]
        self.assertIn("may not set", need[0]["question"])
        self.assertEqual(site.node(f"{other}/T1.1")["priority"], 0)

    def test_the_command_line_waits_for_the_plan(self):
        model = self.model("no JSON", GOOD, {"status": 400, "body": "no"})
        site = self.site(model.config())
        site.up(FAKE_MODEL_KEY=KEY)

        def create(title):
            return subprocess.run([CLI, "--dir", site.dir, "goal", "create", "--title", title], env=site.env, text=True,
                                  capture_output=True, timeout=60, check=True).stdout
        out = create("By a model")
        self.assertIn("Planning with openai/fake-1 ...", out)
        self.assertIn(", 1 repair (template plan.v1)", out)
        self.assertIn("1 phase, 2 tasks, 0 subtasks. Ready now: T1.1", out)
        out = create("By itself")
        self.assertIn("a plan with one task is used", out)
        self.assertIn("1 phase, 1 task, 0 subtasks.", out)


if __name__ == "__main__":
    unittest.main()
