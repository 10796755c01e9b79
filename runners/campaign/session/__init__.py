# SPDX-License-Identifier: BSD-2-Clause
"""Running cases on the hosts of one mode."""
