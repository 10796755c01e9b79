# SPDX-License-Identifier: BSD-2-Clause
"""Features of which dat_ia_query tells nothing: what was found out by trying, or is assumed."""

from collections.abc import Iterable, Iterator

from results.model.run import Run
from results.model.subject import Found

TITLE = "Features of which dat_ia_query tells nothing"


def sentences(run: Run) -> list[str]:
    """What is known of the features that dat_ia_query leaves unwritten, and how it became known; a
    sentence for each way. Empty where each attribute was written, and nothing was assumed.
    """
    return list(_sentences(run))


def _sentences(run: Run) -> Iterator[str]:
    found = run.found
    for why in run.unasked:
        yield f"dat_ia_query gave no answer, and cases that do without it do not call it: {why}."
    for call, why in run.unlooked:
        yield f"{call} gave no answer, and fixtures do without it: {why}."
    if names := {each.feature for each in found}:
        features = "1 feature is" if len(names) == 1 else f"{len(names)} features are"
        yield f"dat_ia_query leaves unwritten whether {features} there."
    tried = [each for each in found if each.by != "assumption"]
    assumed = [each for each in found if each.by == "assumption"]
    if there := [each.feature for each in tried if each.present is True]:
        yield f"Found out by trying, and judged as declared: {_listed(there)}."
    if absent := [each for each in tried if each.present is False]:
        yield f"Found out by trying, and judged as not declared: {_explained(absent)}."
    if unknown := [each for each in tried if each.present is None]:
        yield f"Not known, so that what needs it is BLOCKED: {_explained(unknown)}."
    if assumed:
        said = (f"{each.feature} = {int(bool(each.present))}" for each in assumed)
        yield f"Assumed by --assume, and judged so: {_listed(said)}."
    used = {each.feature for each in assumed}
    opened = any(fabric.opened for fabric in run.fabrics)
    if idle := [feature for feature in run.assumed if opened and feature not in used]:
        yield f"Without effect, because dat_ia_query tells of it: --assume of {_listed(idle)}."


def how(run: Run, feature: str) -> str:
    """How it became known whether `feature` is there, in words; empty if an attribute tells it."""
    found = [each for each in run.found if each.feature == feature]
    if not found:
        return ""
    if any(each.by == "assumption" for each in found):
        return "assumed by --assume"
    if all(each.present is None for each in found):
        return "trying it did not tell whether it is there"
    return "found out by trying"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _explained(found: Iterable[Found]) -> str:
    return _listed(f"{each.feature} ({each.how})" for each in found)
