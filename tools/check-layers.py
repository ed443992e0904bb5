#!/usr/bin/env python3
"""Check the architecture's dependency rules over src/.

usage: check-layers.py [ROOT]

Each folder of src/ is a layer that may include (and link) only the layers named
below. Also checked: files stay small enough to be read in one go, headers have
#pragma once, and includes are written "layer/file.h".
"""

import re
import sys
from pathlib import Path

# layer -> (layers that it may use, single headers of other layers)
RULES = {
    "base": ([], []),
    "data": (["base"], []),
    "agent": (["base", "data"], []),
    "core": (["base", "data", "agent"], []),
    "store": (["base", "data"], []),
    "sys": (["base"], []),
    "net": (["base", "data", "sys"], []),
    "drive": (["base", "data", "sys", "net"], ["core/model.h", "shim/proto.h"]),
    "app": (["base", "data", "agent", "core", "store", "sys", "net", "drive"], []),
    "shim": (["base"], []),
    # Without a loop: the watchdog is small, and must live when everything else is ill.
    "watch": (["base", "data"],
              ["sys/file.h", "sys/clock.h", "sys/proc.h", "sys/rand.h", "sys/git_env.h"]),
    "cli": (["base", "data", "agent", "core"], ["sys/file.h", "sys/clock.h", "sys/owner.h", "sys/userns.h", "watch/remedy.h", "watch/spec.h"]),
}
# Headers that belong to no layer.
COMMON = {"version.h"}
MAX_LINES = {".c": 600, ".h": 200}

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
LINKED = re.compile(r"\b([a-z]+)_dep\b")


def check_include(layer, target):
    """The reason why this layer may not include the target, or None."""
    if target in COMMON:
        return None
    part = target.split("/")[0]
    if "/" not in target or part not in RULES:
        return f'"{target}": write "layer/file.h"'
    layers, headers = RULES[layer]
    if part == layer or part in layers or target in headers:
        return None
    allowed = ", ".join(layers + headers) or "itself only"
    return f'"{target}": {layer} may use {allowed}'


def check_source(root, path, layer):
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        reason = match and check_include(layer, match.group(1))
        if reason:
            yield f"{path.relative_to(root)}:{number}: {reason}"
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
                yield from check_source(root, path, layer)


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    problems = list(check(root))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
