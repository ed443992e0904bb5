"""What reports must say, computed a second time: from the raw log alone, simply and slowly, by docs/reports.md and
docs/rescue.md. It shares no code with the program. An event is a dict: seq, at (ms), type, actor, goal, node,
assignment, run, data."""

import itertools

OPEN = ("todo", "queued", "in_progress", "blocked")
LEVELS = ("log", "warn", "redirect", "pause", "abort")
RUNGS = ("nudge", "resend", "replan", "reassign", "escalate")
DETECTORS = ("stuck", "oscillation", "deviation", "scope_creep", "resource_burn", "regression")
VERDICTS = ("open", "helpful", "unhelpful", "unknown")
ROWS, DETECTION_ROWS, TASK_ROWS, POINTS = 50, 200, 200, 400


class Node:
    def __init__(self, name):
        self.id = name
        self.children = []
        self.status = "todo"
        self.removed = False
        self.was_task = False  # it has, or once had, no children; of one that was removed: it had none then
        self.commit = ""       # of it on the target branch, now
        self.checked_by = ""   # when it was last accepted
        self.accepted = self.reverted = self.reopened = 0
        self.overridden = False
        self.at = 0

    def became(self):
        """What finally became of it: one word."""
        if self.removed:
            return "removed"
        if self.children:
            return "split"
        if self.status != "done":
            return self.status
        return "overridden" if self.overridden else "accepted" if self.commit else "done"


def of_plan(doc, at=None):
    """(id, parent) of every node of a plan, parents first."""
    for key in ("phases", "tasks", "subtasks"):
        for part in doc.get(key) or []:
            yield part["id"], at
            yield from of_plan(part, part["id"])


class Tree:
    """The nodes of one goal as the log goes on."""

    def __init__(self):
        self.nodes = {}

    def replan(self, doc, at):
        leaf = {n.id for n in self.nodes.values() if not n.children}
        ids = list(of_plan(doc))
        for n in self.nodes.values():
            n.children = []
            if n.id not in [i for i, _ in ids] and not n.removed:
                n.removed, n.at, n.was_task = True, at, n.id in leaf
        for name, parent in ids:
            if name not in self.nodes:
                self.nodes[name] = Node(name)
                self.nodes[name].at = at
            if parent:
                self.nodes[parent].children.append(name)
        for name, _ in ids:
            n = self.nodes[name]
            # Who is split, or whole again, starts afresh.
            if (name in leaf) != (not n.children):
                n.status, n.at = "todo", at
        self.mark()

    def add(self, name, parent, at):
        self.nodes[name] = Node(name)
        self.nodes[name].at = at
        if parent:
            self.nodes[parent].children.append(name)
        self.mark()

    def mark(self):
        for n in self.nodes.values():
            if not n.removed:
                n.was_task = n.was_task or not n.children

    def take(self, e):
        kind, d = e["type"], e["data"]
        if kind == "plan.applied":
            self.replan(d["plan"], e["at"])
        elif kind == "node.added":
            self.add(e["node"], d.get("parent"), e["at"])
        elif kind == "node.status":
            n = self.nodes[e["node"]]
            n.reopened += n.status == "done" and d["to"] != "done"
            n.overridden = d["to"] == "done" and bool(d.get("override"))
            if not n.removed:
                n.at = e["at"]
            n.status = d["to"]
        elif kind == "node.accepted":
            n = self.nodes[e["node"]]
            n.commit, n.checked_by = d["commit"], d.get("checked_by", "")
            n.accepted += 1
        elif kind == "node.reverted":
            n = self.nodes[e["node"]]
            n.commit = ""
            n.reverted += 1

    def tasks(self):
        """Leaves of the plan as it is."""
        return [n for n in self.nodes.values() if not n.removed and not n.children]

    def count(self, status):
        return sum(n.status == status for n in self.tasks())

    def centi(self):
        counted = len(self.tasks()) - self.count("cancelled")
        return self.count("done") * 10000 // counted if counted else 0


def clipped(text):
    """As rows have it: 300 bytes at most."""
    raw = text.encode()[:300]
    return raw.decode(errors="ignore")


def curve(points):
    """Without points that change nothing, times never going back."""
    out = []
    for at, *v in points:
        if out and out[-1][1:] == tuple(v):
            continue
        out.append((max(at, out[-1][0]) if out else at, *v))
    return out


class Goal:
    """What `report.goal` has to say."""

    def __init__(self, events, goal):
        self.id = goal
        self.events = [e for e in events if e["goal"] == goal]
        self.all = events
        self.tree = Tree()
        self.progress, self.spending = [], []
        self.cost = self.tokens = 0
        self.walk()

    def walk(self):
        for e in self.events:
            kind, d = e["type"], e["data"]
            self.tree.take(e)
            if kind == "goal.created":
                self.title, self.created = d["title"], e["at"]
                self.status, self.health, self.reason, self.ended = "active", "healthy", "", 0
                self.progress.append((e["at"], 0, 0))
                self.spending.append((e["at"], 0, 0))
            elif kind == "goal.updated":
                self.title = d.get("title", self.title)
            elif kind == "goal.status":
                self.status, self.reason = d["to"], d["reason"]
                self.health = d.get("health") or ("paused" if d["to"] == "paused" else "healthy")
                if d["to"] in ("completed", "cancelled"):
                    self.ended = e["at"]
                elif d["to"] == "active":
                    self.ended = 0
            elif kind == "goal.health":
                self.health = d["to"]
            elif kind == "goal.budget" and self.status == "active":
                self.health = None  # the worst of this and of what its newest iterations showed
            elif kind == "goal.spent":
                self.cost += d["amounts"].get("cost_microusd", 0)
                self.tokens += d["amounts"].get("tokens", 0)
                self.spending.append((e["at"], self.cost, self.tokens))
            if kind in ("plan.applied", "node.added", "node.status"):
                self.progress.append((e["at"], self.tree.centi(), self.tree.count("done")))

    def heads(self):
        t = self.tree
        known = {"health": self.health} if self.health else {}
        return {**known, "id": self.id, "title": self.title, "status": self.status,
                "status_reason": self.reason, "created_at": self.created, "ended_at": self.ended,
                "leaves": len(t.tasks()), "leaves_done": t.count("done"), "leaves_cancelled": t.count("cancelled"),
                "leaves_blocked": t.count("blocked"),
                "leaves_unchecked": sum(n.status == "done" and n.checked_by == "nothing" for n in t.nodes.values()), "progress_centi": t.centi()}

    def tasks(self):
        """Each task once: those of the plan, those that were split, those that a plan left out."""
        return {n.id: {"node": n.id, "became": n.became(), "commit": n.commit, "accepted": n.accepted, "reverted": n.reverted,
                       "reopened": n.reopened, "at": n.at}
                for n in self.tree.nodes.values() if n.was_task}

    def iterations(self):
        """By task and number; the newest word of each counts. In the order in which they were first recorded."""
        found = {}
        for e in self.events:
            if e["type"] == "iteration.recorded":
                it = e["data"]["iteration"]
                found[(e["node"], it["number"])] = dict(it, node=e["node"], run=e["run"], at=e["at"])
        return list(found.values())

    def detections(self):
        found = {}
        for e in self.events:
            d = e["data"]
            if e["type"] == "detection.made":
                x = d["detection"]
                found[x["id"]] = {"id": x["id"], "type": x["type"], "severity": x["severity"], "node": e["node"], "at": e["at"],
                                  "level": "none", "effectiveness": "open", "false_positive": False, "because": ""}
            elif e["type"] == "intervention.applied":
                found[d["detection"]].update(level=d["level"], did=clipped(d["did"]))
            elif e["type"] == "detection.judged":
                found[d["detection"]].update(effectiveness=d["effectiveness"], because=clipped(d["because"]))
                if d.get("false_positive"):
                    found[d["detection"]]["false_positive"] = True
        return list(found.values())

    def levels(self):
        applied = [e["data"]["level"] for e in self.events if e["type"] == "intervention.applied"]
        return {w: applied.count(w) for w in LEVELS}

    def notices(self):
        found = {}
        for e in self.all:
            d = e["data"]
            if e["type"] == "notice.opened":
                n = d["notice"]
                if e["goal"] != self.id:
                    continue
                found[n["id"]] = {"id": n["id"], "channel": n["channel"], "status": "waiting", "attempts": 0, "at": e["at"]}
            elif e["type"].startswith("notice.") and d.get("notice") in found:
                n = found[d["notice"]]
                if e["type"] == "notice.tried":
                    n.update(status=d["status"], attempts=d["attempts"])
                elif e["type"] == "notice.withdrawn":
                    n.update(status="withdrawn")
                elif e["type"] == "notice.retried":
                    n.update(status="waiting", attempts=0)
        return list(found.values())

    def inbox(self):
        found = {}
        for e in self.all:
            d = e["data"]
            if e["type"] == "escalation.opened" and e["goal"] == self.id:
                found[d["escalation"]] = {"number": d["escalation"], "node": e["node"], "kind": d["kind"], "status": "open",
                                          "at": e["at"], "question": clipped(d["question"]), "answer": "", "by": ""}
            elif e["type"] == "escalation.raised" and d["escalation"] in found:
                found[d["escalation"]]["question"] = clipped(d["question"])
            elif e["type"] == "escalation.closed" and d["escalation"] in found:
                found[d["escalation"]].update(status=d["status"], answer=clipped(d["answer"]), by=e["actor"])
        return list(found.values())

    def changes(self):
        """Of status and health, and of the level of its budget, from which health follows."""
        return [{"at": e["at"], "what": e["type"][len("goal."):], "to": e["data"].get("to") or e["data"]["level"], "by": e["actor"]}
                for e in self.events if e["type"] in ("goal.status", "goal.health", "goal.budget")]


def period(events, since, now):
    """What `report.period` has to say."""
    trees, status = {}, {}
    touched = {}      # task -> what was done to it in the period
    up = False
    out = dict.fromkeys(("people", "runs", "rejected", "conflicts", "stalls", "stalls_over_by_themselves", "daemon_starts",
                         "daemon_crashes", "detections", "cost_microusd", "tokens"), 0)
    recovered, answered, crashed_at, people_at = dict.fromkeys(RUNGS, 0), dict.fromkeys(LEVELS, 0), 0, 0
    stalls, completed, spenders = {}, set(), {}
    pool, given = set(), []  # goals of the pool's tasks, and the texts that it gave
    for e in events:
        kind, d, inside, task = e["type"], e["data"], e["at"] >= since, (e["goal"], e["node"])
        tree = trees.setdefault(e["goal"], Tree())
        before = {n.id for n in tree.nodes.values() if n.removed}
        tree.take(e)
        if kind == "daemon.started":
            if inside:
                out["daemon_starts"] += 1
                if up:
                    out["daemon_crashes"] += 1
                    crashed_at = e["at"]
            up = True
        elif kind == "daemon.stopped":
            up = False
        if kind == "goal.status":
            status[e["goal"]] = d["to"]
        if kind == "goal.created" and d.get("standing") == "auto":
            pool.add(e["goal"])
        if not inside:
            continue
        if e["actor"].startswith("human"):
            out["people"] += 1
            people_at = e["at"]
        marks = touched.setdefault(task, set()) if e["node"] else set()
        if kind == "node.added" and d["tier"] == "task" and e["goal"] in pool:
            given.append(d["definition"].get("objective", ""))
        if kind == "run.ended":
            out["runs"] += 1
        elif kind == "node.accepted":
            marks.add("accepted")
            marks.update({"rejected": ["fixed"], "conflict": ["resolved"]}.get(m, [m])[0] for m in list(marks))
        elif kind == "node.reverted":
            marks.add("reverted")
        elif kind == "node.status":
            if d["to"] in ("done", "cancelled"):
                marks.add(d["to"])
            if d["from"] == "done" and d["to"] != "done":
                marks.add("reopened")
        elif kind == "plan.applied":
            for n in tree.nodes.values():
                if n.removed and n.id not in before and n.was_task:
                    touched.setdefault((e["goal"], n.id), set()).add("removed")
        elif kind == "run.verified" and d["verdict"] in ("failed", "refused"):
            out["rejected"] += 1
            marks.add("rejected")
        elif kind == "node.failed" and d["cause"] == "conflict":
            out["conflicts"] += 1
            marks.add("conflict")
        elif kind == "episode.opened":
            out["stalls"] += 1
            stalls[task] = None
        elif kind == "episode.rung" and task in stalls and not d.get("skipped"):
            stalls[task] = d["rung"]
        elif kind == "episode.closed" and task in stalls:
            rung = stalls.pop(task)
            if rung:
                recovered[rung] += 1
            else:
                out["stalls_over_by_themselves"] += 1
        elif kind == "goal.status" and d["to"] == "completed":
            completed.add(e["goal"])
        elif kind == "goal.spent":
            out["cost_microusd"] += d["amounts"].get("cost_microusd", 0)
            out["tokens"] += d["amounts"].get("tokens", 0)
            spenders.setdefault(e["goal"], 0)
            spenders[e["goal"]] += d["amounts"].get("cost_microusd", 0)
        elif kind == "detection.made":
            out["detections"] += 1
        elif kind == "intervention.applied":
            answered[d["level"]] += 1
    out.update(tasks_figures(trees, touched))
    out["same_task_in_a_row"] = max((len(list(same)) for _, same in itertools.groupby(given)), default=0)
    out["goals_completed"] = sum(status.get(g) in ("completed", "archived") for g in completed)
    out["stalls_recovered_by"], out["interventions"] = recovered, answered
    out["crashed_at"], out["people_at"] = crashed_at, people_at
    out["unattended_ms"] = max(now - max(since, people_at), 0)
    out["waiting"] = open_questions(events)
    out["_spenders"] = spenders
    return out


def tasks_figures(trees, touched):
    """Each task once, by what finally became of it, if that happened in the period."""
    f = dict.fromkeys(("accepted", "accepted_unchecked", "done", "overridden", "cancelled", "cancelled_on_target", "removed", "reverted", "reopened",
                       "fixed_on_retry", "conflicts_resolved"), 0)
    for (goal, name), marks in touched.items():
        n = trees[goal].nodes.get(name)
        if not n:
            continue
        word = n.became()
        if word == "removed" and "removed" in marks:
            f["removed"] += 1
        elif word == "cancelled" and "cancelled" in marks:
            f["cancelled"] += 1
            f["cancelled_on_target"] += bool(n.commit)
        elif word == "accepted" and "accepted" in marks:
            f["accepted"] += 1
            f["accepted_unchecked"] += n.checked_by == "nothing"
            f["fixed_on_retry"] += "fixed" in marks
            f["conflicts_resolved"] += "resolved" in marks
        elif word in ("done", "overridden") and "done" in marks:
            f[word] += 1
        elif word in OPEN and "reverted" in marks and not n.commit:
            f["reverted"] += 1
        elif word in OPEN and "reopened" in marks:
            f["reopened"] += 1
    return f


def open_questions(events):
    asked = {}
    for e in events:
        if e["type"] == "escalation.opened":
            asked[e["data"]["escalation"]] = True
        elif e["type"] == "escalation.closed":
            asked[e["data"]["escalation"]] = False
    return sorted(n for n, is_open in asked.items() if is_open)


def detectors(events, goal=None):
    """What `report.detectors` has to say."""
    goals = [goal] if goal else sorted({e["goal"] for e in events if e["goal"]})
    found, iterations = [], 0
    for g in goals:
        one = Goal([e for e in events], g) if any(e["type"] == "goal.created" and e["goal"] == g for e in events) else None
        if one:
            found += one.detections()
            iterations += len(one.iterations())

    def figures(list_of):
        told = [x["effectiveness"] for x in list_of]
        known = told.count("helpful") + told.count("unhelpful")
        return {"detections": len(list_of), **{v: told.count(v) for v in VERDICTS},
                "false_positives": sum(x["false_positive"] for x in list_of),
                "precision_milli": told.count("helpful") * 1000 // known if known else None,
                "levels": {w: sum(x["level"] == w for x in list_of) for w in LEVELS}}
    return {"iterations": iterations, "total": figures(found),
            "detectors": {t: figures([x for x in found if x["type"] == t]) for t in DETECTORS}}
