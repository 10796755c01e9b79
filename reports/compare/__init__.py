# SPDX-License-Identifier: BSD-2-Clause
"""Reports about several runs."""
