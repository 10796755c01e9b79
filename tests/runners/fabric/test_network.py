# SPDX-License-Identifier: BSD-2-Clause
"""Several guests on one network: they reach each other, and RDMA crosses it."""

import pytest

from runners.fabric.base import FabricError
from runners.fabric.vm import VmFabric
from tests.runners.fabric.streams import read_to_end, read_until


@pytest.mark.parametrize("count", [2, 3])
def test_every_host_reaches_every_other(count: int) -> None:
    names = [f"host{i + 1}{family}" for i in range(count) for family in ("", "-v6")]
    script = "".join(f"ping -c 1 -W 20 {name} >/dev/null && echo {name}\n" for name in names)

    with VmFabric(count) as fabric:
        streams = [host.start_agent(["sh", "-c", script]) for host in fabric.hosts]
        answers = [read_to_end(stream).decode().split() for stream in streams]

    assert answers == [names] * count


@pytest.mark.parametrize("count", [2, 3])
def test_rdma_crosses_the_network_between_the_outermost_hosts(count: int) -> None:
    # A call before the server listens is rejected at once, so the client just calls again. Either
    # end waits without limit for a message that is lost while they connect, so it has 15 s.
    serve = "while :; do timeout 15 rping -s -v -C 20; done"
    call = "until timeout 15 rping -c -V -v -C 20 -a host1 > /tmp/pings; do :; done; cat /tmp/pings"
    received = "cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts"

    with VmFabric(count) as fabric:
        serving = fabric.hosts[0].start_agent(["sh", "-c", serve])
        calling = fabric.hosts[-1].start_agent(["sh", "-c", f"{call}; {received}"])
        *pings, packets = read_to_end(calling).decode().splitlines()
        served = read_until(serving, b"server ping data: rdma-ping-19")

    assert len(pings) == 20
    assert served.count(b"server ping data: ") >= 20
    assert int(packets) > 20


def test_a_dead_neighbour_leaves_the_others_running() -> None:
    with VmFabric(3) as fabric:
        first, middle, last = fabric.hosts
        first.kill()
        assert not first.alive()
        answer = read_to_end(middle.start_agent(["ping", "-c", "1", "-W", "20", last.name]))

    assert b" 0% packet loss" in answer


@pytest.mark.parametrize("count", [0, -1, 17])
def test_an_impossible_number_of_hosts_is_refused(count: int) -> None:
    with pytest.raises(FabricError, match=f"1 to 16 hosts, not {count}"):
        VmFabric(count)
