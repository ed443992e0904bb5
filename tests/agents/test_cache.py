#!/usr/bin/env python3
"""tools/agents-cache with an npm of our own: what it installs is whole, checked, and installed once."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools/agents-cache"
# Unpacks what it is asked for; NPM says how.
NPM = f"""#!{sys.executable}
import json, os, sys
from pathlib import Path
with open(os.environ["CALLS"], "a") as calls:
    calls.write("x")
if os.environ["NPM"] == "offline":
    sys.exit("npm error code EAI_AGAIN\\nnpm error request to https://packages.example/x failed")
stage = Path(sys.argv[sys.argv.index("--prefix") + 1])
for name in ("node/bin/node", "claude/claude", "gemini/gemini.js"):
    path = stage / "node_modules" / name
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\\necho " + name + ' "$@"\\n')
good = os.environ["NPM"] == "good"
(stage / "node_modules/.package-lock.json").write_text(json.dumps({{"packages": {{
    name: {{"integrity": "sha512-" + (name if good else "other")}} for name in ("node", "claude", "gemini")}}}}))
"""
PINNED = {name: {"any": [f"@x/{name}@1.2.3-linux", program, f"sha512-{name}"]} for name, program in (
    ("node", "node/bin/node"), ("claude", "claude/claude"), ("gemini", "gemini/gemini.js"))}


class Cache(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="overseer-test-")
        self.addCleanup(scratch.cleanup)
        self.dir = Path(scratch.name)
        (self.dir / "bin").mkdir()
        (self.dir / "bin/npm").write_text(NPM)
        (self.dir / "bin/npm").chmod(0o755)
        shutil.copy(TOOL, self.dir / "agents-cache")
        self.pin(PINNED)
        self.calls = self.dir / "calls"

    def pin(self, rows):
        (self.dir / "agents.json").write_text(json.dumps(rows))

    def start(self, npm, *args, path=None):
        env = {"PATH": path or f"{self.dir}/bin:{os.environ['PATH']}", "OVERSEER_AGENTS_CACHE": f"{self.dir}/cache",
               "NPM": npm, "CALLS": str(self.calls)}
        return subprocess.Popen([sys.executable, self.dir / "agents-cache", *args], env=env, stdout=subprocess.PIPE,
                                text=True)

    def end(self, process):
        out, _ = process.communicate(timeout=60)
        answer = json.loads(out)
        self.assertEqual(process.returncode, 0 if answer["ok"] else 1)
        return answer

    def run_tool(self, npm, *args, **more):
        return self.end(self.start(npm, *args, **more))

    def folders(self):
        return sorted(p.name for p in (self.dir / "cache").iterdir() if p.is_dir())

    def test_it_is_installed_once(self):
        first = self.run_tool("good")
        self.assertEqual({name: a["version"] for name, a in first["agents"].items()}, dict.fromkeys(PINNED, "1.2.3"))
        self.assertEqual(self.run_tool("offline"), first)
        self.assertEqual(self.run_tool("offline", "--look"), first)
        self.assertEqual(self.calls.read_text(), "x")
        said = [subprocess.check_output([first["agents"][name]["program"], "a b"], text=True) for name in PINNED]
        self.assertEqual(said, ["node/bin/node a b\n", "claude/claude a b\n",
                                f"node/bin/node {first['dir']}/node_modules/gemini/gemini.js a b\n"])

    def test_two_at_once_install_once(self):
        both = [self.start("good"), self.start("good")]
        answers = [self.end(p) for p in both]
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(self.calls.read_text(), "x")
        self.assertEqual(len(self.folders()), 1)

    def test_no_registry(self):
        self.assertIn("not installed yet", self.run_tool("good", "--look")["reason"])
        reason = "npm could not fetch them: EAI_AGAIN"
        self.assertEqual(self.run_tool("offline"), {"ok": False, "reason": reason})
        self.assertEqual(self.run_tool("good", "--look")["reason"], reason)
        self.assertEqual(self.folders(), [])
        self.assertTrue(self.run_tool("good")["ok"])
        self.assertTrue(self.run_tool("offline", "--look")["ok"])

    def test_no_npm(self):
        self.assertIn("no npm", self.run_tool("good", path=f"{self.dir}/nothing")["reason"])

    def test_a_wrong_checksum_is_refused(self):
        self.assertIn("@x/node@1.2.3-linux does not have the pinned checksum", self.run_tool("bad")["reason"])
        self.assertEqual(self.folders(), [])

    def test_a_program_that_is_missing_is_told(self):
        self.pin({**PINNED, "claude": {"any": ["@x/claude@1.2.3", "claude/elsewhere", "sha512-claude"]}})
        self.assertIn("has no claude/elsewhere", self.run_tool("good")["reason"])

    def test_another_machine_is_told(self):
        self.pin({**PINNED, "claude": {"vax": PINNED["claude"]["any"]}})
        self.assertIn("there is no claude for", self.run_tool("good")["reason"])

    def test_no_room(self):
        tool = (self.dir / "agents-cache").read_text()
        (self.dir / "agents-cache").write_text(tool.replace("ROOM = 2 << 30", "ROOM = 2 << 60"))
        self.assertRegex(self.run_tool("good")["reason"], "MB of free space, the agents need .*OVERSEER_AGENTS_CACHE")
        self.assertFalse(self.calls.exists())

    def test_a_new_list_is_another_folder_and_old_ones_go(self):
        self.run_tool("good")
        old = self.folders()
        (self.dir / "cache/.new-killed").mkdir()
        self.pin({**PINNED, "claude": {"any": ["@x/claude@1.2.4", "claude/claude", "sha512-claude"]}})
        self.run_tool("good")
        self.assertEqual(len(self.folders()), 2, "used not long ago, so both stay; the half-made one does not")
        os.utime(self.dir / "cache" / old[0], (0, 0))
        self.pin({**PINNED, "claude": {"any": ["@x/claude@1.2.5", "claude/claude", "sha512-claude"]}})
        self.run_tool("good")
        self.assertEqual(len(self.folders()), 2)
        self.assertNotIn(old[0], self.folders())


if __name__ == "__main__":
    unittest.main(verbosity=2)
