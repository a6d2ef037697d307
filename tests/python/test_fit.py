"""Intervals of estimates cover the true parameters of a channel in 95 % of cases."""

import json
import struct
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import farlink as fl
from farlink import estimate
from farlink.captures.file import packets as packets_of
from test_cli import farlink

Array = np.ndarray[Any, np.dtype[Any]]


def coverage(hits: dict[str, list[bool]]) -> None:
    """Fail unless each 95 % interval held its parameter as often as 95 % would.

    The bound is exact (binomial): chance exceeds it once in 1000 on either side.
    """
    for name, hit in hits.items():
        low, high = binom.ppf(0.001, len(hit), 0.95), binom.ppf(0.999, len(hit), 0.95)
        assert low <= sum(hit) <= high, (name, sum(hit), len(hit))


def holds(item: Any, value: float) -> bool:  # noqa: ANN401 (an Estimate)
    return bool(item.low <= value <= item.high)


def chain(loss: float, burst: float, seed: int, packets: int = 20_000) -> Array:
    return fl.channel("gilbert", loss=loss, burst=burst, seed=seed, packets=packets).lost


def seeds(few: int, many: int) -> pytest.MarkDecorator:
    """Always try `few` samples; in the long tests try `many`, which detect a smaller error."""
    return pytest.mark.parametrize("seeds", [few, pytest.param(many, marks=pytest.mark.long)])


@seeds(60, 300)
@pytest.mark.parametrize(("loss", "burst"), [(0.05, 4.0), (0.01, 20.0), (0.3, 2.0)])
def test_the_chain_recovers_its_parameters_95_times_of_100(
    loss: float, burst: float, seeds: int
) -> None:
    packets = 100_000 if loss < 0.05 else 20_000
    hits: dict[str, list[bool]] = {"loss": [], "burst": [], "p": [], "r": []}
    true = {"loss": loss, "burst": burst, "r": 1 / burst, "p": loss / (1 - loss) / burst}
    for seed in range(1, seeds + 1):
        fit = fl.fit(chain(loss, burst, seed, packets), model="gilbert")
        for name, value in true.items():
            hits[name].append(holds(fit.loss.parameters[name], value))
    coverage(hits)


@seeds(50, 200)
def test_independent_losses_are_told_and_their_rate_recovered(seeds: int) -> None:
    models, inside = [], []
    for seed in range(1, seeds + 1):
        fit = fl.fit(fl.channel("loss", loss=0.02, seed=seed, packets=20_000).lost)
        models.append(fit.loss.model == "independent")
        inside.append(holds(estimate.fit_independent(fit.observed.lost).parameters["loss"], 0.02))
    coverage({"loss": inside})
    # By chance the model with one more parameter wins 8 times of 100 (chi-square above 2).
    assert sum(models) >= binom.ppf(1e-4, len(models), 0.90)


@seeds(15, 60)
def test_bursts_in_time_are_recovered_whatever_the_times_of_sending(seeds: int) -> None:
    random = np.random.default_rng(5)
    hits: dict[str, list[bool]] = {"loss": [], "burst_s": []}
    for seed in range(1, seeds + 1):
        whole = fl.channel(
            "gilbert", loss=0.0256, burst="16.7 ms", seed=seed, packets=100_000, spacing="1 ms"
        )
        # The rate of the sender varies.
        kept = np.sort(random.choice(len(whole), 30_000, replace=False))
        table = pd.DataFrame({"sent": kept * 1e-3, "lost": whole.lost[kept]})
        fit = fl.fit(table, model="time")
        hits["loss"].append(holds(fit.loss.parameters["loss"], 0.0256))
        hits["burst_s"].append(holds(fit.loss.parameters["burst_s"], 0.0167))
    coverage(hits)
    assert fit.channel["gilbert"]["burst"].endswith(" ms")


FOUR: dict[str, Any] = {"p": 0.02, "r": 0.1, "h": 0.3, "k": 0.995}


def four(seed: int) -> estimate.Fit:
    lost = fl.channel("gilbert", seed=seed, packets=30_000, **FOUR).lost
    return fl.fit(lost, model="full")


def test_all_four_probabilities_are_near_what_they_were() -> None:
    fit = four(1)
    for name, value in FOUR.items():
        parameter = fit.loss.parameters[name]
        assert parameter.half_width is not None
        assert parameter.mean is not None
        assert abs(parameter.mean - value) < 2 * parameter.half_width
    simple = next(alternative for alternative in fit.alternatives if alternative.model == "gilbert")
    assert fit.loss.aic < simple.aic - 10
    assert set(fit.channel["gilbert"]) == set(FOUR)


@pytest.mark.long
def test_all_four_probabilities_are_recovered_95_times_of_100() -> None:
    fits = [four(seed) for seed in range(1, 41)]
    coverage(
        {
            name: [holds(fit.loss.parameters[name], value) for fit in fits]
            for name, value in FOUR.items()
        }
    )


@seeds(40, 200)
@pytest.mark.parametrize(
    ("distribution", "mean", "spread"), [("exponential", 5.0, 5.0), ("normal", 50.0, 4.0)]
)
def test_delays_are_a_constant_and_a_distribution(
    distribution: str, mean: float, spread: float, seeds: int
) -> None:
    options: dict[str, Any] = {} if distribution == "exponential" else {"spread": f"{spread} ms"}
    hits: dict[str, list[bool]] = {"spread": []}
    for seed in range(1, seeds + 1):
        sample = fl.channel(
            "jitter",
            distribution=distribution,
            mean=f"{mean} ms",
            spacing="1 s",
            packets=2000,
            seed=seed,
            **options,
        )
        sent = np.arange(len(sample)) * 1.0
        table = pd.DataFrame({"sent": sent, "received": sent + 0.25 + sample.delay})
        delay = fl.fit(table).delay
        assert delay is not None
        assert delay.distribution == distribution
        key = "mean" if distribution == "exponential" else "spread"
        hits["spread"].append(holds(delay.parameters[key], spread / 1e3))
        assert delay.keeps_order
    coverage(hits)


def test_a_uniform_law_and_none_are_told() -> None:
    sample = fl.channel(
        "jitter", distribution="uniform", mean="8 ms", spread="8 ms", packets=5000, spacing="1 s"
    )
    sent = np.arange(len(sample)) * 1.0
    fit = fl.fit(pd.DataFrame({"sent": sent, "received": sent + 0.1 + sample.delay}))
    assert fit.delay is not None
    assert fit.delay.distribution == "uniform"
    assert fit.delay.parameters["spread"].mean == pytest.approx(0.008, rel=0.01)
    constant = fl.fit(pd.DataFrame({"sent": sent, "received": sent + 0.25}))
    assert constant.channel == {}
    assert constant.stanza.splitlines()[1:] == ['delay = "250 ms"', "channel = {}"]


def write(path: Path, sample: fl.ChannelSample, delay: float = 0.25) -> Path:
    sent = np.arange(len(sample)) * sample.spacing_s
    received = np.where(sample.lost, np.nan, sent + delay + sample.delay)
    pd.DataFrame({"sent": sent, "received": received}).to_csv(path, index=False)
    return path


def test_the_stanza_is_a_channel_like_the_one_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stages = {
        "gilbert": {"loss": 0.05, "burst": 4},
        "jitter": {"distribution": "exponential", "mean": "3 ms"},
    }
    sample = fl.channel(stages, packets=50_000, spacing="100 ms")
    trace, out = write(tmp_path / "trace.csv", sample), tmp_path / "stanza.toml"
    assert farlink("fit", str(trace), "--out", str(out)) == 0
    shown = capsys.readouterr().out
    assert "model of loss: gilbert" in shown
    assert "delay = " in shown
    stanza = tomllib.loads(out.read_text())
    again = fl.channel(stanza["channel"], packets=1000)
    assert again.theory["loss"] == pytest.approx(0.05, rel=0.1)
    assert again.theory["burst"] == pytest.approx(4, rel=0.1)
    assert stanza["delay"].startswith("250")
    assert stanza["channel"]["jitter"]["distribution"] == "exponential"


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, fl.Result]:
    """Return captures at both ends of a download over a link with burst losses."""
    directory = tmp_path_factory.mktemp("captures")
    scenario = {
        "name": "captured",
        "links": [
            {
                "name": "satellite",
                "between": ["gateway", "client"],
                "down": {
                    "rate": "10 Mbit/s",
                    "delay": "100 ms",
                    "channel": {"gilbert": {"loss": 0.01, "burst": 3}},
                },
                "up": {"rate": "10 Mbit/s", "delay": "100 ms"},
            }
        ],
        "flows": [{"from": "gateway", "to": "client", "size": "20 MB"}],
    }
    result = fl.run(scenario, tcp="sack")
    paths = result.save_pcaps(directory, 96)
    named = {path.stem: path for path in paths}
    return named["gateway"], named["client"], result


def test_two_captures_are_matched(captures: tuple[Path, Path, fl.Result]) -> None:
    before, after, result = captures
    fit = fl.fit(before, after)
    (link,) = [row for row in result.data["links"] if row["direction"] == "down"]
    packets = link["metrics"]["packets"]["mean"]
    drops = link["metrics"]["drops"]["mean"]
    assert len(fit) == pytest.approx(packets, abs=3)
    assert fit.observed.lost.sum() == pytest.approx(drops, abs=1)
    assert fit.delay is not None
    # The transmitter takes 1.2 ms for a full packet, less for the first ones.
    assert 0.1 <= fit.delay.base_s <= 0.1015
    assert fit.loss.model == "gilbert"
    assert holds(fit.loss.parameters["loss"], drops / packets)
    other = fl.fit(after, before)
    assert not other.observed.lost.any()


def test_one_capture_at_the_receiver_tells_losses(captures: tuple[Path, Path, fl.Result]) -> None:
    _, after, result = captures
    fit = fl.fit(after)
    drops = result.data["links"][0]["metrics"]["drops"]["mean"]
    # Two kinds of losses are invisible: lost retransmissions, and a loss at the end of a window
    # whose retransmission comes before new data.
    assert 0.9 * drops <= fit.observed.lost.sum() <= drops
    assert fit.loss.parameters["burst"].mean == pytest.approx(3, rel=0.4)
    assert fit.delay is None
    assert any("retransmissions are left out" in note for note in fit.notes)


def test_a_capture_of_the_sender_is_refused(captures: tuple[Path, Path, fl.Result]) -> None:
    before, _, _ = captures
    with pytest.raises(fl.ScenarioError, match="this is a capture of the sender"):
        fl.fit(before)


def test_a_capture_of_the_sender_that_began_late_is_refused(
    captures: tuple[Path, Path, fl.Result], tmp_path: Path
) -> None:
    """A late start is visible: the sender retransmits data of which none is missing."""
    before, after, _ = captures
    late = {}
    for path in (before, after):
        packets = [(packet.time, packet.data) for packet in packets_of(path)][50:]
        late[path] = pcap(tmp_path / f"{path.stem}.pcap", packets)
    with pytest.raises(fl.ScenarioError, match="segments were sent again"):
        fl.fit(late[before])
    assert any("no handshake in the capture" in note for note in fl.fit(late[after]).notes)


def pcap(path: Path, packets: list[tuple[float, bytes]]) -> Path:
    """Write packets of IPv4 (link type 101) with stamps of microseconds."""
    text = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    for time, data in packets:
        ticks = round(time * 1e6)
        text += struct.pack("<IIII", *divmod(ticks, 10**6), len(data), len(data)) + data
    path.write_bytes(text)
    return path


def datagram(number: int, payload: bytes) -> bytes:
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), number, 0, 64, 17, 0)
    return header + bytes((10, 0, 0, 1)) + bytes((10, 0, 0, 2)) + payload


def pair(tmp_path: Path, lost: Array, contents: list[bytes]) -> tuple[Path, Path]:
    """Return captures of packets sent every 16 ms with a delay of 20 ms."""
    sent = [(1 + 0.016 * i, content) for i, content in enumerate(contents)]
    came = [(time + 0.02, data) for (time, data), gone in zip(sent, lost, strict=True) if not gone]
    return pcap(tmp_path / "a.pcap", sent), pcap(tmp_path / "b.pcap", came)


def test_datagrams_that_are_all_alike_are_refused_when_some_are_lost(tmp_path: Path) -> None:
    lost = fl.channel("loss", loss=0.01, seed=1, packets=3000).lost
    alike = [datagram(0, bytes(100))] * len(lost)
    with pytest.raises(fl.ScenarioError, match="have the same content as others"):
        fl.fit(*pair(tmp_path, lost, alike))
    none_lost = fl.fit(*pair(tmp_path, np.zeros_like(lost), alike))
    assert none_lost.delay is not None
    assert none_lost.delay.distribution is None
    assert none_lost.delay.base_s == pytest.approx(0.02, abs=1e-6)
    assert any("are matched in order" in note for note in none_lost.notes)


def test_packets_sent_twice_are_matched_by_what_delays_leave(tmp_path: Path) -> None:
    """Every fiftieth packet is repeated after 160 ms with equal content, as a retransmission."""
    lost = fl.channel("loss", loss=0.05, seed=2, packets=5000).lost
    contents = [datagram(i % 65536, i.to_bytes(4, "big")) for i in range(len(lost))]
    for i in range(0, len(contents) - 20, 50):
        contents[i + 10] = contents[i]
    fit = fl.fit(*pair(tmp_path, lost, contents))
    assert fit.observed.lost.sum() == lost.sum()
    assert fit.delay is not None
    assert fit.delay.distribution is None
    assert any("leave one way to match them" in note for note in fit.notes)


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_a_damaged_capture_is_said(
    kind: str, captures: tuple[Path, Path, fl.Result], tmp_path: Path
) -> None:
    before, after, _ = captures
    packets = [(packet.time, packet.data) for packet in packets_of(after)]
    path = after if kind == "pcapng" else pcap(tmp_path / "b.pcap", packets)
    whole = path.read_bytes()
    place = 4 if kind == "pcapng" else 32  # packets of the first length
    for name, text in (
        ("cut", whole[: len(whole) // 2 + 1]),
        ("length", whole[:place] + b"\xff\xff\xff\x7f" + whole[place + 4 :]),
        ("zeros", whole[:300] + bytes(5000)),
    ):
        damaged = tmp_path / f"{name}.{kind}"
        damaged.write_bytes(text)
        for files in ((damaged,), (before, damaged), (damaged, after)):
            with pytest.raises(fl.ScenarioError) as caught:
                fl.fit(*files)
            assert str(damaged) in str(caught.value)
            assert name == "zeros" or "damaged" in str(caught.value)


def test_few_packets_that_are_not_clear_are_left_out_and_said(tmp_path: Path) -> None:
    lost = np.zeros(5000, dtype=bool)
    contents = [datagram(i % 65536, i.to_bytes(4, "big")) for i in range(len(lost))]
    contents[101], lost[101] = contents[100], True
    before, after = pair(tmp_path, lost, contents)
    packets = [(packet.time, packet.data) for packet in packets_of(after)]
    # Delays from 0 to 40 ms: either of two equal packets may have arrived.
    spread = [
        (time + 0.02 * (-1) ** i * (i % 7 == 0), data) for i, (time, data) in enumerate(packets)
    ]
    fit = fl.fit(before, pcap(after, sorted(spread)))
    assert len(fit) == 4998
    assert any(
        "2 packets have the same content" in note and "left out" in note for note in fit.notes
    )


def test_reordering_is_no_loss(tmp_path: Path) -> None:
    link = {
        "name": "far",
        "between": ["a", "b"],
        "down": {
            "rate": "10 Mbit/s",
            "delay": "50 ms",
            "channel": {"reorder": {"probability": 0.05, "delay": "3 ms"}},
        },
        "up": {"rate": "10 Mbit/s", "delay": "50 ms"},
    }
    flows = [{"from": "a", "to": "b", "size": "3 MB"}]
    result = fl.run({"links": [link], "flows": flows}, tcp="sack")
    named = {path.stem: path for path in result.save_pcaps(tmp_path, 96)}
    assert not fl.fit(named["b"]).observed.lost.any()
    both = fl.fit(named["a"], named["b"])
    assert both.delay is not None
    assert not both.delay.keeps_order


def csv(tmp_path: Path, text: str) -> str:
    path = tmp_path / "trace.csv"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    many = "\n".join("0" for _ in range(50))
    rows = [
        ("a,b\n1,2\n", [], "has the columns a, b; a row per packet needs sent and received"),
        ("lost\n0\n1\n", [], "2 packets are too few"),
        ("lost\n2\n" + many, [], "column lost holds other values than 0 and 1"),
        ("lost\nx\n", [], "trace.csv:2: lost = 'x' is not a number"),
        ("lost\n" + many.replace("0", "1"), [], "every packet is lost"),
        ("lost\n" + many, ["--model", "gilbert"], "0 losses in 0 bursts are too few for a chain"),
        ("lost\n" + many, ["--model", "x"], "model 'x': write one of auto, loss, gilbert"),
    ]
    for text, options, message in rows:
        assert farlink("fit", csv(tmp_path, text), *options) == 2, message
        err = capsys.readouterr().err
        assert message in err
        assert err.count("\n") == 1
    broken = tmp_path / "broken.pcap"
    broken.write_bytes(b"no capture at all, but some bytes")
    for path, message in (
        (broken, "not a pcap or pcapng file"),
        (tmp_path / "none.pcap", "no such file"),
        (tmp_path / "trace.txt", "write a .csv, .pcap or .pcapng file"),
    ):
        assert farlink("fit", str(path)) == 2
        assert message in capsys.readouterr().err


def test_json_has_the_parameters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "t.csv", fl.channel("loss", loss=0.1, packets=2000))
    assert farlink("fit", str(path), "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["packets"] == 2000
    assert data["channel"]["loss"] == pytest.approx(0.1, abs=0.03)


def test_units_of_columns_are_taken(tmp_path: Path) -> None:
    rows = "".join(f"{i * 10},{'' if i % 7 == 0 else i * 10 + 30}\n" for i in range(100))
    fit = fl.fit(csv(tmp_path, "sent_ms,received_ms\n" + rows))
    assert fit.delay is not None
    assert fit.delay.base_s == pytest.approx(0.03)
    assert fit.summary.loc["least delay", "estimate"] == pytest.approx(0.03)
    assert "100 packets" in repr(fit)
