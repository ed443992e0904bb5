"""Compares what the program reports with the oracle, field by field. Each function gives a list of differences."""

import datetime

import reports

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def ms(text):
    """Milliseconds of a time as the program writes it; 0: none."""
    if not text:
        return 0
    at = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return round((at - EPOCH) / datetime.timedelta(milliseconds=1))


def differ(where, want, have):
    return [] if want == have else [f"{where}: the log says {want!r}, the report {have!r}"]


def members(where, want, have, times=()):
    """Every member that the oracle knows."""
    out = []
    for key, value in want.items():
        if key.startswith("_"):
            continue
        shown = have.get(key)
        if key in times:
            shown = ms(shown)
        elif shown is None and value in ("", 0, False):
            shown = value
        out += differ(f"{where}.{key}", value, shown)
    return out


def rows(where, want, have, most, key, times=("at",)):
    """A table that keeps the newest rows and says how many there were."""
    out = differ(f"{where}.total", len(want), have.get("total"))
    shown = have.get("rows") or []
    out += differ(f"{where}.rows", [r[key] for r in want[-most:]], [r.get(key) for r in shown])
    if not out:
        for w, h in zip(want[-most:], shown):
            out += members(f"{where}[{w[key]}]", w, h, times)
    return out


def curve(where, points, have, keys):
    want = reports.curve(points)
    shown = [(ms(p["at"]), *(p[k] for k in keys)) for p in have]
    if len(want) <= reports.POINTS:
        return differ(where, want, shown)
    # Thinned out: few enough, each of them true at its time, and the last one is where it is now.
    out = differ(f"{where}, last", want[-1], shown[-1]) + differ(f"{where}, first", want[0], shown[0])
    if len(shown) > reports.POINTS or not set(shown) <= set(want):
        out.append(f"{where}: {len(shown)} points, not all of them of the {len(want)} true ones")
    return out


def goal(events, name, doc):
    g = reports.Goal(events, name)
    its, found = g.iterations(), g.detections()
    out = members("goal", g.heads(), doc["goal"], ("created_at", "ended_at"))
    out += curve("progress", g.progress, doc["progress"], ("progress_centi", "done"))
    out += curve("spending", g.spending, doc["spending"], ("cost_microusd", "tokens"))
    out += tasks(g, doc.get("tasks") or {})
    keys = ("node", "run", "number", "failed", "tests", "cost_microusd", "tokens", "completion_centi", "at")
    out += rows("iterations", [{k: it[k] for k in keys if k in it} for it in its], doc["iterations"], reports.ROWS, "run")
    out += differ("iterations.failed", sum(bool(it.get("failed")) for it in its), doc["iterations"]["failed"])
    out += rows("detections", found, doc["detections"], reports.DETECTION_ROWS, "id")
    out += differ("detections.by_level", g.levels(), doc["detections"]["by_level"])
    verdicts = [x["effectiveness"] for x in found]
    out += differ("detections.verdicts", {v: verdicts.count(v) for v in reports.VERDICTS}, doc["detections"].get("verdicts"))
    out += rows("notices", g.notices(), doc["notices"], reports.ROWS, "id")
    out += rows("inbox", g.inbox(), doc["inbox"], reports.ROWS, "number")
    out += rows("changes", g.changes(), doc["changes"], reports.ROWS, "to")
    if "usage" in doc:
        for res, used in (("cost_microusd", g.cost), ("tokens", g.tokens)):
            shown = doc["usage"][res]
            out += differ(f"usage.{res}.spent", used, shown["spent"])
            if not shown["shared"]:
                out += differ(f"usage.{res}.used", used, shown["used"] - shown["live"])
    return [f"report {name[:13]}: {x}" for x in out]


def tasks(g, have):
    want = g.tasks()
    words = [t["became"] for t in want.values()]
    out = differ("tasks.total", len(want), have.get("total"))
    out += differ("tasks.by", {w: words.count(w) for w in sorted(set(words))},
                  {w: n for w, n in sorted((have.get("by") or {}).items()) if n})
    shown = have.get("rows") or []
    names = [t["node"] for t in shown]
    out += differ("tasks.rows, each once", sorted(set(names)), sorted(names))
    out += differ("tasks.rows, how many", min(len(want), reports.TASK_ROWS), len(shown))
    for t in shown:
        out += members(f"tasks[{t['node']}]", want[t["node"]], t, ("at",)) if t["node"] in want else [f"tasks: {t['node']} is none"]
    return out


def period(events, since, doc):
    want = reports.period(events, since, ms(doc["at"]))
    return [f"report since {doc['since']}: {x}" for x in members("", want, doc, ("crashed_at", "people_at"))]


def detectors(events, name, doc):
    want = reports.detectors(events, name)
    out = differ("goal", name, doc["goal"]) + differ("iterations", want["iterations"], doc["iterations"])
    out += differ("types", list(want["detectors"]), [row["type"] for row in doc["detectors"]])
    for kind, row in zip(want["detectors"], doc["detectors"]):
        out += members(kind, want["detectors"][kind], row)
    out += members("total", want["total"], doc["total"])
    return [f"detectors of {name or 'all'}: {x}" for x in out]


def rescued(events, list_of):
    """list_of: ref, commit, runs (whose work it really holds), changed, on_target, owner (as the program says)."""
    node_of, order, out = {}, {}, []
    for e in events:
        if e["type"] == "run.created":
            node_of[e["run"]] = (e["goal"], e["node"])
            order[e["run"]] = len(order)
    for x in list_of:
        o = x["owner"]
        if x["on_target"]:
            out.append(f"{x['ref']} holds nothing that the target branch has not")
        elif x["runs"]:
            last = max(x["runs"], key=lambda r: order[r])
            out += differ(f"{x['ref']} ({o.get('why')}), task", node_of[last], (o.get("goal"), o.get("node")))
            out += differ(f"{x['ref']}, task of its run", node_of[last], node_of.get(o.get("run")))
    return out
