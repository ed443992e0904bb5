"""Times mean the same in every command that takes one: found in the table of commands, tried one by one."""

import calendar
import re
import time

from cli_case import PATIENCE, Case, main

HOUR, DAY = 3600, 24 * 3600
BAD = ("", "later", "2 hours", "25:00", "2026-02-30", "yesterday at noon", "2h from now", "-2h")
PAST = ("2h", "2h ago", "7d", "now", "today", "yesterday", "22:30", "yesterday 22:30", "2026-11-15", "2026-11-15 08:30",
        "2026-11-15T08:30:00Z", "2026-11-15T08:30:00+02:00")
FUTURE = ("4h", "in 4h", "tomorrow", "tomorrow 22:30", "9998-11-15", "9998-11-15T08:30:00Z", "22:30")


def meaning(word, now):
    """Seconds since 1970 for the words whose meaning does not depend on when within the day this runs; else None."""
    return {"2h": now - 2 * HOUR, "2h ago": now - 2 * HOUR, "7d": now - 7 * DAY, "now": now,
            "2026-11-15T08:30:00Z": calendar.timegm((2026, 11, 15, 8, 30, 0)),
            "2026-11-15T08:30:00+02:00": calendar.timegm((2026, 11, 15, 6, 30, 0)),
            "2026-11-15": calendar.timegm((2026, 11, 14, 21, 0, 0)),
            "2026-11-15 08:30": calendar.timegm((2026, 11, 15, 5, 30, 0))}.get(word)


def seconds(text):
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))


class Times(Case):
    def setUp(self):
        super().setUp()
        self.daemon = self.fake()
        self.zone = {"TZ": "Here-3"}  # three hours ahead of UTC, without summer time

    def commands(self):
        """(words of the command, its option or None, further arguments) wherever TIME may be given."""
        text = self.ok("help", "--markdown").out
        for usage in re.findall(r"^    overseer (.*)$", text, re.M):
            words, option = usage.split(" ["), re.search(r"--([a-z-]+) TIME\b", usage)
            name = re.match(r"[a-z ]+", re.sub(r" --.*", "", words[0])).group().split()
            plain = re.sub(r"\[[^]]*\]\S*", " ", usage).replace(option.group() if option else "", "")
            arguments = [w for w in plain.split()[len(name):] if not w.startswith("-")]
            if option:
                yield name, option.group(1), ["1" if a == "N" else "goal_x" for a in arguments]
            elif "TIME" in arguments:
                yield name, None, ["1"]

    def ask(self, name, option, arguments, word):
        words = [f"--{option}={word}", *arguments] if option else [*arguments, word]
        return self.run_cli(*name, *words, env=self.zone)

    def test_every_command_that_takes_a_time(self):
        found = list(self.commands())
        names = {" ".join(name) for name, _, _ in found}
        self.assertTrue({"events", "cost", "report", "goal history", "inbox snooze"} <= names, names)
        sentences = set()
        for name, option, arguments in found:
            for word in BAD if option else BAD[:-1]:
                done = self.ask(name, option, arguments, word)
                self.assertEqual(done.code, 2, (name, word, done.err))
                self.assertIn("is not a time such as", done.err)
                if option:
                    sentences.add(done.err.split("\n")[0].split(" is not a time such as ")[1])
            for word in PAST if option else FUTURE:
                before = int(time.time())
                asked = len(self.daemon.asked)
                done = self.ask(name, option, arguments, word)
                self.assertNotIn("is not a time", done.err, (name, word))
                params = self.daemon.asked[asked][1]
                if not option:
                    self.assertGreater(params["for_ms"], 0, (name, word))
                    continue
                self.assertRegex(params[option], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ$")
                want = meaning(word, before)
                if want is not None:
                    self.assertAlmostEqual(seconds(params[option]), want, delta=PATIENCE, msg=(name, word))
        self.assertEqual(len(sentences), 1, "one text for all")

    def test_one_text_in_every_help(self):
        texts = set()
        for name, option, _ in self.commands():
            line = re.search(r"^TIME is .*$", self.ok("help", *name).out, re.M)
            self.assertTrue(line, name)
            if option:
                texts.add(line.group())
        self.assertEqual(len(texts), 1)
        self.assertNotIn("--timeout TIME", self.ok("help").out, "a duration is no point in time")


if __name__ == "__main__":
    main()
