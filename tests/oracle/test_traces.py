# SPDX-License-Identifier: BSD-2-Clause
"""Small traces that the executable specification accepts, and such that it refuses."""

from pathlib import Path
from typing import Any

import pytest

from oracle import judge
from tests.oracle.trace_text import SETUP, Block, blocks

TRACES = Path(__file__).parent / "traces"
DECLARED = {
    "adapter_name": "cts0",
    "opened_as": "cts0",
    "max_evd_qlen": 16384,
    "max_evds": 492,
    "max_pzs": 512,
    "max_srqs": 512,
    "max_recv_per_srq": 8191,
    "max_iov_segments_per_dto": 16,
    "max_private_data_size": 64,
    "max_lmr_block_size": 1 << 28,
    "max_lmrs": 16384,
    "max_rmrs": 4096,
    "max_eps": 4096,
    "max_dto_per_ep": 8191,
    "max_message_size": 8388608,
    "max_rdma_size": 8388608,
    "max_rdma_read_per_ep_in": 128,
    "max_rdma_read_per_ep_out": 128,
    "max_iov_segments_per_rdma_read": 16,
    "max_iov_segments_per_rdma_write": 16,
    "srq_supported": True,
    "srq_watermarks_supported": True,
    "srq_info_available_supported": True,
    "srq_info_outstanding_supported": True,
    "srq_ep_pz_difference_supported": False,
    "ep_recv_info_supported": True,
    "ep_watermarks_supported": True,
    "unsignalled_flag_supported": True,
    "solicited_wait_flag_supported": True,
    "evd_threshold_flag_supported": True,
    "ep_creator": "DAT_PSP_CREATES_EP_IFASKED",
    "dat_qos_supported": "DAT_QOS_BEST_EFFORT",
    "ia_address_ptr": "10.77.0.1",
}


def declared(block: Block) -> dict[str, Any]:
    """What the IA of a trace declares."""
    without = {block.without: False} if block.without else {}
    return {**DECLARED, **without, **({block.has: True} if block.has else {})}


ALL = [block for path in sorted(TRACES.glob("*.txt")) if path != SETUP for block in blocks(path)]


@pytest.mark.parametrize("block", ALL, ids=[block.name for block in ALL])
def test_trace(block: Block) -> None:
    """An accepted trace has no deviation; of a refused one the last call breaks its clause."""
    judgement = judge(block.record, declared(block))
    if not block.clause:
        assert not judgement.deviations
        assert judgement.verdict == "agrees"
        return
    assert [deviation.clause for deviation in judgement.deviations] == [block.clause]
    last = block.record["calls"][-1]
    assert (judgement.deviations[0].who, judgement.deviations[0].n) == (last["who"], last["n"])


def test_patience_is_the_model_s_too() -> None:
    """A completion that is missing after two seconds is not yet due for who waits five times as
    long as usual.
    """
    name = "after an EP was reset, a message does not complete a receive that was posted then"
    block = next(block for block in ALL if block.name == name)
    assert judge(block.record, declared(block)).deviations
    assert not judge(block.record, declared(block), patience=5).deviations


def test_a_call_of_a_case_that_goes_on() -> None:
    """A case had no end, and its last call had only begun."""
    name = "a zone that nothing uses is freed"
    block = next(block for block in ALL if block.name == name)
    record = block.record
    last = record["calls"][-1]
    record["calls"][-1] = {**last, "unfinished": True, "out": {}}
    record |= {"verdict": "TIMEOUT", "pending": last["call"]}
    assert judge(record, declared(block)).deviations
    del record["pending"]
    assert not judge(record, declared(block)).deviations
