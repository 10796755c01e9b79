# SPDX-License-Identifier: BSD-2-Clause
"""`report RUN RUN...` and `history`: where they write, and what they refuse."""

import json
import shutil

from tests.runners.fake_checkout import Cts


def test_several_runs(cts: Cts) -> None:
    cts.has("passes", "fails")
    for _ in range(2):
        cts("certify", "--hosts", "1")
    one, other = sorted(path.name for path in cts.runs.iterdir() if path.name != "latest")
    done = cts("report", one, other, "--format", "json")
    assert (done.returncode, done.stdout) == (0, f"{cts.runs / 'providers.json'}\n")
    told = json.loads((cts.runs / "providers.json").read_text())
    assert told["pages"]["dat_demo_page"]["demo_page/fails"] == ["FAIL", "FAIL"]
    assert cts("report", one, "latest", "--out", cts.root / "it.html").returncode == 0
    assert "providers, page by page" in (cts.root / "it.html").read_text()
    for wrong in (["--format", "junit"], ["--pages", "."]):
        done = cts("report", one, other, *wrong)
        assert done.returncode == 64
        assert "several runs make one table" in done.stderr
    assert cts("report", one, "--out", "it.html").returncode == 64
    assert cts("report", one, "nowhere").returncode == 64

    (cts.runs / other / "events.jsonl.zst").write_bytes(b"{}")
    done = cts("history")
    assert (done.returncode, done.stdout) == (0, f"{cts.runs / 'history.html'}\n")
    page = (cts.runs / "history.html").read_text()
    assert one in page
    assert "Not read" in page
    shutil.rmtree(cts.runs / one)
    done = cts("history", cts.runs)
    assert done.returncode == 64
    assert "that could be drawn" in done.stderr
