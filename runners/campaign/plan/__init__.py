# SPDX-License-Identifier: BSD-2-Clause
"""What a run is about: the planned cases, the provider, the hosts."""
