#!/usr/bin/env python3
"""Prints "passed failed" for a JUnit report; fails when the report holds no test."""
import sys
import xml.etree.ElementTree as tree

cases = list(tree.parse(sys.argv[1]).getroot().iter("testcase"))
broken = [c for c in cases if c.find("failure") is not None or c.find("error") is not None]
skipped = [c for c in cases if c.find("skipped") is not None]
if not cases:
    sys.exit("no tests in " + sys.argv[1])
for case in broken:
    print("FAILED:", case.get("classname"), case.get("name"), file=sys.stderr)
print(len(cases) - len(broken) - len(skipped), len(broken))
