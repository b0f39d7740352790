# SPDX-License-Identifier: MIT
"""What runs a model of torch to count it, or to time it; imported where torch is."""
