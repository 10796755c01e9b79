# SPDX-License-Identifier: BSD-2-Clause
"""What the executable specification changes in the verdict of a case whose checks held.

A call that deviates breaks the clause that its rule cites. If this is the clause of the case, the
case is FAIL; if it is another one, the case is BLOCKED by the call, as if a step had failed.
"""

from results.runlog.records import KEPT, Record

FOUND = "found by the model"


def found_by_model(record: Record) -> Record:
    """The record, FAIL or BLOCKED if a call of a case that was kept deviates; the evidence stays.

    `record` is a verdict's, with what the executable specification says of its calls.
    """
    said = record["oracle"]
    if record["verdict"] not in KEPT or said["verdict"] != "deviates":
        return record
    clause: str = said["clause"]
    reason = f"{FOUND}: {said['why']}"
    if record["case"] == clause or record["case"].startswith(f"{clause}/"):
        return record | {"verdict": "FAIL", "reason": reason}
    call: Record = next(
        (
            each
            for each in record["calls"]
            if each["n"] == said["n"] and each.get("who", "case") == said["who"]
        ),
        {},
    )
    return record | {
        "verdict": "BLOCKED",
        "reason": f"{reason}; the case saw {record['verdict']}",
        "blocked": {
            "call": call.get("call", ""),
            "clause": clause,
            "ret": call.get("ret", ""),
            "site": {"file": "", "line": 0, "text": ""},
        },
    }
