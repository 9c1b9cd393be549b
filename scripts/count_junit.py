#!/usr/bin/env python3
"""Prints "passed failed" for a JUnit report.

usage: scripts/count_junit.py REPORT [AGAIN]

AGAIN is the report of a second run of the tests that failed. A test that passed there counts as passed and is reported
as flaky; one that failed again, or was not run again, counts as failed. Each test counts once, skipped tests do not
count. A test whose program is not built, which ctest reports as skipped, counts as failed. Fails if REPORT contains no
test.
"""
import os
import sys
import xml.etree.ElementTree as tree


def cases(path):
    return list(tree.parse(path).getroot().iter("testcase"))


def name(case):
    parts = [case.get("classname"), case.get("name")]
    return parts[1] if parts[0] in (None, "", parts[1]) else "::".join(parts)


def not_built(case):
    if case.get("name", "").endswith("_NOT_BUILT"):
        return True
    return any("Unable to find executable" in part.get("message", "") + (part.text or "") for part in case.iter())


def failed(case):
    return case.find("failure") is not None or case.find("error") is not None or not_built(case)


def main():
    first = cases(sys.argv[1])
    if not first:
        sys.exit("no tests in " + sys.argv[1])
    again = cases(sys.argv[2]) if len(sys.argv) > 2 and os.path.exists(sys.argv[2]) else []
    failed_again = {name(case) for case in again if failed(case)}
    passed_again = {name(case) for case in again if not failed(case) and case.find("skipped") is None} - failed_again
    broken = []
    for case in filter(failed, first):
        if name(case) in passed_again:
            print("flaky:", name(case), "(failed, then passed when run again)", file=sys.stderr)
        else:
            print("FAILED:", name(case) + (" (its program is not built)" if not_built(case) else ""), file=sys.stderr)
            broken.append(case)
    skipped = [case for case in first if case.find("skipped") is not None and not failed(case)]
    print(len(first) - len(broken) - len(skipped), len(broken))


if __name__ == "__main__":
    main()
