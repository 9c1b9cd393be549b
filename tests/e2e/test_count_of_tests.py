"""How `make test` counts tests that failed and were run again (scripts/count_junit.py)."""
import pathlib
import subprocess

COUNT = pathlib.Path(__file__).parents[2] / "scripts/count_junit.py"


def report(path, **cases):
    """A JUnit report; the value of a case is the element inside it, or nothing if it passed."""
    inside = {name: f"<{outcome}/>" if outcome else "" for name, outcome in cases.items()}
    path.write_text("<testsuite>" + "".join(f'<testcase classname="tests" name="{name}">{text}</testcase>'
                                            for name, text in inside.items()) + "</testsuite>")
    return path


def count(*reports):
    return subprocess.run(["/usr/bin/python3", COUNT, *reports], capture_output=True, text=True)


def test_a_test_that_passes_when_run_again_counts_once_and_is_reported(tmp_path):
    first = report(tmp_path / "first.xml", good="", flaky="failure", broken="error", absent="skipped")
    again = report(tmp_path / "again.xml", flaky="", broken="failure")
    result = count(first, again)
    assert result.stdout == "2 1\n"
    assert result.stderr.splitlines() == ["flaky: tests::flaky (failed, then passed when run again)", "FAILED: tests::broken"]


def test_a_failure_that_was_not_run_again_stays_a_failure(tmp_path):
    first = report(tmp_path / "first.xml", good="", broken="failure")
    assert count(first).stdout == "1 1\n"
    assert count(first, tmp_path / "missing.xml").stdout == "1 1\n"
    assert count(first, report(tmp_path / "again.xml", broken="skipped")).stdout == "1 1\n"


def test_a_report_without_tests_is_an_error(tmp_path):
    result = count(report(tmp_path / "first.xml"))
    assert result.returncode != 0
    assert "no tests" in result.stderr
