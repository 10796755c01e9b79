# SPDX-License-Identifier: BSD-2-Clause
"""dat.conf: which entries a provider can be named by, and the entry that the runner writes."""

from pathlib import Path

import pytest

from results.errors import InputError
from runners.fabric import datconf
from runners.fabric.files import Files

GOOD = 'ia0 u1.2 nonthreadsafe default libx.so v.1.0 "params" ""'


def read(tmp_path: Path, text: str) -> list[datconf.Entry]:
    """The entries of a file with this text."""
    path = tmp_path / "dat.conf"
    path.write_text(text)
    return datconf.entries(datconf.read(path, Files()))


@pytest.mark.parametrize(
    "line",
    [
        GOOD,
        "\t " + GOOD.replace(" ", "\t  "),
        GOOD + "  # a comment",
        GOOD.replace("u1.2", "u01.02"),
        '"ia0" "u1.2" "nonthreadsafe" "default" "libx.so" "v.1.0" "params" ""',
    ],
)
def test_entries_that_count(tmp_path: Path, line: str) -> None:
    (entry,) = read(tmp_path, f"# comment\n\n{line}\n")
    assert (entry.ia, entry.api, entry.library) == ("ia0", "1.2", "libx.so")


@pytest.mark.parametrize(
    "line",
    [
        "# " + GOOD,
        GOOD.replace("u1.2", "k1.2"),
        GOOD.replace("u1.2", "u1"),
        GOOD.replace("nonthreadsafe", "threadsafe"),
        GOOD.replace("default", "nondefault"),
        GOOD.replace(' ""', ""),
        GOOD + " more",
        GOOD.replace('"params"', '"params'),
        GOOD.replace('"params"', '"params"x'),
    ],
)
def test_entries_that_do_not_count(tmp_path: Path, line: str) -> None:
    assert read(tmp_path, line + "\n") == []


LINES = Path(__file__).parents[1] / "libdat/dat_conf_lines.data"


@pytest.mark.parametrize("row", LINES.read_text(encoding="utf-8").splitlines())
def test_what_libdat_refuses_is_refused(tmp_path: Path, row: str) -> None:
    """These lines are libdat's own tests too."""
    fate, _, line = row.partition(":")
    assert len(read(tmp_path, line + "\n")) == (fate == "take")


def test_a_carriage_return_ends_a_line(tmp_path: Path) -> None:
    assert [entry.ia for entry in datconf.entries(GOOD + "\r\n\r\n")] == ["ia0"]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (
            GOOD.replace("v.1.0", "v1"),
            'line 2: its provider version "v1" is not of the form id.1.2',
        ),
        (GOOD + " more", "line 2: it has more than 8 fields"),
        (GOOD.replace("libx.so", "lib\0x.so"), "line 2: its field 5 contains a null byte"),
        (GOOD.replace("u1.2", f"u{'1' * 5000}.2"), "line 2: its API version"),
        (GOOD, ""),
    ],
)
def test_why_a_line_is_refused(changed: str, why: str) -> None:
    assert datconf.refusal(f"# one\n{changed}\n", "ia0").startswith(why)
    assert bool(why) == bool(datconf.refusal(f"# one\n{changed}\n", "ia0"))


def test_the_first_of_a_name_counts(tmp_path: Path) -> None:
    (entry,) = read(tmp_path, GOOD + "\n" + GOOD.replace("libx", "liby") + "\n")
    assert entry.library == "libx.so"


def test_one_name_in_two_apis(tmp_path: Path) -> None:
    entries = read(tmp_path, GOOD + "\n" + GOOD.replace("u1.2", "u2.00") + "\n")
    assert [(entry.ia, entry.api) for entry in entries] == [("ia0", "1.2"), ("ia0", "2.0")]


@pytest.mark.parametrize("path", ["/a/libx.so", "/a b/x.so", '/a"b/x.so', "/a#b/x.so", "/a\\b.so"])
@pytest.mark.parametrize("params", ["rxe0", "", 'two "words"', "back\\slash", "# no comment"])
def test_what_is_written_is_read_again(tmp_path: Path, path: str, params: str) -> None:
    written = datconf.entry("cts0", Path(path), params)
    assert read(tmp_path, written.text + "\n") == [written]


def test_threadsafe_entries(tmp_path: Path) -> None:
    text = datconf.lines("cts0", Path("/a/libx.so"), "rxe0")
    plain, threadsafe = text.splitlines()
    assert plain.replace(" nonthreadsafe ", " threadsafe ") == threadsafe
    assert [entry.text for entry in read(tmp_path, text)] == [plain]
    assert [entry.text for entry in datconf.entries(text, threadsafe=True)] == [threadsafe]
    assert datconf.lines("cts0", Path("/a/libx.so"), "rxe0", threadsafe=False) == plain + "\n"


def test_unreadable(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        datconf.read(tmp_path, Files())
