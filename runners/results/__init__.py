# SPDX-License-Identifier: BSD-2-Clause
"""What a run leaves behind: records, waivers, the proof, the summary."""
