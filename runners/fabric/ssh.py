# SPDX-License-Identifier: BSD-2-Clause
"""The `ssh` fabric: the hosts of a hosts file, reached by OpenSSH as its user is used to."""

import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from results.errors import InputError
from runners.fabric import bundle, datconf, hosts_file, ssh_connection
from runners.fabric.base import Fabric, FabricError, Facts, Progress, Wish, preferred, refuse_shape
from runners.fabric.facts import fewest_processors, only_device
from runners.fabric.files import REGISTRY, Files
from runners.fabric.hosts_file import Entry
from runners.fabric.process import ProcessHost
from runners.fabric.ssh_connection import Connection

START_TIMEOUT = 60.0
# So many connections are made side by side.
CONNECTS = 32

# Each word has a plus before it, so that an empty one can be told from the end.
STARTED = "udapl-cts: agent"
_AGENT = (
    'set --; while IFS= read -r word && [ -n "$word" ]; do set -- "$@" "${word#+}"; done; '
    f'echo "{STARTED}"; exec env "$@"'
)
_READ = 'IFS= read -r path && LC_ALL=C exec cat -- "$path"'
_LIST = 'IFS= read -r path && ls -- "${path%/*}" 2>/dev/null; exit 0'
_LOADER = "PATH=$PATH:/sbin:/usr/sbin; ldconfig -p 2>/dev/null; exit 0"
_HASH = 'IFS= read -r path && sha256sum -- "$path"'


class SshHost(ProcessHost):
    """A host of the file, connected. `wish` has what the command line says for all hosts."""

    def __init__(self, entry: Entry, connection: Connection, facts: Facts, wish: Wish) -> None:
        super().__init__(entry.name, entry.address)
        self._entry = entry
        self._connection = connection
        self._facts = facts
        self._wish = wish
        self._killed = False

    def _start(
        self, argv: Sequence[str], env: Mapping[str, str], directory: str | None
    ) -> socket.socket:
        if self._killed or not self._connection.connected():
            self._facts = self._connection.open()
            self._killed = False
        argv, env = self._place(argv, env)
        words = [f"{name}={value}" for name, value in env.items()] + list(argv)
        stream = self._spawn(self._connection.command(_AGENT), {}, directory)
        stream.sendall(ssh_connection.lines([*(f"+{word}" for word in words), ""]))
        end = f"{STARTED}\n".encode()
        if ssh_connection.read_until(stream.fileno(), end, START_TIMEOUT) is None:
            stream.close()
            self.kill()
            raise FabricError(f"{self.name}: the agent did not start: {self.stderr_tail(500)}")
        return stream

    def alive(self) -> bool:
        return not self._killed and self._connection.answers()

    def exit_status(self, timeout: float | None = None) -> int | None:
        status = super().exit_status(timeout)
        # So ssh says that it knows none.
        return None if status == 255 else status

    def console_tail(self, limit: int = 16384) -> str:
        return self._connection.said(limit)

    def kill(self) -> None:
        """Drop the connection: over there the agent sees its end, and ends what it started."""
        self._killed = True
        self._connection.kill()
        self._kill_process()

    def facts(self) -> Facts:
        return self._facts

    def close(self) -> None:
        """End the agent and the connection."""
        super().close()
        self._connection.close()

    def _place(
        self, argv: Sequence[str], env: Mapping[str, str]
    ) -> tuple[Sequence[str], Mapping[str, str]]:
        """The agent's command as it is on the host, where its files are by then."""
        binary, *arguments = argv
        written = Path(env["DAT_OVERRIDE"])
        entry = entry_of(self._entry, self._wish)
        if self._entry.files == "copy":
            binary = self._copy_agent(Path(binary))
            env = self._copy_libdat(env)
        if entry is None:
            conf = self._own_conf(datconf.entries(datconf.read(written, Files()))[0])
        else:
            conf, ia = str(entry[0]), entry[1]
            arguments[arguments.index("--ia") + 1] = ia
            self._note_provider(conf, ia)
        return [binary, *arguments], {**env, "DAT_OVERRIDE": conf}

    def _copy_agent(self, binary: Path) -> str:
        place = f"bin/{binary.name}"
        files = {place: binary}
        registry = binary.parents[1] / "lib" / bundle.REGISTRY
        if registry.exists():
            files[f"lib/{registry.name}"] = registry
        folder = bundle.put(self._connection, bundle.read(files), self._entry.directory)
        bundle.require_libraries(self._connection, f"{folder}/{place}")
        return f"{folder}/{place}"

    def _copy_libdat(self, env: Mapping[str, str]) -> Mapping[str, str]:
        """The environment with the libdat that is to be loaded as it is on the host."""
        if "LD_PRELOAD" not in env:
            return env
        library = Path(env["LD_PRELOAD"])
        place = f"{REGISTRY}/{library.name}"
        files = bundle.read({place: library})
        folder = bundle.put(self._connection, files, self._entry.directory)
        bundle.require_libraries(self._connection, f"{folder}/{place}")
        return {**env, "LD_PRELOAD": f"{folder}/{place}"}

    def _own_conf(self, entry: datconf.Entry) -> str:
        """A dat.conf on the host that names our provider there, and the host's device."""
        library = Path(entry.library)
        if self._entry.files == "copy":
            files = bundle.read({f"lib/{library.name}": library})
            folder = bundle.put(self._connection, files, self._entry.directory)
            library = Path(folder, "lib", library.name)
        bundle.require_libraries(self._connection, str(library))
        params = params_of(self._entry, self._wish)
        if params is None:
            params = only_device(self.name, self._facts)
        text = datconf.lines(entry.ia, library, params, entry.api)
        conf = bundle.Bundle({"dat.conf": text.encode(errors="surrogateescape")})
        self._note_hash(str(library))
        return f"{bundle.put(self._connection, conf, self._entry.directory)}/dat.conf"

    def _note_provider(self, conf: str, ia: str) -> None:
        """Remember which provider the host's own dat.conf names."""
        text = datconf.read(Path(conf), RemoteFiles(self._connection))
        chosen = next((each for each in datconf.entries(text) if each.ia == ia), None)
        if chosen is not None and chosen.library.startswith("/"):
            self._note_hash(chosen.library)

    def _note_hash(self, library: str) -> None:
        said = self._connection.run(_HASH, [library]).decode(errors="replace")
        self._facts = replace(self._facts, provider=said.lstrip("\\")[:64])


class SshFabric(Fabric):
    """As many hosts of the file as are asked for: the first that can be reached, by their roles."""

    shares_hosts = True

    def __init__(
        self,
        hosts: int,
        progress: Progress = lambda line: None,
        *,
        table: Sequence[Mapping[str, Any]],
        ssh_config: str = "",
        dat_conf: str | None = None,
        ia: str | None = None,
        ia_params: str | None = None,
    ) -> None:
        self._count = hosts
        self._progress = progress
        self._table = [Entry(**row) for row in table]
        self._ssh_config = ssh_config
        self._wish = Wish(None, Path(dat_conf) if dat_conf else None, ia, ia_params)
        self._folder: Path | None = None
        self._hosts: list[SshHost] = []
        self._set_aside: dict[str, str] = {}

    @classmethod
    def settings(cls, wish: Wish) -> dict[str, Any]:
        if wish.hosts_file is None:
            raise InputError("--fabric ssh needs --hosts-file FILE: which hosts (docs/fabrics.md)")
        refuse_shape(wish)
        if shutil.which("ssh") is None:
            raise FabricError("ssh is not installed; run `apt-get install openssh-client` as root")
        file = hosts_file.read(wish.hosts_file)
        if all(entry.role == "peer" for entry in file.hosts):
            raise InputError(f"{wish.hosts_file}: each host is a peer, and none the subject's")
        for entry in file.hosts:
            named = entry.dat_conf or wish.dat_conf
            if bool(named) != bool(entry.ia or wish.ia):
                lacks = "an ia" if named else "a dat_conf"
                raise InputError(
                    f"{wish.hosts_file}: {entry.name} lacks {lacks}, or give it to all"
                )
            if wish.dat_conf is None and bool(named) != bool(file.hosts[0].dat_conf):
                raise InputError(
                    f"{wish.hosts_file}: {entry.name} and {file.hosts[0].name}: either all hosts "
                    "have a dat_conf, or none"
                )
        return {
            "table": [asdict(entry) for entry in file.hosts],
            "ssh_config": file.ssh_config,
            "dat_conf": str(wish.dat_conf) if wish.dat_conf else None,
            "ia": wish.ia,
            "ia_params": wish.ia_params,
        }

    @classmethod
    def most_hosts(cls, settings: Mapping[str, Any]) -> int:
        rows = settings["table"]
        pairs = any(
            a is not b and a["role"] != "peer" and b["role"] != "subject"
            for a in rows
            for b in rows
        )
        return len(rows) if pairs else 1

    @classmethod
    def prefer(cls, settings: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        table = preferred(settings["table"], names, lambda row: str(row["name"]))
        return {**settings, "table": table}

    @classmethod
    @contextmanager
    def subject(cls, settings: Mapping[str, Any]) -> Iterator[Files]:
        with cls(1, **settings) as fabric:
            yield RemoteFiles(fabric.hosts[0]._connection)

    @classmethod
    def entry(cls, settings: Mapping[str, Any]) -> tuple[Path, str] | None:
        fabric = cls(1, **settings)
        return entry_of(next(fabric._candidates(0)), fabric._wish)

    @classmethod
    def ia_params(cls, settings: Mapping[str, Any]) -> str:
        fabric = cls(1, **settings)
        params = params_of(next(fabric._candidates(0)), fabric._wish)
        if params is not None:
            return params
        with fabric:
            return only_device(fabric.hosts[0].name, fabric.hosts[0].facts())

    @classmethod
    def processors(cls, hosts: int, settings: Mapping[str, Any]) -> int:
        with cls(min(hosts, cls.most_hosts(settings)), **settings) as fabric:
            return fewest_processors(host.facts() for host in fabric.hosts)

    @property
    def hosts(self) -> Sequence[SshHost]:
        return tuple(self._hosts)

    @property
    def set_aside(self) -> Sequence[tuple[str, str]]:
        return tuple(self._set_aside.items())

    def __enter__(self) -> Self:
        self._folder = ssh_connection.folder()
        try:
            if self._count == 0:
                self._open_all()
            for index in range(self._count):
                self._hosts.append(self._first_that_answers(index))
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for host in self._hosts:
            host.close()
        self._hosts = []
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _candidates(self, index: int) -> Iterator[Entry]:
        """The hosts that can be the subject's (index 0) or a peer's."""
        wrong = "peer" if index == 0 else "subject"
        used = {host.name for host in self._hosts} | self._set_aside.keys()
        found = [e for e in self._table if e.role != wrong and e.name not in used]
        if not found:
            what = "the subject" if index == 0 else "a peer"
            why = "; ".join(self._set_aside.values()) or "see the hosts' roles"
            raise FabricError(f"no host is left for {what}: {why}")
        yield from found

    def _first_that_answers(self, index: int) -> SshHost:
        while True:
            host = self._connected(next(self._candidates(index)))
            if host is not None:
                return host

    def _open_all(self) -> None:
        with ThreadPoolExecutor(CONNECTS) as connects:
            opened = list(connects.map(self._connected, self._table))
        self._hosts = [host for host in opened if host is not None]
        if not self._hosts:
            raise FabricError(f"no host can be reached: {'; '.join(self._set_aside.values())}")

    def _connected(self, entry: Entry) -> SshHost | None:
        """The host of an entry; None where it is set aside."""
        assert self._folder is not None
        control = self._folder / str(self._table.index(entry))
        connection = Connection(entry, self._ssh_config, control)
        try:
            return SshHost(entry, connection, connection.open(), self._wish)
        except FabricError as error:
            connection.close()
            self._set_aside[entry.name] = str(error)
            self._progress(f"{error}; set aside")
            return None


class RemoteFiles(Files):
    """The files of a host at the other end of a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.where = f"{connection.name}:"

    def read(self, path: Path) -> bytes:
        try:
            return self._connection.run(_READ, [str(path)])
        except FabricError as error:
            why = str(error).rpartition(": ")[2]
            kind = FileNotFoundError if why == "No such file or directory" else OSError
            raise kind(0, why) from error

    def libraries_beside(self, path: Path) -> list[str]:
        said = self._connection.run(_LIST, [str(path)]).decode(errors="replace")
        return [name for name in said.splitlines() if ".so" in name]

    def loader_cache(self) -> str:
        return self._connection.run(_LOADER).decode(errors="replace")


def entry_of(entry: Entry, wish: Wish) -> tuple[Path, str] | None:
    """The host's own dat.conf and the IA in it; None where a provider is brought along."""
    conf = entry.dat_conf or wish.dat_conf
    return (Path(conf), entry.ia or wish.ia or "") if conf else None


def params_of(entry: Entry, wish: Wish) -> str | None:
    """What a provider of the user opens on this host, if it is configured."""
    return entry.ia_params if entry.ia_params is not None else wish.ia_params
