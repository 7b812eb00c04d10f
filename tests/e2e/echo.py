# SPDX-License-Identifier: BSD-3-Clause
"""TCP there and back at once, for the end-to-end tests; runs inside a node's namespace.

    echo.py serve PORT                 sends back what one connection brings, on both families; prints "ready" once it listens
    echo.py send ADDRESS PORT BYTES    sends bytes at random and compares what comes back; prints how many were the same
"""
import random
import socket
import sys
import threading

PIECE = 1 << 20      # what a program hands to the kernel at once: many segments


def serve(port: int) -> None:
    with socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
        print("ready", flush=True)
        connection, _ = listener.accept()
        with connection:
            while data := connection.recv(PIECE):
                connection.sendall(data)


def send(address: str, port: int, n_bytes: int) -> None:
    data, back = random.Random(n_bytes).randbytes(n_bytes), bytearray()
    with socket.create_connection((address, port), timeout=60) as connection:
        def write() -> None:
            for at in range(0, n_bytes, PIECE):
                connection.sendall(data[at:at + PIECE])
            connection.shutdown(socket.SHUT_WR)
        writer = threading.Thread(target=write)
        writer.start()
        while piece := connection.recv(PIECE):
            back += piece
        writer.join()
    print(sum(a == b for a, b in zip(data, back)) if len(back) == n_bytes else -1)


if __name__ == "__main__":
    serve(int(sys.argv[2])) if sys.argv[1] == "serve" else send(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
