# SPDX-License-Identifier: MIT
from sonde.compat.profiling.tracing import main

if __name__ == "__main__":
    main()
