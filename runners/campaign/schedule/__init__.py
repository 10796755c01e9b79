# SPDX-License-Identifier: BSD-2-Clause
"""Which cases run where, and when."""
