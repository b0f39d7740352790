# SPDX-License-Identifier: MIT
"""Prints as JSON what a program can see of its interpreter: compared with and without sonde."""
import sys


def state():
    seen = {
        "path": list(sys.path),
        "modules": sorted(sys.modules),
        "importer_cache": sorted(sys.path_importer_cache),
        "meta_path": [getattr(f, "__name__", type(f).__name__) for f in sys.meta_path],
        "path_hooks": [getattr(f, "__qualname__", repr(f)) for f in sys.path_hooks],
        "argv": sys.argv,
        "flags": repr(sys.flags),
        "main": sorted(vars(sys.modules["__main__"])),
        "recursion": sys.getrecursionlimit(),
        "switch": sys.getswitchinterval(),
        "profile": repr(sys.getprofile()),
        "trace": repr(sys.gettrace()),
        "hooks": [sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__],
    }
    # From here on modules are imported that the program itself might not have.
    import gc
    import os
    import re
    import signal
    import threading
    seen.update({
        "gc": [gc.isenabled(), list(gc.get_threshold()), len(gc.callbacks)],
        "threads": [t.name for t in threading.enumerate()],
        "os_threads": len(os.listdir("/proc/self/task")),
        "handlers": {str(s): repr(signal.getsignal(s)) for s in signal.Signals},
        "timers": [signal.getitimer(t) for t in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)],
        "mask": sorted(map(str, signal.pthread_sigmask(signal.SIG_BLOCK, []))),
        "umask": os.umask(0o022),
        "cwd": os.getcwd(),
        "environment": dict(os.environ),
        "sitecustomize": getattr(sys.modules.get("sitecustomize"), "__file__", None),
        "usercustomize": getattr(sys.modules.get("usercustomize"), "__file__", None),
        "site_spec": re.sub(" at 0x[0-9a-f]+", "", str(getattr(sys.modules.get("sitecustomize"), "__spec__", None))),
        "marks": [name for name in ("site_mark", "user_mark") if hasattr(sys, name)],
    })
    return seen


if __name__ == "__main__":
    seen = state()
    import json
    print(json.dumps(seen))
