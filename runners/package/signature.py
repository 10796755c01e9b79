# SPDX-License-Identifier: BSD-2-Clause
"""Signatures, made and looked at by OpenSSH's own ssh-keygen."""

import re
import subprocess
from pathlib import Path

from results.errors import InputError, RunnerError
from results.runlog.printable import printable
from runners.bounded import TEXT_MOST

NAMESPACE = "udapl-cts-package"
TIMEOUT = 120
_BY = re.compile(r"with (\S+) key (SHA256:[A-Za-z0-9+/]+)")


def sign(path: Path, key: Path) -> None:
    """Sign the file `path` with the private key `key`, into `path`.sig. Raises InputError."""
    if not key.is_file():
        raise InputError(f"there is no key {key}: ssh-keygen -t ed25519 -f KEY makes one")
    if key.stat().st_size > TEXT_MOST:
        raise InputError(f"{key} is no key: it is too large")
    # A passphrase is asked for on the terminal, by ssh-keygen itself.
    done = _keygen("-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(path), asks=True)
    if done.returncode != 0:
        raise InputError(f"cannot sign with {key}: {_last(done)}")


def check(path: Path, signature: Path, signers: Path | None) -> tuple[bool | None, str]:
    """Whether `signature` is one of the file `path` by one of `signers`; None where it is a good
    one of an unknown signer. And by whom, or why not.
    """
    data = path.read_bytes()
    known = _keygen("-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(signature), data=data)
    if known.returncode != 0:
        return False, f"it is not this manifest's ({_last(known)})"
    by = _BY.search(known.stdout)
    key = f"{by[1]} key {by[2]}" if by else "a key that ssh-keygen does not tell"
    if signers is None:
        return None, f"good, by the {key}; --signers FILE says whose that is"
    found = _keygen("-Y", "find-principals", "-s", str(signature), "-f", str(signers))
    who = found.stdout.splitlines()[0] if found.returncode == 0 and found.stdout else ""
    if not who:
        return False, f"the {key} is of none of {signers}"
    verified = _keygen(
        *("-Y", "verify", "-f", str(signers), "-I", who, "-n", NAMESPACE, "-s", str(signature)),
        data=data,
    )
    if verified.returncode != 0:
        return False, f"{printable(who)} may not sign this ({_last(verified)})"
    return True, f"by {printable(who)}, the {key}"


def _keygen(
    *arguments: str, data: bytes | None = None, asks: bool = False
) -> "subprocess.CompletedProcess[str]":
    try:
        done = subprocess.run(
            ["ssh-keygen", *arguments],
            input=data,
            stdin=None if asks or data is not None else subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=TIMEOUT,
        )
    except FileNotFoundError:
        raise RunnerError("there is no ssh-keygen here: install openssh-client") from None
    except subprocess.TimeoutExpired:
        raise RunnerError(f"ssh-keygen did not end within {TIMEOUT} s") from None
    out, err = (each.decode("utf-8", "replace") for each in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def _last(done: "subprocess.CompletedProcess[str]") -> str:
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return printable(lines[-1].strip()) if lines else f"ssh-keygen ended with {done.returncode}"
