# SPDX-License-Identifier: BSD-2-Clause
"""Reports of a run, rendered from its events.jsonl.zst alone (docs/results.md)."""
