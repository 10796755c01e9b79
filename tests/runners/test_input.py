# SPDX-License-Identifier: BSD-2-Clause
"""Bad input: one clear line, an exit code that is not zero, nothing lost."""

import json
import resource
import subprocess
from pathlib import Path

import pytest

from tests.reports.synthetic_run import read_lines, write_lines, write_records
from tests.runners.fake_checkout import PROVIDER, Cts, compile_library, wait_for

USAGE = 64
COULD_NOT_TELL = 2


def refused(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    """The command was refused with one line that has these words."""
    assert done.returncode == code, done
    line = done.stderr.strip()
    assert line.startswith("udapl-cts: "), done
    assert "\n" not in line, done
    for word in words:
        assert word in line, line


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("demo_page/pases", "demo_page/passes"),
        ("dat_demo_pag", "dat_demo_page"),
        ("demmo", "demo"),
    ],
)
def test_unknown_id(cts: Cts, name: str, nearest: str) -> None:
    refused(cts("certify", name), USAGE, name, "nearest:", nearest)
    assert not cts.runs.exists()


@pytest.mark.parametrize("name", ["demo", "demo_page", "dat_demo_page", "demo_page/passes"])
def test_known_ids(cts: Cts, name: str) -> None:
    assert cts("certify", name).returncode == 0
    assert cts.verdicts() == [("passes", 1, 1, "PASS")]


def test_an_id_leaves_the_others_out(cts: Cts) -> None:
    cts.has("passes", "fails")
    assert cts("certify", "demo_page/passes").returncode == 0
    assert [clause["id"] for clause in cts.events()[0]["clauses"]] == [
        "demo_page/passes",
        "demo_page/fails",
    ]


@pytest.mark.parametrize("count", ["0", "9", "two"])
def test_processors_that_no_guest_has(cts: Cts, count: str) -> None:
    for command in (["certify"], ["faults"], ["fabric", "shell"]):
        refused(cts(*command, "--cpus", count), USAGE, "--cpus", "from 1 to 8")
    assert not cts.runs.exists()


def test_processors_of_hosts_that_have_their_own(cts: Cts, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts.toml"
    hosts.write_text('[[host]]\naddress = "lab1"\n')
    done = cts("certify", "--cpus", "2", "--fabric", "ssh", "--hosts-file", hosts)
    refused(done, USAGE, "--cpus goes with --fabric vm")
    refused(cts("certify", "--cpus", "2", "--fabric", "host"), USAGE, "--fabric vm")
    refused(cts("faults", "--cpus", "2", "--fabric", "host"), USAGE, "--fabric vm")
    assert not cts.runs.exists()


def test_a_device_of_hosts_that_have_their_own(cts: Cts) -> None:
    done = cts("certify", "--device", "siw", "--fabric", "host")
    refused(done, USAGE, "--device goes with --fabric vm")
    refused(cts("certify", "--device", "mlx5"), USAGE, "--device", "rxe", "siw")
    refused(cts("faults", "--device", "siw", "--fabric", "host"), USAGE, "--fabric vm")
    assert not cts.runs.exists()


def test_a_kernel_of_hosts_that_have_their_own(cts: Cts) -> None:
    done = cts("certify", "--kernel", "6.12", "--fabric", "host")
    refused(done, USAGE, "--kernel goes with --fabric vm")
    refused(cts("certify", "--kernel", "newest"), USAGE, "'newest' is no series of kernels")
    refused(cts("faults", "--kernel", "6.12", "--fabric", "host"), USAGE, "--fabric vm")
    assert not cts.runs.exists()


def test_a_run_to_judge_that_there_is_not(cts: Cts) -> None:
    refused(cts("judge", "latest"), USAGE, "latest")
    refused(cts("judge", "no-such-run"), USAGE, "no-such-run")


def test_unknown_clause(cts: Cts) -> None:
    refused(cts("show", "demo_page/pases"), USAGE, "demo_page/passes")


def test_unknown_variant(cts: Cts) -> None:
    cts.has_variant("roomy")
    refused(cts("certify", "--variant", "romy"), USAGE, "romy", "nearest: roomy")
    assert not cts.runs.exists()


def test_provider_that_does_not_exist(cts: Cts) -> None:
    missing = cts.provider.with_name("libdaplrex.so")
    refused(cts("certify", "--provider", missing), USAGE, str(missing), "nearest: libdaplref.so")
    assert not cts.runs.exists()


def test_provider_that_is_none(cts: Cts, tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("not an object\n")
    refused(cts("certify", "--provider", text), USAGE, str(text), "not a shared object")
    refused(cts("certify", "--provider", tmp_path), USAGE, str(tmp_path))
    other = compile_library(tmp_path / "other.so", "int other(void) { return 0; }")
    refused(cts("certify", "--provider", other), USAGE, "does not export dat_provider_init()")
    uses = compile_library(
        tmp_path / "uses.so", "int dat_provider_init(void); int f(void) { dat_provider_init(); }"
    )
    refused(cts("certify", "--provider", uses), USAGE, "does not export dat_provider_init()")
    hidden = '__attribute__((visibility("hidden"))) int dat_provider_init(void) { return 0; }'
    mute = compile_library(tmp_path / "mute.so", hidden)
    refused(cts("certify", "--provider", mute), USAGE, "does not export dat_provider_init()")


def test_provider_of_another_machine(cts: Cts, tmp_path: Path) -> None:
    data = bytearray(cts.provider.read_bytes())
    data[18:20] = (183).to_bytes(2, "little")
    foreign = tmp_path / "aarch64.so"
    foreign.write_bytes(data)
    refused(cts("certify", "--provider", foreign), USAGE, "not an x86-64 shared object")


def test_provider_cut_short(cts: Cts, tmp_path: Path) -> None:
    data = cts.provider.read_bytes()
    for length in (10, 64, 200, len(data) // 2, len(data) - 100):
        short = tmp_path / f"short{length}.so"
        short.write_bytes(data[:length])
        refused(cts("certify", "--provider", short), USAGE, str(short))


def test_reference_provider_not_built(cts: Cts) -> None:
    cts.provider.unlink()
    refused(cts("certify"), COULD_NOT_TELL, "not built", "cmake --build")


def test_cases_not_built(cts: Cts) -> None:
    (cts.root / "build/default/bin/udapl-cases").unlink()
    refused(cts("certify"), COULD_NOT_TELL, "cmake --build")


def test_a_case_without_clause(cts: Cts) -> None:
    cases = cts.root / "build/default/bin/cases.json"
    rows = json.loads(cases.read_text())
    cases.write_text(json.dumps([*rows, {**rows[0], "id": "demo_page/orphan"}]))
    refused(cts("certify"), COULD_NOT_TELL, "demo_page/orphan", "no clause")


def test_ia_absent_from_dat_conf(cts: Cts, tmp_path: Path) -> None:
    dat_conf = tmp_path / "dat.conf"
    dat_conf.write_text(
        f'vendor0 u1.2 nonthreadsafe default {cts.provider} v.1.0 "p" ""\n'
        f'vendor1 u1.2 nonthreadsafe nondefault {cts.provider} v.1.0 "p" ""\n'
    )
    done = cts("certify", "--dat-conf", dat_conf, "--ia", "vendro0")
    refused(done, USAGE, "'vendro0'", "nearest: vendor0")
    refused(cts("certify", "--dat-conf", dat_conf, "--ia", "vendor1"), USAGE, "vendor1")
    assert cts("certify", "--dat-conf", dat_conf, "--ia", "vendor0").returncode == 0
    assert (cts.runs / "latest/dat.conf").read_text() == dat_conf.read_text()
    assert cts.events()[0]["subject"]["ia"] == "vendor0"


def test_dat_conf_that_cannot_be_used(cts: Cts, tmp_path: Path) -> None:
    missing = tmp_path / "dat.conf"
    refused(cts("certify", "--dat-conf", missing, "--ia", "a"), USAGE, str(missing))
    missing.write_text('a u1.2 nonthreadsafe default /nowhere/libx.so v.1.0 "" ""\n')
    refused(cts("certify", "--dat-conf", missing, "--ia", "a"), USAGE, "/nowhere/libx.so")
    missing.write_text('a u1.2 nonthreadsafe default libnosuch.so v.1.0 "" ""\n')
    refused(cts("certify", "--dat-conf", missing, "--ia", "a"), USAGE, "libnosuch.so")


@pytest.mark.parametrize(("written", "asked"), [("1.2", "2.0"), ("2.0", "1.2")])
def test_dat_conf_of_another_api(cts: Cts, tmp_path: Path, written: str, asked: str) -> None:
    dat_conf = tmp_path / "dat.conf"
    dat_conf.write_text(f'a u{written} nonthreadsafe default {cts.provider} v.1.0 "" ""\n')
    named = ("certify", "--dat-conf", dat_conf, "--ia", "a", "--api")
    refused(cts(*named, asked), USAGE, str(dat_conf), f"u{written}", f"give --api {written}")
    refused(cts(*named, "3.0"), USAGE, "--api", "'3.0'", "1.2", "2.0")
    assert not cts.runs.exists()


def test_provider_of_another_api(cts: Cts, tmp_path: Path) -> None:
    registry = compile_library(tmp_path / "libdat.so.1", "", "-Wl,-soname,libdat.so.1")
    provider = compile_library(
        tmp_path / "vendor.so", PROVIDER, "-Wl,--no-as-needed", "-x", "none", str(registry)
    )
    assert cts("certify", "--provider", provider).returncode == 0
    done = cts("certify", "--provider", provider, "--api", "2.0")
    refused(done, USAGE, str(provider), "give --api 1.2")


@pytest.mark.parametrize(
    "options",
    [
        ("--hosts", "3"),
        ("--hosts", "0"),
        ("-n", "0"),
        ("--seed", "-1"),
        ("--patience", "0"),
        ("--patience", "-1"),
        ("--patience", "61"),
        ("--patience", "1.5"),
        ("--patience", "much"),
        ("--patience", ""),
        ("--fabric", "mv"),
        ("--ia", "x"),
        ("--dat-conf", "x"),
        ("--dat-conf", "x", "--ia", "x", "--ia-params", "x"),
        ("-k", "passes and"),
        ("-m", "must or"),
        ("-k", "nothing_of_this_name"),
        ("-m", "may"),
    ],
)
def test_options_that_do_not_fit(cts: Cts, options: tuple[str, ...]) -> None:
    refused(cts("certify", *options), USAGE)
    assert not list(cts.runs.glob("*/events.jsonl.zst"))


@pytest.mark.parametrize("command", ["certify", "replay", "faults"])
def test_patience_has_an_end(cts: Cts, command: str) -> None:
    refused(cts(command, "--patience", "1000"), USAGE, "'1000'", "from 1 to 60")


def test_usage_errors(cts: Cts) -> None:
    for arguments in ([], ["certfy"], ["certify", "--nosuch"], ["certify", "--seed", "x"]):
        done = cts(*arguments)
        assert done.returncode == USAGE, done
        assert "udapl-cts: " in done.stderr


def test_ia_that_cannot_be_opened(cts: Cts) -> None:
    (cts.root / "build/default/bin/ia-refused").touch()
    cts.has("passes_1", "passes_2", "talks_to_peer")
    done = cts("certify")
    assert done.returncode == COULD_NOT_TELL, done
    assert "host1: dat_ia_open(" in done.stderr
    assert "DAT_PROVIDER_NOT_FOUND (libdat: no)" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    incidents = [r for r in cts.events() if r["type"] == "incident"]
    assert [(r["what"], r["host"]) for r in incidents] == [("ia", "host1"), ("ia", "host1")]
    assert cts.verdicts() == []
    assert "NOT-RUN: 3 with 1 host" in done.stdout
    assert (cts.runs / "latest/report.html").is_file()


def test_ia_that_does_not_open_and_says_nothing(cts: Cts) -> None:
    (cts.root / "build/default/bin/ia-refused").write_text("without a word")
    cts.has("passes")
    done = cts("certify")
    assert done.returncode == COULD_NOT_TELL, done
    assert "host1: the agent does not say why cts0 does not open" in done.stderr
    assert cts.verdicts() == []


def test_an_agent_of_another_suite_gets_no_case(cts: Cts) -> None:
    (cts.root / "build/default/bin/another-build").touch()
    cts.has("passes", "talks_to_peer")
    for more in ((), ("--spread", "2")):
        done = cts("certify", *more)
        assert done.returncode == COULD_NOT_TELL, done
        assert (
            "its agent is another suite's (build ff, this checkout's is 00)"
            in done.stdout + done.stderr
        )
        assert cts.verdicts() == []


def test_fabric_that_cannot_be_opened(cts: Cts) -> None:
    done = cts("certify", "--fabric", "absent")
    refused(done, COULD_NOT_TELL, "there is no such emulator: install it")
    assert cts.events()[-1]["exit"] == COULD_NOT_TELL


def test_no_qemu(cts: Cts, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in Path("/usr/bin").iterdir():
        if not tool.name.startswith("qemu"):
            (tools / tool.name).symlink_to(tool)
    cts.env["PATH"] = str(tools)
    done = cts("certify", "--fabric", "qemu")
    refused(done, COULD_NOT_TELL, "qemu-system-x86")
    assert not (cts.root / "runs").exists()


def test_two_runs_into_one_folder(cts: Cts, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert cts("certify", "--out", out).returncode == 0
    before = (out / "events.jsonl.zst").read_bytes()
    refused(cts("certify", "--out", out), USAGE, "there is a run already", "another --out")
    assert (out / "events.jsonl.zst").read_bytes() == before


def test_a_folder_that_is_going_to_be_used(cts: Cts, tmp_path: Path) -> None:
    out = tmp_path / "out"
    cts.has("hangs_until_told", deadline_ms=60_000)
    running = cts.start("certify", "--out", out, "--hosts", "1")
    try:
        wait_for(cts.hanging)
        refused(cts("certify", "--out", out), USAGE, "a run is going on")
    finally:
        running.terminate()
        running.communicate()


def test_out_that_is_no_empty_folder(cts: Cts, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused(cts("certify", "--out", tmp_path / "file"), USAGE, "is a file")
    refused(cts("certify", "--out", tmp_path), USAGE, "not empty", "file")
    assert (tmp_path / "file").exists()
    refused(cts("certify", "--out", "/proc/nowhere"), COULD_NOT_TELL, "/proc/nowhere")


def test_out_that_is_empty(cts: Cts, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    refused(cts("certify", "--out", out, "-k", "nothing"), USAGE)
    assert list(out.iterdir()) == []
    assert cts("certify", "--out", out).returncode == 0


@pytest.mark.parametrize("options", [(), ("--spread", "2")])
def test_no_space_for_the_results(cts: Cts, options: tuple[str, ...]) -> None:
    cts.has(*(f"prints_noise_{number}" for number in range(40)))
    limit = 100_000
    argv, env = cts.command("certify", "--hosts", "1", *options)

    done = subprocess.run(
        argv,
        env=env,
        cwd=cts.root,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == COULD_NOT_TELL, done
    assert "no space for results in" in done.stderr
    assert "Traceback" not in done.stderr
    kept = len(cts.verdicts())
    assert 0 < kept < 40
    assert f"{kept} PASS" in done.stdout
    assert cts("report", "--format", "md").returncode == 0


def test_no_space_at_all(cts: Cts) -> None:
    argv, env = cts.command("certify")
    done = subprocess.run(
        argv,
        env=env,
        cwd=cts.root,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)),
    )
    refused(done, COULD_NOT_TELL, "no space for results")
    assert not list(cts.runs.glob("*/events.jsonl.zst"))


def test_results_of_a_newer_version(cts: Cts) -> None:
    cts.has("fails")
    cts("certify")
    head, *others = cts.events()
    write_records(cts.runs / "latest", [{**head, "format": 99}, *others])
    refused(cts("report"), USAGE, "format 99", "newer")
    refused(cts("replay"), USAGE, "format 99", "newer")


def test_damaged_results(cts: Cts) -> None:
    cts("certify")
    head, *others = read_lines(cts.runs / "latest")
    write_lines(cts.runs / "latest", [head, b"{damaged\n", *others])
    refused(cts("report"), USAGE, "line 2")


def test_unknown_run(cts: Cts) -> None:
    refused(cts("report"), USAGE, "no run", "certify")
    cts("certify")
    run = cts.events()[0]["run"]
    refused(cts("report", run[:-1] + "x"), USAGE, "no such run", run)
    refused(cts("report", cts.root), USAGE, "holds no run")
    assert cts("report", run).returncode == 0
    assert cts("report", cts.runs / run).returncode == 0


def test_a_defect_of_the_program(cts: Cts) -> None:
    (cts.root / "build/default/bin/cases.json").write_text('[{"id": "demo_page/passes"}]')
    refused(cts("list"), COULD_NOT_TELL, "KeyError", "please report it")
    assert "Traceback" in (cts.root / ".cache/traceback.txt").read_text()
