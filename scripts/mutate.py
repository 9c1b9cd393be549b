#!/usr/bin/env python3
"""Measures what the tests detect: changes one line of the program at a time and runs the tests of its room.

usage: scripts/mutate.py [--seed N] [--count N] [--rooms ROOM,…] [--no-headers] [--without PROGRAM,…] [--jobs N]
                         [--tree FOLDER] [--report FILE] [--whole]
       scripts/mutate.py --only src/engine/check.cc:42,… …

Works on a copy of the tracked files, which is built in debug mode; this tree is not touched. Faults are chosen at
random by the seed: a room, a line of it, a fault of that line. For each, the tests that scripts/mutate_rooms.py lists
for its room are built and run until one fails: first those nearest to it, then, for at most FURTHER_SECONDS, further
ones of the suite. With --whole, the rest of the suite is run for those that nothing detected, after all have been
tried: every other program that contains the fault, and every other file of tests/e2e. The report has one line of JSON
per fault with its result:

  detected    a test failed, again when run alone (or a program crashed, or did not end although it does without the
              fault)
  survived    every test passed: write a test, or say why the fault changes nothing that matters
  unsteady    tests failed, and passed when they were run again
  invalid     it does not compile

Faults that a report contains already are not tried again, so an interrupted run can be continued.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import time

from mutate_rooms import ROOMS
from mutations import faults_of

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SLOWEST = 6  # times what a program takes without a fault: longer counts as not ending
LEAST_SECONDS = 60
FURTHER_SECONDS = 300  # for the second step of one fault
SLOW_TEST_MS = 200
WHOLE = "the whole suite passes"


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def run(command, timeout=None):
    """(exit code, output); None as the code if it did not end in time."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               start_new_session=True)
    try:
        output, _ = process.communicate(timeout=timeout)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        return None, process.communicate()[0]


class Bench:
    """The copy of the sources, its build folder and what its test programs need without a fault."""

    def __init__(self, tree, jobs):
        self.tree = os.path.abspath(tree)
        self.jobs = jobs
        self.build = os.path.join(self.tree, "build", "dev")
        self.seconds = {}
        self.slow = {}  # the tests of a program that take long: run after the others
        self.left_out = set()
        self.known = os.path.join(self.tree, "baseline.json")

    def copy_sources(self):
        names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                               check=True, capture_output=True, text=True).stdout.split("\0")
        for name in filter(None, names):
            source, target = os.path.join(ROOT, name), os.path.join(self.tree, name)
            if not os.path.isfile(source):
                continue
            with open(source, "rb") as f:
                text = f.read()
            if os.path.exists(target):
                with open(target, "rb") as f:
                    if f.read() == text:
                        continue
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as f:
                f.write(text)
            os.chmod(target, os.stat(source).st_mode)
        known = set(names)
        for folder, _, files in os.walk(os.path.join(self.tree, "src")):
            for file in files:
                path = os.path.join(folder, file)
                if os.path.relpath(path, self.tree) not in known:
                    os.remove(path)
        # A fault must not compile half a room, and linking takes a good part of the time.
        subprocess.run(["cmake", "--preset", "dev", "-DWEIR_TOGETHER=OFF", "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=gold",
                        "-DCMAKE_CXX_FLAGS_DEBUG=-O0"],
                       cwd=self.tree, check=True, stdout=subprocess.DEVNULL)

    def make(self, program):
        target = "weir_program" if program.endswith(".py") else program
        return run(["ninja", "-C", self.build, f"-j{self.jobs}", target])

    def linked(self, program):
        """When the program was last linked."""
        path = os.path.join(self.build, "bin", program)
        return os.stat(path).st_mtime_ns if os.path.exists(path) else None

    def test(self, program, names=None):
        if program.endswith(".py"):
            command = ["env", f"WEIR_BIN={self.build}/bin/weir", "/usr/bin/python3", "-m", "pytest", "-q", "-x", "-p",
                       "no:cacheprovider", "--rootdir", self.tree]
            command += [os.path.join(self.tree, name) for name in names or [program]]
        else:
            command = [os.path.join(self.build, "bin", program), "--gtest_fail_fast"]
            command += [f"--gtest_filter={':'.join(names)}"] if names else []
        timeout = max(LEAST_SECONDS, SLOWEST * (self.seconds.get(program) or 0))
        return run(command, timeout)

    def measure(self, program):
        """The time without a fault. One whose tests do not pass is left out from then on: it detects nothing."""
        code, output = self.make(program)
        if code != 0:
            sys.exit(f"{program} does not build:\n{output[-3000:]}")
        self.seconds[program] = 600
        for _ in range(2):
            start = time.monotonic()
            code, output = self.test(program)
            if code == 0:
                break
        else:
            print(f"left out, because it fails without a fault: {program}\n{output[-1000:]}", flush=True)
        self.seconds[program] = time.monotonic() - start if code == 0 else None
        self.slow[program] = slow_tests(output)
        with open(self.known, "w", encoding="utf-8") as f:
            json.dump([self.seconds, self.slow], f)

    def keep_baseline(self):
        """Of an interrupted run."""
        if os.path.exists(self.known):
            self.seconds, self.slow = json.loads(read(self.known))


def failed_tests(output):
    name = r"[\w/]+\.[\w/.]+(?:::\w+(?:\[[^\n]*?\])?)?"
    return sorted(set(re.findall(rf"^(?:\[  FAILED  \]|FAILED|ERROR) ({name})", output, re.M)))


def slow_tests(output):
    return [name for name, took in re.findall(r"^\[       OK \] (\S+).*\((\d+) ms\)$", output, re.M)
            if int(took) > SLOW_TEST_MS]


def nearest_tests(tree, path):
    """A filter for the tests beside a file that carry its name: most faults are found there, and soon."""
    folder, stem = os.path.split(os.path.splitext(os.path.join(tree, path))[0])
    suites = set()
    for name in os.listdir(folder):
        if name.startswith(stem) and name.endswith("_test.cc"):
            suites.update(re.findall(r"^TEST(?:_F|_P)?\((\w+),", read(os.path.join(folder, name)), re.M))
    return [pattern for suite in sorted(suites) for pattern in (f"{suite}.*", f"*/{suite}.*")]


def run_one(bench, program, nearest, without_fault):
    """(result, what was seen) of the fault that is in the tree now, by one program or file of tests. Calls
    without_fault() before it uses one that has not been measured."""
    if program in bench.left_out:
        return "survived", ""
    if program not in bench.seconds:
        without_fault(lambda: bench.measure(program))
    if bench.seconds[program] is None:
        return "survived", ""
    code, output = bench.make(program)
    if code != 0:
        return "invalid", re.findall(r"error: .*", output)[:1]
    slow = bench.slow[program]
    # Most faults are found soon.
    parts = [nearest] if nearest else []
    parts += [["-" + ":".join(slow)], slow] if slow else [None]
    for names in parts:
        code, output = bench.test(program, names)
        if code != 0:
            break
    else:
        return "survived", ""
    if code is None:
        # Perhaps only the machine is slow now.
        without_fault(lambda: bench.measure(program))
        bench.make(program)
        code, output = bench.test(program)
        if code is None:
            return "detected", f"{program} did not end"
        if code == 0:
            return "unsteady", f"{program} did not end"
    names = failed_tests(output)
    if not names:
        return "detected", f"{program} ended with {code}"
    if bench.test(program, names)[0] != 0 or bench.test(program)[0] != 0:
        return "detected", f"{program}: {names[0]}"
    return "unsteady", f"{program}: {names[0]}"


def judge(bench, path, room, without_fault):
    """(result, what was seen), by the tests nearest to the room and then by further ones."""
    unsteady = None
    nearest = nearest_tests(bench.tree, path)
    for program in room.nearest:
        result, seen = run_one(bench, program, nearest if program == room.nearest[0] else None, without_fault)
        if result in ("detected", "invalid"):
            return result, seen
        unsteady = unsteady or seen
    left = FURTHER_SECONDS
    untried = []
    for program in room.further:
        if left < (bench.seconds.get(program) or 0):
            untried.append(program)
            continue
        if program not in bench.seconds and program not in bench.left_out:
            without_fault(lambda: bench.measure(program))
        began = time.monotonic()
        result, seen = run_one(bench, program, None, without_fault)
        if result == "detected":
            return result, seen
        unsteady = unsteady or seen
        left -= time.monotonic() - began
    if unsteady:
        return "unsteady", unsteady
    return "survived", "not tried: " + ", ".join(untried) if untried else ""


def suite(bench):
    """Every test program and file of tests of the suite."""
    code, output = run(["ctest", "--test-dir", bench.build, "--show-only=json-v1"])
    if code != 0:
        sys.exit(output)
    commands = [test.get("command", [""])[0] for test in json.loads(output[output.index("{"):])["tests"]]
    programs = {os.path.basename(path) for path in commands if path.startswith(os.path.join(bench.build, "bin"))}
    folder = os.path.join("tests", "e2e")
    files = [name for name in os.listdir(os.path.join(bench.tree, folder)) if re.fullmatch(r"test_\w+\.py", name)]
    return sorted(programs) + sorted(os.path.join(folder, name) for name in files)


def judge_by_the_rest(bench, entry, without_fault):
    """Like judge(), by what that has not run."""
    room = ROOMS[entry["room"]]
    untried = entry["seen"].removeprefix("not tried: ").split(", ") if entry["result"] == "survived" else room.further
    tried = set(room.nearest) | set(room.further).difference(untried)
    for program in suite(bench):
        if program in tried:
            continue
        if program not in bench.seconds and program not in bench.left_out:
            without_fault(lambda: bench.measure(program))
        before = bench.linked(program)
        bench.make(program)
        if not program.endswith(".py") and bench.linked(program) == before:
            continue  # the fault is not in it
        result, seen = run_one(bench, program, None, without_fault)
        if result == "detected":
            return result, seen
    return "survived", WHOLE


def all_faults(tree, rooms, endings):
    """{room: {(path, line): [fault]}}"""
    found = {}
    for room in rooms:
        lines = found.setdefault(room, {})
        for folder, _, files in sorted(os.walk(os.path.join(tree, ROOMS[room].folder))):
            for name in sorted(files):
                path = os.path.relpath(os.path.join(folder, name), tree)
                if not name.endswith(endings) or name.endswith(("_test.cc", "_test_support.h")):
                    continue
                for fault in faults_of(read(os.path.join(tree, path))):
                    lines.setdefault((path, fault.line), []).append(fault)
    return found


def choose(found, seed):
    """Faults without end, in the order that the seed gives."""
    chance = random.Random(seed)
    rooms = sorted(found)
    while True:
        # The square root: small rooms are tried often enough to say something about them.
        room = chance.choices(rooms, [len(found[room]) ** 0.5 for room in rooms])[0]
        place = chance.choice(sorted(found[room]))
        kind = chance.choice(sorted({fault.kind for fault in found[room][place]}))
        yield room, place[0], chance.choice([fault for fault in found[room][place] if fault.kind == kind])


def describe(tree, room, path, fault):
    text = read(os.path.join(tree, path))
    start, end = text.rfind("\n", 0, fault.start) + 1, text.find("\n", fault.end)
    after = text[start:fault.start] + fault.replacement + text[fault.end:end]
    return {"room": room, "path": path, "line": fault.line, "kind": fault.kind, "before": text[start:end].strip(),
            "after": after.strip()}


def try_fault(bench, room, path, fault, judged_by):
    """The entry of the report; judged_by(without_fault) gives (result, what was seen)."""
    target = os.path.join(bench.tree, path)
    text = read(target)
    changed = text[:fault.start] + fault.replacement + text[fault.end:]
    entry = describe(bench.tree, room, path, fault)

    def write(what):
        with open(target, "w", encoding="utf-8") as f:
            f.write(what)

    def without_fault(work):
        write(text)
        work()
        write(changed)

    began = time.monotonic()
    try:
        write(changed)
        entry["result"], entry["seen"] = judged_by(without_fault)
    finally:
        write(text)
    entry["seconds"] = round(time.monotonic() - began, 1)
    return entry


def try_the_rest(bench, found, entries, report):
    """Runs the rest of the suite for the faults that nothing has detected, and writes the report again."""
    for i, entry in enumerate(entries):
        faults = found.get(entry["room"], {}).get((entry["path"], entry["line"]), [])
        fault = next((each for each in faults
                      if describe(bench.tree, entry["room"], entry["path"], each)["after"] == entry["after"]), None)
        if entry["result"] not in ("survived", "unsteady") or entry["seen"] == WHOLE or fault is None:
            continue
        entries[i] = try_fault(bench, entry["room"], entry["path"], fault,
                               lambda without_fault: judge_by_the_rest(bench, entry, without_fault))
        show(entries[i])
        with open(report, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(each) + "\n" for each in entries)


def show(entry):
    print(f"{entry['result']:9} {entry['seconds']:6.1f} s  {entry['path']}:{entry['line']} {entry['kind']}: "
          f"{entry['after']}", f"[{entry['seen']}]" if entry["seen"] else "", flush=True)


def summary(entries):
    counts = {result: sum(entry["result"] == result for entry in entries)
              for result in ("detected", "survived", "unsteady", "invalid")}
    valid = len(entries) - counts["invalid"]
    text = ", ".join(f"{count} {result}" for result, count in counts.items())
    return f"{len(entries)} faults, {valid} valid: {text}"


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options.add_argument("--count", type=int, default=100, help="how many faults that compile")
    options.add_argument("--rooms", default=",".join(ROOMS), help="which rooms, separated by commas")
    options.add_argument("--no-headers", action="store_true", help="a fault in a header takes long to compile")
    options.add_argument("--without", default="", help="programs and files of tests to leave out, separated by commas; "
                         "e2e stands for all of tests/e2e")
    options.add_argument("--whole", action="store_true", help="run the rest of the suite for what nothing detected")
    options.add_argument("--only", default="", help="file:line, separated by commas: every fault of these lines")
    options.add_argument("--jobs", type=int, default=2, help="how many files are compiled at a time")
    options.add_argument("--tree", default=os.path.join(ROOT, "build", "mutate"), help="where the copy is built")
    options.add_argument("--report", default="", help="default: report-SEED.jsonl beside the copy")
    chosen = options.parse_args()
    rooms = chosen.rooms.split(",")
    report = chosen.report or os.path.join(chosen.tree, f"report-{chosen.seed}.jsonl")
    print(f"seed {chosen.seed}, report {report}", flush=True)

    os.nice(max(0, 5 - os.nice(0)))
    bench = Bench(chosen.tree, chosen.jobs)
    left_out = set(chosen.without.split(","))
    for room in ROOMS.values():
        for program in room.nearest + room.further:
            if program in left_out or ("e2e" in left_out and program.endswith(".py")):
                bench.left_out.add(program)
    os.makedirs(bench.tree, exist_ok=True)
    bench.copy_sources()
    found = all_faults(bench.tree, rooms, (".cc",) if chosen.no_headers else (".cc", ".h"))
    places = {tuple(place.rsplit(":", 1)) for place in chosen.only.split(",") if place}
    candidates = choose(found, chosen.seed)
    if places:
        candidates = [(room, path, fault) for room in rooms for (path, line), faults in found[room].items()
                      for fault in faults if (path, str(line)) in places]
    entries = []
    if os.path.exists(report):
        bench.keep_baseline()
        entries = [json.loads(line) for line in read(report).splitlines()]
    done = {(entry["path"], entry["line"], entry["after"]) for entry in entries}
    for room, path, fault in candidates:
        if not places and sum(entry["result"] != "invalid" for entry in entries) >= chosen.count:
            break
        key = (path, fault.line, describe(bench.tree, room, path, fault)["after"])
        if key in done:
            continue
        done.add(key)
        entry = try_fault(bench, room, path, fault,
                          lambda without_fault: judge(bench, path, ROOMS[room], without_fault))
        entries.append(entry)
        with open(report, "a", encoding="utf-8") as f:
            f.write(json.dumps(entry) + "\n")
        show(entry)
    if chosen.whole:
        try_the_rest(bench, found, entries, report)
    print(summary(entries))


if __name__ == "__main__":
    main()
