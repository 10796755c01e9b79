# SPDX-License-Identifier: BSD-2-Clause
"""A run of the suite on a provider, and the replay of one case of it."""
