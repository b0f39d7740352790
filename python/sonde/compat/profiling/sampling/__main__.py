# SPDX-License-Identifier: MIT
import sys

from sonde.compat.profiling.sampling import main
from sonde.compat.profiling.sampling.errors import SamplingProfilerError

if __name__ == "__main__":
    try:
        sys.exit(main())
    except SamplingProfilerError as why:
        sys.exit("profiling.sampling: %s" % why)
