# SPDX-License-Identifier: BSD-2-Clause
"""The check of the provider's rooms finds what it is for, on object files made here."""

import subprocess
from pathlib import Path

import pytest

from tests.provider import rooms


def compile_to(folder: Path, source: str, text: str) -> None:
    """Compile a text as if it were that file of the provider."""
    path = folder / f"{source}.o"
    path.parent.mkdir(parents=True, exist_ok=True)
    argv = ["cc", "-x", "c", "-c", "-o", str(path), "-"]
    subprocess.run(argv, input=text, check=True, text=True)


def check(folder: Path) -> list[str]:
    """The violations among all object files in a folder."""
    return rooms.violations(folder, sorted(folder.rglob("*.o")))[0]


@pytest.fixture
def provider(tmp_path: Path) -> Path:
    """A provider with one function in each of three rooms, which uses lower rooms only."""
    compile_to(tmp_path, "base/lock.c", "void lock(void) {}")
    compile_to(tmp_path, "event/evd.c", "void lock(void); void evd(void) { lock(); }")
    compile_to(tmp_path, "endpoint/ep.c", "void evd(void); void ep_recv_held(void) { evd(); }")
    return tmp_path


def test_uses_of_lower_rooms_and_of_libraries_are_allowed(provider: Path) -> None:
    compile_to(provider, "provider.c", "void ep_recv_held(void); void e(void) { ep_recv_held(); }")
    compile_to(provider, "adapter/ia.c", "int puts(const char *); int ia(void) { return puts(0); }")
    assert check(provider) == []


def test_a_use_of_a_higher_room_is_found(
    provider: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compile_to(provider, "base/pool.c", "void evd(void); void pool(void) { evd(); }")
    assert check(provider) == ["base/pool.c uses evd() of event/evd.c, which is in no lower room"]
    assert rooms.main([str(provider), *map(str, provider.rglob("*.o"))]) == 1
    assert "base/pool.c uses evd()" in capsys.readouterr().out


def test_data_of_a_higher_room_is_found(provider: Path) -> None:
    compile_to(provider, "connect/cr.c", "int backlog = 1;")
    compile_to(provider, "memory/pz.c", "extern int backlog; int *pz(void) { return &backlog; }")
    assert len(check(provider)) == 1


def test_rooms_of_one_rank_do_not_use_each_other(provider: Path) -> None:
    compile_to(provider, "memory/lmr.c", "void evd(void); void lmr(void) { evd(); }")
    assert check(provider) == ["memory/lmr.c uses evd() of event/evd.c, which is in no lower room"]


def test_an_exception_holds_for_its_file_only(provider: Path) -> None:
    text = "void ep_recv_held(void); void f(void) { ep_recv_held(); }"
    compile_to(provider, "event/evd_cq.c", text)
    assert check(provider) == []
    compile_to(provider, "event/cno.c", text.replace("f(", "g("))
    assert check(provider) == [
        "event/cno.c uses ep_recv_held() of endpoint/ep.c, which is in no lower room"
    ]


def test_an_exception_that_nothing_uses_is_found(
    provider: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rooms.main([str(provider), *map(str, provider.rglob("*.o"))]) == 1
    assert "event/evd.c does not use cr_discard(): remove the exception" in capsys.readouterr().out


def test_an_unknown_room_is_an_error(provider: Path) -> None:
    compile_to(provider, "attic/old.c", "void old(void) {}")
    with pytest.raises(SystemExit, match="attic is no room"):
        check(provider)


def test_no_object_files_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="usage"):
        rooms.main([str(tmp_path)])
