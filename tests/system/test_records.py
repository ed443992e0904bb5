#!/usr/bin/env python3
"""Everything that a goal needs to be taken up again is kept, shown, and in the exported document."""

import json
import os
import subprocess
import unittest

from harness import CLI, SiteCase, plan, task

# What takes minutes takes tenths of seconds; the agent takes no input, so that nudges are skipped.
SCALED = """
[retry]
delays = ["10ms", "10ms", "10ms"]
[supervisor]
idle_after = "600ms"
min_resend_interval = "10ms"
stop_grace = "100ms"
[supervisor.backoff]
base = "10ms"
[planner]
provider = "command"
command = "cat > /dev/null; cat $HOME/plan.json"
"""
# The first one hangs; whoever goes on from it fails once, then reports and is done.
AGENT = r"""
if [ ! -e begun.txt ]; then
	echo begun > begun.txt
	exec sleep 1000
fi
if [ "$OVERSEER_ATTEMPT" = 1 ]; then echo sorry; exit 1; fi
echo ended > ended.txt
cat <<'EOF'
```json
{"overseerUpdate": {"status": "done", "summary": "made it", "next": "look at it",
 "decisions": [{"decision": "plain text", "rationale": "simple"}],
 "evidence": {"filesTouched": ["ended.txt"], "testsRun": ["make test: ok"]}}}
```
EOF
"""
GOAL = """goalId title createdAt updatedAt status priority tags problemStatement successCriteria nonGoals origin owner
stakeholders repoContextSnapshot constraints assumptions risks planner plannerInputs rawPlannerOutputJson validationErrors
planRevisionHistory""".split()
NODE = """parentId path name objective expectedOutcome acceptanceCriteria definitionOfDone dependsOn blocks suggestedAgentId
requiredTools estimatedEffort riskLevel status blockedReason createdAt updatedAt startedAt endedAt""".split()
ASSIGNMENT = """assignmentId goalId workNodeId agentId sessionKey deliveryContext status lastInstructionText instructionHash
dispatchHistory runId spawnedByKey createdAt updatedAt lastDispatchAt lastObservedActivityAt expectedNextUpdateAt idleAfterMs
retryCount lastRetryAt backoffUntil recoveryPolicy""".split()
DISPATCH = "dispatchId ts mode target instructionHash result runId notes".split()
HANDOFF = """summary currentState decisions nextActions openQuestions knownBlockers filesTouched commandsRun testsRun commits
prs issues externalRefs sessionKey sessionId""".split()


class Records(SiteCase):
    leaks = False

    def cli(self, site, *args):
        done = subprocess.run([CLI, "--dir", site.dir, *args], env={**site.env, "NO_COLOR": "1"}, cwd=site.root,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def has(self, what, record, keys):
        self.assertEqual([key for key in keys if key not in record], [], f"missing in {what}")

    def worked(self):
        """One goal that was planned, stalled, was reassigned, failed, was retried, reported and was accepted."""
        site = self.site(SCALED, AGENT)
        with open(os.path.join(site.root, "plan.json"), "w", encoding="utf-8") as f:
            json.dump(plan(task("T1", objective="an end", outcome="ended.txt", definitionOfDone="it ends",
                                requiredTools=["sh"], effort="S", risk="low")), f)
        site.up()
        goal = site.call("goal.create", title="Records", problem_statement="p", success_criteria=["s"], non_goals=["n"],
                         constraints=["c"], assumptions=["a"], stakeholders=["b"], tags=["t"], priority="high",
                         repo_context="r", risks=[{"risk": "x", "impact": "y", "mitigation": "z"}])["goal"]
        site.wait_goal(goal)
        return site, goal

    def test_export_has_every_field(self):
        site, goal = self.worked()
        document = json.loads(self.cli(site, "export"))
        record = document["goals"][goal]
        self.has("goal", record, GOAL)
        self.assertEqual((record["priority"], record["nonGoals"], record["repoContextSnapshot"]), ("high", ["n"], "r"))
        self.assertEqual(sorted(record["origin"]), ["originDeliveryContext", "sourceSessionKey"])
        self.assertEqual(sorted(record["planner"]), ["modelRef", "promptTemplateHash", "promptTemplateId"])
        self.assertIn("T1", record["rawPlannerOutputJson"])
        self.assertEqual(record["planRevisionHistory"][0]["added"], ["P1", "T1"])
        phase, node = record["workNodes"]
        for one in (phase, node):
            self.has("node", one, NODE)
        self.assertEqual((phase["phaseId"], node["taskId"], node["path"]), ("P1", "T1", ["P1", "T1"]))
        self.assertEqual((node["expectedOutcome"], node["estimatedEffort"], node["requiredTools"]), ("ended.txt", "S", ["sh"]))
        first, second = sorted(document["assignments"].values(), key=lambda x: x["epoch"])
        for one in (first, second):
            self.has("assignment", one, ASSIGNMENT)
            for dispatch in one["dispatchHistory"]:
                self.has("dispatch", dispatch, DISPATCH)
                self.assertEqual(document["dispatchIndex"][dispatch["dispatchId"]], dispatch)
        self.assertEqual((first["status"], second["status"]), ("cancelled", "done"))
        self.assertEqual((first["retryCount"], first["lastRetryAt"], second["retryCount"]), (0, None, 1))
        sent = second["dispatchHistory"]
        self.assertEqual([d["mode"] for d in sent], ["sessions_spawn"] * 2)
        self.assertEqual(second["lastRetryAt"], sent[1]["ts"])
        self.assertEqual(sent[1]["target"], {"sessionKey": second["sessionKey"], "deliveryContext": None})
        self.assertIn("Since your last attempt", second["lastInstructionText"])
        for one in document["crystallizations"].values():
            self.has("crystallization", one, HANDOFF)
        leaf = [c for c in document["crystallizations"].values() if c["workNodeId"] == "T1"][0]
        self.assertEqual((leaf["sessionId"], leaf["decisions"][0]["rationale"]), (second["runId"], "simple"))
        for event in document["events"]:
            about_goal = event["type"].startswith(("goal.", "plan.", "node.", "assignment."))
            self.has("event", event, ["ts", "type", "data"] + ["goalId"] * about_goal)
        site.down()
        other = self.site(SCALED, AGENT)
        path = site.write("../all.json", json.dumps(document))
        self.cli(other, "import", path)
        self.assertEqual(json.loads(self.cli(other, "export")), document)

    def test_commands_show_it(self):
        site, goal = self.worked()
        shown = json.loads(self.cli(site, "goal", "show", goal, "--json"))
        self.has("goal show", shown, """id title status priority tags owner problem_statement success_criteria non_goals constraints
            assumptions stakeholders risks origin_session origin_context repo_context plan_version planner created_at
            updated_at""".split())
        self.has("its planner", shown["planner"], ["model_ref", "template_id", "template_hash", "inputs", "raw"])
        node = json.loads(self.cli(site, "work", "show", "T1", "--json"))
        self.has("work show", node, """id parent_id path name objective outcome acceptance definition_of_done deps blocks
            suggested_agent required_tools effort risk status block blocked_by unblock_when created_at updated_at
            started_at ended_at""".split())
        self.has("its assignment", node["last_assignment"], """id goal_id node_id agent session_key status last_instruction_text
            instruction_hash dispatches run_id created_at updated_at last_dispatch_at last_activity_at expected_at idle_after
            retry_count last_retry_at backoff_until recovery_policy""".split())
        self.has("its dispatch", node["last_assignment"]["dispatches"][0],
                 "id at mode target instruction_hash result run_id notes".split())
        handoff = json.loads(self.cli(site, "handoff", "show", "T1", "--json"))
        self.assertIn("made it", json.dumps(handoff))
        text = self.cli(site, "work", "show", "T1")
        for line in ("Effort       S, risk low", "Needs        sh", "Reported     done by the agent, "):
            self.assertIn(line, text)
        self.assertNotIn("not accepted yet", text)
        text = self.cli(site, "goal", "show", goal)
        for word in ("priority high", "Not asked", "Assumed", "Stakeholders", "Risks", "Repository", "Planned"):
            self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main()
