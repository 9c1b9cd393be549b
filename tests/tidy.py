#!/usr/bin/env python3
"""Style checks: which room may include which, names that say nothing, files that grow too long.

Run by `make test`. Prints one line per fault and fails if there is any.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))



def read_arrows():
    """The rooms and what each sees, from src/CMakeLists.txt: {folder: set of folders, or None for everything}."""
    with open(os.path.join(ROOT, "src", "CMakeLists.txt"), encoding="utf-8") as f:
        text = f.read()
    rooms = {}
    for found in re.finditer(r"^weir_room\((\w+) DIR (\S+?)(?: SEES ([\w ]+?))?(?: (?:USES|APART)[^)]*)?\)", text, re.M):
        name, folder, sees = found.groups()
        rooms[name] = (folder, (sees or "").split())
    return {
        folder: None if sees == ["everything"] else {rooms[room][0] for room in sees}
        for folder, sees in rooms.values()
    }


ARROWS = read_arrows()
EMPTY_NAMES = re.compile(r"\b\w*(Manager|Helper|Util|Utils|Misc|Common)\b")
MAX_LINES = 500
WRITTEN = (".cc", ".h", ".lua", ".py", ".ts", ".tsx", ".mjs", ".css")
PROMISES = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def sources():
    for top in ("include", "src", "tests", "bench", "examples", "console"):
        for folder, folders, files in os.walk(os.path.join(ROOT, top)):
            folders[:] = [each for each in folders if each != "node_modules"]
            for name in sorted(files):
                if name.endswith(WRITTEN) and name != "openapi.d.ts":  # which is generated
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


def room_of(path):
    parts = path.split(os.sep)[1:-1]
    for length in range(len(parts), 0, -1):
        room = "/".join(parts[:length])
        if room in ARROWS:
            return room
    return None


def check_arrows(path, text, faults):
    is_test = path.endswith("_test.cc")
    if not path.startswith("src" + os.sep) or is_test:
        return
    room = room_of(path)
    if room is None:
        if path != os.path.join("src", "main.cc"):
            faults.append(f"{path}: is in no room of src/CMakeLists.txt")
        return
    allowed = ARROWS[room]
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r'#include "([^"]+)"', line)
        if not found or found.group(1).startswith("weir/"):
            continue
        other = room_of(os.path.join("src", found.group(1)))
        if other is None or other == room or allowed is None or other in allowed:
            continue
        faults.append(f"{path}:{number}: {room} may not include {other}")


def check_text(path, text, faults):
    lines = text.splitlines()
    if len(lines) > MAX_LINES:
        faults.append(f"{path}: {len(lines)} lines; is it still one idea? ({MAX_LINES} at most)")
    for number, line in enumerate(lines, 1):
        if path.endswith("tidy.py"):
            break
        if PROMISES.search(line):
            faults.append(f"{path}:{number}: a promise in a comment; keep it or file it")
        if path.endswith((".cc", ".h")) and re.match(r"\s*(class|struct|namespace) ", line) and EMPTY_NAMES.search(line):
            faults.append(f"{path}:{number}: a name that says nothing")
        if line != line.rstrip():
            faults.append(f"{path}:{number}: space at the end of the line")
    if path.startswith("include") and not re.search(r'^#pragma once$', text, re.M):
        faults.append(f"{path}: no #pragma once")
    if path.startswith("include"):
        for found in re.finditer(r'#include [<"]([^>"]+)[>"]', text):
            if "/" in found.group(1) and not found.group(1).startswith("weir/"):
                faults.append(f"{path}: includes {found.group(1)}; public headers know only std and weir/")


def main():
    faults = []
    for path in sources():
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            text = f.read()
        check_arrows(path, text, faults)
        check_text(path, text, faults)
    if len(ARROWS) < 10:
        faults.append("src/CMakeLists.txt: expected the rooms as weir_room(name DIR folder SEES …)")
    print("\n".join(faults) if faults else "tidy")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
