"""Samples of a channel agree with its closed form, or the output says where they do not."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import farlink as fl
from farlink import channels
from test_cli import farlink

PACKETS = 100_000

# All kinds of channels, by their keys.
CHANNELS: dict[str, dict[str, Any]] = {
    "gilbert": {"loss": 0.05, "burst": 4},
    "gilbert in time": {"loss": 0.0256, "burst": "16.7 ms"},
    "loss": {"loss": 0.01},
    "ber": {"ber": 1e-6},
    "corrupt": {"corrupt": 0.02},
    "reorder": {"probability": 0.1, "delay": "5 ms"},
    "jitter": {"distribution": "exponential", "mean": "3 ms"},
}


# More samples detect a smaller error.
@pytest.mark.parametrize("seeds", [20, pytest.param(60, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", CHANNELS)
def test_the_closed_form_is_inside_the_interval_19_times_of_20(name: str, seeds: int) -> None:
    inside: dict[str, list[bool]] = {}
    for seed in range(1, seeds + 1):
        sample = fl.channel(name.split()[0], seed=seed, packets=PACKETS, **CHANNELS[name])
        for row in sample.rows:
            if row.agrees is not None:
                inside.setdefault(row.quantity, []).append(row.agrees)
    assert "mean loss" in inside
    for quantity, item in inside.items():
        # Chance gives so few hits once in 10,000 times. Intervals of batch means cover 94 % to 96
        # %.
        assert sum(item) >= binom.ppf(1e-4, len(item), 0.94), (quantity, sum(item))


def test_a_mean_loss_of_five_per_cent_stays_so_at_any_correlation() -> None:
    for burst in (1.06, 2, 10, 100, "1 ms", "100 ms"):
        sample = fl.channel("gilbert", loss=0.05, burst=burst, seed=3)
        (mean, *_) = sample.rows
        assert mean.theory == pytest.approx(0.05)
        assert mean.sampled.mean == pytest.approx(0.05, rel=0.15)


def test_a_sample_that_is_short_for_its_process_has_no_interval(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Delays that keep their order change slowly: 0.1 ms apart, over a range of 20 s.
    lines = []
    for seed in range(1, 21):
        sample = fl.channel(
            "jitter",
            distribution="exponential",
            mean="2 s",
            spacing="1 ms",
            packets=5000,
            seed=seed,
        )
        lines += [
            row.sampled.low is None for row in sample.rows if row.quantity.startswith("mean e")
        ]
    assert sum(lines) >= 18
    options = ["--set", "distribution=exponential", "--set", "mean=2 s", "--packets", "5000"]
    monkeypatch.setenv("COLUMNS", "80")  # no verdict is cut in a narrow terminal
    assert farlink("channel", "jitter", *options) == 0
    out = capsys.readouterr().out
    assert "too short" in out
    assert "the process is slow for this sample" in out


@pytest.mark.parametrize("seeds", [50, pytest.param(200, marks=pytest.mark.long)])
def test_few_bursts_have_the_interval_of_a_poisson_number(seeds: int) -> None:
    # Fades of 2 s each 40 s in 100 s: a sample of 100 s has none or a few.
    inside = []
    for seed in range(1, seeds + 1):
        sample = fl.channel("gilbert", loss=0.05, burst="2 s", packets=100_000, seed=seed)
        low, high = sample.loss.low, sample.loss.high
        assert low is not None
        assert high is not None
        inside.append(low <= 0.05 <= high)
    assert sum(inside) >= binom.ppf(1e-3, len(inside), 0.93)


def test_the_parts_fit_together() -> None:
    sample = fl.channel("gilbert", loss=0.05, burst=4, packets=50_000)
    assert len(sample) == len(sample.delay) == 50_000
    assert sample.by_cause() == {"loss": int(sample.lost.sum())}
    assert np.isnan(sample.delay[sample.lost]).all()
    assert sample.bursts.sum() == pytest.approx(sample.lost.sum(), abs=50)
    assert sample.autocorrelation(3)[0] == pytest.approx(1 - 1 / 4 / 0.95, abs=0.05)
    assert {quantity["name"] for quantity in sample.derived} >= {"p", "r", "mean_loss"}
    assert sample.summary.loc["mean loss", "theory"] == pytest.approx(0.05)
    assert "mean burst" in sample._repr_html_()
    assert "50,000 packets" in repr(sample)
    assert json.loads(json.dumps(sample.data))["packets"] == 50_000


def test_a_channel_of_a_scenario_is_what_its_runs_meet() -> None:
    first = fl.channel("geo-lossy", packets=20_000)
    # 1.2 % of full packets, at the pace of 2048 kbit/s.
    assert first.theory["loss"] == pytest.approx(0.01193, abs=1e-4)
    assert first.spacing_s == pytest.approx(1500 * 8 / 2_048_000, abs=1e-9)
    assert first.name == "geo-lossy, satellite down"
    up = fl.channel("geo-lossy", link="satellite", direction="up", bytes=40, packets=20_000)
    assert up.theory["loss"] == pytest.approx(3.2e-4, rel=1e-3)
    other = fl.channel("geo-lossy", run=1, packets=20_000)
    assert (first.lost != other.lost).any()


def test_files_that_a_scenario_names_are_read_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A regression: scenarios with a trace file were refused, because no file was read."""
    (tmp_path / "rate.csv").write_text("time (s),rate (Mbit/s)\n0,2\n10,8\n20,4\n")
    (tmp_path / "loss.csv").write_text("time (s),loss (%)\n0,10\n10,30\n20,10\n")
    file = tmp_path / "traced.toml"
    file.write_text(
        """[[links]]
name = "far"
between = ["a", "b"]
down = { delay = "10 ms", rate_trace = { file = "rate.csv", repeat = true }, \
channel = { loss_trace = { file = "loss.csv", repeat = true } } }
up = { rate = "1 Mbit/s", delay = "10 ms" }
[[flows]]
from = "a"
to = "b"
size = "1 MB"
""".replace("\\\n", "")
    )
    sample = fl.channel(file, packets=20_000)
    assert sample.rate == (5_000_000, 2_000_000, 8_000_000)
    assert sample.theory["loss"] == pytest.approx(0.2)
    assert farlink("channel", str(file), "--packets", "2000") == 0
    assert farlink("channel", str(file), "--set", "links.0.down.rate_trace.file=no.csv") == 2
    assert "cannot be read: no such file" in capsys.readouterr().err


def goodputs(tree: dict[str, Any]) -> list[float]:
    """Return the goodput of `linux-cubic` in each of six runs, in bit/s."""
    numbers = fl.run(tree, tcp=["linux-cubic"], runs=6).per_run("goodput", "linux-cubic")
    return [number for number in numbers if number is not None]


def test_jitter_of_a_host_ends_linux_slow_start_early() -> None:
    """A higher round trip ends HyStart's slow start; without jitter all runs are equal."""
    link = {"rate": "10 Mbit/s", "delay": "250 ms"}
    tree: dict[str, Any] = {
        "links": [{"between": ["a", "b"], "down": link, "up": link}],
        "flows": [{"from": "a", "to": "b", "size": "4 MB", "opens": "receiver"}],
    }
    steady = goodputs(tree)
    assert len(set(steady)) == 1
    jitter = {"distribution": "exponential", "mean": "20 ms"}
    tree["hosts"] = [{"name": "a", "jitter": jitter}]
    shaken = goodputs(tree)
    assert min(shaken) < 0.8 * steady[0]


def test_a_mapping_is_a_channel_of_several_stages() -> None:
    stages = {"loss": 0.01, "jitter": {"distribution": "normal", "mean": "9 ms", "spread": "1 ms"}}
    sample = fl.channel(stages, packets=20_000, spacing="20 ms")
    assert sample.theory["delay"]["mean"] == pytest.approx(0.009, rel=1e-4)
    assert sample.theory["loss"] == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gilbert",), "gilbert has no parameters; give some of: burst, h, k, loss, p, r"),
        (("gilbert", "--set", "los=1"), "gilbert has no parameter 'los'; there are burst"),
        (("gilbrt",), "gilbrt: neither a key of a channel, a scenario, a preset nor a file"),
        (("loss", "--set", "loss=2"), "= 2 is not a probability"),
        (("loss", "--set", "loss=0.1", "--spacing", "5"), "spacing '5': write a time"),
        (("loss", "--set", "loss=0.1", "--packets", "0"), "packets = 0: write 1 to 50000000"),
        (("loss", "--set", "loss=0.1", "--bytes", "5"), "bytes = 5: write 20 to 65535"),
        (("loss", "--set", "loss=0.1", "--out", "x"), "--out has no effect without --plot"),
        (("geo-lossy", "--link", "moon"), 'link "moon" is not there; there are lan, satellite'),
        (("geo-lossy", "--direction", "left"), "direction 'left': write 'down' or 'up'"),
        (("geo-omueti2007",), "which link? none has a channel down; name one of lan, satellite"),
    ],
)
def test_bad_input_is_one_line(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert farlink("channel", *arguments) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_the_command_prints_a_table_and_a_sample_path(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--set", "loss=0.05", "--set", "burst=4", "--packets", "20000"]
    assert farlink("channel", "gilbert", *options) == 0
    out = capsys.readouterr().out
    for word in ("##", "mean loss", "closed form", "bad_share", "lost by cause: loss"):
        assert word in out


def test_the_command_lists_the_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert farlink("channel") == 0
    out = capsys.readouterr().out
    assert all(name in out for name in channels.stages())


def test_json_has_the_closed_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert farlink("channel", "loss", "--set", "loss=0.1", "--packets", "5000", "--json") == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert data["theory"]["loss"] == 0.1
    assert data["quantities"][0]["quantity"] == "mean loss"


@pytest.mark.parametrize("name", ["gilbert", "jitter", "loss"])
def test_the_figure_is_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [f"--set={key}={value}" for key, value in CHANNELS[name].items()]
    where = ["--packets", "5000", "--plot", "--out", str(tmp_path)]
    assert farlink("channel", name, *options, *where) == 0
    capsys.readouterr()
    for suffix in ("png", "svg"):
        assert (tmp_path / f"channel-{name}.{suffix}").stat().st_size > 5000


def test_results_tell_what_follows_from_the_channel(small: Path) -> None:
    changes = {"links.0.down.channel": {"gilbert": {"loss": 0.02, "burst": 3}}}
    result = fl.run(small, overrides=changes)
    down, up = result.data["links"]
    rows = {quantity["name"]: quantity["value"] for quantity in down["derived"]}
    assert rows["mean_burst_packets"] == pytest.approx(3)
    assert up["derived"] == []


def test_the_map_of_presets_shows_all_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert farlink("presets", "--plot", "--out", str(tmp_path)) == 0
    assert "presets.svg" in capsys.readouterr().out
    (axes,) = channels.preset_map().axes
    names = {text.get_text().split("  ")[0] for text in axes.texts}
    assert names == set(fl.presets().index)
    lossy = {text.get_text() for text in axes.texts if "%" in text.get_text()}
    # 6 % of 552 bytes in rain, a sixth of the time: (1 - 0.94 ** (1500 / 552)) / 6.
    assert "geo-rain-leung1998  2.6 %" in lossy
    assert farlink("presets", "--out", str(tmp_path)) == 2
    capsys.readouterr()


def test_a_parameter_may_be_called_as_the_sample_is(capsys: pytest.CaptureFixture[str]) -> None:
    at = ["--set", "packets=[3, 10]", "--packets", "1000", "--json"]
    assert farlink("channel", "scripted_loss", *at) == 0
    sampled = json.loads(capsys.readouterr().out)
    assert sampled["packets"] == 1000
    script = {"scripted_loss": {"packets": [3, 10]}}
    assert np.flatnonzero(fl.channel(script, packets=1000).lost).tolist() == [2, 9]


def test_what_is_outside_by_chance_is_told_from_what_is_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The documents' example: at seed 1 four dependent quantities are outside by chance."""
    command = ("channel", "gilbert", "--set", "loss=0.05", "--set", "burst=4")
    assert farlink(*command) == 0
    out = capsys.readouterr().out
    assert "4 of 8 outside, by chance: in run 1, with other random numbers, they agree" in out
    assert farlink(*command, "--seed", "2") == 0
    assert "outside" not in capsys.readouterr().out.split("seed 2")[1]
    rows = channels.ChannelSample.rows.func  # type: ignore[attr-defined]

    def wrong(sample: channels.ChannelSample) -> list[channels.Row]:
        first, *rest = rows(sample)
        return [replace(first, theory=0.06), *rest]

    monkeypatch.setattr(channels.ChannelSample, "rows", property(wrong))
    assert farlink(*command, "--seed", "2") == 0
    out = capsys.readouterr().out
    assert "1 of 8 outside, and in run 1, with other random numbers, again: mean loss." in out
