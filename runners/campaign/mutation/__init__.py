# SPDX-License-Identifier: BSD-2-Clause
"""A run of the suite on faulty providers."""
