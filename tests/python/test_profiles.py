"""Profiles of kernels, from the name of a TCP to the settings that results repeat."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

import farlink as fl
from farlink import cli, source


def _tree(**tcp: object) -> dict[str, object]:
    return {
        "name": "short",
        "tcp": tcp,
        "links": [{"between": ["a", "b"], "down": {"rate": "10 Mbit/s", "delay": "10 ms"}}],
        "flows": [{"from": "a", "to": "b", "size": "100 kB"}],
    }


def _whole(result: fl.Result, name: str) -> Mapping[str, Any]:
    (whole,) = cast("list[dict[str, Any]]", result.scenario(name)["resolved_tcp"])
    return whole


def test_a_prefix_is_the_profile_from_the_name_to_the_result() -> None:
    names = ["linux-cubic", "freebsd-cubic", "cubic", "rfc-reno"]
    result = fl.run(_tree(), tcp=names)
    assert list(result.tcp) == names
    wholes = {name: _whole(result, name) for name in names}
    assert [whole["profile"] for whole in wholes.values()] == ["linux", "freebsd", "rfc", "rfc"]
    assert [whole["variant"] for whole in wholes.values()] == ["cubic", "cubic", "cubic", "reno"]
    assert [whole["rack"] for whole in list(wholes.values())[:3]] == [True, False, False]
    assert wholes["linux-cubic"]["rto_min"] == "200 ms"
    assert wholes["freebsd-cubic"]["rto_slop"] == "200 ms"
    assert result.scenario("linux-cubic")["tcp"]["profile"] == "linux"


def test_the_profile_of_a_scenario_names_its_result() -> None:
    result = fl.run(_tree(profile="linux"))
    assert result.tcp == ["linux-cubic"]
    assert fl.run(_tree(profile="rfc", variant="reno")).tcp == ["reno"]


def test_a_key_that_is_written_wins() -> None:
    result = fl.run(_tree(initial_window=3, receive_window="64 KiB"), tcp="linux-reno")
    whole = _whole(result, "linux-reno")
    assert (whole["initial_window"], whole["receive_window"]) == (3, "64 KiB")
    assert "receive_window_max" not in whole
    assert whole["delayed_ack"] == "40 ms"
    newreno = {"recovery": "newreno", "sack": False}
    whole = _whole(fl.run(_tree(**newreno), tcp="linux-reno"), "linux-reno")
    assert (whole["recovery"], whole["undo"]) == ("newreno", "eifel+frto")
    assert "rack" not in whole


def test_each_flow_has_its_own() -> None:
    tree = _tree()
    tree["flows"] = [
        {"from": "a", "to": "b", "size": "50 kB", "tcp": {"profile": "linux", "variant": "bbr"}},
        {"from": "a", "to": "b", "size": "50 kB", "tcp": {"profile": "freebsd"}},
        {"from": "a", "to": "b", "size": "50 kB"},
    ]
    result = fl.run(tree)
    wholes = result.scenario()["resolved_tcp"]
    assert [(whole["profile"], whole["variant"]) for whole in wholes] == [
        ("linux", "bbr"),
        ("freebsd", "cubic"),
        ("rfc", "sack"),
    ]
    again = fl.run(result.scenario())
    assert again.scenario() == result.scenario()


def test_a_saved_result_keeps_its_profiles(tmp_path: Path) -> None:
    result = fl.run(_tree(), tcp=["linux-cubic", "reno"])
    saved = tmp_path / "result.json"
    result.to_json(saved)
    again = fl.run(saved)
    assert again.tcp == result.tcp
    assert _whole(again, "linux-cubic") == _whole(result, "linux-cubic")
    other = fl.run(saved, tcp=["cubic", "freebsd-newreno"])
    assert _whole(other, "cubic")["profile"] == "rfc"
    assert _whole(other, "freebsd-newreno")["profile"] == "freebsd"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "linux-tahoe",
            "tcp 'linux-tahoe' is not known; of profile 'linux' there are linux-cubic, "
            "linux-reno, linux-bbr, linux-bbr3, linux-vegas, linux-westwood, linux-hybla, "
            "linux-dctcp, linux-illinois, linux-htcp",
        ),
        ("linx-cubic", "tcp 'linx-cubic' is not known; did you mean 'linux-cubic'?"),
    ],
)
def test_unknown_names_are_told(name: str, message: str) -> None:
    with pytest.raises(fl.ScenarioError) as raised:
        fl.run(_tree(), tcp=name)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("tcp", "message"),
    [
        (
            {"profile": "linux", "variant": "tahoe"},
            'scenario: tcp.variant = "tahoe" is not a TCP of profile = "linux"; it has cubic, '
            "reno, bbr, bbr3, vegas, westwood, hybla, dctcp, illinois, htcp",
        ),
        (
            {"variant": "linux-cubic"},
            'scenario: tcp.variant = "linux-cubic" has a profile before it; write profile = '
            '"linux" and variant = "cubic"',
        ),
        (
            {"profile": "lunix"},
            'scenario: tcp.profile = "lunix" is unknown; did you mean "linux"?',
        ),
    ],
)
def test_wrong_keys_are_told(tcp: dict[str, object], message: str) -> None:
    with pytest.raises(fl.ScenarioError) as raised:
        fl.run(_tree(**tcp))
    assert str(raised.value) == message


def test_the_table_tells_what_stood_before_the_profile(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["run", "geo-omueti2007", "--tcp", "linux-cubic", "--set", "flows.0.size=20kB"])
    assert stopped.value.code == 0
    output = capsys.readouterr().out
    assert (
        "linux-cubic: the scenario's own initial_window, delayed_ack, receive_window, not those "
        "of profile linux\n"
    ) in output


def test_profiles_are_listed() -> None:
    table = fl.profiles()
    assert list(table.index) == ["rfc", "linux", "freebsd", "quic"]
    assert "bbr" in dict(table["tcp"])["linux"]
    assert "rto_slop" in dict(table["keys"])["freebsd"]
    assert source.split("linux-cubic") == ("linux", "cubic")
    assert source.split("p-tcp") == (None, "p-tcp")
