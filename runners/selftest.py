# SPDX-License-Identifier: BSD-2-Clause
"""Every test of this project, one step after another. STEPS is all there is to extend."""

import itertools
import os
import queue
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from results.errors import InputError
from runners.checkout import Checkout
from runners.names import nearest

C_FOLDERS = (
    "include libdat reference-provider harness cases faults benchmarks runners tests".split()
)
LOG_TAIL = 30
# How pytest and cmocka begin the lines that tell of a failed test.
FAILURES = ("FAILED ", "ERROR ", "[  FAILED  ]", "[  ERROR   ]", "[   LINE   ]")
# Of the indented lines below a test that failed.
DETAIL_LINES = 16
# Tests that boot guests wait for more than half of their time, so two of them stand side by side.
GUEST_TESTS = ["tests/runners/fabric", "tests/runners/guests"]
LAB_TESTS = ["tests/lab"]
# What packages are made of is installed where nothing else is.
INSTALLED_TESTS = ["tests/installed/test_debian.py"]
RPM_TESTS = ["tests/installed/test_rpm.py"]
SYSROOT_PACKAGES = (
    "libc6-dev libgcc-12-dev libibverbs-dev librdmacm-dev libjansson-dev libnl-route-3-dev "
    "libdapl-dev libcmocka-dev"
).split()
# So many mutants, and the cases without a fault that they are compared with, take less than three
# minutes on two cores.
DRAWN_MUTANTS = 450
# Of the files that a change does not touch, clang-tidy analyses one in so many.
ANALYSED_SHARE = 3


@dataclass(frozen=True)
class Step:
    """Commands that run in turn; the step has failed with the first that fails.

    A command is words as a shell has them, without anything else of a shell. {python} stands for
    the interpreter, {work} for a folder that is made empty before the step; the words {c_files},
    {guest_tests}, {other_tests}, {drawn}, {analysed} and {pages} for several each. `timeout` is in
    seconds. What begins with `tells` in its output is shown. A step `of_all` runs with --all only,
    or if -k names it in full. A step `beside` waits for much of its time: it runs while the steps
    after it run, one such step at a time.
    """

    name: str
    what: str
    commands: Sequence[str]
    timeout: int = 600
    tells: str = ""
    of_all: bool = False
    beside: bool = False


def _build_and_test(preset: str, target: str = "all") -> list[str]:
    return [
        f"cmake --preset {preset}",
        f"cmake --build --preset {preset} --target {target}",
        f"ctest --preset {preset} -LE guest --no-tests=error",
    ]


def _judged(options: str, folder: str = "run") -> list[str]:
    """A run, of which no call may deviate from the pages either."""
    return [
        f"{{python}} -m runners certify {options} --out {{work}}/{folder}",
        f"{{python}} -m runners judge {{work}}/{folder}",
    ]


def _variant(name: str, ids: str) -> list[str]:
    return _judged(f"--variant {name} {ids} -m local --hosts 1", name)


def _device(name: str, ids: str, kind: str = "local") -> list[str]:
    return _judged(
        f"--provider build/default/lib/libdaplref-{name}.so {ids} -m {kind} --hosts 1",
        f"{name}-{kind}",
    )


STEPS = (
    Step(
        "format",
        "C sources are as .clang-format has them",
        ["clang-format --dry-run -Werror {c_files}"],
    ),
    Step(
        "ruff",
        "Python sources: lint and format",
        ["{python} -m ruff check", "{python} -m ruff format --check"],
    ),
    Step("mypy", "Python sources: types, strictly", ["{python} -m mypy"]),
    Step(
        "imports",
        "Python packages import only packages below them, and in no circle",
        ["lint-imports --no-cache"],
    ),
    Step(
        "words",
        "English of pages, comments and texts: sentence length, passives, figures of speech",
        ["{python} -m tests.words"],
    ),
    Step(
        "gcc",
        "the C parts built by gcc, and their tests: ABI facts, libdat, harness, faults",
        _build_and_test("default"),
    ),
    Step(
        "labs",
        "the ssh fabric on guests with an sshd, the slurm fabric on guests as a cluster's nodes",
        ["{python} -m pytest -q -n 2 --dist loadfile --durations 20 {lab_tests}"],
        timeout=1200,
        beside=True,
    ),
    Step(
        "installed",
        "the packages, installed in a bare Debian 12, certify a provider there",
        [
            "packaging/build-deb 3.11",
            "{python} -m pytest -q --durations 20 {installed_tests} -k bookworm",
        ],
        timeout=900,
        beside=True,
    ),
    Step("clang", "the same, built by clang", _build_and_test("clang")),
    Step(
        "asan",
        "the same tests, with address and undefined-behaviour sanitizers",
        _build_and_test("asan", "tests/all"),
    ),
    Step(
        "fuzz",
        "the parser of dat.conf, fuzzed for 20 seconds",
        [
            "cmake --preset fuzz",
            "cmake --build --preset fuzz --target fuzz-dat-conf",
            "ctest --test-dir build/fuzz -R fuzz --output-on-failure --no-tests=error",
        ],
    ),
    Step(
        "tidy",
        "C sources that a change touches, and a drawn share or --all, analysed by clang-tidy",
        [
            "{python} -m runners.compile_commands build/clang {work} {analysed}",
            "run-clang-tidy -quiet -p {work} '^(?!.*/build/).*[.]c$'",
        ],
        timeout=1200,
        tells="analysed: ",
    ),
    Step(
        "spec",
        "the catalogue is true to its pages, rulings, cases and faults",
        ["{python} -m runners spec check {pages}"],
    ),
    Step(
        "python",
        "the runner, the harness, the reports and the catalogue, by their front doors",
        ["{python} -m pytest -q -n 4 --durations 20 {other_tests}"],
        timeout=1200,
    ),
    Step(
        "docs",
        "the commands of README.md and docs/ that need no guests, as they are written",
        ["{python} -m tests.docs.commands"],
        timeout=1200,
        tells="commands ran: ",
        beside=True,
    ),
    Step(
        "docs-fresh",
        "the same and those with guests, in a bare Debian 12, from a new clone",
        ["{python} -m tests.docs.commands --fresh"],
        timeout=7200,
        tells="commands ran: ",
        of_all=True,
    ),
    Step(
        "hostile",
        "liars, wild input, damaged records, disturbed runs: the short form of tests.hostile",
        ["{python} -m tests.hostile --short"],
        beside=True,
    ),
    Step(
        "guests",
        "the vm fabric, and the command line with guests",
        ["{python} -m pytest -q -n 2 --durations 20 {guest_tests}"],
        timeout=900,
        beside=True,
    ),
    Step(
        "provider",
        "the reference provider's own tests, in one guest, in two, and in one of two processors",
        [
            "ctest --test-dir build/default -L guest -LE others -j 3 --output-on-failure"
            " --no-tests=error",
            # Programs of other projects can hang after a lost packet, and have a second try.
            "ctest --test-dir build/default -L others -j 2 --output-on-failure --no-tests=error"
            " --repeat until-pass:2",
        ],
        timeout=900,
    ),
    Step(
        "tsan",
        "the provider's tests in a guest of two processors, by ThreadSanitizer",
        [
            "cmake --preset tsan",
            "cmake --build --preset tsan --target tests/provider/all reference-provider/all",
            "ctest --test-dir build/tsan -R provider-two-cpus --output-on-failure --no-tests=error",
        ],
        timeout=900,
    ),
    Step(
        "provider-asan",
        "each call that the provider makes fails in turn, with address sanitizer, in a guest",
        [
            "cmake --preset asan",
            "cmake --build --preset asan --target tests/provider/all reference-provider/all",
            "ctest --test-dir build/asan -R provider-failures --output-on-failure --no-tests=error",
        ],
        timeout=900,
    ),
    Step(
        "certify",
        "the suite on the reference provider: conformant on one host, pairs on two",
        _judged(""),
        timeout=1200,
    ),
    Step(
        "explore",
        "random walks on the reference provider, and on a fault that they find",
        [
            "{python} -m runners explore --walks 40 --seed 1 --out {work}/walks",
            "{python} -m runners explore --hosts 2 --walks 8 --seed 1 --out {work}/pairs",
            "{python} -m runners explore --api 2.0 --walks 12 --seed 1 --out {work}/walks-2.0",
            "{python} -m tests.explore.finds srq_resize/grow_refused pz lmr srq {work}/fault",
        ],
        timeout=600,
    ),
    Step(
        "walks",
        "the C case of a walk tells a fault from none, and walks convict a run whose case is kept",
        ["{python} -m tests.explore.finds --whole srq_resize/grow_refused pz lmr srq {work}/fault"],
        timeout=900,
        of_all=True,
    ),
    Step(
        "two-hosts",
        "one page's cases without a peer, on one of two hosts",
        _judged("dat_srq_resize --hosts 2 -m local"),
    ),
    Step(
        "two-cpus",
        "traffic and tear-down of SRQs and their EPs, on guests of two processors",
        _judged(
            "srq_post_recv srq_query srq_free ep_recv_query -k 'disconnect or traffic' --cpus 2"
        ),
    ),
    Step(
        "siw",
        "two pages' cases, frees of EPs in each state, ends, and what comes in order, on iWARP",
        _judged(
            "dat_srq_resize dat_srq_query ep_free/in_state"
            " ep_reset/in_state ep_disconnect/requests_broken_off cr_accept/peer_gone"
            " cr_accept/asker_leaves_connected cr_accept/peer_leaves_connected"
            " psp_create/many_at_once ep_post_rdma_read/in_order_with_sends"
            " ep_post_rdma_write/several_lmrs --device siw --hosts 1"
        ),
    ),
    Step(
        "linux-6.12",
        "the whole suite, faults of five pages, and random walks, on soft-RoCE of 6.12",
        [
            *_judged("--kernel 6.12"),
            "{python} -m runners explore --kernel 6.12 --walks 40 --seed 1 --out {work}/walks",
            "{python} -m runners faults --kernel 6.12 -k 'srq_resize/ or srq_query/ or"
            " srq_post_recv/ or ep_recv_query/ or ep_modify/' --out {work}/faults",
        ],
        timeout=9000,
        of_all=True,
    ),
    Step(
        "stranger",
        "the suite on OpenFabrics' provider of Debian: what is found is what docs/findings/ has",
        ["{python} -m tests.findings check ofa-dapl-2.1.10 {work}/run"],
        timeout=3600,
        tells="findings: ",
        of_all=True,
    ),
    Step(
        "debian-13",
        "the whole suite from nothing on a bare Debian 13, and its kernel",
        ["{python} -m tests.docs.platforms debian-13"],
        timeout=9000,
        tells="kept",
        of_all=True,
    ),
    Step(
        "installed-13",
        "the same in a bare Debian 13",
        [
            "packaging/build-deb 3.13",
            "{python} -m pytest -q --durations 20 {installed_tests} -k trixie",
        ],
        timeout=900,
        of_all=True,
    ),
    Step(
        "rpm",
        "the RPM packages: what they need, and that the suite in them certifies a provider",
        ["packaging/build-rpm 3.11", "{python} -m pytest -q --durations 20 {rpm_tests}"],
        timeout=1200,
        of_all=True,
    ),
    Step(
        "soak",
        "a minute of mixed traffic by eight processes on two guests (benchmarks.soak)",
        ["{python} -m benchmarks.soak --seconds 60"],
        of_all=True,
    ),
    Step(
        "api-2.0",
        "one page's cases on the reference provider's DAT 2.0 build",
        _judged("dat_ep_create_with_srq --api 2.0 --hosts 1"),
    ),
    Step(
        "faults",
        "faults of the faulty provider, a drawn share or --all, are caught by their own cases",
        ["{python} -m runners faults {drawn} --out {work}/run"],
        timeout=2400,
        tells="drawn by seed",
    ),
    Step(
        "variants",
        "no case fails a provider that differs in what the pages leave open",
        [
            *_variant("roomy", "srq_resize"),
            *_variant("small", "srq_create"),
            *_variant("plain", "srq_query"),
            *_variant("recycling", "ep_modify/invalid_object"),
            *_variant(
                "recycling_kinds",
                "cr_accept/looks_afterwards cr_accept/handle_by_kind cno_free/beside/cno"
                " pz_free/beside/cno",
            ),
            *_variant("one_less", "evd_resize"),
            *_variant(
                "rich",
                "ep_connect/multipath ep_dup_connect/as_one_of_paths ia_query/named",
            ),
            *_variant(
                "qualities",
                "ep_connect/qos ep_connect/qos_mixed ep_dup_connect/qos ep_dup_connect/qos_mixed"
                " ep_create/quality ep_create_with_srq/quality ep_modify/quality",
            ),
            *_variant(
                "own_refusals",
                "ep_modify/empty_mask ep_create/flags_of_postings ep_set_watermark/greatest"
                " ep_set_watermark/negative ep_disconnect/graceful_while_pending evd_resize/zero"
                " evd_resize/above_ia_limit lmr_create/no_length lmr_create/length_ignored"
                " set_consumer_context/of_srq"
                " srq_create/zero srq_create/too_large srq_create/wrong_mark srq_resize/zero"
                " srq_resize/too_large srq_set_lw/negative",
            ),
            *_variant("own_refusals_of_masks", "-k no_mask"),
            *_variant(
                "own_refusals_of_posts",
                "ep_post_rdma_write/nothing ep_post_rdma_read/empty_segment"
                " ep_post_recv/segment_without_length ep_post_send/greatest_segments"
                " lmr_sync_rdma_read/nothing srq_post_recv/greatest_segments",
            ),
            "{python} -m tests.variants {work}/drawn",
        ],
    ),
    Step(
        "readings",
        "no case fails a provider that reads a page otherwise, or waits long for a receive",
        [
            *_variant(
                "lone_async", "evd_create/one_stream get_handle_type/any_origin ia_query/merging"
            ),
            *_variant("other_readings", "cno_create/is_a_cno get_handle_type/each_kind/cno"),
            *_variant("lasting_points", "psp_free/qualifier_again rsp_free/qualifier_again"),
            *_variant("late_violations", "ep_get_status/recv_refused"),
            *_device("patient", "ep_post_send/place_given_back"),
            "{python} -m tests.variants --all {work}/each",
        ],
        timeout=3600,
        of_all=True,
    ),
    Step(
        "devices",
        "the reference provider on devices of other makes: what they refuse, it does without",
        [
            *_device(
                "mlx5",
                "srq_resize srq_post_recv srq_query ep_recv_query ep_modify evd_resize"
                " -k 'grow or limit or later or example'",
            ),
            *_device(
                "mlx5",
                "srq_query/available_after_disconnect srq_query/outstanding_after_disconnect",
                kind="pair",
            ),
            *_device("tight", "srq_resize -k 'connected_ep or places_receive'", kind="pair"),
            *_device("qedr", "evd_resize -k 'grow'"),
            *_device("irdma", "srq_set_lw evd_resize -k 'at_once or grow or limit'"),
            *_device("hns", "srq_resize evd_resize -k 'grow'"),
            *_device(
                "tiny",
                "ep_create evd_resize cr_accept psp_create pz_free"
                " -k 'limit or most or grow or any_order or several_requests'",
            ),
            *_device("huge", "ia_query evd_resize -k 'limit or grow'"),
        ],
    ),
    Step(
        "aarch64",
        "the C parts built for aarch64, and their tests that need no device under qemu-user",
        [
            "mmdebstrap --variant=extract --arch=arm64 {sysroot_packages} bookworm {work}/sysroot",
            "cmake --fresh --preset aarch64 -D UDAPL_CTS_SYSROOT={work}/sysroot",
            "cmake --build --preset aarch64",
            "ctest --preset aarch64 --no-tests=error",
        ],
        timeout=900,
    ),
)


def selftest(
    checkout: Checkout, only: str, pages: Path | None, listing: bool, everything: bool = False
) -> int:
    """Run the steps whose name has `only`, or list them; 0 when all passed, 1 when one did not.

    `pages` is the folder of the man pages, where there is one. With `everything`, nothing of a step
    is left to the draw.
    """
    steps = [
        step
        for step in STEPS
        if only in step.name and (everything or listing or not step.of_all or only == step.name)
    ]
    if not steps:
        raise InputError(f"no step is called {only!r}" + nearest(only, [s.name for s in STEPS]))
    if listing:
        for step in steps:
            print(f"{step.name:10} {step.what}")
        return 0
    runner = _Runner(checkout, pages, everything)
    begun = time.monotonic()
    failed = _run_all(steps, runner)
    print(f"{time.monotonic() - begun:.0f} s, logs in {runner.logs}")
    print(f"{len(steps) - failed} passed, {failed} failed")
    return 1 if failed else 0


@dataclass(frozen=True)
class _Ended:
    """A step that ran: its place, why it failed or nothing, and its seconds."""

    place: str
    step: Step
    why: str
    took: float


def _run_all(steps: Sequence[Step], runner: "_Runner") -> int:
    """Run the steps, and print each; how many failed."""
    failed = 0
    with _beside(runner) as beside:
        for number, step in enumerate(steps, start=1):
            place = f"[{number:2}/{len(steps)}]"
            if step.beside:
                beside.add(place, step)
                continue
            print(f"{place} {step.name:10} {step.what} ...", end=" ", flush=True)
            failed += _tell(runner, _ended(runner, place, step))
            failed += sum(_tell_whole(runner, ended) for ended in beside.ended())
        failed += sum(_tell_whole(runner, ended) for ended in beside.rest())
    return failed


def _ended(runner: "_Runner", place: str, step: Step) -> _Ended:
    started = time.monotonic()
    why = runner.run(step)
    return _Ended(place, step, why, time.monotonic() - started)


def _tell_whole(runner: "_Runner", ended: _Ended) -> bool:
    print(f"{ended.place} {ended.step.name:10} {ended.step.what} ...", end=" ")
    return _tell(runner, ended)


def _tell(runner: "_Runner", ended: _Ended) -> bool:
    """Print the end of a step's line, and what else it has to tell. True if it failed."""
    step = ended.step
    print(f"{'FAILED' if ended.why else 'ok'} ({ended.took:.0f} s)", flush=True)
    for line in runner.told(step):
        print(f"        {line}")
    failures = runner.failures(step)
    if failures and not ended.why:
        print("        passed at the second try, after:", *failures, sep="\n")
    if ended.why:
        print(runner.tail(step), *failures, sep="\n")
        print(f"{step.name}: {ended.why}; all of it: {runner.log(step)}", flush=True)
    return bool(ended.why)


class _Beside:
    """Runs steps in a thread of its own, one after another."""

    def __init__(self, runner: "_Runner") -> None:
        self._runner = runner
        self._steps: queue.SimpleQueue[tuple[str, Step] | None] = queue.SimpleQueue()
        self._ended: queue.SimpleQueue[_Ended] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def add(self, place: str, step: Step) -> None:
        """Run a step after those that were added before it."""
        self._steps.put((place, step))

    def ended(self) -> Iterator[_Ended]:
        """The steps that ended since the last call."""
        while not self._ended.empty():
            yield self._ended.get()

    def rest(self) -> Iterator[_Ended]:
        """Wait for all steps; those that ended since the last call."""
        self._steps.put(None)
        self._thread.join()
        yield from self.ended()

    def _work(self) -> None:
        while (todo := self._steps.get()) is not None and not self._stopped.is_set():
            self._ended.put(_ended(self._runner, *todo))

    def stop(self) -> None:
        """Begin no other step."""
        self._stopped.set()


@contextmanager
def _beside(runner: "_Runner") -> Iterator[_Beside]:
    """Run steps beside others; what runs at an interrupt is killed."""
    beside = _Beside(runner)
    try:
        yield beside
    finally:
        beside.stop()
        runner.kill()


class _Runner:
    """Runs steps in a checkout, with a log each."""

    def __init__(self, checkout: Checkout, pages: Path | None, everything: bool) -> None:
        self.logs = checkout.cache / "selftest"
        self._root = checkout.root
        self._pages = pages.resolve() if pages is not None else None
        self._everything = everything
        self._processes: set[subprocess.Popen[bytes]] = set()

    def log(self, step: Step) -> Path:
        """Where a step's output goes."""
        return self.logs / f"{step.name}.log"

    def told(self, step: Step) -> list[str]:
        """What a step has to tell whether it passed or not."""
        lines = self.log(step).read_text(errors="replace").splitlines()
        told = (line for line in lines if step.tells and line.startswith(step.tells))
        return list(dict.fromkeys(told))

    def tail(self, step: Step) -> str:
        """The end of a step's log, indented."""
        lines = self.log(step).read_text(errors="replace").splitlines()[-LOG_TAIL:]
        return "\n".join(f"    {line}" for line in lines)

    def failures(self, step: Step) -> list[str]:
        """The lines that name a failed test, which the tail may not reach.

        What a program in a guest has to say of it is indented below the line of TAP.
        """
        lines = [line.rstrip() for line in self.log(step).read_text(errors="replace").splitlines()]
        named: dict[str, None] = {}
        for number, line in enumerate(lines):
            if line.strip().startswith(FAILURES):
                named[line.strip()] = None
            elif line.startswith("not ok"):
                after = itertools.takewhile(lambda said: said.startswith(" "), lines[number + 1 :])
                named |= dict.fromkeys((line, *itertools.islice(after, DETAIL_LINES)))
        return [f"    {line}" for line in named]

    def run(self, step: Step) -> str:
        """Run a step; why it failed, or nothing."""
        work = self.logs / step.name
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        deadline = time.monotonic() + step.timeout
        with self.log(step).open("wb", buffering=0) as log:
            for command in step.commands:
                argv = self._expanded(command, work)
                log.write(f"$ {' '.join(argv)}\n".encode())
                try:
                    status = self._run(argv, log.fileno(), deadline - time.monotonic())
                except FileNotFoundError:
                    return f"{argv[0]} is not installed"
                except subprocess.TimeoutExpired:
                    return f"{argv[0]} did not end within {step.timeout} s"
                if status != 0:
                    return f"{' '.join(argv[:4])} ended with status {status}"
        return ""

    def _run(self, argv: Sequence[str], log: int, timeout: float) -> int:
        folder = str(Path(sys.executable).parent)
        env = {
            **os.environ,
            "PATH": f"{folder}:{os.environ.get('PATH', os.defpath)}",
            "PYTHONPATH": str(self._root),
        }
        process = subprocess.Popen(
            argv,
            cwd=self._root,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            process_group=0,
        )
        self._processes.add(process)
        try:
            return process.wait(max(0.0, timeout))
        finally:
            self._processes.discard(process)
            _kill(process)

    def kill(self) -> None:
        """Kill what runs, with all that it started."""
        for process in tuple(self._processes):
            _kill(process)

    def _expanded(self, command: str, work: Path) -> list[str]:
        several = {
            "{c_files}": self._c_files(),
            "{guest_tests}": GUEST_TESTS,
            "{lab_tests}": LAB_TESTS,
            "{installed_tests}": INSTALLED_TESTS,
            "{rpm_tests}": RPM_TESTS,
            "{sysroot_packages}": [f"--include={','.join(SYSROOT_PACKAGES)}"],
            "{other_tests}": [
                f"--ignore={name}"
                for name in (*GUEST_TESTS, *LAB_TESTS, *INSTALLED_TESTS, *RPM_TESTS)
            ],
            "{drawn}": [] if self._everything else ["--draw", str(DRAWN_MUTANTS)],
            "{analysed}": [] if self._everything else ["--share", str(ANALYSED_SHARE)],
            "{pages}": ["--pages", str(self._pages)] if self._pages else [],
        }
        argv: list[str] = []
        for word in shlex.split(command):
            if word in several:
                argv += several[word]
            else:
                argv.append(word.replace("{python}", sys.executable).replace("{work}", str(work)))
        return argv

    def _c_files(self) -> list[str]:
        return sorted(
            str(path.relative_to(self._root))
            for folder in C_FOLDERS
            for path in (self._root / folder).rglob("*.[ch]")
        )


def _kill(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
