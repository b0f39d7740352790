# SPDX-License-Identifier: MIT
"""Programs that know to the byte what their TCP connections carried.  The last line of stdout is that truth, as JSON:
by pid, what was received and sent.  `connections.py KIND`."""
import json
import os
import socket
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

LOOK = 0.8  # seconds in which several looks happen (one in 100 ms, less often when a look is dear)


def take(peer, n):
    while n > 0:
        got = len(peer.recv(min(n, 1 << 16)))
        assert got, "the peer has closed"
        n -= got


def pair(family=socket.AF_INET, listener=None):
    """Both ends of a connection."""
    host = "::1" if family == socket.AF_INET6 else "127.0.0.1"
    with socket.create_server((host, 0), family=family) as server:
        client = socket.create_connection(server.getsockname()[:2])
        return client, server.accept()[0]


def stay():
    time.sleep(LOOK)


def truth(received, sent):
    return {str(os.getpid()): {"received": received, "sent": sent}}


def one():
    """A child at the other end: 1,234,567 bytes there, 7,654 back; both ends open to the end."""
    client, served = pair()
    child = os.fork()
    if child == 0:
        client.close()
        take(served, 1234567)
        served.sendall(bytes(7654))
        stay()
        os._exit(0)
    served.close()
    client.sendall(bytes(1234567))
    take(client, 7654)
    os.waitpid(child, 0)
    return {**truth(7654, 1234567), str(child): {"received": 1234567, "sent": 7654}}


def several():
    """Twenty connections, both ends in this process, each with its own amount; half of them IPv6."""
    total, kept = 0, []
    for i in range(20):
        a, b = pair(socket.AF_INET6 if i % 2 else socket.AF_INET)
        n = 1000 * i + i * i + 1
        a.sendall(bytes(n))
        take(b, n)
        total += n
        kept += [a, b]
    stay()
    return truth(total, total)


def shared():
    """A socket that a child has by fork, and both write to it: 1000 bytes and 500."""
    client, served = pair()
    client.sendall(bytes(1000))
    child = os.fork()
    if child == 0:
        served.close()
        client.sendall(bytes(500))
        stay()
        os._exit(0)
    os.waitpid(child, 0)
    take(served, 1500)
    return {**truth(1500, 1500), str(child): {"received": 0, "sent": 0}}


def handed():
    """A server that accepts, forks, and closes: what follows is the child's."""
    client, served = pair()
    client.sendall(bytes(100))
    take(served, 100)
    stay()  # so far it is ours
    child = os.fork()
    if child == 0:
        client.close()
        stay()  # the parent has let go of it, and that was seen
        take(served, 4000)
        stay()
        os._exit(0)
    served.close()
    client.sendall(bytes(4000))
    os.waitpid(child, 0)
    return {**truth(100, 4100), str(child): {"received": 4000, "sent": 0}}


def closed():
    """Seen open, then 300,000 bytes more and closed at once."""
    client, served = pair()
    client.sendall(bytes(1000))
    take(served, 1000)
    stay()
    client.sendall(bytes(300000))
    client.close()
    take(served, 300000)
    served.close()
    stay()
    return truth(301000, 301000)


def brief():
    """Connections that last some hundred microseconds: most fall between two looks."""
    total = 0
    for _ in range(50):
        client, served = pair()
        client.sendall(bytes(10000))
        take(served, 10000)
        client.close()
        served.close()
        total += 10000
        time.sleep(0.002)
    stay()
    return truth(total, total)


def elsewhere():
    """In a network namespace of its own, which it enters after it was started."""
    from truth.own_network import own_network
    own_network()
    client, served = pair()
    client.sendall(bytes(54321))
    take(served, 54321)
    stay()
    return truth(54321, 54321)


def none():
    """No TCP: a pair of Unix sockets, and one that was never connected."""
    a, b = socket.socketpair()
    a.sendall(bytes(100))
    b.recv(100)
    with socket.socket() as unconnected:
        stay()
        unconnected.fileno()
    return truth(0, 0)


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))
