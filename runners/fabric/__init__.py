# SPDX-License-Identifier: BSD-2-Clause
"""Fabrics: where the agents live. base.py says what each of them gives."""

# What guests of the vm fabric may have, the usual one first: soft-RoCE, or iWARP in software.
GUEST_DEVICES = ("rxe", "siw")
