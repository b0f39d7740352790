# SPDX-License-Identifier: MIT
import sys

from memray.commands import main

sys.exit(main())
