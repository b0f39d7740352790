# SPDX-License-Identifier: MIT
"""What sonde.web adds to a request that it does not profile.

    web_requests.py ROUNDS

An application that answers at once is asked with and without the middleware before it, in turns; what is told is the
difference of the two in each round, as CPU time.  The requests have a query with an argument that looks like the one that asks for a page, and is another.
"""
import sys

from rounds import measure, tell, version_of

from sonde.web import ASGIMiddleware, WSGIMiddleware

N = 20000
SCOPE = {"type": "http", "method": "GET", "path": "/x", "query_string": b"profile_id=3&sort=name", "headers": [], "client": ("127.0.0.1", 4711)}
ENVIRON = {"REQUEST_METHOD": "GET", "PATH_INFO": "/x", "QUERY_STRING": "profile_id=3&sort=name", "REMOTE_ADDR": "127.0.0.1"}


async def receive():
    return {"type": "http.request"}


async def send(message):
    pass


async def asgi_app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"x"})


def asgi(app):
    def body(turns):
        for _ in turns:
            try:
                app(SCOPE, receive, send).send(None)
            except StopIteration:
                pass
    return lambda: body


def wsgi_app(environ, start_response):
    start_response("200 OK", [])
    return [b"x"]


def start_response(status, headers, exc_info=None):
    pass


def wsgi(app):
    def body(turns):
        for _ in turns:
            for _ in app(ENVIRON, start_response):
                pass
    return lambda: body


def django():
    """(the bare view, the same behind the middleware), or None where there is no Django."""
    try:
        from django.conf import settings
    except ImportError:
        return None
    settings.configure()
    from sonde.web import DjangoMiddleware

    class Request:
        META = ENVIRON

    def get_response(request):
        return request

    def asked(handler):
        def body(turns):
            request = Request()
            for _ in turns:
                handler(request)
        return lambda: body

    return asked(get_response), asked(DjangoMiddleware(get_response))


def main():
    pairs = {"asgi": (asgi(asgi_app), asgi(ASGIMiddleware(asgi_app))), "wsgi": (wsgi(wsgi_app), wsgi(WSGIMiddleware(wsgi_app)))}
    found = django()
    if found:
        pairs["django"] = found
    subjects = {}
    for name, (bare, ours) in pairs.items():
        subjects[name + "-bare"], subjects[name + "-ours"] = (bare, N), (ours, N)
    rows = measure(subjects, int(sys.argv[1]))
    added = {name: [a - b for a, b in zip(rows[name + "-ours"], rows[name + "-bare"])] for name in pairs}
    tell(added, {name: version for name, version in (("django", version_of("django")),) if version})


main()
