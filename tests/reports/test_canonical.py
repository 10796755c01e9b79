# SPDX-License-Identifier: BSD-2-Clause
"""report.json: the same outcome is the same text, another outcome is not."""

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from reports.render import render
from tests.reports.synthetic_run import SyntheticRun, call, green_run, red_run


def text_of(run: SyntheticRun, results: Path) -> str:
    """The report.json of `run`."""
    return render(run.write(results), "json").read_text(encoding="utf-8")


def at_another_time(run: SyntheticRun, seed: int) -> SyntheticRun:
    """The same outcome on another day, in another order, from another place."""
    other = copy.deepcopy(run)
    chance = random.Random(seed)
    head = other.head
    other.folder = head["run"] = f"20270809-101112-{seed}"
    head["started"] = "2027-08-09T10:11:12Z"
    head["seed"] = seed
    head["command"] = ["udapl-cts", "certify", "--seed", str(seed), "--out", "/elsewhere"]
    head["subject"]["library"] = "/elsewhere/" + head["subject"]["library"].rsplit("/", 1)[-1]
    head["subject"]["dat_conf_entry"] = "ref0 u1.2 /elsewhere"
    for records in (head["clauses"], head["plan"], head["modes"], other.records):
        chance.shuffle(records)
    other.records.sort(key=lambda record: int(record.get("attempt", 1)))
    for record in other.records:
        if record["type"] == "verdict":
            record["ms"] = chance.uniform(1, 1000)
            record["started"] = "2027-08-09T10:11:13Z"
            record["host"] = f"host{chance.randint(1, 2)}"
            record["output"] = f"pid {chance.randint(1, 99999)} at {chance.random()}"
            record["calls"] = [call(1, "dat_ia_query", us=chance.randint(1, 99))]
        elif record["type"] == "hosts":
            for host in record["facts"]:
                host["address"] = f"10.9.{chance.randint(0, 255)}.1"
            record["ia"]["attributes"]["ia_address_ptr"] = hex(chance.getrandbits(48))
    return other


@pytest.mark.parametrize("make", [green_run, red_run])
@pytest.mark.parametrize("seed", [8, 9, 10])
def test_two_runs_of_one_provider_compare_as_text(
    tmp_path: Path, make: type[SyntheticRun], seed: int
) -> None:
    run = make()
    texts = [text_of(each, tmp_path) for each in (run, at_another_time(run, seed))]
    digests = [json.loads(text)["digest"] for text in texts]
    assert digests[0] != digests[1]
    assert texts[0].replace(digests[0], digests[1]) == texts[1]


def test_nothing_of_one_run_alone_is_in_it(tmp_path: Path) -> None:
    run = red_run()
    run.head["seed"] = 31337
    text = text_of(run, tmp_path)
    for accident in ("31337", "2026", "/opt", "10.77", "18.2", "dropping", "host1", "cases/srq"):
        assert accident not in text


def find(report: dict[str, Any], clause: str) -> dict[str, Any]:
    """A clause of a report."""
    return next(dict(item) for item in report["clauses"] if item["id"] == clause)


def test_what_it_says(tmp_path: Path) -> None:
    report = json.loads(text_of(red_run(), tmp_path))
    assert report["format"] == 1
    assert report["conclusion"] == "not conformant"
    assert report["complete"] is True
    assert report["counts"]["PASS"] == 4
    assert report["parity"] == {"compared": 10, "differing": ["srq_resize/under_traffic"]}
    assert report["subject"]["library"] == "libvendor.so"
    assert {"name": "srq_watermarks_supported", "declared": "false"} in report["features"]
    assert report["environments"] == [
        {"kernel": "6.1.0-40-amd64", "qemu": "7.2.19", "rdma_core": "44.0"}
    ]
    below = find(report, "srq_resize/below_outstanding")
    assert below["verdict"] == "FAIL"
    assert below["cases"] == [
        {
            "id": "srq_resize/below_outstanding",
            "modes": [
                {"again": ["FAIL"], "hosts": 1, "unstable": False, "verdict": "FAIL"},
                {"again": ["PASS"], "hosts": 2, "unstable": True, "verdict": "FAIL"},
            ],
        }
    ]
    assert find(report, "srq_resize/quality")["verdict"] is None


def test_another_verdict_is_another_text(tmp_path: Path) -> None:
    run, other = green_run(), green_run()
    other.folder = "other"
    record = next(r for r in other.records if r["type"] == "verdict")
    record |= {"verdict": "FAIL", "reason": "it did not"}
    counts = [json.loads(text_of(each, tmp_path))["counts"] for each in (run, other)]
    assert counts[0] != counts[1]


def test_a_partial_run_says_so(tmp_path: Path) -> None:
    run = green_run()
    run.records = run.records[:4]
    report = json.loads(text_of(run, tmp_path))
    assert report["complete"] is False
    assert report["conclusion"] == "could not tell"
    below = find(report, "srq_resize/below_outstanding")
    assert [mode["verdict"] for mode in below["cases"][0]["modes"]] == ["NOT-RUN", "NOT-RUN"]
