"""Carries connections between nodes, and is open, cut or slow, as a control file states.

usage: cut_link.py CONTROL COUNTS LISTEN_PORT=TARGET_PORT...

CONTROL has one line: open, cut, or slow BYTES_A_SECOND for each connection and direction. COUNTS gets the bytes that
were carried since the last line of CONTROL changed, a few times a second. A cut ends all connections, and accepts none.
"""

import socket
import sys
import threading
import time

control, counts, *links = sys.argv[1:]
state = {"line": "open", "carried": 0, "open": set()}
lock = threading.Lock()


def watch():
    while True:
        try:
            with open(control) as file:
                line = file.read().strip() or state["line"]
        except FileNotFoundError:
            line = state["line"]
        with lock:
            if line != state["line"]:
                state["line"], state["carried"] = line, 0
            if line == "cut":
                for connection in state["open"]:
                    try:
                        connection.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass
            carried = state["carried"]
        with open(counts, "w") as file:
            file.write(f"{carried}\n")
        time.sleep(0.05)


def carry(source, target):
    began, moved, pace = time.monotonic(), 0, None
    try:
        while True:
            line = state["line"]
            most = 65536
            if line.startswith("slow "):
                if pace != line:
                    began, moved, pace = time.monotonic(), 0, line
                rate = int(line.split()[1])
                time.sleep(max(0, moved / rate - (time.monotonic() - began)))
                most = min(most, max(1, rate // 20))
            data = source.recv(most)
            if not data:
                break
            with lock:
                state["carried"] += len(data)
            moved += len(data)
            target.sendall(data)
    except OSError:
        pass
    for side in (source, target):
        try:
            side.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def listen(port, target_port):
    listener = socket.create_server(("127.0.0.1", port))
    while True:
        near, _ = listener.accept()
        if state["line"] == "cut":
            near.close()
            continue
        try:
            far = socket.create_connection(("127.0.0.1", target_port))
        except OSError:
            near.close()
            continue
        with lock:
            state["open"] |= {near, far}
        for source, target in ((near, far), (far, near)):
            threading.Thread(target=carry, args=(source, target), daemon=True).start()


for link in links:
    near, far = map(int, link.split("="))
    threading.Thread(target=listen, args=(near, far), daemon=True).start()
watch()
