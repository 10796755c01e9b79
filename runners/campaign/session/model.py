# SPDX-License-Identifier: BSD-2-Clause
"""What the executable specification changes in the verdict of a case whose checks held.

A call that deviates breaks the clause that its rule cites. If this is the clause of the case, the
case is FAIL. If it is another one, the verdict stays, and the record names the clause that the call
breaks: a finding of its own, unless it convicts a registry that is not under test.
"""

from collections.abc import Collection

from results.runlog.records import KEPT, Record

FOUND = "found by the model"


def found_by_model(record: Record, excused: Collection[str] = ()) -> Record:
    """The record, FAIL or with `breaks` if a call of a case that was kept deviates; the evidence
    stays.

    `record` is a verdict's, with what the executable specification says of its calls. The clauses
    that are `excused` convict nothing that is under test.
    """
    said = record["oracle"]
    if record["verdict"] not in KEPT or said["verdict"] != "deviates":
        return record
    clause: str = said["clause"]
    if record["case"] == clause or record["case"].startswith(f"{clause}/"):
        return record | {"verdict": "FAIL", "reason": f"{FOUND}: {said['why']}"}
    broken = record | {"breaks": clause}
    return broken | {"excused": True} if clause in excused else broken
