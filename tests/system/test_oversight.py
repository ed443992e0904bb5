#!/usr/bin/env python3
"""Agents that go in circles, end to end: real runs become iterations, detectors see the pattern, and the answer
reaches the agent, the goal and the people outside. A kill -9 in the middle changes nothing."""

import hashlib
import hmac
import http.server
import json
import os
import threading
import unittest

from harness import SiteCase, plan, task

FAST = """
[retry]
max_attempts = 100
delays = ["10ms", "10ms", "10ms"]
"""

# Keeps each prompt that it gets, in order, and leaves the rest to the example.
REMEMBER = r"""
mkdir -p "$HOME/prompts"
n=$(($(ls "$HOME/prompts" | wc -l) + 1))
cat > "$HOME/prompts/$n"
report() {
	printf '```json\n{"overseerUpdate": {"status": "in_progress", "summary": "%s", "percentComplete": %s}}\n```\n' "$2" "$1"
}
commit() { git add -A && git commit -qm "attempt $n"; }
"""

# Each attempt changes the file, and none of them mends it; only another strategy does, and not at once.
STUCK = REMEMBER + r"""
mkdir -p src
echo "// attempt $n" >> src/validation.ts
echo "$n" > src/attempt
if [ -e "$HOME/overridden" ]; then echo mended > src/mended; fi
if grep -q OVERRIDE "$HOME/prompts/$n"; then touch "$HOME/overridden"; fi
report $((10 + n / 2)) "validated the input of attempt $n"
commit
"""
STUCK_CHECK = r"""
n=$(cat src/attempt)
test -e src/mended && { echo "1 passed in 0.1s"; exit 0; }
test "$n" = 1 && { echo "SyntaxError: unexpected end of input in src/parser.ts"; exit 1; }
echo "src/validation.ts:$((n * 7)):3 - error: Missing null check in validateInput() (0x7ffe$n, attempt $n)"
exit 1
"""

# Always something else goes wrong, and it creeps forward: only what it uses up tells.
BURN = REMEMBER + r"""
set -- alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike november oscar papa \
	quebec romeo sierra tango uniform victor whiskey xray yankee zulu
eval "word=\${$n:-zulu}"
echo "$word" >> work.txt
test -e "$HOME/finish" && touch finished
report $((n * 9 / 5)) "rate limiting: $word"
commit
"""
BURN_CHECK = r"""
test -e finished && exit 0
echo "error: the $(tail -n 1 work.txt) case is not handled"
exit 1
"""

# Good at first, but for a formality; then it breaks what it had.
REGRESS = REMEMBER + r"""
echo "$n" > attempt.txt
report 80 "authentication"
commit
"""
REGRESS_CHECK = r"""
if [ "$(cat attempt.txt)" = 1 ]; then
	echo "===== 20 passed in 1.02s ====="
	printf 'TN:\nSF:src/auth.ts\nLF:200\nLH:170\nend_of_record\n' > lcov.info
	exit 0
fi
echo "FAILED tests/test_auth.py::test_login - AssertionError"
echo "===== 1 failed, 19 passed in 1.10s ====="
printf 'TN:\nSF:src/auth.ts\nLF:200\nLH:145\nend_of_record\n' > lcov.info
exit 1
"""


class Listener:
    """A server on loopback that keeps what it is sent, and answers as Gitea and as a webhook would."""

    def __init__(self):
        heard = self.heard = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                heard.append((self.command, self.path, dict(self.headers), body))
                labels = self.path.split("?")[0].endswith("/labels")
                if self.command == "GET":
                    said = []
                elif labels:
                    said = {"id": len(heard), "name": json.loads(body)["name"]}
                else:
                    said = {"number": 7, "id": 7, "html_url": "http://127.0.0.1/issues/7"}
                text = json.dumps(said).encode()
                self.send_response(200 if self.command == "GET" else 201)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = answer

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def posts(self, end):
        return [h for h in self.heard if h[0] == "POST" and h[1].endswith(end)]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Oversight(SiteCase):
    def begin(self, agent, check, config=""):
        site = self.site(FAST + '[workspace]\ncheck_command = "sh $HOME/check.sh"\n' + config, agent=agent)
        site.write("../check.sh", check)
        site.up()
        return site

    def prompts(self, site):
        folder = os.path.join(site.root, "prompts")
        return [site.home(f"prompts/{n}") for n in range(1, len(os.listdir(folder)) + 1)]

    def levels(self, site):
        return [e["data"]["level"] for e in site.events() if e["type"] == "intervention.applied"]

    def numbers(self, site):
        """Of iterations: each once, but for one that was judged anew."""
        return [e["data"]["iteration"]["number"] for e in site.events() if e["type"] == "iteration.recorded"]

    def test_the_same_error_again_and_again_is_redirected(self):
        site = self.begin(STUCK, STUCK_CHECK)
        goal = site.cli("goal", "create", "--title", "Fix validation", "--plan",
                        site.write("../plan.json", json.dumps(plan(task("T1", objective="Check the input for null")))),
                        "--json")
        goal = json.loads(goal)["goal"]
        second = site.wait_event(lambda e: e["type"] == "iteration.recorded" and e["data"]["iteration"]["number"] == 2)
        site.kill()
        site.up()
        site.wait_type("intervention.applied", after=second["seq"], level="redirect")
        site.kill()
        site.up()
        site.wait_goal(goal)
        made = [e["data"]["detection"] for e in site.events() if e["type"] == "detection.made"]
        stuck = [d for d in made if d["type"] == "stuck"]
        self.assertEqual([d["severity"] for d in stuck], ["high"], made)
        evidence = stuck[0]["evidence"]
        self.assertIn("Missing null check in validateInput()", evidence["repeatedError"])
        self.assertEqual((evidence["occurrences"], stuck[0]["iteration"]), (3, 4))
        self.assertLess(evidence["avgProgressRate"], 2)
        self.assertEqual(self.levels(site), ["redirect"])
        # The next prompt begins with it, and no other has it.
        said = [n for n, text in enumerate(self.prompts(site), 1) if "OVERRIDE" in text]
        self.assertEqual(said, [5])
        override = self.prompts(site)[4]
        self.assertLess(override.index("OVERRIDE: Change approach immediately."), override.index("Task T1"))
        self.assertIn("Missing null check", override.split("Task T1")[0])
        # It ignored that once (four equal errors, and no second answer to them), then mended it.
        self.assertEqual(self.numbers(site), [1, 2, 3, 4, 5, 6])
        self.assertEqual(site.call("goal.show", goal=goal)["health"], "healthy")
        self.assertEqual(site.call("inbox.list")["inbox"], [])

    def test_agents_that_fail_by_different_things_are_not_stuck(self):
        """Of two exit statuses only the last lines tell whether it is the same error; numbers in them do not."""
        for last, stuck in (('$(echo zero one two three | cut -d" " -f$n) is missing', False), ("no route to 10.0.0.$n", True)):
            site = self.site(FAST, REMEMBER + f'echo "{last}"\nexit $((n % 2 + 1))\n')
            site.up()
            goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
            site.wait_event(lambda e: e["type"] == "iteration.recorded" and e["data"]["iteration"]["number"] == 4)
            errors = [e["data"]["iteration"]["error"] for e in site.events() if e["type"] == "iteration.recorded"]
            self.assertIn("missing" if not stuck else "10.0.0.1", errors[0])
            found = {e["data"]["detection"]["type"] for e in site.events() if e["type"] == "detection.made"}
            self.assertEqual("stuck" in found, stuck, (goal, errors))
            site.close()

    def test_twenty_five_of_ten_iterations_are_aborted_until_a_person_reopens(self):
        site = self.begin(BURN, BURN_CHECK)
        goal = site.call("goal.create", title="Rate limiting", plan=plan(task("T1", objective="Rate limiting")),
                         estimate={"iterations": 10})["goal"]
        site.wait_event(lambda e: e["type"] == "iteration.recorded" and e["data"]["iteration"]["number"] == 12)
        site.kill()
        site.up()
        aborted = site.wait_type("intervention.applied", level="abort")
        made = [e["data"]["detection"] for e in site.events() if e["type"] == "detection.made"]
        self.assertEqual([(d["type"], d["severity"], d["iteration"]) for d in made],
                         [("resource_burn", "high", 20), ("resource_burn", "critical", 25)])
        self.assertEqual(made[1]["message"], "Resource burn: Used 25/10 iterations (250% of budget)")
        evidence = made[1]["evidence"]
        self.assertEqual((evidence["estimatedIterations"], evidence["actualIterations"], evidence["iterationRatio"],
                          evidence["completionPercent"]), (10, 25, 2.5, 45))
        self.assertEqual(self.levels(site), ["warn", "abort"])
        self.assertIn("OVERSEER WARNING", self.prompts(site)[20])
        site.kill()
        site.up()
        shown = site.call("goal.show", goal=goal)
        self.assertEqual((shown["status"], shown["health"]), ("paused", "aborted"))
        self.assertEqual(site.live_pids(), [])
        self.assertIn("reopen", site.cli("goal", "resume", goal, code=4))
        entry = site.call("inbox.list")["inbox"][0]
        self.assertEqual((entry["kind"], entry["goal_id"]), ("aborted", goal))
        # Nothing was lost, and nothing goes on by itself.
        self.assertEqual(len(self.prompts(site)), 25)
        site.write("../finish", "")
        site.cli("goal", "reopen", goal, "--reason", "it is nearly there")
        site.wait_goal(goal)
        self.assertEqual(len(self.prompts(site)), 26)
        self.assertEqual(len([p for p in site.git("show", "main:work.txt").split("\n") if p]), 26)
        self.assertEqual(site.call("inbox.list")["inbox"], [])
        self.assertEqual(aborted["data"]["goal_wide"], True)

    def test_burn_is_paused_where_that_is_configured_and_an_answer_brings_a_new_estimate(self):
        site = self.begin(BURN, BURN_CHECK, '[oversight.levels]\nresource_burn_critical = "pause"\n')
        goal = site.call("goal.create", title="Rate limiting", plan=plan(task("T1", objective="Rate limiting")),
                         estimate={"iterations": 4})["goal"]
        site.wait_type("intervention.applied", level="pause")
        site.kill()
        site.up()
        shown = site.call("goal.show", goal=goal)
        self.assertEqual((shown["status"], shown["health"]), ("paused", "paused"))
        self.assertEqual(len(self.prompts(site)), 10)
        number = str(site.call("inbox.list")["inbox"][0]["number"])
        site.write("../finish", "")
        site.cli("inbox", "answer", number, "look at the zulu case first", "--estimate", "iterations=30",
                 "--budget", "iterations=60")
        site.wait_goal(goal)
        self.assertIn("look at the zulu case first", self.prompts(site)[10])
        self.assertEqual(self.levels(site), ["warn", "pause"])

    def test_a_regression_is_aborted_and_every_channel_hears_of_it(self):
        listener = Listener()
        self.addCleanup(listener.close)
        config = f"""
[accept]
pre_accept_command = "echo 'the changelog says nothing of it'; exit 1"
[escalation]
desktop = true
hook = "cat > $HOME/hooked.json"
[escalation.channels.alerts]
type = "webhook"
url = "{listener.url}/alerts"
secret_env = "ALERT_SECRET"
[escalation.channels.tracker]
type = "gitea"
url = "{listener.url}/api/v1"
repo = "owner/repo"
token_env = "TRACKER_TOKEN"
"""
        site = self.site(FAST + '[workspace]\ncheck_command = "sh $HOME/check.sh"\ncoverage_report = ["lcov.info"]\n' + config,
                         agent=REGRESS)
        site.write("../check.sh", REGRESS_CHECK)
        site.env.update(ALERT_SECRET="a-shared-secret", TRACKER_TOKEN="token-of-the-tracker")
        site.up()
        goal = site.call("goal.create", title="Fix auth", plan=plan(task("T1", objective="authentication")))["goal"]
        aborted = site.wait_type("intervention.applied", level="abort")
        made = [e["data"]["detection"] for e in site.events() if e["type"] == "detection.made"]
        regression = [d for d in made if d["type"] == "regression"]
        self.assertEqual([d["severity"] for d in regression], ["critical"], made)
        self.assertEqual(regression[0]["message"], "Regression detected: 2 quality regressions")
        self.assertEqual(regression[0]["evidence"]["regressions"], [
            {"iteration": 2, "message": "Tests went from passing to failing"},
            {"iteration": 2, "message": "Coverage dropped 12.5%", "from": 85, "to": 72.5}])
        # Each once, and the one without a session bus says so.
        sent = {}
        for channel in ("alerts", "tracker", "hook", "desktop"):
            done = site.wait_type("notice.tried", after=aborted["seq"], channel=channel)
            sent[channel] = done["data"]["status"]
        self.assertEqual({c: sent[c] for c in ("alerts", "tracker", "hook")},
                         {"alerts": "sent", "tracker": "sent", "hook": "sent"})
        self.assertNotEqual(sent["desktop"], "sent")
        (_, _, headers, body), = listener.posts("/alerts")
        signature = hmac.new(b"a-shared-secret", body, hashlib.sha256).hexdigest()
        self.assertEqual(headers["X-Overseer-Signature-256"], "sha256=" + signature)
        alarm = json.loads(body)
        self.assertEqual((alarm["level"], alarm["context"]["loopId"], alarm["context"]["iterationNumber"]),
                         ("emergency", f"{goal}/T1", 2))
        self.assertEqual(alarm["context"]["detection"]["type"], "regression")
        self.assertEqual(alarm["context"]["intervention"]["level"], "abort")
        (_, _, headers, body), = listener.posts("/repos/owner/repo/issues")
        self.assertEqual(headers["Authorization"], "token token-of-the-tracker")
        self.assertIn("Tests went from passing to failing", json.loads(body)["body"])
        self.assertEqual(json.loads(site.home("hooked.json"))["level"], "emergency")
        shown = site.call("goal.show", goal=goal)
        self.assertEqual((shown["status"], shown["health"]), ("paused", "aborted"))
        # The token is nowhere but in the request.
        self.assertEqual(site.daemon_log().count("token-of-the-tracker"), 0)
        self.assertNotIn("token-of-the-tracker", json.dumps(site.events()))
        site.kill()
        site.up()
        self.assertEqual(len(listener.posts("/alerts")), 1)
        self.assertEqual(len(self.prompts(site)), 2)


if __name__ == "__main__":
    unittest.main()
