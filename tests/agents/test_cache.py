#!/usr/bin/env python3
"""tools/agents-cache with an npm of our own: what it installs is whole, checked, and installed once; tools/agents-try."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools/agents-cache"
# Unpacks what it is asked for; NPM says how, and REGISTRY what there is besides: {package: {field: value, "file": name}}.
NPM = f"""#!{sys.executable}
import json, os, sys
from pathlib import Path
with open(os.environ["CALLS"], "a") as calls:
    calls.write("x")
if os.environ["NPM"] == "offline":
    sys.exit("npm error code EAI_AGAIN\\nnpm error request to https://packages.example/x failed")
registry = json.loads(os.environ["REGISTRY"])
if sys.argv[1] == "view":
    if sys.argv[2] not in registry:
        sys.exit("npm error code E404")
    print(json.dumps(registry[sys.argv[2]].get(sys.argv[3])))
    sys.exit()
stage = Path(sys.argv[sys.argv.index("--prefix") + 1])
for name in ("node/bin/node", "claude/claude", "gemini/gemini.js"):
    path = stage / "node_modules" / name
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\\necho " + name + ' "$@"\\n')
good = os.environ["NPM"] == "good"
sums = ["sha512-" + (name if good else "other") for name in ("node", "claude", "gemini")]
for package in sys.argv:
    if "file" in registry.get(package, {{}}):
        path = stage / "node_modules" / registry[package]["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\\necho " + package + "\\n")
        sums.append(registry[package]["got"])
(stage / "node_modules/.package-lock.json").write_text(json.dumps(
    {{"packages": {{str(n): {{"integrity": x}} for n, x in enumerate(sums)}}}}))
"""
# Of claude there is a newer version, and one from before its program was a package of its own.
SUM = "sha512-of-the-registry"
REGISTRY = {
    "@x/claude": {"version": "2.0.0"},
    "@x/claude@2.0.0-linux": {"dist.integrity": SUM, "got": SUM, "file": "claude/claude"},
    "@anthropic-ai/claude-code@1.0.0": {"dist.integrity": SUM, "got": SUM, "file": "@anthropic-ai/claude-code/cli.js"},
    "@x/claude@2.0.1-linux": {"dist.integrity": SUM, "got": "sha512-another", "file": "claude/claude"},
    "@x/gemini": {"version": "1.2.3"},
    "@x/gemini@1.2.3-linux": {"dist.integrity": "sha512-gemini"},
}
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
               "NPM": npm, "CALLS": str(self.calls), "REGISTRY": json.dumps(REGISTRY)}
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

    def versions(self, answer):
        return {name: agent["version"] for name, agent in answer["agents"].items()}

    def test_the_newest_beside_the_pinned_ones(self):
        self.assertIn("agents-cache --newest", self.run_tool("good", "--newest", "--look")["reason"])
        pinned = self.run_tool("good")
        newest = self.run_tool("good", "--newest")
        self.assertEqual(self.versions(newest), {"node": "1.2.3", "claude": "2.0.0", "gemini": "1.2.3"})
        self.assertEqual(subprocess.check_output([newest["agents"]["claude"]["program"]], text=True), "@x/claude@2.0.0-linux\n")
        self.assertEqual(self.run_tool("offline", "--newest", "--look"), newest)
        self.assertEqual(self.run_tool("offline", "--look"), pinned)
        self.assertEqual(len(self.folders()), 2)

    def test_another_version_of_one(self):
        found = self.run_tool("good", "claude=1.0.0")
        self.assertEqual(self.versions(found), {"node": "1.2.3", "claude": "1.0.0"})
        self.assertEqual(subprocess.check_output([found["agents"]["claude"]["program"]], text=True),
                         f"node/bin/node {found['dir']}/node_modules/@anthropic-ai/claude-code/cli.js\n")
        self.assertEqual(self.run_tool("offline", "--look", "claude=1.0.0"), found)

    def test_versions_that_cannot_be_had(self):
        for words, reason in ((["claude=9.9.9"], "has no claude 9.9.9"), (["claude=latest"], "NAME=VERSION"),
                              (["vi=1.0.0"], "NAME=VERSION"), (["node=1.2.3"], "NAME=VERSION"),
                              (["claude=2.0.1"], "does not have the registry's checksum")):
            self.assertIn(reason, self.run_tool("good", *words)["reason"])
        self.assertIn("EAI_AGAIN", self.run_tool("offline", "--newest")["reason"])
        self.assertNotIn("packages.example", self.run_tool("offline", "claude=2.0.0")["reason"])
        self.assertEqual(self.folders(), [])

    def test_the_document_names_the_versions(self):
        """The pinned ones, and the oldest that `init` takes without a warning."""
        titles = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI", "opencode": "opencode"}
        text = (TOOL.parents[1] / "docs/agents.md").read_text(encoding="utf-8")
        formats = (TOOL.parents[1] / "src/agent/table/formats.c").read_text(encoding="utf-8")
        for name, rows in json.loads(TOOL.with_name("agents.json").read_text()).items():
            versions = {re.search(r"@(\d+\.\d+\.\d+)", package)[1] for package, _program, _sum in rows.values()}
            self.assertEqual(len(versions), 1, rows)
            if name != "node":
                oldest = re.search(rf'\.program = "{name}",.*?\.oldest = "([\d.]+)"', formats, re.S)[1]
                self.assertRegex(text, rf"\n\| {titles[name]} \| {versions.pop()} \|[^|]*\|[^|]*\| {oldest} \|")

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


# What agents-try runs: a test of each outcome, which tells the versions that it was asked for.
TESTS = """
import os, unittest
class Claude(unittest.TestCase):
    def test_good(self): self.assertEqual(os.environ["OV_AGENTS"], "{which}")
    def test_bad(self): self.fail("no")
    @unittest.skip("not here")
    def test_left_out(self): pass
unittest.main()
"""


class Try(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="overseer-test-")
        self.addCleanup(scratch.cleanup)
        self.dir = Path(scratch.name)
        for name in ("tools", "tests/agents", "build"):
            (self.dir / name).mkdir(parents=True)
        shutil.copy(TOOL.with_name("agents-try"), self.dir / "tools")
        self.cache('{"ok": true, "agents": {"claude": {"version": "7.8.9"}}}')

    def cache(self, answer):
        (self.dir / "tools/agents-cache").write_text(f"#!/bin/sh\necho '{answer}'\n")
        (self.dir / "tools/agents-cache").chmod(0o755)

    def tried(self, *args, which="newest"):
        for name in ("quick", "claude", "hearing"):
            (self.dir / f"tests/agents/test_{name}.py").write_text(TESTS.format(which=which))
        done = subprocess.run([sys.executable, self.dir / "tools/agents-try", *args], capture_output=True, text=True,
                              timeout=60, check=False)
        return done.returncode, done.stdout

    def test_what_failed_is_said_and_is_no_failure_of_the_report(self):
        code, said = self.tried("--smoke", "claude")
        self.assertRegex(said, r"^claude 7\.8\.9: 1 passed, 1 failed, 1 skipped in \d+ s\n  test_quick\.Claude\.test_bad\n$")
        self.assertEqual(code, 0)
        self.assertIn("no", (self.dir / "build/agents-try/claude-7.8.9-test_quick.log").read_text())

    def test_all_cases_of_a_version(self):
        code, said = self.tried("claude=7.8.9", which="claude=7.8.9")
        # There is no ClaudeTmux in this test_hearing, and that is a failure, too.
        self.assertRegex(said, r"^claude 7\.8\.9: 2 passed, 3 failed, 2 skipped")
        self.assertEqual(code, 0)

    def test_what_cannot_be_installed(self):
        self.cache('{"ok": false, "reason": "npm is away"}')
        self.assertEqual(self.tried("claude"), (1, "claude: cannot be tried: npm is away\n"))
        self.assertEqual(self.tried("vi")[0], 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
