# SPDX-License-Identifier: BSD-2-Clause
"""Builds events.jsonl.zst files of runs that never were, in the format of docs/results.md."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from results.runlog import frames
from results.runlog.chain import START, linked
from results.runlog.frames import EVENTS, Writer
from results.runlog.records import text_of

Record = dict[str, Any]


def call(
    n: int, name: str, *args: tuple[str, str], ret: str = "DAT_SUCCESS", **more: Any
) -> Record:
    """A call record; `more` are members such as who, out, us or unfinished."""
    record = {
        "kind": "call",
        "n": n,
        "who": "case",
        "call": name,
        "args": [list(arg) for arg in args],
        "ret": ret,
        "sub": "DAT_NO_SUBTYPE",
        "out": [],
        "at_us": 400 * n,
        "us": 14,
    }
    record.update(more)
    if record.get("unfinished"):
        del record["ret"], record["sub"]
    return record


def check(text: str, ok: bool = True, **more: Any) -> Record:
    """A check record, an `expect` of DAT_SUCCESS unless `more` says otherwise."""
    record = {
        "kind": "check",
        "text": text,
        "file": "cases/srq/srq_resize.c",
        "line": 31,
        "role": "expect",
        "ok": ok,
        "expected": ["DAT_SUCCESS"],
        "seen": "DAT_SUCCESS",
        "calls": 1,
    }
    record.update(more)
    return record


def setup_calls() -> list[Record]:
    """What a case of dat_srq_resize does before its act: five calls."""
    return [
        call(1, "dat_pz_create", ("ia_handle", "ia#1"), out=[["pz_handle", "pz#1"]]),
        call(
            2,
            "dat_srq_create",
            ("ia_handle", "ia#1"),
            ("pz_handle", "pz#1"),
            ("srq_attr", "{max_recv_dtos=8, max_recv_iov=1, low_watermark=0}"),
            out=[["srq_handle", "srq#1"]],
            us=212,
        ),
        call(3, "dat_lmr_create", ("ia_handle", "ia#1"), ("length", "4096"), us=1840),
        call(4, "dat_srq_post_recv", ("srq_handle", "srq#1"), ("user_cookie", "0")),
        call(5, "dat_srq_post_recv", ("srq_handle", "srq#1"), ("user_cookie", "1")),
    ]


class SyntheticRun:
    """A run to be: add clauses, verdicts and the rest, then write it."""

    def __init__(self, run: str = "20260102-030405-7", modes: tuple[int, ...] = (1, 2)) -> None:
        self.folder = run
        self.head: Record = {
            "type": "run",
            "format": 2,
            "run": run,
            "started": "2026-01-02T03:04:05Z",
            "command": ["udapl-cts", "certify", "dat_srq_resize", "--seed", "7"],
            "seed": 7,
            "fabric": "vm",
            "modes": list(modes),
            "suite": {
                "version": "0.1.0",
                "commit": "0123abcd4567",
                "dirty": False,
                "pages": ["dat_srq_free", "dat_srq_resize", "dat_srq_set_lw"],
            },
            "subject": {
                "library": "/opt/vendor/lib/libvendor.so",
                "sha256": "3f" * 32,
                "build_id": "9f2c61d0",
                "ia": "ref0",
                "dat_conf_entry": 'ref0 u1.2 nonthreadsafe default libvendor.so v.1 "rxe0" ""',
            },
            "clauses": [],
            "plan": [],
        }
        self.records: list[Record] = []

    def of_a_suite(self, cases: int = 0, by_mode: Mapping[int, int] | None = None) -> None:
        """Says that the suite is what is planned here, and so many cases more, by mode too."""
        plan = Counter(int(row["hosts"]) for row in self.head["plan"])
        plan.update(by_mode or {})
        self.head["suite"]["cases"] = len({row["case"] for row in self.head["plan"]}) + cases
        self.head["suite"]["plan"] = [
            {"hosts": hosts, "cases": count} for hosts, count in plan.items()
        ]

    def clause(self, name: str, **more: Any) -> str:
        """Adds a clause of dat_srq_resize, or of `page`, and returns its id."""
        page = more.pop("page", "dat_srq_resize")
        clause = {
            "id": f"{page.removeprefix('dat_')}/{name}",
            "page": page,
            "section": "DESCRIPTION",
            "level": "must",
            "text": f"The clause {name} holds.",
            "check": "local",
            "needs": ["srq_supported"],
        }
        clause.update(more)
        self.head["clauses"].append(clause)
        return str(clause["id"])

    def plan(self, case: str, *modes: int) -> None:
        """Plans `case` in `modes`, by default in all of the run's."""
        for hosts in modes or self.head["modes"]:
            self.head["plan"].append({"case": case, "hosts": hosts})

    def verdict(self, case: str, verdict: str = "PASS", hosts: int = 1, **more: Any) -> None:
        """Adds a verdict record."""
        record: Record = {
            "type": "verdict",
            "case": case,
            "hosts": hosts,
            "attempt": 1,
            "verdict": verdict,
            "reason": "",
            "host": "host1",
            "started": "2026-01-02T03:04:06Z",
            "ms": 18.2,
            "checks": [check("dat_srq_resize(srq, 8)")],
            "calls": [
                call(1, "dat_srq_resize", ("srq_handle", "srq#1"), ("srq_max_recv_dto", "8"))
            ],
            "notes": [],
            "records": [],
            "leaks": [],
            "output": "",
        }
        record.update(more)
        if verdict == "FAIL" and not record["reason"] and all(c["ok"] for c in record["checks"]):
            record["reason"] = "the clause did not hold"
        self.records.append(record)

    def case(
        self, name: str, verdict: str = "PASS", clause: Record | None = None, **more: Any
    ) -> str:
        """Adds a clause with one case, planned and with this verdict in each mode."""
        case = self.clause(name, **(clause or {}))
        self.plan(case)
        for hosts in self.head["modes"]:
            self.verdict(case, verdict, hosts, **more)
        return case

    def fabric(self, hosts: int, **ia: Any) -> None:
        """Adds a hosts record."""
        about = {
            "name": "ref0",
            "open": True,
            "attributes": {"adapter_name": "rxe0", "max_srqs": 4096, "max_eps": 65536},
            "needs": {"srq_supported": True, "srq_watermarks_supported": False},
            "output": "",
        }
        about.update(ia)
        facts = [
            {
                "name": f"host{n}",
                "address": f"10.77.0.{n}",
                "kernel": "6.1.0-40-amd64",
                "rdma_core": "44.0",
                "qemu": "7.2.19",
            }
            for n in range(1, hosts + 1)
        ]
        self.records.append({"type": "hosts", "hosts": hosts, "facts": facts, "ia": about})

    def incident(self, what: str, text: str, host: str = "") -> None:
        """Adds an incident record."""
        self.records.append({"type": "incident", "what": what, "host": host, "text": text})

    def end(self, status: str = "complete") -> None:
        """Adds the end record; it comes last, and tells what the verdicts come to."""
        self.records.append({"type": "end", "finished": "2026-01-02T03:05:09Z", "status": status})

    def lines(self) -> list[Record]:
        """All records in order; those planned are the whole suite where nothing else was said."""
        if "plan" not in self.head["suite"] and self.head["plan"]:
            self.of_a_suite()
        others = [record for record in self.records if record["type"] != "end"]
        ends = [record for record in self.records if record["type"] == "end"]
        return [
            self.head,
            *others,
            *({**end, "exit": self._total() if end["status"] == "complete" else 2} for end in ends),
        ]

    def _total(self) -> int:
        firsts = [r for r in self.records if r["type"] == "verdict" and r["attempt"] == 1]
        words = {record["verdict"] for record in firsts}
        unknown = words & {"ERROR", "BROKEN", "RESOURCE"}
        if words & {"FAIL", "CRASH", "TIMEOUT", "CONTRADICTED", "BLOCKED"}:
            return 1
        if any("teardown" in record or "breaks" in record for record in firsts):
            return 1
        missing = {(row["case"], row["hosts"]) for row in self.head["plan"]} - {
            (record["case"], record["hosts"]) for record in firsts
        }
        return 2 if missing or unknown or not words & {"PASS", "NOTE"} else 0

    def write(self, results: Path) -> Path:
        """Writes the run below `results` and returns its folder."""
        folder = results / self.folder
        folder.mkdir(parents=True, exist_ok=True)
        write_records(folder, self.lines())
        return folder


def write_records(folder: Path, records: Iterable[Record]) -> None:
    """Writes the records of the run in `folder`, each in the chain, whatever it was in before."""
    last, lines = START, []
    for record in records:
        plain = {name: value for name, value in record.items() if name not in ("n", "prev")}
        lines.append(linked(text_of(plain).encode(), last))
        last = last.to(lines[-1])
    write_lines(folder, lines)


def write_lines(folder: Path, lines: list[bytes]) -> None:
    """Writes the events.jsonl.zst of `folder`."""
    writer = Writer()
    (folder / EVENTS).write_bytes(writer.lines(lines) + writer.end())


def read_lines(folder: Path) -> list[bytes]:
    """The whole lines of the events.jsonl.zst of `folder`, as they are."""
    with (folder / EVENTS).open("rb") as file:
        return [line.raw for line in frames.lines(file) if line is not None]


BELOW_TEXT = (
    "A request for fewer receives than are outstanding is refused with DAT_INVALID_STATE, and"
    " leaves size, counts and buffers as they were."
)


def green_run() -> SyntheticRun:
    """A provider that keeps what it was asked for, with a note and an absent feature."""
    run = SyntheticRun()
    run.fabric(1)
    run.fabric(2)
    run.case("grow", clause={"text": "A request above the current size succeeds."})
    run.case("same_size")
    run.case(
        "below_outstanding",
        "NOTE",
        clause={"text": BELOW_TEXT, "rulings": ["SRQ-2"]},
        reason="success, with size and buffers unchanged",
        notes=["success, with size and buffers unchanged"],
    )
    run.case(
        "below_low_watermark",
        "UNSUPPORTED",
        reason="srq_watermarks_supported is declared absent",
        calls=[],
        checks=[],
    )
    run.clause("quality", check="none", level="info", reason="How far a queue shrinks is quality.")
    run.end()
    return run


def red_run() -> SyntheticRun:
    """A provider that fails, crashes and hangs, and a case that its host could not carry out."""
    run = SyntheticRun()
    run.head["suite"]["dirty"] = True
    run.fabric(1)
    run.fabric(2)
    for name in ("grow", "same_size", "shrink_to_outstanding", "at_low_watermark"):
        run.case(name)
    failing: Record = {
        "calls": [
            *setup_calls(),
            call(6, "dat_srq_resize", ("srq_handle", "srq#1"), ("srq_max_recv_dto", "1"), us=9),
        ],
        "checks": [
            check("dat_srq_post_recv(srq, 1, &iov, cookie)", role="must", line=27, calls=5),
            check(
                "dat_srq_resize(srq, 1)",
                ok=False,
                expected=["DAT_INVALID_STATE", "DAT_INSUFFICIENT_RESOURCES"],
                seen="DAT_SUCCESS",
                calls=6,
            ),
        ],
        "reason": "dat_srq_resize(srq, 1): saw DAT_SUCCESS",
        "output": "vendor: resize 8 -> 1\nvendor: dropping 1 WQE\n",
    }
    below = run.case(
        "below_outstanding", "FAIL", clause={"text": BELOW_TEXT, "rulings": ["SRQ-2"]}, **failing
    )
    run.verdict(below, "FAIL", 1, attempt=2, **failing)
    run.verdict(below, "PASS", 2, attempt=2)
    null_handle: Record = {
        "calls": [
            call(1, "dat_srq_resize", ("srq_handle", "DAT_HANDLE_NULL"), unfinished=True),
        ],
        "checks": [],
        "reason": "ended by SIGSEGV",
        "pending": "dat_srq_resize",
        "crash": {
            "signal": "SIGSEGV",
            "backtrace": ["libvendor.so(vendor_srq_resize+0x1c)", "udapl-cases(+0x88f1)"],
        },
        "output": "vendor: srq (nil)\n",
    }
    run.case(
        "null_handle",
        "CRASH",
        clause={
            "section": "RETURN VALUES",
            "text": "A handle that is no SRQ's gives DAT_INVALID_HANDLE.",
        },
        **null_handle,
    )
    under_traffic = run.clause(
        "under_traffic",
        check="pair",
        text="No message that arrives while the queue changes is lost.",
    )
    run.plan(under_traffic)
    run.verdict(under_traffic, "PASS", 1)
    run.verdict(
        under_traffic,
        "TIMEOUT",
        2,
        ms=10004.2,
        reason="no end after 10000 ms",
        pending="dat_evd_wait",
        checks=[check("dat_ep_connect(ep)", role="must", calls=2)],
        calls=[
            call(1, "dat_srq_create", ("ia_handle", "ia#1"), out=[["srq_handle", "srq#1"]]),
            call(2, "dat_ep_connect", ("ep_handle", "ep#1"), us=5210),
            call(3, "dat_evd_wait", ("evd_handle", "evd#2"), ("timeout", "INF"), unfinished=True),
            call(1, "dat_ep_create", ("ia_handle", "ia#1"), who="peer"),
            call(2, "dat_ep_post_send", ("ep_handle", "ep#1"), who="peer", at_us=6000),
        ],
    )
    run.case(
        "events_over_evds",
        "ERROR",
        clause={"check": "pair"},
        reason="the peer left before the case ended",
        checks=[check("peer is alive", ok=False, role="must", expected=[], seen="peer left: 1")],
    )
    run.case(
        "below_low_watermark",
        "UNSUPPORTED",
        reason="srq_watermarks_supported is declared absent",
        calls=[],
        checks=[],
    )
    run.case(
        "shrink", "NOTE", clause={"level": "may", "section": "USAGE"}, notes=["kept 8 entries"]
    )
    run.clause("quality", check="none", level="info", section="USAGE", reason="This is quality.")
    run.end()
    return run
