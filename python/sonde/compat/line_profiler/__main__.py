# SPDX-License-Identifier: MIT
from . import main

if __name__ == "__main__":
    main()
