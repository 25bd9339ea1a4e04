"""`numcolbert serve`: the API and the page for one index."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from numcolbert.cli.documents import ModelOption
from numcolbert.cli.index.add import IndexArgument
from numcolbert.cli.loading import open_index
from numcolbert.cli.output import print_json
from numcolbert.errors import ConflictError, StorageError
from numcolbert.progress import listening

if TYPE_CHECKING:
    from numcolbert.api import Index

HostOption = Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for every network.")]
PortOption = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")]


def serve(
    index: IndexArgument,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8080,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Refuse to add or delete documents.")
    ] = False,
    model: ModelOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the address as JSON once it is listening.")
    ] = False,
) -> None:
    """Serve an index over HTTP, with a search page.

    It says where once it listens, by default at http://127.0.0.1:8080; Ctrl-C ends it after the requests that
    are under way.

    Example: [bold]numcolbert serve idx --port 8080[/bold]
    """
    listener = listen(host, port)
    spare_threads()
    serve_on(listener, open_index(index, model), read_only=read_only, as_json=as_json)


def spare_threads() -> None:
    """One thread for each matrix product, before numpy is loaded and can no longer be told.

    A server has a thread a request already; a pool of threads in every product on top only makes them wait.
    """
    for library in ("OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def serve_on(
    listener: socket.socket,
    index: Index,
    *,
    read_only: bool = False,
    examples: Sequence[str] = (),
    as_json: bool = False,
) -> None:
    """Serve until interrupted; requests under way are finished first."""
    import uvicorn

    from numcolbert.server.app import create_app
    from numcolbert.server.logs import log_to_stderr

    host, port, *_ = listener.getsockname()
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    log_to_stderr()
    app = create_app(index, read_only=read_only, examples=examples)
    config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=10)
    if as_json:
        print_json({"address": address, "documents": len(index)})
    typer.echo(f"serving {len(index):,} passages at {address}  (Ctrl-C to stop)", err=True)
    with listening(None):  # jobs tell their progress over HTTP; here it would stand between the log's lines
        uvicorn.Server(config).run(sockets=[listener])


def listen(host: str, port: int) -> socket.socket:
    """Take the port before anything is loaded, so that a conflict is told in a sentence."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, because only then asyncio sends an answer at once; else its last part waits for the
    # client's delayed acknowledgement, 40 ms a request.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except PermissionError as error:
        listener.close()
        raise StorageError(f"Port {port} is reserved by the system.", hint="choose one above 1023") from error
    except OSError as error:
        listener.close()
        taken = error.errno == errno.EADDRINUSE
        raise ConflictError(
            f"Nothing can listen at {host}:{port}: {error.strerror or error}.",
            hint="choose another port with --port, or 0 for a free one"
            if taken
            else "choose an address of this machine with --host, as in 127.0.0.1",
        ) from error
    return listener
