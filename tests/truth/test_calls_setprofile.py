# SPDX-License-Identifier: MIT
# interpreters: all
"""A program's own sys.setprofile functions hear the same events with and without Sonde.

One program sets, changes and takes away its functions in many ways, each way a list of events
(event, function, C function).  It runs as it is, and under `sonde calls`; the lists must be equal.
Before 3.12 Sonde's own profile function stands in the place that these take.  From 3.12 on they are
tools of their own beside Sonde's, and the interpreter itself tells both the end of a call that either heard.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import LIMIT_S, PACKAGE_PATH, PYTHON, SONDE, equal, only, run_tests  # noqa: E402

HAS_HOOK = sys.version_info < (3, 12)


PROGRAM = '''
import json, sys, threading

sys.path.insert(0, FOLDER)
WAYS = {}
heard = None


def own(frame, event, arg):
    heard.append((event, frame.f_code.co_name, getattr(arg, "__name__", "") if event.startswith("c_") else ""))


def other(frame, event, arg):
    heard.append(("other " + event, frame.f_code.co_name, getattr(arg, "__name__", "") if event.startswith("c_") else ""))


def once(frame, event, arg):
    """Takes itself away in the midst of an event, and calls a function before it sets another."""
    own(frame, event, arg)
    sys.setprofile(None)
    small()
    sys.setprofile(other)


def way(f):
    global heard
    heard = WAYS[f.__name__] = []
    f()
    sys.setprofile(None)
    small()
    return f


def small():
    return len("x")


def outer(f):
    small()
    value = f()
    len("y")
    return value


@way
def in_a_function():
    outer(lambda: sys.setprofile(own))
    small()


@way
def here():
    sys.setprofile(own)
    small()
    sys.setprofile(None)
    small()
    sys.setprofile(own)
    sys.setprofile(None)
    sys.setprofile(own)
    len("z")


@way
def one_after_the_other():
    sys.setprofile(own)
    small()
    sys.setprofile(other)
    small()
    sys.setprofile(own)


@way
def in_exec():
    exec("len('a'); sys.setprofile(own); len('b')")
    len("c")


@way
def in_exec_that_ends_badly():
    def inside():
        exec("sys.setprofile(own); small(); 1 / 0")
    try:
        exec("inside()", {"inside": inside})
    except ZeroDivisionError:
        small()


@way
def in_exec_and_none_again():
    def inside():
        exec("sys.setprofile(own); small(); sys.setprofile(None); small(); sys.setprofile(own); small()")
    exec("inside()", {"inside": inside})
    small()


@way
def of_another_in_exec():
    def inside():
        exec("small(); sys.setprofile(None); small(); sys.setprofile(other); small()")
    sys.setprofile(own)
    exec("inside()", {"inside": inside})
    small()


@way
def in_an_import():
    import sets_own_profile
    small()


@way
def as_a_callback():
    sorted([own], key=sys.setprofile)
    small()


@way
def in_a_callback():
    def compare(f):
        sys.setprofile(own)
        return small()
    sorted([1, 2], key=compare)
    list(map(compare, [3]))
    small()


@way
def by_another_name():
    set_it = sys.setprofile
    set_it(own)
    getattr(sys, "setprofile")(own)
    small()


@way
def in_itself():
    sys.setprofile(once)
    small()
    small()


@way
def in_a_generator():
    def steps():
        yield len("a")
        sys.setprofile(own)
        yield len("b")
        yield small()
    list(steps())
    it = steps()
    next(it), next(it)
    del it
    small()


@way
def in_a_recursion():
    def deeper(n):
        if n == 0:
            sys.setprofile(own)
        else:
            exec("deeper(n - 1)", {"deeper": deeper, "n": n})
        return len("x")
    deeper(5)


@way
def in_threads():
    def work():
        small()
        sys.setprofile(None)
        small()
        sys.setprofile(own)
        small()
    threading.setprofile(own)
    for _ in range(2):
        t = threading.Thread(target=work)
        t.start()
        t.join()
    threading.setprofile(None)
    small()


with open(OUT, "w") as f:
    json.dump(WAYS, f)
'''


def write_program(folder, name):
    out = os.path.join(folder, name + ".json")
    script = os.path.join(folder, "program.py")
    with open(os.path.join(folder, "sets_own_profile.py"), "w") as f:
        f.write("import sys, __main__\nsys.setprofile(__main__.own)\n__main__.small()\n")
    with open(script, "w") as f:
        f.write("FOLDER, OUT = %r, %r\n" % (folder, out) + PROGRAM)
    return script, out


def events(folder, name, command):
    script, out = write_program(folder, name)
    done = subprocess.run(command + [script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S,
                          universal_newlines=True, env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
    equal(done.returncode, 0, "status of %s (%s)" % (name, done.stdout[-500:]))
    with open(out) as f:
        return json.load(f)


def compare(found, truth, name):
    equal(sorted(found), sorted(truth), "ways " + name)
    for way in truth:
        assert truth[way], way
        equal(found[way], truth[way], "events of %s %s" % (way, name))


@only(HAS_HOOK)
def test_own_functions_hear_the_same_under_sonde(folder):
    truth = events(folder, "plain", [PYTHON])
    for i, how in enumerate((["--builtins"], [], ["--builtins", "--cpu"], ["--builtins", "--timeline"])):
        found = events(folder, "under%d" % i, [SONDE, "calls", "-q", "--python", PYTHON, "-o", os.path.join(folder, "%d.sonde" % i)] + how)
        compare(found, truth, "with " + " ".join(how))


@only(HAS_HOOK)
def test_own_functions_hear_the_same_beside_a_profile(folder):
    runner = os.path.join(folder, "runner.py")
    with open(runner, "w") as f:
        f.write("import runpy, sys\nsys.path.insert(0, %r)\nfrom sonde import Profile\np = Profile(builtins=True)\np.enable()\n"
                "runpy.run_path(sys.argv[1], run_name='__main__')\np.disable()\n" % PACKAGE_PATH)
    plain = os.path.join(folder, "plain.py")
    with open(plain, "w") as f:
        f.write("import runpy, sys\nrunpy.run_path(sys.argv[1], run_name='__main__')\n")
    truth = events(folder, "plain", [PYTHON, plain])
    compare(events(folder, "profile", [PYTHON, runner]), truth, "beside Profile")


def test_a_function_that_was_set_before_hears_no_end_twice(folder):
    sys.path.insert(0, PACKAGE_PATH)
    from sonde import Profile
    heard = []

    def own(frame, event, arg):
        heard.append((event, getattr(arg, "__name__", "") if event.startswith("c_") else frame.f_code.co_name))

    def small():
        return len("x")

    p = Profile(builtins=True)
    sys.setprofile(own)
    small()
    p.enable()
    small()
    p.disable()
    small()
    sys.setprofile(None)
    each = [("call", "small"), ("c_call", "len"), ("c_return", "len"), ("return", "small")]
    among = [event for event in heard if event[1] in ("small", "len", "setprofile")]
    if HAS_HOOK:                                     # ours takes its place meanwhile, as cProfile's does
        equal(among, each + each + [("c_call", "setprofile")], "events")
    else:
        equal(among, each * 3 + [("c_call", "setprofile")], "events")


def hears_nothing(*event):
    pass


def test_sys_setprofile_is_the_interpreters_again(folder):
    sys.path.insert(0, PACKAGE_PATH)
    from sonde import Profile
    p = Profile(builtins=True)
    before = sys.setprofile
    p.enable()
    assert sys.setprofile is before, "another object"
    len("x")
    sys.setprofile(hears_nothing)
    equal(sys.getprofile(), hears_nothing, "what was set")
    sys.setprofile(None)
    len("x")
    p.disable()
    sys.setprofile(hears_nothing)
    equal(sys.getprofile(), hears_nothing, "what was set afterwards")
    sys.setprofile(None)
    equal(sys.getprofile(), None, "what was taken away")


if __name__ == "__main__":
    run_tests(globals())
