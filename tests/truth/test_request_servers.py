# SPDX-License-Identifier: MIT
# interpreters: oldest and newest up to 3.13
# needs: fastapi uvicorn flask django
"""sonde.web under FastAPI, Flask and Django, on servers: requests that are profiled at once, each with its own work only."""
import glob
import os
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, TARGETS, Capture, clean_env, contains, equal, page_data, run_tests  # noqa: E402

COLOURS = {"red", "blue", "green"}


class Server:
    def __init__(self, folder, framework, *arguments):
        self.errors = os.path.join(folder, framework + ".errors")
        self.command = [PYTHON, os.path.join(TARGETS, "web_server.py"), framework] + list(arguments)

    def __enter__(self):
        with open(self.errors, "w") as errors:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=clean_env())
        line = self.process.stdout.readline()
        assert line.strip().isdigit(), "the server does not start: " + self.said()
        self.port = int(line)
        return self

    def __exit__(self, *raised):
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def said(self):
        with open(self.errors) as f:
            return f.read()

    def get(self, path):
        """(status, headers, body)"""
        with urllib.request.urlopen("http://127.0.0.1:%d%s" % (self.port, path), timeout=60) as answer:
            return answer.status, dict((k.lower(), v) for k, v in answer.getheaders()), answer.read()

    def at_once(self, *paths):
        """{path: answer}, of requests that all run at the same time"""
        answers = {}

        def get(path):
            answers[path] = self.get(path)

        threads = [threading.Thread(target=get, args=(path,)) for path in paths]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal(sorted(answers), sorted(paths), "answers (%s)" % self.said())
        return answers


def calls_on(page):
    """{colour: calls} as the page has them, wherever a name of theirs is on it"""
    data = page_data(page.decode("utf-8"))
    graph, = [view["data"] for view in data["views"] if view["name"] == "graph"]
    found = {node["name"]: node["calls"] for node in graph["nodes"] if node["name"] in COLOURS}
    for colour in COLOURS & set(data["strings"]) - set(found):
        found[colour] = "somewhere"
    return found, {node["name"]: node["calls"] for node in graph["nodes"]}


def check_pages(server, kinds):
    """Three profiled requests of each kind at once, and one that is not."""
    for kind in kinds:
        counts = {"red": 40, "blue": 60, "green": 90}
        paths = {"/%s/%s/%d?profile" % (kind, colour, n): (colour, n) for colour, n in counts.items()}
        plain = "/%s/red/70" % kind
        answers = server.at_once(plain, *paths)
        equal(answers[plain][0], 200, "status of " + plain)
        equal(set(answers[plain][2].decode().replace("red", "")), set(), "body of " + plain)
        for path, (colour, n) in paths.items():
            status, headers, body = answers[path]
            equal((status, headers["content-type"]), (200, "text/html; charset=utf-8"), "answer of " + path)
            found, all_of_it = calls_on(body)
            assert colour in found, (path, all_of_it)
            equal(found, {colour: n}, "calls of " + path)
            equal(page_data(body.decode("utf-8"))["head"]["command"], "GET " + path, "what ran")


def check_captures(folder, framework, kinds):
    """Of requests at once, those that took longer than half a second leave a capture; answers are as they were."""
    kept = os.path.join(folder, "kept-" + framework)
    with Server(folder, framework, kept, "0.5") as server:
        paths = ["/%s/%s/%d" % (kind, colour, n) for kind in kinds for colour, n in (("red", 3), ("blue", 300))]
        answers = server.at_once(*paths)
        for path, (status, headers, body) in answers.items():
            equal((status, body.decode().replace(path.split("/")[2], "")), (200, ""), "answer of " + path)
        wanted = {"GET /%s/blue/300" % kind for kind in kinds}
        until = time.monotonic() + 20  # the last part of an answer is sent before its capture is
        while len(glob.glob(os.path.join(kept, "*.sonde"))) < len(wanted) and time.monotonic() < until:
            time.sleep(0.05)
        captures = [Capture(path) for path in glob.glob(os.path.join(kept, "*"))]
        found = {capture.info["meta"]["command"]: capture for capture in captures}
        if len(found) > len(wanted):  # a machine so busy that 3 of 2 ms take half a second
            found = {what: found[what] for what in wanted if what in found}
        equal(set(found), wanted, "captures (%s)" % server.said())
        for what, capture in found.items():
            calls = {row["function"]: row["calls"] for row in capture.report["functions"]}
            equal({name: n for name, n in calls.items() if name in COLOURS}, {"blue": 300}, "calls of " + what)
        equal(server.said(), "", "what the server said")


def check(folder, framework, kinds, kept_kinds=None):
    with Server(folder, framework) as server:
        check_pages(server, kinds)
        equal(server.said(), "", "what the server said")
    check_captures(folder, framework, kept_kinds or kinds)


def test_fastapi(folder):
    check(folder, "fastapi", ("async", "sync", "stream"))


def test_flask(folder):
    check(folder, "flask", ("sync", "stream"))


def test_django_wsgi(folder):
    check(folder, "django-wsgi", ("sync", "async", "stream", "other-stream"))


def test_django_asgi(folder):
    check(folder, "django-asgi", ("async", "sync", "stream", "other-stream"))


def test_django_settings(folder):
    done = subprocess.run([PYTHON, os.path.join(TARGETS, "web_server.py"), "django-wsgi", folder, "-1"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_env())
    assert done.returncode, "wrong settings were taken"
    contains(done.stderr.decode().splitlines()[-1], "SONDE_WEB in the settings: slower_than=-1")


run_tests(globals())
