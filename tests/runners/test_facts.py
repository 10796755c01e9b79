# SPDX-License-Identifier: BSD-2-Clause
"""What a host's shell says of the host, asked of a sysfs that is made for it."""

import os
import platform
import subprocess
from pathlib import Path

from runners.fabric import facts
from runners.fabric.base import Facts

MODINFO = """#!/bin/sh
echo "filename:       /lib/modules/6.1/mlx5_core.ko"
echo "alias:          pci:v000015B3"
echo "version:        24.10-1.1.4"
echo "srcversion:     0123456789ABCDEF"
echo "parm:           prof_sel:profile selector (uint)"
"""


def device(root: Path, name: str, **files: str) -> Path:
    """A device of this name, with these files of it."""
    folder = root / "sys/class/infiniband" / name
    for file, text in files.items():
        path = folder / file.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return folder


def asked(root: Path) -> Facts:
    """The facts of a host whose sysfs is below `root`."""
    script = facts.SCRIPT.replace("/sys/class/infiniband", f"{root}/sys/class/infiniband")
    env = {**os.environ, "PATH": f"{root}/bin:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", script], env=env, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return facts.parse(done.stdout, 0, 0)


def test_what_is_known_of_an_adapter(tmp_path: Path) -> None:
    port = {"ports__1__link_layer": "InfiniBand", "ports__1__rate": "100 Gb/sec (4X EDR)"}
    card = device(tmp_path, "mlx5_0", fw_ver="16.35.4030", board_id="MT_0000000008", **port)
    bus, module = tmp_path / "sys/devices/0000:3b:00.0", tmp_path / "sys/module/mlx5_core"
    (bus / "driver").mkdir(parents=True)
    module.mkdir(parents=True)
    (bus / "driver/module").symlink_to(module)
    (card / "device").symlink_to(bus)
    soft = {"ports__1__link_layer": "Ethernet", "ports__1__rate": "2.5 Gb/sec (1X SDR)"}
    device(tmp_path, "rxe0", fw_ver="", **soft)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/modinfo").write_text(MODINFO)
    (tmp_path / "bin/modinfo").chmod(0o755)

    known = asked(tmp_path)
    assert known.devices == ("mlx5_0", "rxe0")
    assert known.firmware == ("mlx5_0 16.35.4030", "rxe0 unknown")
    assert known.boards == ("mlx5_0 MT_0000000008",)
    assert known.slots == ("mlx5_0 0000:3b:00.0",)
    assert known.links == (
        "mlx5_0/1 InfiniBand 100 Gb/sec (4X EDR)",
        "rxe0/1 Ethernet 2.5 Gb/sec (1X SDR)",
    )
    assert known.drivers == (
        "mlx5_0 mlx5_core filename: /lib/modules/6.1/mlx5_core.ko"
        " version: 24.10-1.1.4 srcversion: 0123456789ABCDEF",
    )


def test_a_host_without_adapters(tmp_path: Path) -> None:
    known = asked(tmp_path)
    assert known.devices == known.boards == known.slots == known.links == known.drivers == ()
    assert known.architecture == platform.machine()
    assert known.distribution == platform.freedesktop_os_release()["PRETTY_NAME"]
    assert known.distribution == facts.distribution()
    assert known.processor


def test_what_a_host_does_not_say_is_unknown() -> None:
    known = facts.parse("processor \nnonsense\n", 0, 0)
    assert (known.processor, known.distribution, known.kernel) == ("unknown",) * 3
