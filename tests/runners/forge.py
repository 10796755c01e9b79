# SPDX-License-Identifier: BSD-2-Clause
"""What a forger has: the files of a package, and all that `package` itself does with them."""

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from reports.render import FORMATS, render
from results.errors import ReportError
from results.model.load import load
from results.model.run import Run
from runners.package import archive
from runners.package.archive import MANIFEST, SIGNATURE
from runners.package.build import digest, manifest_of, text_of
from tests.reports.synthetic_run import Record, read_lines, write_records


@dataclass
class Forger:
    """The members of a package, unpacked in `folder`."""

    folder: Path
    files: dict[str, Path] = field(default_factory=dict)

    @classmethod
    def of(cls, package: Path, folder: Path) -> "Forger":
        """Unpacks `package`."""
        return cls(folder, archive.read(package, folder))

    @property
    def records(self) -> list[Record]:
        """The records of the run."""
        return [json.loads(line) for line in read_lines(self.folder)]

    @records.setter
    def records(self, records: list[Record]) -> None:
        write_records(self.folder, records)
        try:
            self.seal(load(self.folder))
        except ReportError:
            self.seal()

    def change(self, change: Callable[[list[Record]], None]) -> None:
        """Changes the records, the chain, and the manifest."""
        records = self.records
        change(records)
        self.records = records

    def render(self) -> None:
        """Makes all reports anew."""
        run = load(self.folder)
        for fmt in FORMATS:
            render(self.folder, fmt, run)
        self.seal(run)

    def seal(self, run: Run | None = None) -> None:
        """Makes a manifest of what is there now."""
        if run is None:
            manifest = self.manifest
            for name, told in manifest["files"].items():
                if name in self.files:
                    path = self.files[name]
                    told |= {"sha256": digest(path), "size": path.stat().st_size}
        else:
            manifest = manifest_of(run, self.files)
        self.manifest = manifest

    @property
    def manifest(self) -> Record:
        """The manifest."""
        return dict(json.loads(self.files[MANIFEST].read_text()))

    @manifest.setter
    def manifest(self, manifest: Record) -> None:
        self.files[MANIFEST].write_text(text_of(manifest))

    def edit(self, name: str, old: bytes, new: bytes) -> None:
        """Changes a file, as with an editor."""
        data = self.files[name].read_bytes()
        assert old in data, f"{name} has no {old!r}"
        self.files[name].write_bytes(data.replace(old, new, 1))

    def add(self, name: str, data: bytes) -> None:
        """Adds a file, or replaces it."""
        self.files[name] = self.folder / name
        self.files[name].write_bytes(data)

    def remove(self, name: str) -> None:
        """Takes a file away."""
        del self.files[name]

    def unsign(self) -> None:
        """Takes the signature away."""
        self.remove(SIGNATURE)

    def pack(self, path: Path) -> Path:
        """Makes a package of it all."""
        archive.write(path, self.files)
        return path


def repacked(package: Path, change: Callable[[bytes], bytes]) -> Path:
    """A copy of the file `package`, changed byte by byte."""
    out = Path(tempfile.mkdtemp(dir=package.parent)) / "forged.tar"
    out.write_bytes(change(package.read_bytes()))
    return out
