# SPDX-License-Identifier: MIT
"""What `sonde lines --debug-above` does after the line that took the process above the limit."""
import sys


def debug(frame):
    """The debugger, at once: set_trace alone would stop at the line after this one."""
    import pdb

    debugger = pdb.Pdb()
    debugger.set_trace(frame)
    debugger.interaction(frame, None)
    if debugger.quitting:
        import _thread

        _thread.interrupt_main()        # whoever quits the debugger ends the program


def above(what):
    """Called by the extension from a line of chosen code; the frame above this one is the program's."""
    rss, limit, then, code, line = what
    frame = sys._getframe(1)
    mib = 1 << 20
    # The line that took the memory has ended; without one, code that was not chosen did.
    where = ("after {0}:{1} ({2})".format(code.co_filename, line, code.co_name) if code else
             "at {0}:{1} ({2})".format(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
    sys.stderr.flush()
    if not then:
        sys.stdout.write("Current memory {0:.2f} MiB exceeded the maximum of {1:.2f} MiB\n"
                         "Stepping into the debugger {2}\n".format(rss / mib, limit / mib, where))
        sys.stdout.flush()
        debug(frame)
        return
    sys.stderr.write("sonde: {0:.2f} MiB are above {1:.2f} MiB, {2}\n".format(rss / mib, limit / mib, where))
    sys.stderr.flush()
    if then == "dump":
        import faulthandler

        faulthandler.dump_traceback()
    else:
        import os
        import subprocess

        subprocess.call(then[len("exec "):], shell=True, env=dict(os.environ, SONDE_PID=str(os.getpid())))
