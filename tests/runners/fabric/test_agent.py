# SPDX-License-Identifier: BSD-2-Clause
"""What a fabric promises of an agent: its stream, its arguments, its errors, its end."""

import socket
from pathlib import Path

import pytest

from runners.fabric.base import FabricError
from runners.fabric.console import console
from runners.fabric.guest_host import GuestHost
from runners.fabric.vm import VmFabric
from tests.runners.fabric.streams import DEADLINE, read_exactly, read_to_end, read_until


def run(host: GuestHost, *argv: str, env: dict[str, str] | None = None) -> bytes:
    with host.start_agent(argv, env) as stream:
        return read_to_end(stream)


def test_a_host_has_one_rdma_device(host: GuestHost) -> None:
    assert host.facts().devices == ("rxe0",)
    assert host.facts().kernel.startswith("6.")
    assert b"rxe0" in run(host, "ibv_devices")


def test_the_device_is_ready_on_both_addresses(host: GuestHost) -> None:
    answer = run(host, "ibv_devinfo", "-v").decode()

    assert "PORT_ACTIVE" in answer
    assert f"::ffff:{host.address}" in answer
    assert "fd00:77::1" in answer


def test_the_stream_carries_bytes_unchanged(host: GuestHost) -> None:
    data = bytes(range(256)) * 400

    with host.start_agent(["cat"]) as stream:
        for start in range(0, len(data), 10240):
            stream.sendall(data[start : start + 10240])
            assert read_exactly(stream, 10240) == data[start : start + 10240]


def test_a_long_answer_arrives_whole_before_the_end(host: GuestHost) -> None:
    assert len(run(host, "head", "-c", "8000000", "/dev/zero")) == 8000000
    assert host.exit_status(DEADLINE) == 0


def test_arguments_arrive_unchanged(host: GuestHost) -> None:
    arguments = ["", "a b", "$(reboot)", "`id`", "'\"\\", "two\nlines\n", "\n", "tab\t", "ä", "-n"]

    answer = run(host, "/usr/bin/printf", "%s\\0", *arguments)

    assert answer.decode().split("\0")[:-1] == arguments


def test_the_environment_arrives_unchanged(host: GuestHost) -> None:
    answer = run(host, "/usr/bin/env", "-0", env={"DAT_OVERRIDE": "/a b/$HOME;'", "EMPTY": ""})

    assert b"DAT_OVERRIDE=/a b/$HOME;'" in answer.split(b"\0")
    assert b"EMPTY=" in answer.split(b"\0")


@pytest.mark.parametrize("name", ["", "A=B", "A\nB"])
def test_a_variable_that_cannot_be_passed_is_refused(host: GuestHost, name: str) -> None:
    with pytest.raises(FabricError, match="cannot be passed to a guest"):
        host.start_agent(["true"], {name: "value"})


def test_standard_error_stays_out_of_the_stream(host: GuestHost) -> None:
    assert run(host, "sh", "-c", "echo to the log >&2; echo to the stream") == b"to the stream\n"
    assert host.stderr_tail() == "to the log\n"


def test_an_agent_can_lock_memory_and_share_it(host: GuestHost) -> None:
    assert run(host, "sh", "-c", "ulimit -l; touch /dev/shm/x && echo shared") == (
        b"unlimited\nshared\n"
    )


def test_only_the_driver_of_rxe_is_loaded(host: GuestHost) -> None:
    told = run(host, "sh", "-c", "cd /etc/libibverbs.d && ls && cat *")
    assert told == b"guest.driver\ndriver rxe\n"


@pytest.mark.parametrize(("script", "status"), [("exit 3", 3), ("kill -SEGV $$", 139)])
def test_the_end_of_an_agent_ends_its_stream(host: GuestHost, script: str, status: int) -> None:
    assert run(host, "sh", "-c", script) == b""
    assert host.exit_status(DEADLINE) == status


def test_an_agent_that_does_not_exist_says_so(host: GuestHost) -> None:
    assert run(host, "no-such-agent") == b""
    assert host.exit_status(DEADLINE) == 127
    assert host.stderr_tail() == "no-such-agent: No such file or directory\n"


def test_a_host_runs_one_agent(host: GuestHost) -> None:
    with host.start_agent(["cat"]), pytest.raises(FabricError, match="host1 already runs an agent"):
        host.start_agent(["cat"])


def test_the_guest_sees_this_machines_files_and_cannot_change_them(
    host: GuestHost, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("of the machine\n")

    answer = run(host, "sh", "-c", f"cd {tmp_path} && cat file && echo other > file && cat file")

    assert answer == b"of the machine\nother\n"
    assert (tmp_path / "file").read_text() == "of the machine\n"


def test_a_console_works_beside_the_agent(host: GuestHost) -> None:
    with host.start_agent(["cat"]) as stream, console(host) as terminal:
        terminal.sendall(b"tty; stty size; hostname\r")
        assert b"/dev/pts/0\r\n24 80\r\nhost1" in read_until(terminal, b"host1\r\n")
        stream.sendall(b"still here")
        assert read_exactly(stream, 10) == b"still here"
        host.resize_console("33 111")
        # The size goes another way than what is typed.
        terminal.sendall(b"until stty size | grep -n '33 111'; do :; done\r")
        read_until(terminal, b"1:33 111\r\n")
        terminal.sendall(b"exit 4\r")
        read_to_end(terminal)
        assert host.console_status(DEADLINE) == 4


def test_what_is_typed_reaches_the_program_on_the_terminal(host: GuestHost) -> None:
    with console(
        host, ["sh", "-c", "trap 'echo stopped; exit 0' INT; echo started; cat"]
    ) as stream:
        read_until(stream, b"started\r\n")
        stream.sendall(b"typed\r")
        # What cat repeats after the terminal's echo shows that it runs: a shell that is about to
        # start it would keep the signal to itself, and wait.
        read_until(stream, b"typed\r\ntyped\r\n")
        stream.sendall(b"\x03")
        assert b"stopped" in read_to_end(stream)


def test_a_console_loses_nothing_of_a_long_answer(host: GuestHost) -> None:
    with console(host, ["seq", "100000"]) as terminal:
        lines = read_to_end(terminal).decode().split()

    assert lines == [str(number + 1) for number in range(100000)]


def test_the_end_of_the_users_side_ends_standard_input(host: GuestHost) -> None:
    with host.start_agent(["wc", "-c"]) as stream:
        stream.sendall(b"x" * 100000)
        stream.shutdown(socket.SHUT_WR)
        assert read_to_end(stream) == b"100000\n"


def test_all_of_standard_error_is_there_when_the_stream_ends(host: GuestHost) -> None:
    run(host, "sh", "-c", "seq 20000 >&2")

    assert host.stderr_tail(12) == "19999\n20000\n"


def test_a_stream_that_nobody_reads_does_not_hold_up_the_end_of_the_fabric() -> None:
    with VmFabric() as fabric:
        stream = fabric.hosts[0].start_agent(["cat", "/dev/zero"])
        read_exactly(stream, 1)
    stream.close()


def test_sending_to_an_agent_that_has_ended_fails(host: GuestHost) -> None:
    with host.start_agent(["true"]) as stream:
        assert read_to_end(stream) == b""
        with pytest.raises(BrokenPipeError):
            stream.sendall(b"too late")
