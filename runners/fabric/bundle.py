# SPDX-License-Identifier: BSD-2-Clause
"""Files that a host is given by copy: a folder named after the SHA-256 of all that it holds.

A host that has the folder, whole, is sent nothing. Folders that no run used for a month go. That a
folder is ours shows by its name, which is the digest of the list in it, and by its holding nothing
but what is listed; nothing else is trusted, replaced or removed, and nothing is sent to a directory
that holds anything else (docs/decisions/0038-remote-hosts.md).
"""

import hashlib
import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runners.fabric.base import FabricError
from runners.fabric.ssh_connection import Connection

MANIFEST = "SHA256SUMS"

# Each reads the store's directory (an empty line: the user's cache) and the folder's name.
_WHERE = (
    "export LC_ALL=C; IFS= read -r store && IFS= read -r name || exit 1; "
    '[ -n "$store" ] || store="${XDG_CACHE_HOME:-${HOME:?has no value}/.cache}/udapl-cts"; '
)
# Of folders in the store. digest_of ENTRY: a copy is called by its digest, one that comes or goes
# has that between .new- and a dash. ours FOLDER DIGEST: its list is the one that the digest stands
# for, and it holds nothing that is not listed. discard FOLDER DIGEST: removes what is ours, and its
# list last.
_OURS = (
    "digest_of() { case $1 in .new-*-*) digest=${1#.new-} digest=${digest%-*} ;; *) digest=$1 ;; "
    'esac; case $digest in *[!0-9a-f]*) return 1 ;; esac; [ "${#digest}" -eq 64 ]; }; '
    f'ours() {{ [ -d "$1" ] && [ ! -h "$1" ] && [ -f "$1/{MANIFEST}" ] && '
    f'[ ! -h "$1/{MANIFEST}" ] && list=$(sha256sum <"$1/{MANIFEST}") && '
    f'[ "${{list%% *}}" = "$2" ] && list=$(cut -c 67- "$1/{MANIFEST}"; echo {MANIFEST}) && '
    r'[ -z "$(find "$1" -mindepth 1 ! -type d -printf "%P\n" | grep -vxF -e "$list")" ]; }; '
    'whole() { ours "$1" "$2" && '
    f'(cd "$1" && sha256sum --check --quiet {MANIFEST}) >/dev/null 2>&1; }}; '
    'discard() { gone=$(mktemp -u "$store/.new-$2-XXXXXX") && mv -T "$1" "$gone" && '
    f'find "$gone" -mindepth 1 ! -type d ! -path "$gone/{MANIFEST}" -delete && '
    f'rm -f "$gone/{MANIFEST}" && find "$gone" -depth -type d -exec rmdir {{}} ";"; }}; '
)
_REFUSE = (
    'refuse() { echo "$store $1: name another \\`directory\\` in the hosts file, one that is only '
    'for this" >&2; exit 1; }; '
    'if [ -e "$store" ]; then '
    '[ ! "$store" -ef / ] || refuse "is the root of the file system"; '
    r'{ printf "%s\n" "$HOME"; getent passwd | cut -d : -f 6; } | while IFS= read -r home; do '
    '[ ! "$store" -ef "$home" ] || exit 1; done || refuse "is a home"; '
    r'alien=$(find "$store/" -mindepth 1 -maxdepth 1 -printf "%f\n" | while IFS= read -r entry; do '
    'one=$store/$entry; if digest_of "$entry" && [ -d "$one" ] && [ ! -h "$one" ]; then '
    '[ "$entry" = "$digest" ] || continue; ours "$one" "$digest" && continue; fi; '
    # another run may have taken it away meanwhile
    '[ ! -e "$one" ] && [ ! -h "$one" ] || { echo "$entry"; break; }; done) || exit 1; '
    '[ -z "$alien" ] || refuse "holds $alien, which is no copy of ours"; fi; '
)
_FIND = (
    _WHERE
    + _OURS
    + 'if whole "$store/$name" "$name"; then cd "$store/$name" && touch . && pwd -P; '
    f"else {_REFUSE} fi"
)
# The list comes first in the archive, so that what is left of an interrupted run can be told.
_PUT = (
    _WHERE + _OURS + 'mkdir -p "$store" && new=$(mktemp -d "$store/.new-$name-XXXXXX") || exit 1; '
    'trap "rm -rf \\"\\$new\\"" EXIT; '
    'tar -C "$new" -xf - || exit 1; '
    f'(cd "$new" && sha256sum --check --quiet {MANIFEST}) >&2 || exit 1; '
    'find "$store/" -mindepth 1 -maxdepth 1 -type d -mtime +30 -printf "%f\\n" | '
    'while IFS= read -r entry; do digest_of "$entry" || continue; one=$store/$entry; '
    'if [ "$entry" = "$digest" ]; then whole "$one" "$digest"; else ours "$one" "$digest"; fi && '
    'discard "$one" "$digest"; done; '
    'if ! whole "$store/$name" "$name"; then '
    '{ ! ours "$store/$name" "$name" || discard "$store/$name" "$name"; } && '
    'chmod 755 "$new" && mv -T "$new" "$store/$name" || exit 1; fi; '
    'cd "$store/$name" && pwd -P'
)
_LIBRARIES = (
    'while IFS= read -r file; do echo "file ${file##*/}"; LC_ALL=C ldd "$file" 2>&1; done; exit 0'
)

# What Debian and Fedora call the packages of the libraries that we know to be needed.
PACKAGES = {
    "libjansson.so": ("libjansson4", "jansson"),
    "libibverbs.so": ("libibverbs1", "libibverbs"),
    "librdmacm.so": ("librdmacm1", "librdmacm"),
    "libdat2.so": ("libdapl2", "dapl"),
    "libnl-3.so": ("libnl-3-200", "libnl3"),
    "libnl-route-3.so": ("libnl-route-3-200", "libnl3"),
}


# The registry goes with the agent; a provider that needs it finds the agent's.
REGISTRY = "libdat.so.1"


@dataclass(frozen=True)
class Bundle:
    """Files by their place in the folder."""

    files: Mapping[str, bytes]

    @property
    def manifest(self) -> bytes:
        """The files' hashes, as sha256sum checks them."""
        rows = [
            f"{hashlib.sha256(data).hexdigest()}  {place}\n"
            for place, data in sorted(self.files.items())
        ]
        return "".join(rows).encode()

    @property
    def name(self) -> str:
        """The folder's name."""
        return hashlib.sha256(self.manifest).hexdigest()

    def archive(self) -> bytes:
        """The folder as a tar archive; what is in bin/ can be executed."""
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for place, data in [(MANIFEST, self.manifest), *self.files.items()]:
                member = tarfile.TarInfo(place)
                member.size = len(data)
                member.mode = 0o755 if place.startswith("bin/") else 0o644
                tar.addfile(member, io.BytesIO(data))
        return out.getvalue()


def read(files: Mapping[str, Path]) -> Bundle:
    """The bundle of these files of this machine; raises FabricError."""
    try:
        return Bundle({place: path.read_bytes() for place, path in files.items()})
    except OSError as error:
        raise FabricError(f"cannot read {error.filename}: {error.strerror}") from error


def put(connection: Connection, bundle: Bundle, directory: str) -> str:
    """Have the host hold the bundle in `directory` (empty: the user's cache); its folder there.

    Raises FabricError: what the host said, and what to do.
    """
    words = [directory, bundle.name]
    found = connection.run(_FIND, words).strip()
    if not found:
        try:
            found = connection.run(_PUT, words, bundle.archive()).strip()
        except FabricError as error:
            where = directory or "~/.cache/udapl-cts"
            raise FabricError(
                f"{error} (while the agent was copied to {where}: make room there, "
                "or name another `directory` in the hosts file)"
            ) from error
    path = found.decode(errors="surrogateescape")
    if not path.startswith("/") or "\n" in path:
        raise FabricError(f"{connection.name}: no folder for the agent: it said {path[:200]!r}")
    return path


def require_libraries(connection: Connection, *paths: str) -> None:
    """Raise FabricError where a program or library on the host lacks one that it needs."""
    said = connection.run(_LIBRARIES, paths).decode(errors="replace")
    lacking: dict[str, str] = {}
    file = ""
    for line in said.splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "file":
            file = rest
        elif rest.endswith("=> not found") and word != REGISTRY:
            lacking.setdefault(word, f"{file} needs {word}{_package(word)}")
        elif "not found (required by" in line:
            lacking.setdefault(line, f"{file}: {line.strip().rpartition(': ')[2]}")
    if lacking:
        raise FabricError(f"{connection.name}: {'; '.join(lacking.values())}")


def _package(library: str) -> str:
    known = PACKAGES.get(f"{library.partition('.so')[0]}.so")
    return f" (Debian's package {known[0]}, Fedora's {known[1]})" if known else ""
