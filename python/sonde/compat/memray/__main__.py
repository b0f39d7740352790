# SPDX-License-Identifier: MIT
import sys

from .commands import main

sys.exit(main())
