# SPDX-License-Identifier: MIT
"""sonde_build: what `pip install .` calls (PEP 517), with nothing to download.

The wheel holds the package, the extension for the interpreter that runs pip, and the
program: once as sonde/bin/sonde, where `python -m sonde` finds it whatever the layout,
and once as the command `sonde`, which must be the binary itself because starting Python
only to start a C program costs more than the program does.
"""
import ast
import base64
import hashlib
import io
import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PRELOADED = "libsonde_preload.so"
EPOCH = (2020, 1, 1, 0, 0, 0)  # one time for all files: the same tree gives the same wheel


# --- What pyproject.toml says

def project():
    """The [project] table.  Its strings and lists are Python literals as well, and 3.8 has no TOML reader."""
    with open(os.path.join(TOP, "pyproject.toml"), encoding="utf-8") as f:
        table = re.search(r"^\[project\]\n(.*?)(?=^\[|\Z)", f.read(), re.M | re.S).group(1)
    pairs = re.findall(r'^([\w-]+) = ("[^"\n]*"|\[.*?\])$', table, re.M | re.S)
    return {key: ast.literal_eval(value) for key, value in pairs}


def metadata():
    p = project()
    lines = [
        "Metadata-Version: 2.1", "Name: " + p["name"], "Version: " + p["version"], "Summary: " + p["description"],
        "License: " + p["license"], "Requires-Python: " + p["requires-python"], "Keywords: " + ",".join(p["keywords"]),
    ]
    lines += ["Classifier: " + c for c in p["classifiers"]]
    readme = os.path.join(TOP, p["readme"])
    if os.path.exists(readme):
        with open(readme, encoding="utf-8") as f:
            lines += ["Description-Content-Type: text/markdown", "", f.read()]
    return "\n".join(lines) + "\n"


def tag():
    """cp311-cp311-linux_x86_64: the interpreter, its ABI (the second word of SOABI), the platform."""
    abi = "cp" + sysconfig.get_config_var("SOABI").split("-")[1]
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return "cp%d%d-%s-%s" % (sys.version_info[0], sys.version_info[1], abi, platform)


def wheel_text():
    return "Wheel-Version: 1.0\nGenerator: sonde_build\nRoot-Is-Purelib: false\nTag: %s\n" % tag()


# --- Building

def run(*command):
    # pip sets PYTHONPATH for the interpreter that builds; Meson may run on another one.
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, cwd=TOP)
    if done.returncode:
        sys.stderr.write(done.stdout.decode(errors="replace"))
        raise SystemExit("sonde: %s failed; what it printed stands above" % command[0])


def refuse():
    """Ends with a sentence where there can be no extension; find-pythons says the same of each that it skips."""
    if sys.implementation.name != "cpython" or not (3, 8) <= sys.version_info[:2] <= (3, 15):
        raise SystemExit("sonde: this is %s %s, and Sonde's extension supports CPython 3.8 to 3.15; install it into one of those"
                         % (sys.implementation.name, sys.version.split()[0]))
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise SystemExit("sonde: this is a free-threaded build of Python %s, which Sonde's extension does not support yet; install "
                         "it into a build with the GIL" % sys.version.split()[0])


def build(folder):
    """Makes the program and this interpreter's extension; returns their paths."""
    refuse()
    lacking = [package for tool, package in (("meson", "meson"), ("ninja", "ninja-build"), (os.environ.get("CC", "cc"), "gcc"))
               if not shutil.which(tool)]
    if lacking:
        raise SystemExit("sonde: building needs %s; run: apt-get install -y gcc libc6-dev meson ninja-build pkg-config libzstd-dev "
                         "libpcre2-dev libcairo2-dev libjpeg62-turbo-dev" % " and ".join(lacking))
    extension = "_sonde" + sysconfig.get_config_var("EXT_SUFFIX")
    run("meson", "setup", "-Dpythons=" + sys.executable, "-Dtests=disabled", "-Ddebug=false", folder, TOP)
    if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
        raise SystemExit("sonde: the C headers of %s are not installed; on Debian run: apt-get install -y python3-dev" % sys.executable)
    jobs = ["-j" + os.environ["JOBS"]] if os.environ.get("JOBS") else []
    run("ninja", "-C", folder, *(jobs + ["sonde", PRELOADED, extension]))
    program = os.path.join(folder, "sonde")
    run(program, "man", "-o", os.path.join(folder, "man"))
    return program, os.path.join(folder, extension), os.path.join(folder, PRELOADED)


def read(path):
    with open(path, "rb") as f:
        return f.read()


class Wheel:
    """A zip file that remembers what it holds, for RECORD."""

    def __init__(self, path, info):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.info, self.record = info, []

    def add(self, name, data, mode=0o644):
        entry = zipfile.ZipInfo(name, EPOCH)
        entry.external_attr = (stat.S_IFREG | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append("%s,sha256=%s,%d" % (name, digest, len(data)))

    def close(self):
        name = self.info + "/RECORD"
        text = "\n".join(self.record + [name + ",,"]) + "\n"
        self.zip.writestr(zipfile.ZipInfo(name, EPOCH), text)
        self.zip.close()


def package_files():
    """(name in the wheel, path) of every file of the package."""
    top = os.path.join(TOP, "python")
    for folder, folders, names in os.walk(os.path.join(top, "sonde")):
        folders[:] = sorted(f for f in folders if f != "__pycache__")
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not name.endswith((".pyc", ".so")):
                yield os.path.relpath(path, top), path


# --- What PEP 517 asks for

def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    p = project()
    info = "%s-%s.dist-info" % (p["name"], p["version"])
    os.makedirs(os.path.join(metadata_directory, info))
    for name, text in (("METADATA", metadata()), ("WHEEL", wheel_text())):
        with open(os.path.join(metadata_directory, info, name), "w", encoding="utf-8") as f:
            f.write(text)
    return info


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    p = project()
    full = "%s-%s" % (p["name"], p["version"])
    wheel = "%s-%s.whl" % (full, tag())
    with tempfile.TemporaryDirectory(prefix="sonde-build.") as folder:
        program, extension, preloaded = build(folder)
        w = Wheel(os.path.join(wheel_directory, wheel), full + ".dist-info")
        for name, path in package_files():
            w.add(name, read(path), 0o755 if os.access(path, os.X_OK) else 0o644)
        w.add("sonde/" + os.path.basename(extension), read(extension), 0o755)
        w.add("sonde/" + PRELOADED, read(preloaded), 0o755)
        w.add("sonde/bin/sonde", read(program), 0o755)
        w.add(full + ".data/scripts/sonde", read(program), 0o755)
        for page in sorted(os.listdir(os.path.join(folder, "man"))):
            w.add(full + ".data/data/share/man/man1/" + page, read(os.path.join(folder, "man", page)))
        w.add(w.info + "/METADATA", metadata().encode())
        w.add(w.info + "/WHEEL", wheel_text().encode())
        w.add(w.info + "/LICENSE", read(os.path.join(TOP, "LICENSE")))
        w.close()
    return wheel


def source_files():
    """What git knows or would take; without git (a source package itself) all but what a build leaves."""
    try:
        out = subprocess.run(["git", "-C", TOP, "ls-files", "-z", "-co", "--exclude-standard"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        return [n for n in out.decode().split("\0") if n and os.path.isfile(os.path.join(TOP, n))]
    except (OSError, subprocess.CalledProcessError):
        found = []
        for folder, folders, names in os.walk(TOP):
            folders[:] = sorted(f for f in folders if f not in ("build", "__pycache__", ".git"))
            found += [os.path.relpath(os.path.join(folder, n), TOP) for n in sorted(names)]
        return found


def build_sdist(sdist_directory, config_settings=None):
    p = project()
    full = "%s-%s" % (p["name"], p["version"])
    with tarfile.open(os.path.join(sdist_directory, full + ".tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as tar:
        for name in source_files():
            if name != "PKG-INFO":
                tar.add(os.path.join(TOP, name), full + "/" + name, recursive=False)
        data = metadata().encode()
        entry = tarfile.TarInfo(full + "/PKG-INFO")
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))
    return full + ".tar.gz"
