# SPDX-License-Identifier: MIT
"""What `sonde time` runs in an interpreter: one measuring process.

    python .../sonde/_time_main.py REQUEST_FD RESULT_FD PLACE

It is started by its path, because `python -m` looks into the current folder first, for what it needs itself too.  What is asked stands in
one file without a name, and what was measured goes into the other (collect/time/time_parcel.h).  A traceback of the statement is printed here.
"""
import sys

_HAS_FOLDERS = not getattr(sys.flags, "safe_path", sys.flags.isolated)
if __name__ == "__main__" and _HAS_FOLDERS:
    del sys.path[0]  # the package's own folder

import signal  # noqa: E402

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # Ctrl-C ends us as any program, and without a traceback
    signal.signal(signal.SIGINT, signal.SIG_DFL)
if __name__ == "__main__":  # whoever started us has held it back until now
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])

import os  # noqa: E402

from sonde import _sonde, _statement  # noqa: E402

SYNTAX, RAISED = 1, 2  # enum sd_time_refusal


class Refused(Exception):
    """It has been said why; what the file is told."""


def _number(text):
    try:
        return int(text)
    except ValueError:
        number = float(text)
        return int(number) if number.is_integer() and "." not in text else number  # 1e6 is a size, too


def _namespace(request, size):
    names = {"__name__": "__main__", "__builtins__": __builtins__}
    if size:
        names[request["size_name"]] = _number(size)
    return names


def _side(request, side, place=0):
    statement, setup, size, _ = side
    try:
        return _statement.side(statement, setup, _namespace(request, size), place)
    except SyntaxError as error:
        where = {_statement.SETUP: "set-up", _statement.STATEMENT: "statement"}.get(error.filename, "statement")
        line = " in line {0}".format(error.lineno) if error.lineno and "\n" in (setup if where == "set-up" else statement) else ""
        sys.stderr.write("sonde: the {0} is not valid Python{1}: {2}: {3}\n".format(where, line, error.msg, _line_of(error, setup, statement)))
    except ValueError as error:  # a null character
        sys.stderr.write("sonde: the statement is not valid Python: {0}\n".format(error))
    raise Refused(SYNTAX)


def _line_of(error, setup, statement):
    lines = (setup if error.filename == _statement.SETUP else statement).splitlines()
    at = (error.lineno or 1) - 1
    return lines[at].strip() if 0 <= at < len(lines) else statement


def _raised(error, sides):
    try:
        sys.stderr.write(_statement.traceback_text(error, [side[:2] for side in sides]))
    except BaseException:  # of the statement's own exception
        sys.stderr.write("sonde: the statement raised {0}\n".format(type(error).__name__))
    raise Refused(RAISED)


def _order(n, seed):
    """Sides are compiled in an order that is drawn: two copies of a statement in one process differ by it."""
    order = list(range(n))
    for at in range(n - 1, 0, -1):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        other = (seed >> 33) % (at + 1)
        order[at], order[other] = order[other], order[at]
    return order


def _measure(request, fd, result, place):
    sides = request["sides"]
    made = [None] * len(sides)
    for at in _order(len(sides), request["seed"]):
        made[at] = _side(request, sides[at], at)
    run = _sonde.TimeRun([_statement.empty()] + made, process_time=request["process_time"], gc=request["gc"], seed=request["seed"])
    run._share(fd, place)
    if request["as_timeit"]:
        run.plan_repeats(request["number"], request["repeat"])
    else:
        for at, side in enumerate(sides):
            run.set_loops(at, side[3])
        run.plan_budget(request["budget"])
    try:
        _statement.drive(run)
    except BaseException as error:
        _raised(error, sides)
    run._write(result)


def _allocate(request, result):
    """What one execution allocates, by the recorder of `alloc`."""
    made = _side(request, request["sides"][0])
    run = _sonde.TimeRun([_statement.empty(), made], gc=request["gc"])
    run.plan_repeats(1, 1)  # what is made once is there before
    try:
        _statement.drive(run)
        allocated, peak = _statement.memory_of(*made)
    except BaseException as error:
        _raised(error, request["sides"])
    _sonde.time_memory(result, allocated, peak)


def main():
    fd, result, place = map(int, sys.argv[1:4])
    request = _sonde.time_request(fd)
    sys.argv[:] = ["-c"]
    if _HAS_FOLDERS:
        sys.path.insert(0, "")  # as `python -m timeit`: modules of the current folder are found
    try:
        if request["memory"]:
            _allocate(request, result)
        else:
            _measure(request, fd, result, place)
    except Refused as refused:
        _sonde.time_refuse(result, refused.args[0])
        return 2 if refused.args[0] == SYNTAX else 1
    return 0


if __name__ == "__main__":
    _status = main()
    for _stream in (sys.stdout, sys.stderr):
        try:
            _stream.flush()
        except Exception:  # the statement may have closed it
            pass
    os._exit(_status)  # nothing of the statement's is waited for: what was measured is written
