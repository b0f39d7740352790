# SPDX-License-Identifier: MIT
"""Other tools' modules under their own names and calls, measured by Sonde."""
