# SPDX-License-Identifier: BSD-2-Clause
"""The hosts file: what is wrong in it is said with its line and its host."""

from pathlib import Path

import pytest

from tests.runners.fake_checkout import Cts

GOOD = '[[host]]\naddress = "lab1"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[host]\n", "is no TOML"),
        ("", "it has no [[host]]"),
        ('[[host]]\nname = "lab1"\n', ":1: host 1 (lab1): 'address' is a required property"),
        (GOOD + 'adress = "x"\n', ":3: host 1 (lab1): there is no key 'adress' here"),
        (GOOD + '[[host]]\naddress = "lab2"\nport = 0\n', ":5: host 2 (lab2): port: 0 is less"),
        (GOOD + "user = 7\n", ":3: host 1 (lab1): user: 7 is not of type 'string'"),
        (GOOD + 'role = "boss"\n', ":3: host 1 (lab1): role: 'boss' is not one of"),
        (GOOD + 'dat_conf = "dat.conf"\nia = "a"\n', ":3: host 1 (lab1): dat_conf: 'dat.conf' is"),
        ('[[host]]\naddress = "-oProxyCommand=id"\n', ":2: host 1 (-oProxyCommand=id): address:"),
        ('[[host]]\naddress = "a b"\n', "not a host's name or address"),
        (GOOD + 'user = "-v"\n', "is not a user's name"),
        (GOOD + 'ia = "a\\nb"\n', "is not one line of text"),
        (GOOD + GOOD, ":3: host 2: another host is called 'lab1' already"),
        ('[defaults]\nhost = "x"\n' + GOOD, "there is no key 'host' here"),
        (GOOD + 'dat_conf = "/etc/dat.conf"\n', "lab1 lacks an ia"),
        (GOOD + 'ia = "a"\n', "lab1 lacks a dat_conf"),
        ('[[host]]\naddress = "lab1"\nrole = "peer"\n', "each host is a peer"),
    ],
)
def test_what_is_wrong(cts: Cts, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "hosts.toml"
    path.write_text(text)
    done = cts("certify", "--fabric", "ssh", "--hosts-file", path)
    assert done.returncode == 64, done
    assert said in done.stderr
    assert str(path) in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not cts.runs.exists()


def test_absent(cts: Cts, tmp_path: Path) -> None:
    done = cts("certify", "--fabric", "ssh", "--hosts-file", tmp_path / "none.toml")
    assert done.returncode == 64, done
    assert "cannot read the hosts file" in done.stderr


def test_needed(cts: Cts) -> None:
    done = cts("certify", "--fabric", "ssh")
    assert done.returncode == 64, done
    assert "--hosts-file" in done.stderr


def test_of_another_fabric(cts: Cts, tmp_path: Path) -> None:
    done = cts("certify", "--hosts-file", tmp_path / "hosts.toml")
    assert done.returncode == 64, done
    assert "goes with --fabric ssh" in done.stderr


def test_more_hosts_than_there_are(cts: Cts, tmp_path: Path) -> None:
    path = tmp_path / "hosts.toml"
    path.write_text(GOOD)
    done = cts("certify", "--fabric", "ssh", "--hosts-file", path, "--hosts", "2")
    assert done.returncode == 64, done
    assert "1 host here" in done.stderr
