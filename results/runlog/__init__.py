# SPDX-License-Identifier: BSD-2-Clause
"""The records of a run: their format, their writer and reader, and checks on one record."""
