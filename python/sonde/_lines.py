# SPDX-License-Identifier: MIT
"""What the extension asks for under `sonde lines`: the debugger of --debug-above, and what `profile` has besides being a decorator."""
import sys

_profiler = None  # that of_capture() has made


def debug(frame, ends):
    """The debugger, at once: set_trace alone would stop at the line after this one.  Of a function that ends here no
    other event comes: whoever wants its next line gets the caller's."""
    import bdb
    import pdb

    debugger = pdb.Pdb()
    debugger.set_trace(frame)
    debugger.interaction(frame, None)
    if ends and debugger.stopframe is frame:
        debugger.set_step()
    if debugger.quitting:
        raise bdb.BdbQuit               # whoever quits the debugger ends the program, as under pdb


def put(stream, text):
    """A daemon may have no streams."""
    if stream is not None:
        stream.write(text)
        stream.flush()


def above(what):
    """Called by the extension from a line of chosen code; the frame above this one is the program's."""
    rss, limit, then, code, line, elsewhere = what
    frame = sys._getframe(1)
    mib = 1 << 20
    # The line that took the memory has ended, unless it is another thread's; without one, code that was not chosen did.
    blamed = "{0}:{1} ({2})".format(code.co_filename, line, code.co_name) if code else ""
    where = "at {0}:{1} ({2})".format(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
    where = where + ", after or in {0} of another thread".format(blamed) if elsewhere else "after " + blamed if blamed else where
    put(sys.stderr, "")
    if not then:
        put(sys.stdout, "Current memory {0:.2f} MiB exceeded the maximum of {1:.2f} MiB\n"
                        "Stepping into the debugger {2}\n".format(rss / mib, limit / mib, where))
        debug(frame, not elsewhere and code is frame.f_code and line == frame.f_lineno)
        return
    put(sys.stderr, "sonde: {0:.2f} MiB are above {1:.2f} MiB, {2}\n".format(rss / mib, limit / mib, where))
    if then == "dump":
        import faulthandler

        faulthandler.dump_traceback(sys.stderr or 2)
    else:
        import os
        import subprocess

        subprocess.call(then[len("exec "):], shell=True, env=dict(os.environ, SONDE_PID=str(os.getpid())))


def of_capture(unused):
    """A LineProfiler whose counts are the capture's; what it chooses is counted wherever it runs, and nothing is wrapped."""
    global _profiler
    if _profiler is None:
        import threading

        from . import _sonde
        from ._line_profiler import LineProfiler

        class CaptureProfiler(LineProfiler):
            def __call__(self, func):
                return _sonde.profile(func)

            wrap_callable = __call__

        made = _sonde.lines_capture(CaptureProfiler)
        if made is None:
            raise AttributeError("the capture has ended")
        made.functions, made.dupes_map, made.timer_unit, made.threaddata = [], {}, 1e-9, threading.local()
        _profiler = made
    return _profiler


def lead_line_profiler(asked):
    """Makes line_profiler's own `profile` choose functions for the capture: like kernprof, we replace it when the module is imported."""
    return _lead(asked, lambda module, profile: module.profile._kernprof_overwrite(profile))


def lead_memory_profiler(asked):
    """Makes memory_profiler's `profile` choose functions for the capture, which measures the memory of their lines."""
    return _lead(asked, lambda module, profile: setattr(module, "profile", memory_profile(profile)))


def memory_profile(choose):
    """memory_profiler's decorator, with its arguments; the run decides where the table goes and how it looks."""
    def profile(func=None, stream=None, precision=1, backend="psutil"):
        return profile if func is None else choose(func)

    return profile


def _lead(asked, tell):
    """Finds the spec of a module and arranges that the module receives our `profile` after it is executed."""
    ours, profile, name, path, target = asked
    sys.meta_path.remove(ours)
    specs = (finder.find_spec(name, path, target) for finder in list(sys.meta_path) if hasattr(finder, "find_spec"))
    spec = next((spec for spec in specs if spec is not None), None)
    loader = getattr(spec, "loader", None)
    execute = getattr(loader, "exec_module", None)

    def exec_module(module):
        if module.__name__ != name:     # the loader of an archive is that of all its modules
            return execute(module)
        vars(loader).pop("exec_module", None)
        execute(module)
        try:
            tell(sys.modules.get(name, module), profile)
        except Exception:
            pass                        # another version, which knows no kernprof

    if execute:
        loader.exec_module = exec_module
    return spec
