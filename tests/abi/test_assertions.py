# SPDX-License-Identifier: BSD-2-Clause
"""The ABI assertions can fail: one wrong fact, and the program of assertions does not build or run.

Run by pytest, or by ctest with the compiler under test in CC.
"""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path

from tests.abi.assertions import Facts, program

INCLUDE = Path(__file__).resolve().parents[2] / "include"
FACTS: Facts = json.loads((INCLUDE / "facts" / "dat-1.2.json").read_text())
COMPILE = [os.environ.get("CC", "cc"), "-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}"]

Edit = Callable[[Facts], None]


def swap_slots(facts: Facts) -> None:
    slots = facts["provider_table"]["slots"]
    slots[38]["offset"], slots[39]["offset"] = slots[39]["offset"], slots[38]["offset"]


# What is made wrong, and part of the fact that the compiler must then name.
STATIC: dict[str, tuple[Edit, str]] = {
    "header that programs include": (
        lambda f: f["headers"].append("dat/kdat.h"),
        "dat/kdat.h",
    ),
    "value of an enumerator": (
        lambda f: f["enums"]["DAT_QOS"]["members"].update(DAT_QOS_ECONOMY=5),
        "DAT_QOS_ECONOMY: 5",
    ),
    "enumerator that the facts lack": (
        lambda f: f["enums"]["DAT_QOS"]["members"].pop("DAT_QOS_ECONOMY"),
        "DAT_QOS_ECONOMY",
    ),
    "enumerator that the header lacks": (
        lambda f: f["enums"]["DAT_QOS"]["members"].update(DAT_QOS_GOLD=9),
        "DAT_QOS_GOLD",
    ),
    "enumerator of another enum": (
        lambda f: f["enums"]["DAT_QOS"]["members"].update(DAT_EVD_FIELD_EVD_FLAGS=16),
        "DAT_QOS",
    ),
    "size of an enum": (lambda f: f["enums"]["DAT_QOS"].update(size=1), "DAT_QOS: 1 bytes"),
    "signedness of an enum": (
        lambda f: f["enums"]["DAT_QOS"].update(signed=True),
        "DAT_QOS: signed",
    ),
    "tag of an enum": (
        lambda f: f["enums"]["DAT_QOS"].update(tag="dat_boolean"),
        "DAT_QOS: is enum dat_boolean",
    ),
    "value of a macro": (
        lambda f: f["macros"]["DAT_NAME_MAX_LENGTH"].update(value=255),
        "DAT_NAME_MAX_LENGTH: 255",
    ),
    "type of a macro": (
        lambda f: f["macros"]["DAT_IA_FIELD_ALL"].update(type="int"),
        "DAT_IA_FIELD_ALL: of type int",
    ),
    "type of a typedef": (
        lambda f: f["typedefs"]["DAT_VLEN"].update(type="long"),
        "DAT_VLEN: long",
    ),
    "size of a typedef": (lambda f: f["typedefs"]["DAT_VLEN"].update(size=4), "DAT_VLEN: 4 bytes"),
    "size of a struct": (
        lambda f: f["structs"]["DAT_SRQ_ATTR"].update(size=16),
        "DAT_SRQ_ATTR: 16 bytes",
    ),
    "alignment of a struct": (
        lambda f: f["structs"]["DAT_SRQ_ATTR"].update(align=8),
        "DAT_SRQ_ATTR: aligned to 8",
    ),
    "offset of a field": (
        lambda f: f["structs"]["DAT_EVENT"]["fields"][1].update(offset=4),
        "DAT_EVENT.evd_handle: at 4",
    ),
    "size of a field": (
        lambda f: f["structs"]["DAT_EVENT"]["fields"][1].update(size=4),
        "DAT_EVENT.evd_handle: 4 bytes",
    ),
    "type of a field": (
        lambda f: f["structs"]["DAT_EVENT"]["fields"][0].update(type="DAT_QOS"),
        "DAT_EVENT.event_number: DAT_QOS",
    ),
    "type of a parameter": (
        lambda f: f["functions"]["dat_srq_resize"]["params"].__setitem__(
            1, ["IN", "DAT_VLEN", "srq_max_recv_dto"]
        ),
        "dat_srq_resize: DAT_RETURN (DAT_SRQ_HANDLE, DAT_VLEN)",
    ),
    "parameter too many": (
        lambda f: f["functions"]["dat_cr_reject"]["params"].append(["IN", "DAT_COUNT", "size"]),
        "dat_cr_reject",
    ),
    "return type": (
        lambda f: f["functions"]["dat_srq_free"].update(ret="void *"),
        "dat_srq_free: void *",
    ),
    "order of two slots": (swap_slots, "DAT_PROVIDER.ep_free_func: at 312"),
    "number of slots": (lambda f: f["provider_table"]["slots"].pop(), "DAT_PROVIDER: 69 words"),
}

RUNTIME: dict[str, tuple[Edit, str]] = {
    "value of a handle": (
        lambda f: f["macros"]["DAT_EVD_OUT_OF_SCOPE"].update(value=3),
        "DAT_EVD_OUT_OF_SCOPE: 3",
    ),
    "name of an entry point": (
        lambda f: f["macros"]["DAT_PROVIDER_INIT_FUNC_STR"].update(value="dat_provider_fini"),
        "DAT_PROVIDER_INIT_FUNC_STR: dat_provider_fini",
    ),
}


class Assertions(unittest.TestCase):
    """The generated program, from facts of which one is wrong."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.facts = copy.deepcopy(FACTS)

    def build(self) -> subprocess.CompletedProcess[str]:
        source = self.folder / "facts.c"
        source.write_text(program(self.facts))
        return subprocess.run(
            [*COMPILE, str(source), "-o", str(self.folder / "facts")],
            capture_output=True,
            text=True,
            check=False,
        )

    def run_program(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.folder / "facts")], capture_output=True, text=True, check=False
        )

    def test_true_facts_hold(self) -> None:
        built = self.build()
        assert built.returncode == 0, built.stderr
        ran = self.run_program()
        assert ran.returncode == 0
        assert "not ok" not in ran.stdout

    def test_wrong_fact_does_not_compile(self) -> None:
        for what, (edit, message) in STATIC.items():
            with self.subTest(what):
                self.facts = copy.deepcopy(FACTS)
                edit(self.facts)
                built = self.build()
                assert built.returncode != 0
                assert message in built.stderr, built.stderr

    def test_wrong_runtime_fact_is_not_ok(self) -> None:
        for what, (edit, message) in RUNTIME.items():
            with self.subTest(what):
                self.facts = copy.deepcopy(FACTS)
                edit(self.facts)
                built = self.build()
                assert built.returncode == 0, built.stderr
                ran = self.run_program()
                assert ran.returncode == 1
                assert re.search(f"not ok [0-9]+ - {message}", ran.stdout), ran.stdout


if __name__ == "__main__":
    unittest.main()
