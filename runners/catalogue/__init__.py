# SPDX-License-Identifier: BSD-2-Clause
"""The catalogue: the clauses of each page, and the checks that keep them true to page and cases."""
