# SPDX-License-Identifier: BSD-2-Clause
"""`selftest`: what it says of steps that pass, fail, hang, or cannot start."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from results.errors import InputError
from runners import selftest
from runners.checkout import Checkout
from runners.selftest import STEPS, Step
from tests.runners.fake_checkout import REPOSITORY, Cts


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout for steps to run in."""
    for name in ("include", "harness"):
        (tmp_path / name).mkdir()
    (tmp_path / "include/a.h").touch()
    (tmp_path / "harness/b.c").touch()
    return tmp_path


def run(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    steps: Sequence[Step],
    only: str = "",
    pages: Path | None = None,
) -> int:
    """Run these steps instead of the project's."""
    monkeypatch.setattr(selftest, "STEPS", steps)
    return selftest.selftest(Checkout(root), only, pages, listing=False)


def test_all_pass(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [Step("one", "first", ["true", "{python} -c pass"]), Step("two", "second", ["true"])]
    assert run(root, monkeypatch, steps) == 0
    out = capsys.readouterr().out
    assert "[ 1/2] one        first ... ok" in out
    assert out.endswith("2 passed, 0 failed\n")


def test_failed_tests_are_named_after_the_tail(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = "echo FAILED tests/a.py::test_b; seq 100; exit 1"
    assert run(root, monkeypatch, [Step("one", "first", [f"sh -c '{script}'"])]) == 1
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines.index("FAILED tests/a.py::test_b") == lines.index("100") + 1


def test_what_a_failed_program_of_a_guest_said_is_told(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = r'printf "not ok - pings\n  did not end\nok - pongs\n"; seq 100; exit 1'
    assert run(root, monkeypatch, [Step("one", "first", [f"sh -c '{script}'"])]) == 1
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[lines.index("100") + 1 :][:2] == ["not ok - pings", "did not end"]
    assert "ok - pongs" not in lines


def test_what_failed_before_a_second_try_is_told(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = r'printf "not ok - pings\n  did not end\nok - pings\n"'
    assert run(root, monkeypatch, [Step("one", "first", [f"sh -c '{script}'"])]) == 0
    out = capsys.readouterr().out
    assert "passed at the second try, after:\n    not ok - pings\n      did not end\n" in out
    assert out.endswith("1 passed, 0 failed\n")


def test_a_step_of_all_runs_if_it_is_asked_for(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [Step("one", "first", ["true"]), Step("one-more", "second", ["true"], of_all=True)]
    assert run(root, monkeypatch, steps) == 0
    assert "1 passed, 0 failed" in capsys.readouterr().out
    assert run(root, monkeypatch, steps, only="one-more") == 0
    assert "1 passed, 0 failed" in capsys.readouterr().out
    selftest.selftest(Checkout(root), "", None, listing=False, everything=True)
    assert "2 passed, 0 failed" in capsys.readouterr().out
    selftest.selftest(Checkout(root), "", None, listing=True)
    assert "one-more" in capsys.readouterr().out


def test_a_failure_is_told_and_the_others_go_on(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [
        Step("one", "first", ["sh -c 'echo hard luck; exit 3'", "touch never"]),
        Step("two", "second", ["touch later"]),
    ]
    assert run(root, monkeypatch, steps) == 1
    out = capsys.readouterr().out
    assert "    hard luck" in out
    assert "ended with status 3" in out
    assert out.endswith("1 passed, 1 failed\n")
    assert not (root / "never").exists()
    assert (root / "later").exists()
    assert "hard luck" in (root / ".cache/selftest/one.log").read_text()


def test_a_step_beside_others_meets_them_and_is_told(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    meets = "until [ -p b ]; do :; done; read x <a; echo 1 >b"
    steps = [
        Step("one", "first", [f"sh -c '{meets}'"], timeout=60, beside=True),
        Step("two", "second", ["sh -c 'mkfifo a b; echo 1 >a; read x <b'"], timeout=60),
        Step("three", "third", ["false"], beside=True),
    ]
    assert run(root, monkeypatch, steps) == 1
    out = capsys.readouterr().out
    assert "[ 1/3] one        first ... ok" in out
    assert "[ 2/3] two        second ... ok" in out
    assert "[ 3/3] three      third ... FAILED" in out
    assert out.endswith("2 passed, 1 failed\n")


def test_a_step_that_hangs_is_ended_with_all_it_started(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    held = "exec 9>held; flock 9; (while read x < fifo; do :; done) & wait"
    (root / "script").write_text(f"mkfifo fifo\n{held}\n")
    steps = [Step("one", "first", ["sh script"], timeout=1)]
    assert run(root, monkeypatch, steps) == 1
    assert "sh did not end within 1 s" in capsys.readouterr().out
    # A process that was killed holds its files until it has gone.
    steps = [Step("two", "second", ["flock -w 60 held true"])]
    assert run(root, monkeypatch, steps) == 0


def test_a_tool_that_is_missing(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(root, monkeypatch, [Step("one", "first", ["no-such-tool"])]) == 1
    assert "no-such-tool is not installed" in capsys.readouterr().out


def test_words_that_stand_for_others(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [
        Step("files", "first", ["cp {c_files} {work}"]),
        Step("pages", "second", ["sh -c 'echo $* >pages' - {pages}"]),
    ]
    assert run(root, monkeypatch, steps, pages=root) == 0
    assert {path.name for path in (root / ".cache/selftest/files").iterdir()} == {"a.h", "b.c"}
    assert (root / "pages").read_text() == f"--pages {root}\n"


def test_some_steps_only(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [Step("one", "first", ["false"]), Step("two", "second", ["true"])]
    assert run(root, monkeypatch, steps, only="tw") == 0
    assert "1 passed, 0 failed" in capsys.readouterr().out
    with pytest.raises(InputError, match="nearest: two"):
        run(root, monkeypatch, steps, only="twoo")


def test_the_project_names_its_steps_once() -> None:
    names = [step.name for step in STEPS]
    assert len(set(names)) == len(names)
    for step in STEPS:
        assert step.commands


def test_the_steps_can_be_listed(cts: Cts) -> None:
    done = cts("selftest", "--list")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == [step.name for step in STEPS]
    assert cts("selftest", "-k", "nosuchstep").returncode == 64


def test_folders_that_steps_name_exist() -> None:
    for name in (*selftest.C_FOLDERS, *selftest.GUEST_TESTS, *selftest.LAB_TESTS):
        assert (REPOSITORY / name).is_dir(), name
