#!/usr/bin/env python3
"""clang-tidy over the sources of the rooms, with the checks of .clang-tidy; called by scripts/clang-tidy.sh.

A file that was clean is not looked at again until it, something of ours that it includes, or .clang-tidy changes: what
each includes is what ninja noted when it compiled it. A first run takes about ten minutes on two cores, later ones
seconds. Arguments name files or folders to look at; none: all.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "dev"  # where each file is compiled by itself
CLEAN = BUILD / "tidy"


def sources(wanted):
    """Our files that are compiled, without tests."""
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    ours = {pathlib.Path(os.path.normpath(pathlib.Path(each["directory"]) / each["file"])): each["command"] for each in commands}
    for path, command in sorted(ours.items()):
        built = command.split(" -o ")[1].split(" ")[0]
        relative = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
        if relative.startswith("src/") and not relative.endswith("_test.cc"):
            if not wanted or any(relative == name or relative.startswith(name.rstrip("/") + "/") for name in wanted):
                yield relative, built


def write_commands():
    """The commands without GCC's precompiled headers, which clang cannot read."""
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    for each in commands:
        each["command"] = re.sub(r" (-Winvalid-pch|-fpch-preprocess|-include \S*cmake_pch\.hxx)(?= )", "", each["command"])
    (CLEAN / "compile_commands.json").write_text(json.dumps(commands))


def includes():
    """Per object: what of ours it was compiled from."""
    found, current = {}, None
    for line in subprocess.run(["ninja", "-C", str(BUILD), "-t", "deps"], capture_output=True, text=True, check=True).stdout.splitlines():
        if line and not line.startswith(" "):
            current = found.setdefault(line.split(":")[0], [])
        elif line.strip():
            path = pathlib.Path(os.path.normpath(BUILD / line.strip()))
            if path.is_relative_to(ROOT) and not path.is_relative_to(BUILD):
                current.append(path)
    return found


def fingerprint(relative, headers):
    digest = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for path in sorted({ROOT / relative, *headers}):
        digest.update(path.read_bytes() if path.exists() else b"gone")
    return digest.hexdigest()


def look_at(relative, stamp):
    mark = CLEAN / relative.replace("/", "-")
    if mark.exists() and mark.read_text() == stamp:
        return relative, None
    done = subprocess.run(["clang-tidy-14", "-p", str(CLEAN), "--quiet", relative], cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 0:
        mark.write_text(stamp)
        return relative, ""
    return relative, done.stdout + "".join(line for line in done.stderr.splitlines(True) if "warnings generated" not in line)


def main():
    CLEAN.mkdir(exist_ok=True)
    write_commands()
    headers = includes()
    work = [(relative, fingerprint(relative, headers.get(built, []))) for relative, built in sources(sys.argv[1:])]
    if not work:
        sys.exit("no such file: " + " ".join(sys.argv[1:]))
    looked, faulty = 0, 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for relative, told in pool.map(lambda each: look_at(*each), work):
            looked += told is not None
            if told:
                faulty += 1
                print(told, end="", flush=True)
    print(f"{len(work)} files, {looked} looked at, {faulty} with findings")
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())
