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


def test_a_test_whose_program_is_not_built_is_a_failure(tmp_path):
    skipped = '<testcase name="{}" status="notrun"><skipped message="{}"/></testcase>'
    first = tmp_path / "first.xml"
    first.write_text("<testsuite><testcase name=\"good\"/>" + skipped.format("redis_tests", "Unable to find executable: bin/redis_tests")
                     + skipped.format("engine_tests_NOT_BUILT", "") + skipped.format("absent", "") + "</testsuite>")
    result = count(first)
    assert result.stdout == "1 2\n"
    assert result.stderr.splitlines() == ["FAILED: redis_tests (its program is not built)",
                                          "FAILED: engine_tests_NOT_BUILT (its program is not built)"]
