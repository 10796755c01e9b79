# SPDX-License-Identifier: BSD-2-Clause
"""docs/architecture.svg: the rooms as they are."""

from tests.docs import architecture


def test_the_picture_is_of_this_tree() -> None:
    """If it is not: .venv/bin/python -m tests.docs.architecture (needs graphviz)"""
    assert architecture.DOT.read_text(encoding="utf-8") == architecture.dot()


def test_every_room_is_in_the_picture() -> None:
    rooms = {architecture.room(name) for name in architecture.sources()}
    picture = architecture.SVG.read_text(encoding="utf-8").replace("&#45;", "-")
    assert not [name for name in rooms if f">{name}</text>" not in picture]


def test_an_edge_that_follows_from_others_is_left_out() -> None:
    chain = {("a", "b"), ("b", "c")}
    assert architecture.reduced(chain | {("a", "c")}) == chain


def test_edges_of_a_circle_and_into_it_stay() -> None:
    circle = {("a", "b"), ("b", "a"), ("c", "a"), ("c", "b")}
    assert architecture.reduced(circle) == circle
