# SPDX-License-Identifier: BSD-2-Clause
"""`package` and `verify`: what an honest package is, and what forgers make of it."""

import io
import json
import re
import shlex
import subprocess
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from oracle import judge
from results.errors import InputError
from results.runlog.frames import EVENTS
from results.runlog.invariants import TABLE
from runners.checkout import Checkout
from runners.package.archive import FAULTS, MANIFEST, SIGNATURE, STATEMENT
from runners.package.build import text_of
from runners.package.verify import CANNOT_TELL, NOT_OK, OK, verify
from tests.oracle.trace_text import record as record_of
from tests.reports.synthetic_run import Record, check, read_lines, write_lines
from tests.runners.fake_checkout import Cts, make_checkout
from tests.runners.forge import Forger, repacked

CHECKS = (
    "archive signature digests records invariants manifest plan commit suite sources calls"
    " dat.conf reports waivers proof statement"
).split()
STATEMENT_OF = {
    "organisation": "Example Lab",
    "product": "libvendor",
    "version": "1.4",
    "contact": "rdma@lab.example",
    "adapter": "fake0",
    "firmware": "1.2.3",
}
FAULT = """\
[[fault]]
id = "demo_page/fails"
clause = "demo_page/passes_1"
text = "Does what it must not."
on = "dat_srq_resize"
do = "answer"
returns = "DAT_SUCCESS"
"""
WAIVER = """\
[[waiver]]
clause = "demo_page/fails"
provider = "fake"
versions = ">=1.0"
reason = "It is known."
url = "https://vendor.example/1"
approver = "A. Smith"
expires = 2999-12-31
"""


@dataclass(frozen=True)
class Lab:
    """Checkouts with packages of a run that kept all and of one that did not, and who may sign."""

    root: Path
    green: Cts
    red: Cts
    key: Path
    signers: Path

    @property
    def packages(self) -> Mapping[str, tuple[Path, Cts]]:
        return {
            "green": (self.root / "green.tar", self.green),
            "red": (self.root / "red.tar", self.red),
        }


def committed(root: Path, provider: Path, *cases: str) -> Cts:
    """A committed checkout with these cases and a fault of the first."""
    cts = make_checkout(root, provider)
    cts.has(*cases)
    (cts.root / "faults").mkdir()
    faults = (FAULT, FAULT.replace("page/fails", "page/crashes"))
    (cts.root / "faults/demo.toml").write_text("\n".join(faults))
    for name in ("libdaplfault.so", "libdatfault.so"):
        cts.provider.with_name(name).write_bytes(cts.provider.read_bytes())
    cts.is_committed()
    return cts


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, provider: Path) -> Lab:
    root = tmp_path_factory.mktemp("lab")
    cases = ("passes_1", "notes", "talks_to_peer", "disturbs_network")
    green = committed(root / "green", provider, *cases)
    red = committed(root / "red", provider, "passes_1", "fails", "crashes", "talks_to_peer")
    key = root / "key"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", key], check=True
    )
    signers = root / "signers"
    signers.write_text(f"rdma@lab.example {key.with_suffix('.pub').read_text()}")
    statement = root / "statement.json"
    statement.write_text(json.dumps({**STATEMENT_OF, "claims": ["srq_supported"]}))
    for cts in (green, red):
        assert cts("faults", "-k", "fails").returncode == 0
    assert green("certify").returncode == 0
    (root / "waivers.toml").write_text(WAIVER)
    assert red("certify", "--waivers", root / "waivers.toml").returncode == 1
    made = Lab(root, green, red, key, signers)
    told = (("--statement", statement), ())
    for (path, cts), more in zip(made.packages.values(), told, strict=True):
        done = cts("package", "--sign", key, "--out", path, *more)
        assert done.returncode == 0, done
    return made


def found(path: Path, lab: Lab, cts: Cts) -> dict[str, tuple[str, str]]:
    """What came of each check."""
    results = verify(path, lab.signers, Checkout(cts.root))
    return {result.name: (result.word, result.text) for result in results}


@pytest.mark.parametrize("which", ["green", "red"])
def test_an_honest_package_is_ok(lab: Lab, which: str) -> None:
    path, cts = lab.packages[which]
    told = found(path, lab, cts)
    assert told["invariants"] == (OK, f"{len(TABLE)} hold in each record")
    assert {name: word for name, (word, _) in told.items()} == {
        **dict.fromkeys(CHECKS, OK),
        "run": "",
    }
    assert "by rdma@lab.example, the ED25519 key SHA256:" in told["signature"][1]
    conclusion = {"green": "conformant", "red": "not conformant"}[which]
    assert told["run"][1].startswith(conclusion)
    done = cts("verify", path, "--signers", lab.signers)
    assert done.returncode == 0, done
    assert [line.split("  ")[0] for line in done.stdout.splitlines()[:-1]] == [OK] * len(CHECKS)


def test_the_customers_page_has_the_statement(lab: Lab) -> None:
    path, _ = lab.packages["green"]
    with tarfile.open(path) as package:
        file = package.extractfile("customer.html")
        assert file is not None
        page = file.read().decode()
    assert "libvendor 1.4" in page
    assert "Example Lab, rdma@lab.example" in page
    assert "gave no statement" not in page


def test_a_report_for_the_customer_takes_a_statement(lab: Lab) -> None:
    folder = lab.green.runs / "latest"
    done = lab.green("report", "--format", "customer", "--statement", lab.root / "statement.json")
    assert done.returncode == 0, done
    page = (folder / "customer.html").read_text()
    assert "libvendor 1.4" in page
    assert "Example Lab, rdma@lab.example" in page
    done = lab.green("report", "--format", "customer")
    assert "gave no statement" in (folder / "customer.html").read_text()
    done = lab.green("report", "--statement", lab.root / "statement.json")
    assert done.returncode == 64
    assert "--statement goes with --format customer, not html" in done.stderr


def test_two_packagings_are_one_file(lab: Lab, tmp_path: Path) -> None:
    path, cts = lab.packages["red"]
    again = tmp_path / "again.tar"
    assert cts("package", "--sign", lab.key, "--out", again).returncode == 0
    assert again.read_bytes() == path.read_bytes()
    done = cts("package", "--out", again)
    assert done.returncode == 64
    assert "is there already: choose another --out" in done.stderr
    assert tarfile.open(path).getnames()[:3] == [MANIFEST, SIGNATURE, EVENTS]


def test_without_signers_nobody_knows_whose_key_it_is(lab: Lab, tmp_path: Path) -> None:
    path, cts = lab.packages["green"]
    done = cts("verify", path)
    assert done.returncode == 2
    (line,) = (line for line in done.stdout.splitlines() if line.startswith(CANNOT_TELL))
    assert "signature" in line
    assert "--signers FILE says whose that is" in line
    cts("package", "--out", tmp_path / "unsigned.tar")
    assert cts("verify", tmp_path / "unsigned.tar").returncode == 2


def test_a_run_that_proves_less_says_so(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert lab.green("certify", "--out", out, "-k", "passes_1").returncode == 0
    (lab.green.root / "elsewhere").mkdir()
    done = lab.green("package", out, "--out", tmp_path / "part.tar")
    assert "kept, in part" in done.stdout
    assert "not signed: --sign KEY signs it" in done.stdout
    told = found(tmp_path / "part.tar", lab, lab.green)
    assert told["signature"][0] == NOT_OK
    assert {name for name, (word, _) in told.items() if word == OK} == set(CHECKS) - {"signature"}
    assert told["run"][1].startswith("kept, in part")


def test_without_a_faults_run_it_is_said(lab: Lab, tmp_path: Path, provider: Path) -> None:
    cts = committed(tmp_path / "checkout", provider, "passes_1")
    cts("certify")
    done = cts("package", "--out", tmp_path / "a.tar")
    assert "fault proof: none: no faults run of this commit; ./udapl-cts faults" in done.stdout
    told = found(tmp_path / "a.tar", lab, cts)
    assert told["proof"][0] == CANNOT_TELL
    assert "no faults run of the same commit" in told["proof"][1]


def test_another_clone_and_another_commit(lab: Lab, tmp_path: Path, provider: Path) -> None:
    """Who has the commit, but is at another one, knows all; who has not, knows what he lacks."""
    path, _ = lab.packages["green"]
    other = committed(tmp_path / "other", provider, "passes_9")
    told = found(path, lab, other)
    assert told["commit"][0] == told["suite"][0] == CANNOT_TELL
    assert "is not known to this clone: git fetch" in told["commit"][1]
    git = ["git", "-C", str(other.root)]
    subprocess.run([*git, "fetch", "-q", str(lab.green.root)], check=True)
    told = found(path, lab, other)
    assert told["commit"][0] == told["suite"][0] == told["reports"][0] == OK


def test_who_is_elsewhere_is_told_what_would_tell(lab: Lab, tmp_path: Path, provider: Path) -> None:
    """Reports may be made otherwise since: the suite of the run's commit knows, and is at hand."""
    other = committed(tmp_path / "other clone", provider, "passes_9")
    fetch = ["git", "-C", str(other.root), "fetch", "-q", str(lab.red.root)]
    subprocess.run(fetch, check=True)
    (tmp_path / "unpacked").mkdir()
    forger = Forger.of(lab.packages["red"][0], tmp_path / "unpacked")
    reword("report.md", b"Not conformant", b"Conformant")(forger)
    path = forger.pack(tmp_path / "a package.tar")
    word, text = found(path, lab, other)["reports"]
    assert word == CANNOT_TELL
    first, again = text.split("; that of the run does, or does not: ")[1].split(" && ")
    subprocess.run(shlex.split(first), check=True, capture_output=True)
    program, verb, *rest = shlex.split(again)
    assert (verb, rest) == ("verify", [str(path), "--signers", str(lab.signers)])
    results = verify(path, lab.signers, Checkout(Path(program).parent))
    assert [(each.word, each.text) for each in results if each.name == "reports"] == [
        (NOT_OK, "report.md: not what the records say")
    ]


def test_local_changes_are_nobody_elses(lab: Lab, tmp_path: Path, provider: Path) -> None:
    cts = committed(tmp_path / "checkout", provider, "passes_1")
    with (cts.root / "cases/demo/demo_page.toml").open("a") as file:
        file.write("# mine\n")
    cts("certify")
    cts("package", "--out", tmp_path / "a.tar")
    told = found(tmp_path / "a.tar", lab, cts)
    assert told["commit"] == (CANNOT_TELL, told["commit"][1])
    assert "with local changes that nobody else has" in told["commit"][1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"claims": ["core"]}, "there is no such profile"),
        ({"claims": ["srq_watermarks"]}, "there is no such profile"),
        ({"claims": "srq_supported"}, "claims: 'srq_supported' is not of type 'array'"),
        ({"conclusion": "perfect"}, "conclusion: 'perfect' is not one of"),
        ({"product": " "}, "product: ' ' does not match"),
        ({"price": "1"}, "'price' was unexpected"),
    ],
)
def test_a_statement_that_is_refused(lab: Lab, tmp_path: Path, change: Record, said: str) -> None:
    path = tmp_path / "statement.json"
    path.write_text(json.dumps({**STATEMENT_OF, "claims": [], **change}))
    done = lab.green("package", "--statement", path, "--out", tmp_path / "a.tar")
    assert done.returncode == 64
    assert said in done.stderr
    assert not (tmp_path / "a.tar").exists()


def test_a_statement_that_claims_too_much(lab: Lab, tmp_path: Path) -> None:
    path = tmp_path / "statement.toml"
    words = "".join(f'{name} = "{text}"\n' for name, text in STATEMENT_OF.items())
    path.write_text(f'{words}claims = ["srq_supported"]\nconclusion = "conformant"\n')
    done = lab.red("package", "--statement", path, "--out", tmp_path / "a.tar")
    assert done.returncode == 64
    assert "it claims srq_supported, and that is fail" in done.stderr
    path.write_text(f'{words}claims = []\nconclusion = "conformant"\n')
    done = lab.red("package", "--statement", path, "--out", tmp_path / "a.tar")
    assert "it claims 'conformant', and the run is not conformant" in done.stderr
    path.write_text("organisation =")
    done = lab.red("package", "--statement", path, "--out", tmp_path / "a.tar")
    assert done.returncode == 64
    assert lab.green("package", "--statement", tmp_path / "no", "--out", path).returncode == 64
    assert lab.green("package", "--sign", tmp_path / "no", "--out", path).returncode == 64


def test_input_that_is_wrong(lab: Lab, tmp_path: Path) -> None:
    path, cts = lab.packages["green"]
    assert cts("verify", tmp_path / "nothing.tar").returncode == 64
    assert cts("verify", tmp_path).returncode == 64
    with pytest.raises(InputError, match="there is no file"):
        list(verify(path, tmp_path / "nobody", Checkout(cts.root)))


# What is done to the file itself, and what is said of its archive.


def member(name: str, **more: Any) -> tarfile.TarInfo:
    """The header of a member as another program might write it."""
    info = tarfile.TarInfo(name)
    for key, value in more.items():
        setattr(info, key, value)
    return info


def tar_of(*members: tarfile.TarInfo, form: int = tarfile.USTAR_FORMAT) -> Callable[[bytes], bytes]:
    """An archive of these members, and behind them those of the package."""

    def change(data: bytes) -> bytes:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=form) as tar:
            for info in members:
                tar.addfile(info, io.BytesIO(bytes(info.size)))
            with tarfile.open(fileobj=io.BytesIO(data)) as old:
                for info in old:
                    tar.addfile(info, old.extractfile(info))
        return out.getvalue()

    return change


def header(**changes: object) -> Callable[[bytes], bytes]:
    """The first header with other members, and a checksum that is right again."""

    def changed(data: bytes) -> bytes:
        info = tarfile.TarInfo.frombuf(data[:512], "utf-8", "strict")
        for name, value in changes.items():
            setattr(info, name, value)
        return info.tobuf(tarfile.USTAR_FORMAT) + data[512:]

    return changed


def tebibyte(data: bytes) -> bytes:
    """Claims a member that is larger than its form of tar can tell."""
    info = tarfile.TarInfo(MANIFEST)
    info.size = 1 << 40
    return info.tobuf(tarfile.GNU_FORMAT) + data[512:]


def size_of_first(data: bytes) -> int:
    return tarfile.TarInfo.frombuf(data[:512], "utf-8", "strict").size


def without_end(data: bytes) -> bytes:
    return data.rstrip(b"\0") + b"\0" * (-len(data.rstrip(b"\0")) % 512)


def hidden(data: bytes) -> bytes:
    at = 512 + size_of_first(data)
    return data[:at] + b"!" + data[at + 1 :]


def swapped(data: bytes) -> bytes:
    """The last two members in the other order."""
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(data)) as old:
        infos = old.getmembers()
        infos[-1], infos[-2] = infos[-2], infos[-1]
        with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for info in infos:
                tar.addfile(info, old.extractfile(info))
    return out.getvalue()


UNKNOWN = "a member that no package has"
PLAIN = "is no plain file as `package` writes it"
ARCHIVES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda data: b"", "its end is not where|it has no manifest"),
    "a tebibyte": (tebibyte, "its member manifest.json is too large: 1099511627776 bytes"),
    "zeros": (lambda data: bytes(10240), "it has no manifest.json"),
    "no tar": (lambda data: b"<html>" + data, "it is no tar at byte 0"),
    "a gzip": (lambda data: b"\x1f\x8b\x08" + data, "it is no tar at byte 0"),
    "cut off in a header": (lambda data: data[:300], "it is no tar|end is not"),
    "cut off in a member": (lambda data: data[: size_of_first(data)], "json is cut off"),
    "cut off behind a member": (without_end, "its end is not where a package ends"),
    "half": (lambda data: data[: len(data) // 2], "is cut off"),
    "without its end": (lambda data: data[:-10240], "cut off|its end is not where"),
    "longer": (lambda data: data + bytes(512), "its end is not where a package ends"),
    "much longer": (lambda data: data + bytes(1 << 20), "its end is not where a package ends"),
    "a word behind its end": (lambda data: data[:-1] + b"x", "hidden behind its end"),
    "a word behind a member": (hidden, "something is hidden behind its member manifest.json"),
    "another package behind": (lambda data: data + data, "hidden behind|its end is not where"),
    "a byte of a header": (lambda data: data[:5] + b"X" + data[6:], "it is no tar at byte 0"),
    "up and away": (tar_of(member("../../../../tmp/evil", size=9)), UNKNOWN),
    "an absolute path": (tar_of(member("/etc/cron.d/evil", size=9)), UNKNOWN),
    "a device": (tar_of(member("dev", type=tarfile.CHRTYPE)), UNKNOWN),
    "a folder": (tar_of(member("manifest.json/", type=tarfile.DIRTYPE)), "no package has|no plain"),
    "a member more": (tar_of(member("notes.txt", size=9)), UNKNOWN),
    "a name of control characters": (tar_of(member("\x1b[2Jx", size=9)), UNKNOWN),
    "a link": (header(type=tarfile.SYMTYPE), PLAIN),
    "a link to a file": (
        header(type=tarfile.SYMTYPE, linkname="/etc/x"),
        PLAIN,
    ),
    "a hard link": (header(type=tarfile.LNKTYPE), PLAIN),
    "a fifo": (header(type=tarfile.FIFOTYPE), PLAIN),
    "a time": (header(mtime=1), PLAIN),
    "an owner": (header(uid=1000), PLAIN),
    "an owner's name": (header(uname="root"), PLAIN),
    "set-uid": (header(mode=0o4755), PLAIN),
    "pax headers": (
        tar_of(member("x" * 200, size=9), form=tarfile.PAX_FORMAT),
        UNKNOWN,
    ),
    "GNU's long names": (tar_of(member("x" * 200, size=9), form=tarfile.GNU_FORMAT), UNKNOWN),
    "a huge size": (header(size=8**11 - 1), "too large"),
    "a large size": (header(size=15 << 20), "is cut off"),
    "a size of nothing": (header(size=0), "it is no tar at byte 512"),
    "doubled": (
        lambda data: data[: 512 + -(-size_of_first(data) // 512) * 512] + data,
        "manifest.json is there twice",
    ),
    "another order": (swapped, "out of its order"),
}


@pytest.mark.parametrize("what", ARCHIVES)
def test_what_was_done_to_the_archive(lab: Lab, what: str) -> None:
    path, cts = lab.packages["green"]
    change, said = ARCHIVES[what]
    forged = repacked(path, change)
    told = found(forged, lab, cts)
    assert told.keys() == {"archive"}
    assert told["archive"][0] == NOT_OK
    assert re.search(said, told["archive"][1]), told
    assert [entry.name for entry in forged.parent.iterdir()] == ["forged.tar"]


# What is done to its members.


def verdict_of(records: list[Record], name: str, hosts: int = 1) -> Record:
    """The first verdict of a case."""
    return next(
        record
        for record in records
        if record["type"] == "verdict"
        and record["case"].endswith(name)
        and record["hosts"] == hosts
    )


def tell(word: str, name: str = "fails", **more: Any) -> Callable[[Forger], None]:
    """Another verdict of a case."""

    def change(records: list[Record]) -> None:
        verdict_of(records, name).update({"verdict": word, **more})

    return lambda forger: forger.change(change)


def head(**more: Any) -> Callable[[Forger], None]:
    """Other members of the run's record."""
    return lambda forger: forger.change(lambda records: records[0].update(more))


def part_of_head(name: str, **more: Any) -> Callable[[Forger], None]:
    return lambda forger: forger.change(lambda records: records[0][name].update(more))


def on_lines(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Forger], None]:
    """Lines changed in an editor, by an attacker who knows the manifest and not the chain."""

    def forge(forger: Forger) -> None:
        write_lines(forger.folder, change(read_lines(forger.folder)))
        forger.seal()

    return forge


def reword(name: str, old: bytes, new: bytes, seal: bool = True) -> Callable[[Forger], None]:
    """A word of a file changed, with the manifest made anew or as it was."""

    def forge(forger: Forger) -> None:
        forger.edit(name, old, new)
        if seal:
            forger.seal()

    return forge


def in_manifest(change: Callable[[Record], object]) -> Callable[[Forger], None]:
    def forge(forger: Forger) -> None:
        manifest = forger.manifest
        change(manifest)
        forger.manifest = manifest

    return forge


def as_statement(**more: Any) -> Callable[[Forger], None]:
    def forge(forger: Forger) -> None:
        forger.add(STATEMENT, text_of({**STATEMENT_OF, "claims": [], **more}).encode())
        forger.change(lambda records: None)

    return forge


def no_finding(records: list[Record]) -> None:
    """Leaves a finding out: of the records, of the plan, and of the exit."""
    for name in ("fails", "crashes"):
        records[:] = [r for r in records if not str(r.get("case", "")).endswith(name)]
        plan = records[0]["plan"]
        records[0]["plan"] = [row for row in plan if not row["case"].endswith(name)]
    records[-1]["exit"] = 0


def no_clause(records: list[Record]) -> None:
    """Leaves a finding out, and its clause, and counts anew."""
    no_finding(records)
    head = records[0]
    head["waivers"] = []
    kept = [c for c in head["clauses"] if not c["id"].endswith(("fails", "crashes"))]
    head["clauses"] = kept
    head["suite"]["cases"] = len(kept)
    head["suite"]["plan"] = [{"hosts": 1, "cases": 2}, {"hosts": 2, "cases": 1}]


def fewer(records: list[Record]) -> None:
    """Leaves a finding out, and says that the suite has no more cases."""
    no_finding(records)
    records[0]["waivers"] = []
    records[0]["suite"]["cases"] = 2
    records[0]["suite"]["plan"] = [{"hosts": 1, "cases": 2}, {"hosts": 2, "cases": 1}]


def interrupted(records: list[Record]) -> None:
    records[-1].update(status="interrupted", exit=2)


def unended(records: list[Record]) -> None:
    records.pop()


def half(records: list[Record]) -> None:
    del records[len(records) // 2 :]


def not_run(records: list[Record]) -> None:
    records.remove(verdict_of(records, "talks_to_peer", 2))


def not_run_and_counted(records: list[Record]) -> None:
    not_run(records)
    records[-1]["exit"] = 1


def waived(**more: Any) -> Callable[[Forger], None]:
    def change(records: list[Record]) -> None:
        records[0]["waivers"][0].update(more)

    return lambda forger: forger.change(change)


def bomb(forger: Forger) -> None:
    """Records of 200 MB that are packed in some kilobytes."""
    line = b'{"type":"incident","text":"' + b"x" * 15_000_000 + b'"}\n'
    write_lines(forger.folder, [*read_lines(forger.folder)[:1], *[line] * 14])
    forger.seal()


def put(name: str, data: bytes) -> Callable[[Forger], None]:
    """A file of one's own, in the manifest too."""

    def forge(forger: Forger) -> None:
        forger.add(name, data)
        forger.seal()

    return forge


def put_with_all(name: str, data: bytes) -> Callable[[Forger], None]:
    """The same, and all that follows from the records made anew."""

    def forge(forger: Forger) -> None:
        forger.add(name, data)
        forger.change(lambda records: None)

    return forge


def strip(name: str) -> Callable[[Forger], None]:
    """A file taken away, from the manifest too."""

    def forge(forger: Forger) -> None:
        forger.remove(name)
        in_manifest(lambda manifest: manifest["files"].pop(name))(forger)

    return forge


def without(name: str) -> Callable[[Forger], None]:
    """A file taken away."""
    return lambda forger: forger.remove(name)


def updated(name: str, value: object) -> Callable[[Record], None]:
    """Another member of a record."""
    return lambda record: record.update({name: value})


def noise(forger: Forger) -> None:
    forger.edit(EVENTS, b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfd\xff\xff")
    forger.seal()


def another_library(forger: Forger) -> None:
    part_of_head("subject", sha256="0" * 64)(forger)
    in_manifest(lambda manifest: manifest["subject"].update(sha256="1" * 64))(forger)


def no_faults(forger: Forger) -> None:
    forger.remove(FAULTS)
    forger.change(lambda records: None)


def other_faults(old: bytes, new: bytes) -> Callable[[Forger], None]:
    def forge(forger: Forger) -> None:
        forger.edit(FAULTS, old, new)
        forger.change(lambda records: None)

    return forge


def deep(name: str) -> Callable[[Forger], None]:
    def forge(forger: Forger) -> None:
        forger.add(name, b"[" * 60_000)
        if name != MANIFEST:
            forger.seal()

    return forge


def a_check_that_held(records: list[Record]) -> None:
    record = verdict_of(records, "fails")
    record["verdict"] = "PASS"
    record["checks"][-1]["ok"] = True


def one_more(records: list[Record]) -> None:
    records.insert(-1, dict(verdict_of(records, "fails"), verdict="ERROR"))


def another_case(records: list[Record]) -> None:
    verdict_of(records, "fails")["case"] = "demo_page/passes_7"


def second_for_first(records: list[Record]) -> None:
    verdict_of(records, "fails")["attempt"] = 2


def another_level(records: list[Record]) -> None:
    next(c for c in records[0]["clauses"] if c["id"].endswith("fails"))["level"] = "may"


def another_text(records: list[Record]) -> None:
    next(c for c in records[0]["clauses"] if c["id"].endswith("fails"))["text"] = "It may fail."


def another_clause(records: list[Record]) -> None:
    clause = dict(records[0]["clauses"][0], id="demo_page/passes_more")
    records[0]["clauses"].append(clause)


def on_one_host(records: list[Record]) -> None:
    plan = records[0]["plan"]
    records[0]["plan"] = [
        dict(row, hosts=1) if row["case"].endswith("network") else row for row in plan
    ]
    verdict_of(records, "network", 2)["hosts"] = 1


def unhealthy(records: list[Record]) -> None:
    verdict_of(records, "passes_1")["checks"] = [check("depth == 8", expected=["8"], seen="3")]


def in_verdict(name: str, **more: Any) -> Callable[[Forger], None]:
    """Other members of a verdict, and all that follows from it made anew."""

    def forge(forger: Forger) -> None:
        forger.change(lambda records: verdict_of(records, name).update(more))
        forger.render()

    return forge


def another_file(records: list[Record]) -> None:
    for each in verdict_of(records, "passes_1")["checks"]:
        each["file"] = "cases/demo/demo_page/none.c"


def another_page(records: list[Record]) -> None:
    for each in verdict_of(records, "passes_1")["checks"]:
        each["file"] = "cases/demo/tea.c"


def another_line(records: list[Record]) -> None:
    for each in verdict_of(records, "passes_1")["checks"]:
        each["line"] = 4711


def closed(records: list[Record]) -> None:
    """No IA ever opened, and each case passed."""
    for record in records:
        if record["type"] == "hosts":
            record["ia"].update(open=False, attributes={}, needs={})


# A PZ is freed that an RMR uses.
DEVIATING = """\
dat_ia_openv name="fake0"; async_evd_min_qlen=64; async_evd_handle=DAT_HANDLE_NULL; dat_major=1; \
dat_minor=2; thread_safety=DAT_FALSE -> async_evd_handle=async_evd; ia_handle=ia
dat_pz_create ia_handle=ia -> pz_handle=pz#1
dat_rmr_create pz_handle=pz#1 -> rmr_handle=rmr#1
dat_pz_free pz_handle=pz#1 ->
dat_ia_close ia_handle=ia; ia_flags=DAT_CLOSE_ABRUPT_FLAG ->
"""


def deviating(as_it_is: bool) -> Callable[[Forger], None]:
    """A trace with a deviation in a verdict that was kept; what the model says of it, or not."""
    calls = record_of(DEVIATING.splitlines())["calls"]
    said = {"verdict": "agrees", "judged": len(calls)}
    if as_it_is:
        said = judge({"calls": calls}, {"opened_as": "fake0"}).record
        assert said["verdict"] == "deviates"
    return in_verdict("passes_1", calls=calls, oracle=said)


def unjudged(records: list[Record]) -> None:
    del verdict_of(records, "passes_1")["oracle"]


RED = "red"
GREEN = "green"
# In which package, what is done, which check tells of it, and in which words.
FORGERIES: dict[str, tuple[str, Callable[[Forger], None], str, str]] = {
    # The signature.
    "unsigned": (GREEN, Forger.unsign, "signature", "it is not signed"),
    "signed by another": (
        GREEN,
        in_manifest(lambda m: m.update(run="x")),
        "signature",
        "it is not this manifest's",
    ),
    "a signature of nothing": (
        GREEN,
        lambda f: f.add(SIGNATURE, b""),
        "signature",
        "it is not this manifest's",
    ),
    "a signature cut off": (
        GREEN,
        lambda f: f.add(SIGNATURE, f.files[SIGNATURE].read_bytes()[:200]),
        "signature",
        "it is not this manifest's",
    ),
    "a signature of noise": (
        GREEN,
        lambda f: f.add(SIGNATURE, b"-----BEGIN SSH SIGNATURE-----\nAAAA\n"),
        "signature",
        "it is not this manifest's",
    ),
    # What no run writes, chained and sealed anew.
    "no time at all": (GREEN, in_verdict("passes_1", ms=-5), "invariants", "it took -5 ms"),
    "no IA opened": (GREEN, lambda f: f.change(closed), "invariants", "no IA opened there"),
    "nobody said what is unsupported": (
        GREEN,
        in_verdict("passes_1", verdict="UNSUPPORTED", calls=[], checks=[], reason="x = 0"),
        "invariants",
        "it made no call, and all that it needs is declared",
    ),
    "a note of nothing": (
        RED,
        in_verdict("fails", verdict="NOTE", checks=[]),
        "invariants",
        "nothing of it notes its reason",
    ),
    # What the executable specification finds in the calls.
    "a trace that deviates": (
        GREEN,
        deviating(as_it_is=False),
        "calls",
        "it is PASS, and case call 4, dat_pz_free: ",
    ),
    "a trace that deviates, and is kept": (
        GREEN,
        deviating(as_it_is=True),
        "calls",
        "it is PASS, and case call 4, dat_pz_free: ",
    ),
    "a trace that was better judged": (
        GREEN,
        in_verdict("passes_1", oracle={"verdict": "agrees", "judged": 1}),
        "calls",
        "its calls, judged again, give another '[a-z]+' than it says",
    ),
    "a trace without a judgement": (
        GREEN,
        lambda f: f.change(unjudged),
        "calls",
        "does not say what the executable specification found",
    ),
    "a check in no file": (
        GREEN,
        lambda f: f.change(another_file),
        "sources",
        "the commit has no cases/demo/demo_page/none.c",
    ),
    "a check of another page": (
        GREEN,
        lambda f: f.change(another_page),
        "invariants",
        "checks of tea",
    ),
    "a check in no line": (GREEN, lambda f: f.change(another_line), "sources", "no line 4711"),
    # The dat.conf, sealed anew.
    **{
        f"a dat.conf {what}": (GREEN, reword("dat.conf", old, new), "dat.conf", why)
        for what, old, new, why in (
            ("of another library", b"/lib/", b"/bil/", "it has another entry of cts0, or none"),
            ("of another IA", b"cts0 ", b"cts1 ", "it has another entry of cts0, or none"),
            ("with other parameters", b'" ""', b'x" ""', "it has another entry of cts0, or none"),
            ("of another API", b"u1.2", b"u2.0", "it has another entry of cts0, or none"),
            (
                "with another library for threads",
                b" threadsafe default ",
                b" threadsafe default /other",
                "it has entries of cts0 of two libraries",
            ),
        )
    },
    # Files, by an attacker who leaves the manifest as it is.
    **{
        f"{name} edited": (
            GREEN,
            reword(name, old, new, seal=False),
            "digests",
            f"{name} is not the one of the manifest",
        )
        for name, old, new in (
            ("report.html", b"onformant", b"ONFORMANT"),
            ("report.md", b"onformant", b"ONFORMANT"),
            ("report.json", b"conformant", b"CONFORMANT"),
            ("junit.xml", b"conformant", b"CONFORMANT"),
            ("customer.html", b"onformant", b"ONFORMANT"),
            ("dat.conf", b"1.2", b"2.0"),
            (STATEMENT, b"Example Lab", b"Another Lab"),
            (FAULTS, b"demo_page", b"demo_pagf"),
        )
    },
    **{
        f"without {name}": (
            GREEN,
            without(name),
            "digests",
            f"{name} is not there",
        )
        for name in ("report.html", "junit.xml", "dat.conf", STATEMENT, FAULTS, EVENTS)
    },
    "a report fewer, in the manifest too": (
        GREEN,
        strip("report.md"),
        "digests",
        "it has no report.md",
    ),
    "a file that the manifest has not": (
        RED,
        lambda f: f.add(STATEMENT, b"{}"),
        "digests",
        "statement.json is there, and not in the manifest",
    ),
    "a file of the manifest that is not": (
        GREEN,
        in_manifest(lambda m: m["files"].update({"x\x1b[1m": {"sha256": "0", "size": 1}})),
        "digests",
        "is not there",
    ),
    "another size": (
        GREEN,
        in_manifest(lambda m: m["files"][EVENTS].update(size=1)),
        "digests",
        "events.jsonl.zst is not the one",
    ),
    "a manifest of nothing": (GREEN, lambda f: f.add(MANIFEST, b""), "digests", "no manifest"),
    "a manifest that is no JSON": (
        GREEN,
        lambda f: f.add(MANIFEST, b"{"),
        "digests",
        "no manifest",
    ),
    "a manifest of a list": (GREEN, lambda f: f.add(MANIFEST, b"[]"), "digests", "no manifest"),
    "a manifest of brackets": (GREEN, deep(MANIFEST), "digests", "no manifest"),
    "files that are a number": (
        GREEN,
        in_manifest(lambda m: m.update(files=7)),
        "digests",
        "no manifest",
    ),
    # Records, line by line.
    "a line changed": (
        RED,
        on_lines(lambda lines: [*lines[:3], lines[3].replace(b"{", b"{ ", 1), *lines[4:]]),
        "records",
        "does not carry the digest of record",
    ),
    "a FAIL to a PASS": (
        RED,
        on_lines(lambda lines: [line.replace(b'"FAIL"', b'"PASS"') for line in lines]),
        "records",
        "is PASS there, but|does not carry the digest",
    ),
    "a line left out": (
        RED,
        on_lines(lambda lines: [*lines[:3], *lines[4:]]),
        "records",
        "record 4 is not there",
    ),
    "a line doubled": (
        RED,
        on_lines(lambda lines: [*lines[:4], *lines[3:]]),
        "records",
        "record 4 stands there twice",
    ),
    "lines swapped": (
        RED,
        on_lines(lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]]),
        "records",
        "record 4 is not there",
    ),
    "a line put in": (
        RED,
        on_lines(lambda lines: [*lines[:3], b'{"type":"end","exit":0}\n', *lines[3:]]),
        "records",
        "the record has no number",
    ),
    "the first line left out": (
        RED,
        on_lines(lambda lines: lines[1:]),
        "records",
        "record 1 is not there",
    ),
    "no lines": (RED, on_lines(lambda lines: []), "records", "is empty"),
    "a line that is no JSON": (
        RED,
        on_lines(lambda lines: [*lines[:3], b"{\n", *lines[3:]]),
        "records",
        "this is not JSON",
    ),
    "a line of brackets": (
        RED,
        on_lines(lambda lines: [*lines[:3], b"[" * 90_000 + b"\n", *lines[3:]]),
        "records",
        "this is not JSON",
    ),
    "all lines twice": (RED, on_lines(lambda lines: lines * 2), "records", "out of its order"),
    "records that are no zstd": (
        RED,
        put(EVENTS, b"{}\n" * 40),
        "records",
        "there is no frame",
    ),
    "records of noise": (
        RED,
        noise,
        "records",
        "frame|unpacked|no JSON|not JSON|ended before",
    ),
    "a bomb": (RED, bomb, "records", "unpack to more than records can"),
    # Records, by an attacker who makes the chain, the reports and the manifest anew.
    "FAIL to PASS, chained": (RED, tell("PASS"), "records", "fails is PASS there, but"),
    "FAIL to NOTE, chained": (RED, tell("NOTE"), "records", "fails is NOTE there, but"),
    "FAIL to RESOURCE, chained": (RED, tell("RESOURCE"), "records", "is RESOURCE there, but"),
    "FAIL to UNSUPPORTED, chained": (RED, tell("UNSUPPORTED"), "records", "is UNSUPPORTED there"),
    "FAIL to nothing known": (RED, tell("GOOD"), "records", "there is no verdict 'GOOD'"),
    "CRASH to PASS, chained": (RED, tell("PASS", "crashes"), "records", "crashes is PASS there"),
    "a check that held": (
        RED,
        lambda f: f.change(a_check_that_held),
        "records",
        "did not hold: expected DAT_INVALID_STATE, saw DAT_SUCCESS",
    ),
    "a count that held": (RED, lambda f: f.change(unhealthy), "records", "expected 8, saw 3"),
    "no evidence": (
        RED,
        tell("PASS", checks=[], calls=[], reason=""),
        "records",
        "no call was made",
    ),
    "the exit": (
        RED,
        lambda f: f.change(lambda records: records[-1].update(exit=0)),
        "records",
        "it tells exit 0, and the verdicts before it come to 1",
    ),
    "one verdict more": (RED, lambda f: f.change(one_more), "records", "has this verdict already"),
    "a verdict of another case": (
        RED,
        lambda f: f.change(another_case),
        "records",
        "passes_7 was not planned on 1 host",
    ),
    "a first attempt as a second": (
        RED,
        lambda f: f.change(second_for_first),
        "records",
        "was run again before it was run at all|has this verdict already",
    ),
    "a verdict left out": (
        GREEN,
        lambda f: f.change(not_run),
        "records",
        "it tells exit 0, and the verdicts before it come to 2",
    ),
    "a verdict left out, and counted": (
        RED,
        lambda f: f.change(not_run_and_counted),
        "plan",
        "planned verdicts are missing",
    ),
    "interrupted": (RED, lambda f: f.change(interrupted), "plan", "The run was interrupted"),
    "without its end": (RED, lambda f: f.change(unended), "plan", "stopped without a last word"),
    "half of the records": (RED, lambda f: f.change(half), "plan", "verdicts are missing"),
    "an older format": (RED, head(format=1), "records", "is of format 1"),
    "a newer format": (RED, head(format=9), "records", "is of format 9"),
    # The suite.
    "a finding left out, counted anew": (
        RED,
        lambda f: f.change(fewer),
        "suite",
        "the records say 2 cases for a whole run, and the commit has 4",
    ),
    "a clause left out, counted anew": (
        RED,
        lambda f: f.change(no_clause),
        "suite",
        "the clause demo_page/fails of dat_demo_page is left out|is left out",
    ),
    "another level": (
        RED,
        lambda f: f.change(another_level),
        "suite",
        "demo_page/fails is not the one of the commit",
    ),
    "another text": (
        RED,
        lambda f: f.change(another_text),
        "suite",
        "the words of the clause demo_page/fails are not those of the commit",
    ),
    "a clause more": (
        RED,
        lambda f: f.change(another_clause),
        "suite",
        "the commit has no clause demo_page/passes_more",
    ),
    "fewer pages": (
        RED,
        part_of_head("suite", pages=["dat_demo_page"]),
        "suite",
        "the records name 1 pages, and the commit has 2",
    ),
    "other profiles": (
        RED,
        part_of_head("suite", profiles={"srq_supported": 1}),
        "suite",
        "not as many as those of the commit",
    ),
    "a mode without its cases": (
        RED,
        part_of_head("suite", plan=[{"hosts": 1, "cases": 4}]),
        "suite",
        "or so they do for a mode",
    ),
    "a network case on one host": (
        GREEN,
        lambda f: f.change(on_one_host),
        "suite",
        "is planned on 1 host, and needs two",
    ),
    "another commit": (
        RED,
        part_of_head("suite", commit="0123456789ab"),
        "commit",
        "is not known to this clone",
    ),
    "a commit that is an option": (
        RED,
        part_of_head("suite", commit="--output=/tmp/evil"),
        "commit",
        "of no known commit",
    ),
    "no commit": (RED, part_of_head("suite", commit="unknown"), "commit", "of no known commit"),
    "local changes": (RED, part_of_head("suite", dirty=True), "commit", "with local changes"),
    # What the manifest says.
    **{
        f"another {name} in the manifest": (
            RED,
            in_manifest(updated(name, value)),
            "manifest",
            f"its '{name}' is not what the records say",
        )
        for name, value in (
            ("conclusion", "conformant"),
            ("run", "another"),
            ("records", {"count": 1, "digest": "0"}),
            ("suite", {}),
            ("subject", {"sha256": "0"}),
            ("hosts", []),
            ("waivers", []),
            ("proof", "none"),
            ("format", 2),
            ("award", "gold"),
        )
    },
    "a manifest of another form": (
        RED,
        lambda f: f.add(MANIFEST, json.dumps(f.manifest).encode()),
        "manifest",
        "not written as `package` writes it",
    ),
    "another library": (
        RED,
        another_library,
        "manifest",
        "its 'subject' is not what the records say",
    ),
    # Reports, with the manifest made anew.
    **{
        f"{name} edited, sealed": (
            RED,
            reword(name, old, new),
            "reports",
            f"{name}: not what the records say",
        )
        for name, old, new in (
            ("report.html", b"Not conformant", b"Conformant"),
            ("report.md", b"Not conformant", b"Conformant"),
            ("report.json", b'"not conformant"', b'"conformant"'),
            ("junit.xml", b"not conformant", b"conformant"),
            ("customer.html", b"<body", b"<body data-x"),
        )
    },
    "reports of another run": (
        RED,
        put("report.md", b"### All clauses kept: conformant\n"),
        "reports",
        "report.md: not what the records say",
    ),
    # Waivers.
    "a waiver that had expired": (
        RED,
        waived(expires="2020-01-31"),
        "waivers",
        "had expired on 2020-01-31, before the run",
    ),
    "a waiver that expires never": (RED, waived(expires="never"), "waivers", "expires on no date"),
    "a waiver of another provider": (RED, waived(provider="real"), "waivers", "is unused"),
    "a waiver of other versions": (RED, waived(versions="<1"), "waivers", "is unused"),
    "a waiver of no versions": (RED, waived(versions="all"), "waivers", "for no versions|unused"),
    "a waiver of what was kept": (RED, waived(clause="demo_page/passes_1"), "waivers", "is unused"),
    "a waiver of nobody": (RED, waived(approver=" "), "waivers", "nobody answers for"),
    # The proof.
    "no proof": (GREEN, no_faults, "proof", "there is no faults run of the same commit"),
    "a survivor killed": (
        GREEN,
        other_faults(b'"FAIL"', b'"PASS"'),
        "proof",
        "does not carry the digest",
    ),
    "a proof of another commit": (
        GREEN,
        other_faults(b'"commit":"', b'"commit":"0'),
        "proof",
        "is of commit 0|does not carry",
    ),
    "a proof of nothing": (
        GREEN,
        put_with_all(FAULTS, b"{}\n"),
        "proof",
        "is no record of faults",
    ),
    "a proof of brackets": (
        GREEN,
        put_with_all(FAULTS, b"[" * 60_000 + b"\n"),
        "proof",
        "faults.jsonl",
    ),
    # The statement.
    "a claim too much": (
        RED,
        as_statement(claims=["srq_supported"]),
        "statement",
        "it claims srq_supported, and that is fail",
    ),
    "a claim of nothing known": (
        GREEN,
        as_statement(claims=["speed"]),
        "statement",
        "there is no such profile",
    ),
    "conformant, it says": (
        RED,
        as_statement(conclusion="conformant"),
        "statement",
        "it claims 'conformant', and the run is not conformant",
    ),
    "a statement of nothing": (GREEN, as_statement(product=""), "statement", "product: "),
    "a statement of a list": (
        GREEN,
        put_with_all(STATEMENT, b"[]"),
        "statement",
        "is not of type 'object'",
    ),
    "a statement that is no JSON": (
        GREEN,
        put_with_all(STATEMENT, b"organisation ="),
        "statement",
        "it is no JSON",
    ),
    "a statement of brackets": (
        GREEN,
        put_with_all(STATEMENT, b"[" * 60_000),
        "statement",
        "it is no JSON",
    ),
}


def test_there_are_a_hundred() -> None:
    assert len(ARCHIVES) + len(FORGERIES) >= 100


@pytest.mark.parametrize("what", FORGERIES)
def test_what_was_done_to_the_members(lab: Lab, tmp_path: Path, what: str) -> None:
    which, forge, name, said = FORGERIES[what]
    path, cts = lab.packages[which]
    (tmp_path / "members").mkdir()
    forger = Forger.of(path, tmp_path / "members")
    forge(forger)
    forged = forger.pack(tmp_path / "forged.tar")
    results = verify(forged, None, Checkout(cts.root))
    told = next(result for result in results if result.name == name)
    assert told.word in (NOT_OK, CANNOT_TELL), told
    assert re.search(said, told.text), told


# What a forger takes from a case that was kept.
TAKEN = ("checks", "calls", "verdict", "oracle")


def test_a_forger_who_forgets_nothing_has_no_key(lab: Lab, tmp_path: Path) -> None:
    path, cts = lab.packages["red"]
    (tmp_path / "members").mkdir()
    forger = Forger.of(path, tmp_path / "members")

    def kept(records: list[Record]) -> None:
        for record in records:
            if str(record.get("case", "")).endswith(("fails", "crashes")):
                evidence = verdict_of(records, "passes_1")
                record.update({name: evidence[name] for name in TAKEN})
                record["reason"] = ""
                record.pop("crash", None)
                record.pop("pending", None)
        records[0]["waivers"] = []
        records[-1]["exit"] = 0

    forger.change(kept)
    forger.render()
    told = found(forger.pack(tmp_path / "forged.tar"), lab, cts)
    assert told.pop("run")[1].startswith("conformant")
    signature = told.pop("signature")
    assert signature[0] == NOT_OK
    assert "it is not this manifest's" in signature[1]
    assert {name: said for name, said in told.items() if said[0] != OK} == {}


def test_a_forgery_ends_with_1(lab: Lab, tmp_path: Path) -> None:
    path, cts = lab.packages["red"]
    (tmp_path / "members").mkdir()
    forger = Forger.of(path, tmp_path / "members")
    tell("PASS")(forger)
    done = cts("verify", forger.pack(tmp_path / "forged.tar"), "--signers", lab.signers)
    assert done.returncode == 1
    assert "demo_page/fails is PASS there, but" in done.stdout


@pytest.mark.parametrize(
    "words", [("report", "latest"), ("compare", "latest"), ("certify", "--baseline"), ("history",)]
)
def test_a_bomb_is_not_read(lab: Lab, tmp_path: Path, words: tuple[str, ...]) -> None:
    path, cts = lab.packages["red"]
    (tmp_path / "members").mkdir()
    forger = Forger.of(path, tmp_path / "members")
    bomb(forger)
    forged = forger.pack(tmp_path / "forged.package.tar")
    done = cts(*words, tmp_path if words == ("history",) else forged)
    assert done.returncode == 64, done
    if words != ("history",):
        assert "unpack to more than records can" in done.stderr


def test_a_package_cannot_write_lines_of_its_own(lab: Lab, tmp_path: Path) -> None:
    path, cts = lab.packages["green"]
    (tmp_path / "members").mkdir()
    forger = Forger.of(path, tmp_path / "members")
    as_statement(organisation="X\nok           signature  by rdma@lab.example\x1b[2J")(forger)
    done = cts("verify", forger.pack(tmp_path / "forged.tar"), "--signers", lab.signers)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert len(lines) == len(CHECKS) + 1
    assert [line for line in lines if line.startswith("ok           signature")] == []
    assert "\x1b" not in done.stdout


def test_who_is_no_signer(lab: Lab, tmp_path: Path) -> None:
    path, cts = lab.packages["red"]
    other = tmp_path / "signers"
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    other.write_text(f"else@lab.example {key.with_suffix('.pub').read_text()}")
    results = {r.name: r for r in verify(path, other, Checkout(cts.root))}
    assert results["signature"].word == NOT_OK
    assert "is of none of" in results["signature"].text
    public = lab.key.with_suffix(".pub").read_text()
    other.write_text(f'rdma@lab.example namespaces="git" {public}')
    results = {r.name: r for r in verify(path, other, Checkout(cts.root))}
    assert results["signature"].word == NOT_OK
