"""The runner of scenarios must be able to fail: every bad/*.scn says in its second line with which words."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "system"))
import leaks  # noqa: E402

RUNNER = sys.argv.pop(1)
BAD = sorted((Path(__file__).parent / "bad").glob("*.scn"))
MARK = "# fails: "
# The good ones are looked at for leaks.
ENV = dict(os.environ)
leaks.ignore(ENV)


class Bad(unittest.TestCase):
    def test_bad_scenarios_fail_with_their_words(self):
        self.assertGreater(len(BAD), 10)
        for path in BAD:
            with self.subTest(path.name):
                words = path.read_text(encoding="utf-8").splitlines()[1]
                self.assertTrue(words.startswith(MARK), words)
                ran = subprocess.run([RUNNER, str(path)], env=ENV, capture_output=True, text=True, check=False)
                self.assertEqual(ran.returncode, 1, ran.stderr)
                self.assertIn(words[len(MARK) :], ran.stderr)
                self.assertRegex(ran.stderr, rf"{path.name}:\d+: ")

    def test_a_missing_file_fails(self):
        ran = subprocess.run([RUNNER, "/nowhere.scn"], env=ENV, capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("cannot be opened", ran.stdout + ran.stderr)


if __name__ == "__main__":
    unittest.main()
