#!/usr/bin/env python3
"""Check the architecture's dependency rules over src/.

usage: check-layers.py [ROOT]

Each folder of src/ is a layer that may include (and link) only the layers named
below. A layer of more than 25 files is divided into rooms, folders one level below
it; a smaller one is a room itself. Each room has a README.md that says what it is
for, its entry points, what never belongs in it, and in the line `Uses:` all other
rooms that it includes, and no more. Rooms do not use each other in a circle, and a
header named *_impl.h is private to its folder. What a header declares is defined in
its room, so that calls follow the includes. Also checked: files stay small enough
to be read in one go, headers have #pragma once, and includes are written from src.
"""

import re
import sys
from pathlib import Path

from includes import COMMON, edges, includes, names_in_uses, room_of, sources

# layer -> (layers that it may use, single rooms and headers of other layers)
RULES = {
    "base": ([], []),
    "data": (["base"], []),
    "agent": (["base", "data"], []),
    "core": (["base", "data", "agent"], []),
    "store": (["base", "data"], []),
    "sys": (["base"], []),
    "net": (["base", "data", "sys"], []),
    "drive": (["base", "data", "sys", "net"], ["shim/proto.h"]),
    "app": (["base", "data", "agent", "core", "store", "sys", "net", "drive"], []),
    "shim": (["base"], []),
    # Without a loop: the watchdog is small, and must live when everything else is ill.
    "watch": (["base", "data"],
              ["sys/file", "sys/host", "sys/proc"]),
    "cli": (["base", "data", "agent", "core"], ["sys/file", "sys/host", "watch/guard/spec.h", "watch/remedy/remedy.h"]),
}
MAX_LINES = {".c": 600, ".h": 200}
MAX_FILES = 25
# What a README has beside the line `Uses:`, which is checked by itself.
PARTS = [("a title, the room's name", r"\A# `?%s`?$"), ("its entry points", r"^\W*entry points?\b"),
         ("what never belongs in it", r"^\W*never\b|\bnever belongs?\b")]

COMMENT = re.compile(r"/\*.*?\*/", re.S)
# Functions at the beginning of a line that are not static: with a body, and without one.
DEFINED = re.compile(r"^(?!static\b|typedef\b|[#\s}])[\w *]*?\b(\w+)\((?:[^;{}()]|\([^()]*\))*\)\n\{", re.M)
DECLARED = re.compile(r"^(?!static\b|typedef\b|[#\s}])[\w *]*?\b(\w+)\((?:[^;{}()]|\([^()]*\))*\)[^;{}]*;", re.M)
LINKED = re.compile(r"\b([a-z]+)_dep\b")


def check_include(layer, target):
    """The reason why this layer may not include the target, or None."""
    if target in COMMON:
        return None
    part = target.split("/")[0]
    if "/" not in target or part not in RULES:
        return f'"{target}": write "layer/file.h" or "layer/room/file.h"'
    layers, singles = RULES[layer]
    if part == layer or part in layers or target in singles or room_of(target) in singles:
        return None
    allowed = ", ".join(layers + singles) or "itself only"
    return f'"{target}": {layer} may use {allowed}'


def check_includes(src):
    for path, line, target in includes(src):
        layer = path.split("/")[0]
        reason = layer in RULES and check_include(layer, target)
        if reason:
            yield f"src/{path}:{line}: {reason}"
        elif target.endswith("_impl.h") and room_of(target) != room_of(path):
            yield f'src/{path}:{line}: "{target}" is private to {room_of(target)}'


def check_source(root, path):
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines()
    limit = MAX_LINES[path.suffix]
    if len(lines) > limit:
        yield f"{path.relative_to(root)}: {len(lines)} lines, the limit is {limit}: split the module"
    if path.suffix == ".h" and "#pragma once" not in text:
        yield f"{path.relative_to(root)}: no #pragma once"


def check_links(root, path, layer):
    layers, headers = RULES[layer]
    allowed = {layer, *layers, *(h.split("/")[0] for h in headers)}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for name in LINKED.findall(line.split("#")[0]):
            if name in RULES and name not in allowed:
                yield f"{path.relative_to(root)}:{number}: {layer} may not link {name}_dep"


def check_readme(root, folder, used):
    """The room's README, and its line `Uses:` against what the room includes."""
    path, name = folder / "README.md", str(folder.relative_to(root / "src"))
    where = path.relative_to(root)
    if not path.exists():
        yield f"{where}: is missing; say what the room is for, its entry points, what never belongs in it, and `Uses:`"
        return
    text = path.read_text(encoding="utf-8")
    for part, pattern in PARTS:
        if not re.search(pattern.replace("%s", name), text, re.M | re.I):
            yield f"{where}: does not say {part}"
    for header in re.findall(r"`(\w+\.h)`", text):
        if not (folder / header).exists():
            yield f"{where}: there is no {header} here"
    uses = names_in_uses(text)
    if uses is None:
        yield f"{where}: no line `Uses:` (here: Uses: {', '.join(sorted(used)) or 'nothing'})"
        return
    for other in sorted(set(used) - set(uses)):
        yield f'src/{used[other].path}:{used[other].line}: "{used[other].target}": {other} is not in the line `Uses:` of {where}'
    for other in sorted(set(uses) - set(used)):
        yield f"{where}: Uses: {other}, which nothing here includes"


def check_room(root, folder, used, has_rooms):
    src = root / "src"
    parts = folder.relative_to(src).parts
    name = "/".join(parts)
    if len(parts) > 2:
        yield f"src/{name}: rooms are one level below their layer"
    if len(parts) == 1 and has_rooms:
        yield f"src/{name}: a layer with rooms keeps no .c or .h of its own"
    yield from check_readme(root, folder, used)


def check_files(root):
    """No folder holds more than can be seen at once."""
    for folder in sorted(p for p in (root / "src").rglob("*") if p.is_dir()):
        count = sum(p.is_file() for p in folder.iterdir())
        if count > MAX_FILES:
            yield f"{folder.relative_to(root)}: {count} files, the limit is {MAX_FILES}: make rooms"


def way(graph, start, end):
    """The shortest way from one room to another, both included, or None."""
    came, queue = {start: None}, [start]
    for room in queue:
        if room == end:
            steps = [room]
            while came[steps[-1]] is not None:
                steps.append(came[steps[-1]])
            return steps[::-1]
        for other in graph.get(room, []):
            if other not in came:
                came[other] = room
                queue.append(other)
    return None


def check_circles(found):
    """Circles of rooms, each shown with one include per step; one circle per room that is in any."""
    graph, told = {}, set()
    for room, other in sorted(found):
        graph.setdefault(room, []).append(other)
    for room in sorted(graph):
        if room in told:
            continue
        ways = [w for w in (way(graph, other, room) for other in graph[room]) if w]
        if not ways:
            continue
        steps = [room, *min(ways, key=len)]
        told.update(steps)
        yield f"src/{room}: rooms in a circle: {' -> '.join(steps)}"
        for pair in zip(steps, steps[1:]):
            x = found[pair][0]
            yield f'  src/{x.path}:{x.line}: includes "{x.target}"'


# Headers that declare what other rooms define: to be divided, none to be added.
DECLARES_OTHERS = {"cli/out/status_watch.h", "drive/worktree/worktree.h"}


def check_declared(src):
    """A function that a header declares is defined in the header's own room: calls follow the includes."""
    texts = {str(p): COMMENT.sub("", (src / p).read_text(encoding="utf-8", errors="replace")) for p in sources(src)}
    rooms = {}
    for path, text in texts.items():
        for name in DEFINED.findall(text) if path.endswith(".c") else []:
            rooms.setdefault(name, set()).add(room_of(path))
    for path, text in texts.items():
        for name in DECLARED.findall(text) if path.endswith(".h") and path not in DECLARES_OTHERS else []:
            if room_of(path) not in rooms.get(name, {room_of(path)}):
                yield f"src/{path}: declares {name}(), which is defined in {', '.join(sorted(rooms[name]))}"


def check_rooms(root):
    src = root / "src"
    found = edges(src)
    rooms = sorted({room_of(p) for p in sources(src) if len(p.parts) > 1 and p.parts[0] in RULES})
    for room in rooms:
        used = {pair[1]: x[0] for pair, x in found.items() if pair[0] == room}
        yield from check_room(root, src / room, used, any(r.startswith(room + "/") for r in rooms))
    yield from check_circles(found)


def check(root):
    src = root / "src"
    for path in sorted(src.rglob("*")):
        parts = path.relative_to(src).parts
        if len(parts) < 2 or not path.is_file():
            continue
        layer = parts[0]
        if path.suffix in MAX_LINES or path.name == "meson.build":
            if layer not in RULES:
                yield f"{path.relative_to(root)}: {layer} is not a known layer: give it a rule here"
            elif path.name == "meson.build":
                yield from check_links(root, path, layer)
            else:
                yield from check_source(root, path)
    yield from check_includes(src)
    yield from check_files(root)
    yield from check_declared(src)
    yield from check_rooms(root)


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    problems = list(check(root))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
