# SPDX-License-Identifier: BSD-2-Clause
"""Draw docs/architecture.svg from the tree: python -m tests.docs.architecture.

A room is a folder of sources; an edge says that a file of one includes or imports one of the
other. An edge that follows from others is left out. Needs graphviz; the test needs docs/
architecture.dot only, which is written beside the picture.
"""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOT = ROOT / "docs/architecture.dot"
SVG = ROOT / "docs/architecture.svg"
# Of headers in angle brackets, only DAT's are of this project.
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"|<(?=dat/))([^">]+)[">]', re.MULTILINE)
# Rooms of these folders are their subfolders; other folders are one room.
SPLIT = {"reference-provider", "harness", "runners", "results"}
# What lies beside the subfolders belongs to one of them.
BESIDE = {
    "harness": "harness/case",
    "runners/cli.py": "runners/commands",
    "runners/__main__.py": "runners/commands",
    "runners/selftest.py": "runners/commands",
}
CLUSTERS = {
    "on a host": ["cases", "faults", "harness", "include", "libdat", "reference-provider"],
    "where the runner is": ["oracle", "reports", "results", "runners"],
}
TOPS = [top for tops in CLUSTERS.values() for top in tops]


def room(path: str) -> str:
    """The room of a file: its folder, or the folder and its subfolder."""
    parts = path.split("/")
    if parts[0] in SPLIT and len(parts) > 2:
        return "/".join(parts[:2])
    return BESIDE.get(path, BESIDE.get(parts[0], parts[0]))


def sources() -> list[str]:
    """The C and Python files of all rooms."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *TOPS]
    names = subprocess.run(command, cwd=ROOT, check=True, text=True, capture_output=True).stdout
    return [
        name
        for name in sorted(set(names.splitlines()))
        if name.endswith((".c", ".h", ".py")) and (ROOT / name).is_file()
    ]


def edges(files: list[str]) -> set[tuple[str, str]]:
    """Which room includes or imports which other."""
    known = set(files)
    by_name: dict[str, list[str]] = {}
    for name in files:
        by_name.setdefault(name.rsplit("/", 1)[-1], []).append(name)
    found = set()
    for name in files:
        uses = _imports(name, known) if name.endswith(".py") else _includes(name, by_name)
        found |= {(room(name), room(used)) for used in uses}
    return {(user, used) for user, used in found if user != used}


def _includes(name: str, by_name: dict[str, list[str]]) -> Iterator[str]:
    folder = name.rsplit("/", 1)[0]
    for header in INCLUDE.findall((ROOT / name).read_text(encoding="utf-8")):
        there = [
            path
            for path in by_name.get(header.rsplit("/", 1)[-1], [])
            if path.endswith("/" + header.lstrip("./"))
        ]
        near = [path for path in there if path.startswith(folder)]
        top = [path for path in there if path.split("/")[0] == name.split("/")[0]]
        yield from (near or top or there)[:1]


def _imports(name: str, known: set[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for module in modules:
            path = module.replace(".", "/")
            parent = path.rpartition("/")[0]
            candidates = (
                f"{path}.py",
                f"{path}/__init__.py",
                f"{parent}.py",
                f"{parent}/__init__.py",
            )
            yield from [one for one in candidates if one in known][:1]


def reduced(graph: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The graph without edges that follow from others; edges of a circle stay."""
    nodes = {node for edge in graph for node in edge}
    beyond = {node: _reachable(graph, node) for node in nodes}
    return {
        (user, used)
        for user, used in graph
        if user in beyond[used]
        or not any(
            middle not in {user, used} | beyond[used]
            and used in beyond[middle]
            and user not in beyond[middle]
            for start, middle in graph
            if start == user
        )
    }


def _reachable(graph: set[tuple[str, str]], start: str) -> set[str]:
    seen: set[str] = set()
    todo = [start]
    while todo:
        node = todo.pop()
        new = {used for user, used in graph if user == node} - seen
        seen |= new
        todo += new
    return seen


def dot() -> str:
    """The picture in graphviz' language."""
    files = sources()
    rooms = sorted({room(name) for name in files})
    lines = [
        "// Written by python -m tests.docs.architecture",
        "digraph rooms {",
        '    graph [rankdir=TB, ranksep=0.45, nodesep=0.25, fontname="sans-serif", fontsize=13];',
        '    node [shape=box, style="rounded,filled", fillcolor="#f4f6fa", color="#7a869a",',
        '        fontname="sans-serif", fontsize=12, margin="0.12,0.06", height=0.3];',
        '    edge [color="#7a869a", arrowsize=0.6];',
    ]
    for number, (title, tops) in enumerate(CLUSTERS.items()):
        lines.append(f"    subgraph cluster_{number} {{")
        lines.append(f'        label="{title}"; color="#c1c7d0"; style=rounded;')
        lines += [f'        "{name}";' for name in rooms if name.split("/")[0] in tops]
        lines.append("    }")
    lines += [f'    "{user}" -> "{used}";' for user, used in sorted(reduced(edges(files)))]
    return "\n".join([*lines, "}", ""])


def main() -> None:
    """Write the description and the picture."""
    DOT.write_text(dot(), encoding="utf-8")
    subprocess.run(["dot", "-Tsvg", "-o", SVG, DOT], check=True)


if __name__ == "__main__":
    main()
