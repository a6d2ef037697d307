"""HTTP/0.9 over QUIC by aioquic, run in a host of an emulation as a file of its own.

python hq.py get NAME PORT CERTIFICATE PATH...
python hq.py serve PORT [--more BYTES]

`get` downloads all paths at once over one connection, and prints a line of JSON: for each path its
length, SHA-256 and time since the start of the connection. As CERTIFICATE, - stands for any.
`serve` answers a request for /N by N bytes, and --more of them.
"""

import argparse
import asyncio
import datetime as dt
import hashlib
import json
import ssl
import time
from collections.abc import Coroutine
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent, StreamDataReceived, StreamReset
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

PROTOCOL = ["hq-interop"]
WINDOW = 16 << 20


class Client(QuicConnectionProtocol):
    """Connection on which a reset ends a stream. For aioquic's reader it does not."""

    def quic_event_received(self, event: QuicEvent) -> None:
        """Pass an event to the readers of streams."""
        if isinstance(event, StreamReset):
            event = StreamDataReceived(data=b"", end_stream=True, stream_id=event.stream_id)
        super().quic_event_received(event)


async def get(
    name: str, port: int, certificate: Path | None, paths: list[str], logs: Path | None
) -> None:
    """Download paths, and print what arrived."""
    configuration = QuicConfiguration(
        is_client=True,
        alpn_protocols=PROTOCOL,
        server_name="farlink",
        max_data=WINDOW,
        max_stream_data=WINDOW,
    )
    if certificate is None:
        configuration.verify_mode = ssl.CERT_NONE
    else:
        configuration.load_verify_locations(cafile=str(certificate))
    if logs is not None:
        configuration.secrets_log_file = logs.open("a")
    began = time.perf_counter()
    connection = connect(name, port, configuration=configuration, create_protocol=Client)
    async with connection as client:

        async def one(path: str) -> dict[str, Any]:
            reader, writer = await client.create_stream()
            writer.write(f"GET {path}\r\n".encode())
            writer.write_eof()
            data = await reader.read()
            seconds = time.perf_counter() - began
            digest = hashlib.sha256(data).hexdigest()
            return {"path": path, "bytes": len(data), "sha256": digest, "seconds": seconds}

        done = await asyncio.wait_for(asyncio.gather(*map(one, paths)), 120)
    print(json.dumps(done), flush=True)  # noqa: T201 (a program)


def of_server(directory: Path) -> QuicConfiguration:
    """Return the configuration of a server, with a certificate of its own."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "server")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    chain, private = directory / "chain.pem", directory / "key.pem"
    chain.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    configuration = QuicConfiguration(is_client=False, alpn_protocols=PROTOCOL)
    configuration.load_cert_chain(chain, private)
    return configuration


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, more: int) -> None:
    """Answer one request."""
    size = int((await reader.readline()).split()[1].removeprefix(b"/"))
    writer.write(b"Z" * (size + more))
    writer.write_eof()


def run_server(port: int, more: int) -> Coroutine[Any, Any, None]:
    """Return the server, which runs until it is killed."""
    tasks = set()

    def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(answer(reader, writer, more))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def run() -> None:
        with TemporaryDirectory() as directory:
            configuration = of_server(Path(directory))
            await serve(
                "::",
                port,
                configuration=configuration,
                stream_handler=handler,
            )
            await asyncio.Event().wait()

    return run()


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    client = commands.add_parser("get")
    client.add_argument("name")
    client.add_argument("port", type=int)
    client.add_argument("certificate", type=Path)
    client.add_argument("paths", nargs="+")
    client.add_argument("--keys", type=Path)
    server = commands.add_parser("serve")
    server.add_argument("port", type=int)
    server.add_argument("--more", type=int, default=0)
    given = parser.parse_args()
    if given.command == "get":
        certificate = None if given.certificate == Path("-") else given.certificate
        asyncio.run(get(given.name, given.port, certificate, given.paths, given.keys))
    else:
        asyncio.run(run_server(given.port, given.more))


if __name__ == "__main__":
    main()
