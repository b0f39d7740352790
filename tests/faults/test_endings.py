# SPDX-License-Identifier: MIT
# interpreters: oldest and newest in CI
"""The ways a program can begin and end: each is run bare and under `sonde run`, and must look the same.

The same means: exit status or signal, stdout, stderr (less Sonde's own lines), and what the program
itself notes down about its descriptors, arguments and signals.
"""
import os
import re
import signal
import subprocess
import sys
import time
import zipfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import LIMIT_S, PYTHON, SONDE, clean_env, equal, run, run_tests, state_of, text, wait_for, write  # noqa: E402

# Waits to be sent a signal, and says when it is ready for it.
READY = "import os, signal, sys, time\nsys.stdout.write('ready\\n'); sys.stdout.flush()\n"
WAIT = READY + "time.sleep(30)\n"

# name: what the script does
SCRIPTS = {
    "exit_0": "print('hello')",
    "exit_1": "import sys; sys.exit(1)",
    "exit_3": "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)",
    "exit_255": "import sys; sys.exit(255)",
    "exit_over_255": "import sys; sys.exit(256 + 7)",
    "exit_negative": "import sys; sys.exit(-1)",
    "exit_none": "import sys; sys.exit(None)",
    "exit_with_words": "import sys; sys.exit('no data')",
    "exit_in_a_thread": "import sys, threading\nt = threading.Thread(target=sys.exit, args=(3,)); t.start(); t.join(); print('on')",
    "uncaught_exception": "def f():\n    return 1 / 0\nf()",
    "uncaught_exception_in_a_chain": "try:\n    {}['x']\nexcept KeyError:\n    raise ValueError('no x')",
    "keyboard_interrupt_raised": "raise KeyboardInterrupt",
    "syntax_error": "def f(:\n    pass",
    "os_exit": "import os; os._exit(7)",
    "os_exit_with_output_pending": "import os; print('lost in the buffer'); os._exit(0)",
    "abort": "import os; os.abort()",
    "killed_by_itself": "import os; os.kill(os.getpid(), 9)",
    "segmentation_fault": "import os; os.kill(os.getpid(), 11)",
    "real_segmentation_fault": "import ctypes; ctypes.string_at(0)",
    "terminated_by_itself": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "interrupted_by_itself": "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(5)",
    "hung_up_by_itself": "import os, signal; os.kill(os.getpid(), signal.SIGHUP)",
    "user_signal_by_itself": "import os, signal; os.kill(os.getpid(), signal.SIGUSR1)",
    "alarm": "import signal, time; signal.setitimer(signal.ITIMER_REAL, 0.05); time.sleep(5)",
    "broken_pipe_signal": "import os, signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGPIPE)",
    "kills_its_own_group": "import os, signal\nsignal.signal(signal.SIGTERM, lambda *a: print('had it', flush=True))\n"
                           "os.killpg(0, signal.SIGTERM)\nimport time; time.sleep(0.3); print('once')",
    "atexit": "import atexit; atexit.register(print, 'last words'); print('first')",
    "atexit_that_exits": "import atexit, os; atexit.register(os._exit, 9)",
    "atexit_that_raises": "import atexit; atexit.register(lambda: 1 / 0)",
    "daemon_thread_left": "import threading, time\nthreading.Thread(target=lambda: time.sleep(60), daemon=True).start(); print('done')",
    "busy_daemon_thread_left": "import threading\ndef spin():\n    while True:\n        pass\n"
                               "threading.Thread(target=spin, daemon=True).start(); print('done')",
    "thread_ends_after_main": "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start(); print('main')",
    "exec_of_another_program": "import os, sys; sys.stdout.flush(); os.execvp('sh', ['sh', '-c', 'echo from sh; exit 4'])",
    "exec_without_environment": "import os, sys; os.execve('/bin/sh', ['sh', '-c', 'echo bare; exit 6'], {})",
    "exec_of_python": "import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'import sys; print(sys.argv); sys.exit(8)', 'a'])",
    "fork": "import os\nif os.fork() == 0:\n    os._exit(5)\nprint(os.wait()[1] >> 8)",
    "fork_child_outlives_it": "import os, time\nif os.fork() == 0:\n    os.close(1); os.close(2)\n    time.sleep(0.5)\n    os._exit(5)\nprint('parent')",
    "subprocess": "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'import sys; sys.exit(3)']).returncode)",
    "subprocess_killed": "import subprocess, sys\np = subprocess.Popen(['sleep', '60']); p.terminate(); print(p.wait())",
    "double_fork_daemon": "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        os.close(1); os.close(2); time.sleep(0.3)\n"
                          "    os._exit(0)\nos.wait(); print('started')",
    "descriptors": "import os\nprint(sorted(n for n in map(int, os.listdir('/proc/self/fd')) if n < 32))",
    "closes_every_descriptor": "import os\nos.closerange(3, 256); print('closed')",
    "chdir": "import os; os.chdir('/'); print(os.getcwd())",
    "main_module": "import sys\nprint(__name__, __file__, sys.argv, sys.path[0], sys.modules['__main__'].__dict__ is globals())",
    "pickle_of_main": "import pickle\nclass C: pass\nprint(type(pickle.loads(pickle.dumps(C()))).__module__)",
    "environment": "import os\nprint(sorted(k for k in os.environ if not k.startswith('SONDE') and k != 'PYTHONPATH'))",
    "process_group_and_session": "import os\nprint(os.getpgrp() == os.getsid(0), os.getcwd())",
    "recursion_error": "def f(n):\n    return f(n + 1)\nf(0)",
    "os_wait_sees_only_its_own_children": "import os\ntry:\n    os.wait()\nexcept ChildProcessError:\n    print('none')",
}

MULTIPROCESSING = """
import multiprocessing as mp
import concurrent.futures as cf
import sys

def double(x):
    return 2 * x

def die(_):
    sys.exit(3)

if __name__ == "__main__":
    how, kind = sys.argv[1:]
    mp.set_start_method(how)
    if kind == "process":
        p = mp.Process(target=die, args=(1,)); p.start(); p.join(); print(p.exitcode)
    elif kind == "terminated":
        import time
        p = mp.Process(target=time.sleep, args=(60,)); p.start(); p.terminate(); p.join(); print(p.exitcode)
    elif kind == "pool":
        with mp.Pool(2) as pool:
            print(pool.map(double, range(5)))
    else:
        with cf.ProcessPoolExecutor(2) as pool:
            print(list(pool.map(double, range(5))))
"""

def without_our_lines(stderr):
    return "".join(line for line in stderr.splitlines(True) if not line.startswith("sonde: "))


def same_pids(text_of_either):
    """Python puts addresses and process numbers into a few messages."""
    return re.sub(r"0x[0-9a-f]+|pid \d+|Thread-\d+|ForkProcess-\d+", "N", text_of_either)


def bare(words):
    return [PYTHON] + words


def recorded(words):
    return [SONDE, "run", "-q", "-o", "x.sonde", "--force", "--python", PYTHON] + words


def compare(folder, words, **how):
    """Runs the program both ways; what each gave must be equal."""
    results = []
    for command in (bare(words), recorded(words)):
        result = run(command, cwd=folder, env=clean_env(**how.get("env", {})),
                     **{k: v() if k == "stdin" else v for k, v in how.items() if k != "env"})
        results.append((result.status, same_pids(result.out), same_pids(without_our_lines(result.err))))
    for got, wanted, what in zip(results[1], results[0], ("status", "stdout", "stderr")):
        equal(got, wanted, what)
    assert os.path.exists(os.path.join(folder, "x.sonde")), "no capture was written"


def compare_script(folder, source, *words, **how):
    write(folder, "script.py", source + "\n")
    compare(folder, ["script.py"] + list(words), **how)


def test_nothing(folder):
    compare_script(folder, "")


def add_script_tests():
    for name, source in SCRIPTS.items():
        globals()["test_" + name] = lambda folder, source=source: compare_script(folder, source)


def add_multiprocessing_tests():
    for how in ("fork", "spawn", "forkserver"):
        for kind in ("process", "terminated", "pool", "executor"):
            globals()["test_multiprocessing_%s_%s" % (how, kind)] = \
                lambda folder, words=(how, kind): compare_script(folder, MULTIPROCESSING, *words)


# ---- how it is started


def test_arguments_are_the_programs(folder):
    compare_script(folder, "import sys; print(sys.argv)", "--with", "rss", "-o", "x", "--help", "--", "-m", "", "a b", "-q")


def test_module(folder):
    compare(folder, ["-m", "calendar", "2024", "2"])


def test_module_joined(folder):
    compare(folder, ["-mcalendar", "2024", "2"])


def test_module_of_the_current_directory(folder):
    write(folder, "here.py", "import sys; print(__name__, sys.argv[1:], sys.path[0] == %r)\n" % os.path.realpath(folder))
    compare(folder, ["-m", "here", "-m", "x"])


def test_package_main(folder):
    os.mkdir(os.path.join(folder, "pkg"))
    write(folder, "pkg/__init__.py", "print('init')\n")
    write(folder, "pkg/__main__.py", "print(__package__, __name__)\n")
    compare(folder, ["-m", "pkg"])


def test_no_such_module(folder):
    compare(folder, ["-m", "no_such_module"])


def test_code(folder):
    compare(folder, ["-c", "import sys; print(sys.argv, sys.path[0]); sys.exit(4)", "-c", "--with"])


def test_script_from_stdin(folder):
    path = write(folder, "piped.py", "import sys; print(sys.argv, __name__); sys.exit(2)\n")
    compare(folder, ["-", "a"], stdin=lambda: open(path))


def test_stdin_is_the_programs(folder):
    path = write(folder, "data", "one\ntwo\n")
    compare_script(folder, "import sys; print(sys.stdin.read())", stdin=lambda: open(path))


def test_script_in_another_directory(folder):
    os.mkdir(os.path.join(folder, "lib"))
    write(folder, "lib/beside.py", "name = 'beside'\n")
    write(folder, "lib/main.py", "import sys, beside; print(beside.name, sys.argv, sys.path[0])\n")
    compare(folder, ["lib/main.py"])


def test_directory_as_script(folder):
    os.mkdir(os.path.join(folder, "app"))
    write(folder, "app/__main__.py", "import sys; print(sys.argv, sys.path[0]); sys.exit(3)\n")
    compare(folder, ["app", "x"])


def test_zip_as_script(folder):
    with zipfile.ZipFile(os.path.join(folder, "app.pyz"), "w") as z:
        z.writestr("__main__.py", "import sys; print(sys.argv, sys.path[0]); sys.exit(3)\n")
    compare(folder, ["app.pyz", "x"])


def test_name_that_is_not_utf8(folder):
    name = b"caf\xe9.py"
    with open(os.path.join(folder.encode(), name), "w") as f:
        f.write("print('cafe')\n")
    compare(folder, [os.fsdecode(name)])


def test_hash_seed_and_flags_of_python_survive(folder):
    compare_script(folder, "import sys; print(hash('a'), sys.flags.optimize)", env={"PYTHONHASHSEED": "7", "PYTHONOPTIMIZE": "1"})


def test_interpreter_behind_a_script(folder):
    """A shim, as pyenv has them: what it does to find the interpreter is not the program's."""
    shim = write(folder, "python3", "#!/bin/sh\nexport SHIM=\"$(echo a; echo b)\"\nexec %s \"$@\"\n" % PYTHON)
    os.chmod(shim, 0o755)
    write(folder, "script.py", "import os, sys; print(os.environ['SHIM'], sys.argv, sys.executable)\n")
    path = os.path.join(folder, "x.sonde")
    wanted = run([shim, "script.py", "x"], cwd=folder).out
    for started in (["sh", "-c", "trap '' CHLD; exec \"$@\"", "sh"], []):
        result = run(started + [SONDE, "run", "-o", path, "--force", "--python", shim, "script.py", "x"], cwd=folder)
        equal((result.status, result.out), (0, wanted), "status and output (%r)" % result.err)
    assert " in 1 process" in result.err, result.err
    write(folder, "python3", "#!/bin/sh\nexec %s -O \"$@\"\n" % PYTHON)
    write(folder, "script.py", "import sys; print(sys.flags.optimize)\n")
    result = run([SONDE, "run", "-o", path, "--force", "--python", shim, "script.py"], cwd=folder)
    equal((result.status, result.out), (0, "1\n"), "status and output (%r)" % result.err)


# ---- what it gets from whoever starts it


def through_shell(folder, redirections, source):
    """`sh -c 'exec "$@" >&-'`: the program notes in a file what it has, as it may have no output."""
    notes = []
    write(folder, "script.py", source + "\n")
    for command in (bare(["script.py"]), recorded(["script.py"])):
        note = os.path.join(folder, "note")
        if os.path.exists(note):
            os.remove(note)
        result = run(["sh", "-c", 'exec "$@" ' + redirections, "sh"] + command, cwd=folder)
        with open(note) as f:
            notes.append((result.status, result.out, without_our_lines(result.err), f.read()))
    equal(notes[1], notes[0], "status, stdout, stderr and note")


NOTE_FDS = """
import os, sys
def state(fd):
    try:
        return os.readlink('/proc/self/fd/%d' % fd).split(':')[0]
    except OSError as e:
        return type(e).__name__
fds = [state(fd) for fd in range(3)]
with open('note', 'w') as f:
    f.write(repr((fds, sys.stdin is None, sys.stdout is None, sys.stderr is None)))
"""


def test_closed_stdin(folder):
    through_shell(folder, "<&-", NOTE_FDS)


def test_closed_stdout(folder):
    through_shell(folder, ">&-", NOTE_FDS)


def test_closed_stderr(folder):
    through_shell(folder, "2>&-", NOTE_FDS)


def test_everything_closed(folder):
    through_shell(folder, "<&- >&- 2>&-", NOTE_FDS)


def test_other_descriptors_come_through(folder):
    through_shell(folder, "5</dev/zero 7>/dev/null", NOTE_FDS.replace("range(3)", "range(12)"))


def test_stdout_into_a_closed_pipe(folder):
    write(folder, "script.py", "import sys\nfor i in range(100000):\n    print(i)\n")
    statuses = []
    for command in (bare(["script.py"]), recorded(["script.py"])):
        reader, writer = os.pipe()
        os.close(reader)
        p = subprocess.Popen(command, cwd=folder, env=clean_env(), stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        err = text(p.communicate(timeout=LIMIT_S)[1])
        statuses.append((p.returncode, without_our_lines(err)))
    equal(statuses[1], statuses[0], "status and stderr")


def test_everything_into_a_closed_pipe(folder):
    """The summary has nowhere to go; that is not worth a status."""
    write(folder, "script.py", "import sys; sys.exit(3)\n")
    reader, writer = os.pipe()
    os.close(reader)
    p = subprocess.Popen([SONDE, "rss", "-o", "x.sonde", "--python", PYTHON, "script.py"], cwd=folder, env=clean_env(),
                         stdout=writer, stderr=writer)
    os.close(writer)
    equal(p.wait(LIMIT_S), 3, "status")


NOTE_SIGNALS = """
import re
with open('/proc/self/status') as f:
    print(re.findall(r'Sig(?:Blk|Ign|Cgt):.*', f.read()))
"""


def signals_given(folder, prepare):
    write(folder, "script.py", NOTE_SIGNALS)
    outs = []
    for command in (bare(["script.py"]), recorded(["script.py"])):
        result = run(command, cwd=folder, preexec_fn=prepare, restore_signals=False)
        outs.append((result.status, result.out))
    equal(outs[1], outs[0], "signals of the program")


def test_signals_as_they_come(folder):
    signals_given(folder, None)


def test_ignored_signals(folder):
    signals_given(folder, lambda: [signal.signal(s, signal.SIG_IGN) for s in
                                   (signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR1, signal.SIGTERM)])


def test_default_sigpipe(folder):
    signals_given(folder, lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))


def test_blocked_signals(folder):
    signals_given(folder, lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGCHLD, signal.SIGUSR2, signal.SIGTERM}))


def test_ignored_sigchld_keeps_the_status(folder):
    write(folder, "script.py", "import sys; sys.exit(3)\n")
    result = run(recorded(["script.py"]), cwd=folder, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    equal(result.status, 3, "status")


# ---- signals from outside


def start(command, folder):
    return subprocess.Popen(command, cwd=folder, env=clean_env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            stdin=subprocess.DEVNULL, start_new_session=True)


def program_of(p):
    """The pid of the Python that was started, by us or by sonde."""
    if "python" in os.readlink("/proc/%d/exe" % p.pid):
        return p.pid
    return [c for c in children_of(p.pid) if "python" in os.readlink("/proc/%d/exe" % c)][0]


def send_when_ready(folder, source, send):
    """`send` is given the process; what came of it must be equal both ways."""
    write(folder, "script.py", source)
    results = []
    for command in (bare(["script.py"]), recorded(["script.py"])):
        p = start(command, folder)
        try:
            first = p.stdout.readline()
            # So that it is at its next statement, where it waits, and tracebacks name the same line.
            wait_for(lambda: state_of(program_of(p)) in "ST", "the program to wait")
            send(p)
            out, err = p.communicate(timeout=LIMIT_S)
        finally:
            p.kill()
        results.append((p.returncode, text(first + out), same_pids(without_our_lines(text(err)))))
    equal(results[1], results[0], "status, stdout and stderr")


def to_process(number):
    return lambda p: os.kill(p.pid, number)


def to_group(number):
    return lambda p: os.killpg(p.pid, number)


def handler(number, then):
    return "import signal\ndef had(n, f):\n    print('had', n, flush=True)\n    %s\nsignal.signal(%d, had)\n" % (then, number) + READY


def test_terminated(folder):
    send_when_ready(folder, WAIT, to_process(signal.SIGTERM))


def test_hung_up(folder):
    send_when_ready(folder, WAIT, to_process(signal.SIGHUP))


def test_user_signal(folder):
    send_when_ready(folder, WAIT, to_process(signal.SIGUSR2))


def test_interrupted(folder):
    send_when_ready(folder, WAIT, to_process(signal.SIGINT))


# A second signal of the same kind would be counted, and would cut the clean-up short.
COUNTS = "n = 0\nimport signal\ndef had(number, f):\n    global n\n    n += 1\nsignal.signal(%d, had)\n" + READY + \
         "end = time.time() + 30\nwhile time.time() < end and not n:\n    time.sleep(0.01)\ntime.sleep(0.3)\nprint(n)\nsys.exit(7)\n"


def test_group_interrupted(folder):
    send_when_ready(folder, COUNTS % signal.SIGINT, to_group(signal.SIGINT))


def test_group_terminated(folder):
    send_when_ready(folder, COUNTS % signal.SIGTERM, to_group(signal.SIGTERM))
    assert not os.path.exists(os.path.join(folder, "x.sonde.live")), "the recording was not finished"


def test_terminated_once(folder):
    send_when_ready(folder, COUNTS % signal.SIGTERM, to_process(signal.SIGTERM))


def test_control_c_on_a_terminal(folder):
    """The keyboard's signal reaches the program once, and Sonde ends in order behind it."""
    import pty
    write(folder, "script.py", COUNTS % signal.SIGINT)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        command = recorded(["script.py"])
        os.execve(command[0], command, clean_env())
    said = b""
    while b"ready" not in said:
        said += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    try:
        while True:
            said += os.read(terminal, 1000)
    except OSError:
        pass                # the other side is gone
    status = os.waitpid(pid, 0)[1]
    equal((os.WIFEXITED(status), os.WEXITSTATUS(status)), (True, 7), "status")
    equal(said.decode().replace("^C", "").split(), ["ready", "1"], "output")
    os.close(terminal)


def test_quit(folder):
    send_when_ready(folder, WAIT, to_process(signal.SIGQUIT))


def test_terminated_with_a_handler(folder):
    send_when_ready(folder, handler(signal.SIGTERM, "sys.exit(5)") + "time.sleep(30)\n", to_process(signal.SIGTERM))


def test_user_signal_with_a_handler(folder):
    send_when_ready(folder, COUNTS % signal.SIGUSR1, to_process(signal.SIGUSR1))


def test_terminated_though_ignored(folder):
    send_when_ready(folder, "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + READY + "time.sleep(0.5); sys.exit(2)\n",
                    to_process(signal.SIGTERM))


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(word) for word in f.read().split()]


STOPS = READY + "os.kill(os.getpid(), signal.SIGSTOP)\nprint('goes on', flush=True)\nsys.exit(5)\n"


def continue_when_stopped(p):
    os.waitpid(p.pid, os.WUNTRACED)
    os.kill(p.pid, signal.SIGCONT)


def test_stopped_and_continued(folder):
    send_when_ready(folder, STOPS, continue_when_stopped)


def test_stopped_as_by_the_keyboard(folder):
    def stop_and_continue(p):
        os.killpg(p.pid, signal.SIGTSTP)
        # In a session of its own nobody would continue the group, so the kernel does not stop it; both ways the same.
        time.sleep(0.2)
        os.killpg(p.pid, signal.SIGCONT)
    send_when_ready(folder, READY + "time.sleep(0.6)\nsys.exit(5)\n", stop_and_continue)


def test_program_alone_continued(folder):
    """Somebody continues the program and not us: we notice, and follow it to its end."""
    write(folder, "script.py", STOPS)
    p = start(recorded(["script.py"]), folder)
    try:
        p.stdout.readline()
        os.waitpid(p.pid, os.WUNTRACED)
        os.kill(program_of(p), signal.SIGCONT)
        equal(p.wait(LIMIT_S), 5, "status")
    finally:
        p.kill()


def test_program_killed_while_stopped(folder):
    write(folder, "script.py", STOPS)
    p = start(recorded(["script.py"]), folder)
    try:
        p.stdout.readline()
        os.waitpid(p.pid, os.WUNTRACED)
        for child in children_of(p.pid):
            if "python" in os.readlink("/proc/%d/exe" % child):
                os.kill(child, signal.SIGKILL)
        equal(p.wait(LIMIT_S), -signal.SIGKILL, "status")
    finally:
        p.kill()


def test_orphan_is_not_waited_for(folder):
    write(folder, "script.py", "import os, time\nif os.fork() == 0:\n    os.close(1); os.close(2); os.close(0)\n    time.sleep(20)\n    os._exit(0)\n"
                               "os._exit(3)\n")
    began = time.monotonic()
    result = run(recorded(["script.py"]), cwd=folder)
    equal(result.status, 3, "status")
    assert time.monotonic() - began < 15, "waited for the orphan"


def test_no_core_file_of_ours(folder):
    import resource
    write(folder, "script.py", "import os, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.abort()\n")

    def allow_cores():
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
                           if resource.getrlimit(resource.RLIMIT_CORE)[1] == resource.RLIM_INFINITY else
                           resource.getrlimit(resource.RLIMIT_CORE))
    result = run(recorded(["script.py"]), cwd=folder, preexec_fn=allow_cores)
    equal(result.status, -signal.SIGABRT, "status")
    equal([n for n in os.listdir(folder) if n.startswith("core")], [], "core files")


# ---- commands that are not Python


def test_command(folder):
    for words in (["sh", "-c", "echo out; echo err >&2; exit 9"], ["sh", "-c", "kill -SEGV $$"], ["true"], ["false"]):
        plain = run(words, cwd=folder)
        ours = run([SONDE, "run", "-q", "-o", "x.sonde", "--force", "--"] + words, cwd=folder)
        equal((ours.status, ours.out, without_our_lines(ours.err)), tuple(plain), "status, stdout, stderr of %s" % words)


def test_command_is_looked_for_on_path(folder):
    equal(run([SONDE, "run", "-q", "-o", "x.sonde", "--", "no-such-command-at-all"], cwd=folder).status, 1, "status")
    equal(os.listdir(folder), [], "files left")


add_script_tests()
add_multiprocessing_tests()

if __name__ == "__main__":
    run_tests(globals())
