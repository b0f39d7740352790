# SPDX-License-Identifier: MIT
"""Source packages of other tools, for tests that run those tools' own tests against Sonde.

They are not kept here: one pinned release is fetched from the package index that pip uses, its checksum is compared, and
it is kept in the build for the next run.  Without network the test is skipped.
"""
import hashlib
import io
import os
import re
import tarfile
import urllib.request

from helpers import PYTHON, SONDE, Skip, equal, run

ASK_PIP = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
KEPT = os.path.join(os.environ.get("SONDE_BUILD") or os.path.dirname(SONDE), "fetched")


def ask(address):
    with urllib.request.urlopen(address, timeout=30) as answer:
        return answer.read()


def index():
    """Where pip would look."""
    named = os.environ.get("PIP_INDEX_URL") or run([PYTHON, "-c", ASK_PIP]).out
    return named.strip().rstrip("/")


def kept_or(name, sha256, fetch):
    """The bytes of that name: from where an earlier run put them, else what fetch() returns."""
    kept = os.path.join(KEPT, name)
    if os.path.exists(kept):
        with open(kept, "rb") as f:
            return f.read()
    try:
        raw = fetch()
    except (OSError, ValueError, AttributeError) as why:
        raise Skip("%s cannot be fetched: %s" % (name, why))
    equal(hashlib.sha256(raw).hexdigest(), sha256, "checksum of %s" % name)
    os.makedirs(KEPT, exist_ok=True)
    with open(kept + ".part%d" % os.getpid(), "wb") as f:
        f.write(raw)
    os.replace(f.name, kept)
    return raw


def download(project, name, sha256):
    """The bytes of a package, from the index."""
    def fetch():
        page = ask("%s/%s/" % (index(), project)).decode()
        return ask(re.search(r'href="([^"#]*/%s)[#"]' % re.escape(name), page).group(1))

    return kept_or(name, sha256, fetch)


def download_source(repository, tag, path, sha256):
    """The bytes of a file of a repository on GitHub: what a package does not hold."""
    name = "-".join((repository.replace("/", "-"), tag, path.replace("/", "-")))
    return kept_or(name, sha256, lambda: ask("https://raw.githubusercontent.com/%s/%s/%s" % (repository, tag, path)))


def unpack_tests(folder, raw, start):
    """Writes what lies below `start` in the package into FOLDER/tests and gives that path."""
    with tarfile.open(fileobj=io.BytesIO(raw)) as package:
        for member in package.getmembers():
            if member.isfile() and member.name.startswith(start) and ".." not in member.name:
                path = os.path.join(folder, "tests", member.name[len(start):])
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as f:
                    f.write(package.extractfile(member).read())
    return os.path.join(folder, "tests")
