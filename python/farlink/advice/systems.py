"""Commands and socket options that configure a setting on Linux, FreeBSD and Windows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Block", "systems"]

_USUAL_MAX = 6 * 2**20
"""Linux's default largest receive buffer, tcp_rmem[2] (bytes; net/ipv4/tcp.c, tcp_init)."""

_SSH = 2 * 2**20
"""Window of an OpenSSH channel (channels.h, CHAN_SES_WINDOW_DEFAULT; bytes)."""

_WINDOWS_MAX = 16 * 2**20
"""Largest receive window of Windows' autotuning at the level "normal" (bytes)."""


@dataclass(frozen=True)
class Block:
    """Commands for one system, and notes."""

    name: str
    code: Sequence[str]
    notes: Sequence[str]


def systems(tcp: str, window: int, initial: int, wanted: bool) -> Iterator[Block]:  # noqa: FBT001
    """Yield the commands for a TCP, a receive window (bytes) and an initial window (segments).

    If `wanted` is false, yields only the commands that print the present values.
    """
    algorithm = tcp.rpartition("-")[2]
    if not wanted:
        yield Block(
            "Nothing needs to be set",
            ["sysctl net.ipv4.tcp_congestion_control net.ipv4.tcp_rmem net.ipv4.tcp_wmem"],
            ["On Linux this shows what is in use."],
        )
        return
    yield _linux(algorithm, window, initial)
    yield _freebsd(algorithm, window, initial)
    yield _windows(algorithm, window, initial)
    notes = [
        "Leave SO_RCVBUF and SO_SNDBUF unset: a fixed buffer switches the kernel's own sizing off.",
        "One socket alone (Linux): setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "
        f'"{algorithm}", {len(algorithm)}); it needs the module, and for other users '
        "net.ipv4.tcp_allowed_congestion_control.",
        "Keep connections open and use them again: each new one begins with a handshake and its "
        "initial window.",
    ]
    if window > _SSH:
        notes.append(
            "scp, sftp and rsync over OpenSSH have 2 MiB on their way at most, whatever is set "
            "here: use another transport, or several at once."
        )
    yield Block("Applications", [f"iperf3 -c HOST -C {algorithm}     # to try it"], notes)


def _linux(algorithm: str, window: int, initial: int) -> Block:
    buffer = 2 * window
    lines = [f"modprobe tcp_{algorithm}"] if algorithm not in ("cubic", "reno") else []
    if algorithm == "bbr":
        lines.append("sysctl -w net.core.default_qdisc=fq")
    lines += [
        f"sysctl -w net.ipv4.tcp_congestion_control={algorithm}",
        f'sysctl -w net.ipv4.tcp_wmem="4096 65536 {buffer}"      # the sender',
        f'sysctl -w net.ipv4.tcp_rmem="4096 131072 {buffer}"     # the receiver',
    ]
    if initial != 10:
        lines.append(f"ip route change default via GATEWAY initcwnd {initial} initrwnd {initial}")
    notes = [
        "The sender's congestion control and tcp_wmem count, and the receiver's tcp_rmem; about "
        "half of a buffer is window.",
        "Put the lines into a file of /etc/sysctl.d to keep them.",
    ]
    if buffer < _USUAL_MAX:
        notes.append(
            "The receive buffer here is below Linux' usual maximum of 6 MiB: a greater one was not "
            "shown to carry more, and what it holds beyond waits in the queue, before others too."
        )
    return Block("Linux", lines, notes)


def _freebsd(algorithm: str, window: int, initial: int) -> Block:
    names = {"reno": "newreno", "cubic": "cubic", "vegas": "vegas"}
    lines, notes = [], []
    if algorithm in names:
        name = names[algorithm]
        lines = [] if name == "cubic" else [f"kldload cc_{name}"]
        lines.append(f"sysctl net.inet.tcp.cc.algorithm={name}")
    elif algorithm == "bbr":
        lines = ["kldload tcp_bbr", "sysctl net.inet.tcp.functions_default=bbr"]
        notes.append("FreeBSD's BBR is a stack of its own, which was not simulated.")
    else:
        notes.append(
            f"FreeBSD has no {algorithm}: keep cubic; linux-cubic above tells about what it gives."
        )
    lines += [
        f"sysctl kern.ipc.maxsockbuf={2 * window}",
        f"sysctl net.inet.tcp.recvbuf_max={window}",
        f"sysctl net.inet.tcp.sendbuf_max={window}",
    ]
    if initial != 10:
        lines.append(f"sysctl net.inet.tcp.initcwnd_segments={initial}")
    return Block("FreeBSD", lines, notes)


def _windows(algorithm: str, window: int, initial: int) -> Block:
    names = {"cubic": "cubic", "reno": "newreno", "bbr": "bbr2"}
    lines = ["netsh interface tcp set global autotuninglevel=normal"]
    notes = ["To receive nothing needs to be set: autotuning goes up to 16 MiB."]
    if window > _WINDOWS_MAX:
        lines = ["netsh interface tcp set global autotuninglevel=experimental"]
        notes = ["The window wanted is above the 16 MiB of the level normal."]
    if algorithm in names:
        lines.append(
            "netsh interface tcp set supplemental template=internet "
            f"congestionprovider={names[algorithm]}"
        )
        if algorithm == "bbr":
            notes.append("Windows 11 has BBR version 2, which was not simulated.")
    else:
        notes.append(
            f"Windows has no {algorithm}: keep cubic; linux-cubic above tells about what it gives."
        )
    if initial != 10:
        notes.append(
            f"An initial window of {initial} segments: Set-NetTCPSetting -SettingName "
            f"InternetCustom -InitialCongestionWindowMss {initial}, on Windows Server."
        )
    return Block("Windows", lines, notes)
