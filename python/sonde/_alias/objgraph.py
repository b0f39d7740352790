# SPDX-License-Identifier: MIT
"""objgraph, as sonde.compat.objgraph."""
import _sonde_alias

_sonde_alias.become(globals())
