# SPDX-License-Identifier: MIT
"""sonde info --machine: whatever the machine, what must be true of its figures, and of where they are kept.

Measuring takes seconds of all cores, so it is done once, for all tests but that of --fresh."""
import glob
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
from helpers import SONDE, clean_env, equal, need, run_tests  # noqa: E402
from test_model_files import resnet18  # noqa: E402

KEPT = {}


def info(*options, cache, limit=None, **env):
    """Its status, stdout, stderr, and how long it took."""
    def lower():
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    start = time.monotonic()
    p = subprocess.run([SONDE, "info", "--machine", *options], env=clean_env(XDG_CACHE_HOME=cache, **env), stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, preexec_fn=lower if limit else None)
    return p.returncode, p.stdout.decode(), p.stderr.decode(), time.monotonic() - start


def measured():
    """The figures, and the folder where they are kept."""
    if not KEPT:
        folder = tempfile.mkdtemp(prefix="sonde-machine-")      # in TMPDIR, which is removed
        status, out, err, seconds = info("--json", cache=folder)
        equal((status, err), (0, ""), "status and stderr")
        KEPT.update(folder=folder, figures=json.loads(out), seconds=seconds)
    return KEPT["figures"], KEPT["folder"]


def files(folder):
    return sorted(glob.glob(os.path.join(folder, "sonde", "*")) + glob.glob(os.path.join(folder, "sonde", ".*")))


def test_figures_of_any_machine(folder):
    figures, _ = measured()
    equal(sorted(figures), ["bytes_per_second", "cores", "cpu", "measured_at", "notes", "operations_per_second", "triad", "vectors"], "keys")
    assert 1 <= figures["cores"] <= len(os.sched_getaffinity(0)), figures["cores"]
    assert abs(figures["measured_at"] - time.time()) < 600, figures["measured_at"]
    operations = figures["operations_per_second"]
    equal(sorted(operations), ["bfloat16", "float16", "float32", "float64", "int8"], "types")
    for pair in [p for p in operations.values() if p] + figures["bytes_per_second"]:
        assert 1e8 < pair["one_core"] <= pair["all_cores"] <= 1.001 * figures["cores"] * pair["one_core"], pair
    assert operations["float32"]["one_core"] > operations["float64"]["one_core"], operations
    levels = figures["bytes_per_second"]
    equal([level["level"] for level in levels][-1], "memory", "last level")
    assert levels[0]["all_cores"] >= levels[-1]["all_cores"], levels
    assert 0 < figures["triad"] < 3 * levels[-1]["all_cores"], figures["triad"]


def test_kept_figures_are_the_same_and_at_once(folder):
    figures, kept = measured()
    equal(len(files(kept)), 1, "files")
    status, out, err, seconds = info("--json", cache=kept)
    equal((status, err), (0, ""), "status and stderr")
    assert seconds < KEPT["seconds"] / 2, seconds
    again = json.loads(out)
    for name in ("cpu", "vectors", "cores", "measured_at", "notes"):
        equal(again[name], figures[name], name)
    for then, now in zip(figures["bytes_per_second"], again["bytes_per_second"]):
        equal((now["level"], now["bytes"], int(now["all_cores"])), (then["level"], then["bytes"], int(then["all_cores"])), "level")


def test_text_has_a_line_for_each_figure(folder):
    figures, kept = measured()
    status, out, err, _ = info(cache=kept)
    equal((status, err), (0, ""), "status and stderr")
    lines = out.splitlines()
    wanted = ["cpu", "cores", "measured", "float64", "float32", "bfloat16", "float16", "int8"]
    wanted += [level["level"] for level in figures["bytes_per_second"]] + ["triad"] + ["note"] * len(figures["notes"])
    equal([line.split()[0] for line in lines], wanted, "lines")
    float32 = lines[4].split()
    assert float32[2].endswith("FLOP/s") and "one core" in lines[4] and "all cores" in lines[4], lines[4]


def test_layers_of_a_file_stand_under_the_roof(folder):
    """What is known is not measured again; what is not known is, and where it cannot be there is no picture."""
    _, kept = measured()
    path = os.path.join(folder, "resnet18.onnx")
    with open(path, "wb") as f:
        f.write(resnet18(1))

    def roofline(cache, name, memory):
        picture = os.path.join(folder, name)
        p = subprocess.run([SONDE, "model", path, "--plot", "roofline", "-o", picture], env=clean_env(XDG_CACHE_HOME=cache), stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory)))
        return p.returncode, p.stderr.decode(), picture

    status, err, picture = roofline(kept, "roof.svg", 200 << 20)
    equal((status, err), (0, ""), "status and stderr")
    with open(picture) as f:
        text = f.read()
    assert "layers in the roofline of this machine" in text and "FLOPs for each byte" in text, text[:2000]
    assert text.count("<path ") >= 21, "%d paths, and there are 21 products" % text.count("<path ")
    assert "peak " in text and "memory " in text, text[:2000]
    status, err, picture = roofline(folder, "none.svg", 60 << 20)
    equal(status, 1, "status")
    assert "measuring once" in err and "cannot allocate the " in err, err
    assert not os.path.exists(picture), "half a picture"


def test_fresh_measures_again_and_takes_the_place(folder):
    """Two at once, of which neither leaves half a file."""
    figures, kept = measured()
    path, = files(kept)
    with open(path) as f:
        text = f.read()
    with open(path, "w") as f:
        f.write(text.replace("at %d\n" % figures["measured_at"], "at 1000000000\n"))
    equal(json.loads(info("--json", cache=kept)[1])["measured_at"], 1000000000, "measured at")
    both = [subprocess.Popen([SONDE, "info", "--machine", "--json", "--fresh"], env=clean_env(XDG_CACHE_HOME=kept), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    answers = [p.communicate(timeout=120) for p in both]
    for p, (out, err) in zip(both, answers):
        equal((p.returncode, err), (0, b""), "status and stderr")
        assert json.loads(out)["measured_at"] >= figures["measured_at"], out
    equal(files(kept), [path], "files")
    assert "at 1000000000" not in open(path).read()
    equal(info(cache=kept, limit=60 << 20)[0], 0, "status of what is kept")


def test_without_memory_there_is_a_sentence_and_nothing_kept(folder):
    """The smallest that is ever read is 64 MiB where there are 512 MiB free."""
    need(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGESIZE") > 1 << 30, "a machine with memory")
    status, out, err, _ = info(cache=folder, limit=60 << 20)
    equal((status, out), (1, ""), "status and stdout")
    assert err.startswith("sonde: cannot allocate the ") and err.count("\n") == 1, err
    equal(files(folder), [], "files")


def test_damaged_figures_are_measured_anew(folder):
    """Cut, of another host or number of cores, or without one that others are divided by."""
    _, kept = measured()
    path, = files(kept)
    with open(path) as f:
        text = f.read()
    memory, = [line for line in text.splitlines() if line.startswith("level memory")]
    for damaged in ("", text[:len(text) // 2], text.replace(memory, "level memory 0 0 0"), text.replace("host ", "host x"), "\0" * 5000,
                    text.replace("\ncores ", "\ncores 9")):
        home = os.path.join(folder, "home")
        os.makedirs(os.path.join(home, "sonde"), exist_ok=True)
        with open(os.path.join(home, "sonde", os.path.basename(path)), "w") as f:
            f.write(damaged)
        # Without memory to measure with, it is seen that it would.
        equal(info(cache=home, limit=60 << 20)[0], 1, "status with %r" % damaged[:40])


if __name__ == "__main__":
    run_tests(globals())
