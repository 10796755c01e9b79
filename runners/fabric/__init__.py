# SPDX-License-Identifier: BSD-2-Clause
"""Fabrics: where the agents live. base.py says what each of them gives."""
