# SPDX-License-Identifier: BSD-2-Clause
"""`certify --explore`: what random walks make of a run, with a puppet that is a script."""

import json
from pathlib import Path
from typing import Any

import pytest

from runners.package.rejudge import rejudge
from tests.reports.synthetic_run import read_lines, write_records
from tests.runners.fake_checkout import Cts

SHORT = ("certify", "--hosts", "1", "--seed", "3", "--explore", "1")
WRONG = "explore: dat_pz_query deviates from pz_query/invalid_handle"


def report(cts: Cts) -> Any:
    """The report.json of the latest run."""
    return json.loads((cts.runs / "latest/report.json").read_text())


def of_type(cts: Cts, kind: str) -> list[dict[str, Any]]:
    """The latest run's records of a type."""
    return [record for record in cts.events() if record["type"] == kind]


def test_a_run_without_walks_says_so(cts: Cts) -> None:
    done = cts("certify")
    assert done.returncode == 0, done
    said = "No random walks were taken"
    assert said in done.stdout
    for name in ("report.md", "report.html", "customer.html", "junit.xml"):
        assert said in (cts.runs / "latest" / name).read_text()
    assert report(cts)["explored"] is None


def test_walks_by_dat_2(cts: Cts, tmp_path: Path) -> None:
    dat_conf = tmp_path / "dat.conf"
    dat_conf.write_text(f'a u2.0 nonthreadsafe default {cts.provider} v.1.0 "" ""\n')
    done = cts(*SHORT, "--api", "2.0", "--dat-conf", dat_conf, "--ia", "a")
    assert done.returncode == 0, done
    (explored,) = of_type(cts, "explored")
    assert explored["walks"] > 0


def test_walks_that_keep_to_the_pages_are_no_proof(cts: Cts) -> None:
    done = cts(*SHORT)
    assert done.returncode == 0, done
    (told,) = of_type(cts, "explored")
    assert told["walks"] > 0
    assert told["calls"] >= told["judged"] > 0
    assert told["seed"] == 3
    assert of_type(cts, "walk") == []
    for text in (done.stdout, (cts.runs / "latest/report.md").read_text()):
        assert f"{told['walks']:,} walks of {told['steps']:,} steps" in text
        assert "No call deviates, no proof." in text
    explored = report(cts)["explored"]
    assert explored["walks"] == told["walks"]
    assert explored["states"] == told["states"]


def test_a_deviation_convicts(cts: Cts) -> None:
    """No case has met it: each clause was kept, and the run is not conformant."""
    cts.env["FAKE_WALK"] = "deviates"
    done = cts(*SHORT)
    assert done.returncode == 1, done
    assert {word for _, _, _, word in cts.verdicts()} == {"PASS"}
    (walk,) = of_type(cts, "walk")
    assert walk["clause"].startswith("pz_query/invalid_handle")
    assert [line.split()[0] for line in walk["steps"]] == ["pz_create"]
    assert (walk["shown"], walk["again"]) == (5, 5)
    assert walk["record"]["breaks"] == walk["clause"]
    assert WRONG in done.stdout
    assert "not conformant: a random walk found a defect (dat_pz_query)" in done.stdout
    assert "= DAT_SUCCESS   <-- here" in done.stdout
    (found,) = report(cts)["teardown"]
    assert found["steps"] == walk["steps"]
    assert found["saw"] == walk["clause"]
    for name in ("report.md", "report.html", "customer.html", "junit.xml"):
        assert "pz_query/invalid_handle" in (cts.runs / "latest" / name).read_text()
    assert "EXPLORE" in (cts.runs / "latest/customer.html").read_text()


def test_a_walk_that_crashes_convicts(cts: Cts) -> None:
    cts.env["FAKE_WALK"] = "crashes"
    done = cts(*SHORT)
    assert done.returncode == 1, done
    assert "explore: SIGSEGV inside dat_srq_resize, in walk explore/1 of 1 steps" in done.stdout


def test_a_walk_is_replayed(cts: Cts) -> None:
    cts.env["FAKE_WALK"] = "deviates"
    assert cts(*SHORT).returncode == 1
    again = cts("replay")
    assert again.returncode == 1, again
    assert "<-- here" in again.stdout
    cts.env["FAKE_WALK"] = "agrees"
    again = cts("replay", "latest", "explore/1")
    assert again.returncode == 0, again
    assert "no call deviates" in again.stdout
    assert cts("replay", "latest", "explore/2").returncode == 64


def test_walks_that_say_nothing_leave_the_run_open(cts: Cts) -> None:
    cts.env["FAKE_WALK"] = "error"
    done = cts(*SHORT)
    assert done.returncode == 2, done
    assert "could not tell: random walks ended early (a walk ended as ERROR" in done.stdout
    assert cts.events()[-1]["exit"] == 2


def test_a_resumed_run_takes_the_walks_that_it_lacks(cts: Cts) -> None:
    assert cts(*SHORT, "--out", "whole").returncode == 0
    records = [json.loads(line) for line in read_lines(cts.root / "whole")]
    kept = [record for record in records if record["type"] in ("run", "hosts", "verdict")]
    folder = cts.root / "part"
    folder.mkdir()
    for path in (cts.root / "whole").iterdir():
        if path.suffix in (".conf", ".json") and path.name != "report.json":
            (folder / path.name).write_bytes(path.read_bytes())
    write_records(folder, kept)
    done = cts("certify", "--resume", folder)
    assert done.returncode == 0, done
    assert "walks of" in done.stdout
    (told,) = [record for record in cts.events(folder) if record["type"] == "explored"]
    assert told["walks"] > 0


@pytest.mark.parametrize("kind", ["walk", "explored"])
def test_a_record_that_is_left_out_is_missed(cts: Cts, tmp_path: Path, kind: str) -> None:
    cts.env["FAKE_WALK"] = "deviates"
    assert cts(*SHORT).returncode == 1
    kept = [record for record in cts.events() if record["type"] != kind]
    write_records(tmp_path, kept)
    done = cts("report", tmp_path, "--format", "md")
    if kind == "walk":
        assert done.returncode == 64, done
        assert "it counts 1 findings of 0" in done.stderr
    else:
        assert "did not come to them" in (tmp_path / "report.md").read_text()


def test_a_package_is_judged_again(cts: Cts, tmp_path: Path) -> None:
    """What a walk's record says of its calls is no word of the one who wrote it."""
    cts.env["FAKE_WALK"] = "deviates"
    assert cts(*SHORT).returncode == 1
    honest = rejudge(cts.runs / "latest", 1)
    assert (honest.records, honest.differing) == (2, 0)
    records = cts.events()
    walk = next(record for record in records if record["type"] == "walk")
    walk["record"]["calls"][1]["ret"] = "DAT_INVALID_HANDLE"
    write_records(tmp_path, records)
    forged = rejudge(tmp_path, 1)
    assert forged.differing == 1
    assert forged.wrong[0].startswith("explore/walk on 1, attempt 1: its calls, judged again")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--spread", "2"), "goes with neither"),
        (("--explore", "0"), "is no number of seconds"),
        (("--explore", "a"), "is no number of seconds"),
    ],
)
def test_what_is_refused(cts: Cts, options: tuple[str, ...], said: str) -> None:
    done = cts(*SHORT, *options)
    assert done.returncode == 64, done
    assert said in done.stderr
