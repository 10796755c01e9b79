# SPDX-License-Identifier: BSD-2-Clause
"""The compiler of fault rows: what makes no sense is said in one line that names file and row."""

import subprocess
import sys
from pathlib import Path

import pytest

from faults.rows import load_faults, load_no_faults, load_variants

ROOT = Path(__file__).resolve().parents[2]
FACTS = ROOT / "include/facts/dat-1.2.json"

ROW = """
[[fault]]
id = "demo/one"
text = "Something."
on = "dat_srq_resize"
do = "answer"
returns = "DAT_INVALID_STATE"
"""


def compile_row(folder: Path, row: str, job: str = "faults") -> tuple[int, str, str]:
    """Exit code, what was said, and the C."""
    path = folder / "demo.toml"
    path.write_text(row)
    out = folder / "table.c"
    done = subprocess.run(
        [sys.executable, "-m", "faults.generate", job, str(FACTS), str(out), str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr, out.read_text() if out.exists() else ""


def changed(old: str, new: str) -> str:
    assert old in ROW
    return ROW.replace(old, new)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (changed('do = "answer"\n', ""), "do is missing"),
        (ROW + 'wehn = "1"\n', "unknown key wehn"),
        (ROW * 2, "the id is taken"),
        (changed('"answer"', '"fail"'), "do = 'fail' is none of"),
        (changed("dat_srq_resize", "dat_srq_rezise"), "dat_srq_rezise is no call"),
        (changed("dat_srq_resize", "DAT_NO_EVENT"), "is neither calls nor one event"),
        (changed("DAT_INVALID_STATE", "DAT_INVALID_STTE"), "DAT_INVALID_STTE is no return code"),
        (
            changed("DAT_INVALID_STATE", "DAT_INVALID_STATE | DAT_QUEUE_FULL"),
            "DAT_QUEUE_FULL is no subtype of a return",
        ),
        (changed('returns = "DAT_INVALID_STATE"\n', ""), "'answer' needs `returns`"),
        (changed('"answer"', '"lose"'), "'lose' needs an event"),
        (changed('"answer"', '"invent"'), "'invent' needs `number`"),
        (ROW + "late_ms = 50\n", "`late_ms` is for 'double'"),
        (changed('"answer"', '"run"'), "'run' needs `function`"),
        (ROW + 'function = "crash"\n', "'run' needs `function`, and nothing else does"),
        (changed('"answer"', '"run"') + 'function = "explode"\n', "'explode' is none of"),
        (ROW + 'when = "size > 1"\n', "unknown name size"),
        (ROW + 'when = "srq_max_recv_dto >"\n', "is no expression"),
        (ROW + 'when = "srq_max_recv_dto in 1"\n', "unknown comparison"),
        (ROW + 'when = "len(srq_handle)"\n', "unknown function"),
        (ROW + 'when = "event.cookie == 1"\n', "event.cookie outside of an event"),
        (ROW + 'when = "returned == DAT_SUCCESS"\n', "comes before the call has returned"),
        (ROW + 'when = "srq_max_recv_dto.size"\n', "no structure"),
        (ROW + 'when = "srq_max_recv_dto.size.size == 1"\n', "is no structure"),
        (
            changed("dat_srq_resize", "dat_ep_query") + 'when = "ep_param.ep_attr.size == 1"\n',
            "DAT_EP_ATTR has no member size",
        ),
        (ROW + "when = 1\n", "when is no str"),
        (ROW + 'set = "x"\n', "set is no dict"),
        (
            changed('do = "answer"', 'do = "with"') + 'args = { srq_handle = "x.y" }\n',
            "unknown name x",
        ),
        (
            changed('do = "answer"', 'do = "also"') + 'call = "dat_srq_set_lw(srq_handle)"\n',
            "is no call of DAT with so many arguments",
        ),
        (
            changed("dat_srq_resize", "DAT_DTO_COMPLETION_EVENT"),
            "'answer' needs a call",
        ),
        (ROW + 'keep = ["srq_handle"]\n', "'keep' needs `keep`, and nothing else does"),
        (changed('"answer"', '"keep"'), "'keep' needs `keep`, and nothing else does"),
        (
            changed("[[fault]]", "[[variant]]") + 'clause = "demo_page/passes"\n',
            "a variant breaks nothing",
        ),
        (
            '[[fault]]\nid = "demo/one"\ntext = "x"\n'
            + '[[fault.step]]\non = "any call"\ndo = "run"\nfunction = "leak_descriptor"\n' * 17,
            "more than 16 steps",
        ),
    ],
)
def test_refused(tmp_path: Path, row: str, said: str) -> None:
    code, error, _ = compile_row(tmp_path, row)
    assert code == 1
    assert "Traceback" not in error
    assert said in error
    assert error.startswith(f"{tmp_path}/demo.toml: demo/one: ")
    assert error.count("\n") == 1


def test_no_toml(tmp_path: Path) -> None:
    code, error, _ = compile_row(tmp_path, "[[fault]\n")
    assert code == 1
    assert "Traceback" not in error
    assert error.startswith(f"{tmp_path}/demo.toml: the file: ")


def test_compiled(tmp_path: Path) -> None:
    code, error, text = compile_row(tmp_path, ROW + 'when = "0 < srq_max_recv_dto < outstanding"\n')
    assert (code, error) == (0, "")
    assert '.id = "demo/one"' in text
    assert ".asks = ASKS_SRQ" in text


def test_variant_compiled(tmp_path: Path) -> None:
    row = changed("[[fault]]", "[[variant]]").replace("demo/one", "one")
    code, error, text = compile_row(tmp_path, row)
    assert (code, error) == (0, "")
    assert '.id = "variant/one"' in text


def test_argument_with_the_name_of_a_fact(tmp_path: Path) -> None:
    row = changed("dat_srq_resize", "dat_srq_set_lw")
    code, error, text = compile_row(
        tmp_path, row + 'when = "argument.low_watermark == low_watermark"\n'
    )
    assert (code, error) == (0, "")
    assert "((long long)(DAT_COUNT)call->arg[1] == call->facts.low_watermark)" in text


def test_pointer_to_a_const_structure(tmp_path: Path) -> None:
    row = changed("dat_srq_resize", "dat_lmr_sync_rdma_read")
    code, error, text = compile_row(tmp_path, row + 'when = "local_segments == 0"\n')
    assert (code, error) == (0, "")
    assert "(long long)call->arg[1] == 0LL" in text
    assert "*(const DAT_LMR_TRIPLET *)" not in text


@pytest.mark.parametrize(("how", "copied"), [("args", True), ("set", False)])
def test_change_behind_a_const_pointer(tmp_path: Path, how: str, copied: bool) -> None:
    do = 'do = "with"' if copied else 'do = "set"'
    row = changed("dat_srq_resize", "dat_rmr_bind").replace('do = "answer"', do)
    change = f'{how} = {{ "lmr_triplet.segment_length" = "0" }}\n'
    code, error, text = compile_row(tmp_path, row + change)
    assert (code, error) == (0, "")
    assert ("call_own(" in text) == copied


LIBDAT_ROW = """
[[fault]]
id = "demo/one"
text = "Something."
on = "dat_strerror"
do = "answer"
returns = "DAT_INVALID_STATE"
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("dat_strerror", "dispatch of dat_ia_open", "libdat does not pass that on"),
        ('"answer"', '"deaf"', "do = 'deaf' is none of"),
        ('"answer"', '"lose"', "needs in `on` what libdat does by itself"),
        ('do = "answer"', 'do = "edit"\nedit = ["a", "b"]', "has no text to be edited"),
        ('do = "answer"', 'do = "set"\nedit = ["a", "b"]', "'edit' needs edit"),
        ('do = "answer"', 'do = "answer"\nwhen = "ep_state == 1"', "unknown name ep_state"),
        ('"dat_strerror"', '["dat_strerror", "dat_srq_free"]', "one can be wrong, not both"),
    ],
)
def test_wrong_row_of_libdat(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in LIBDAT_ROW
    code, error, _ = compile_row(tmp_path, LIBDAT_ROW.replace(old, new), "libdat-faults")
    assert code == 1
    assert said in error
    assert error.count("\n") == 1


def test_each_library_has_its_own_rows(tmp_path: Path) -> None:
    rows = LIBDAT_ROW + ROW.replace("demo/one", "demo/two")
    for job, own, other in (
        ("faults", "demo/two", "demo/one"),
        ("libdat-faults", "demo/one", "demo/two"),
    ):
        code, error, text = compile_row(tmp_path, rows, job)
        assert (code, error) == (0, "")
        assert f'.id = "{own}"' in text
        assert f'.id = "{other}"' not in text


def test_the_rows_of_this_project() -> None:
    paths = sorted((ROOT / "faults").rglob("*.toml"))
    faults = load_faults(paths)
    assert all(bool(fault.clause) != bool(fault.case) for fault in faults)
    assert all(fault.verdicts for fault in faults if fault.case)
    assert all(row.reason for row in load_no_faults(paths))
    assert all(variant.text for variant in load_variants(paths))
