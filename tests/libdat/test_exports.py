# SPDX-License-Identifier: BSD-2-Clause
"""libdat.so.1 exports the functions of the facts under DAT_1.2, and nothing else.

The library is that of LIBDAT (ctest sets it), else of the default build.
"""

from __future__ import annotations

import json
import os
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FACTS = ROOT / "include" / "facts" / "dat-1.2.json"
LIBDAT = Path(os.environ.get("LIBDAT", ROOT / "build" / "default" / "lib" / "libdat.so.1"))


@unittest.skipUnless(LIBDAT.exists(), f"{LIBDAT} is not built")
class Exports(unittest.TestCase):
    """What the dynamic linker sees of the library."""

    def run_tool(self, *command: str) -> str:
        return subprocess.run(
            [*command, str(LIBDAT)], capture_output=True, text=True, check=True
        ).stdout

    def test_symbols(self) -> None:
        rows = json.loads(FACTS.read_text())["functions"]
        expected = {f"{name}@@DAT_1.2" for name, row in rows.items() if row["kind"] != "macro"}
        lines = self.run_tool("nm", "-D", "--defined-only", "--with-symbol-versions").splitlines()
        exported = {fields[2] for fields in map(str.split, lines) if fields[1] != "A"}
        assert exported == expected, exported ^ expected

    def test_soname(self) -> None:
        assert "Library soname: [libdat.so.1]" in self.run_tool("readelf", "-d")


if __name__ == "__main__":
    unittest.main()
