"""Page in a notebook: a widget (anywidget) whose state Python reads and sets."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from farlink import extras, source
from farlink.browser import address, files

if TYPE_CHECKING:
    from anywidget import AnyWidget

__all__ = ["live"]


def live(
    scenario: str | Path | Mapping[str, object],
    tcp: str | Sequence[str] | None = None,
    *,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    height: int = 720,
) -> "AnyWidget":
    """Show a scenario as a page in a notebook (Jupyter, marimo); the engine runs in the browser.

    The widget has these traits, each readable and settable, and `observe` reports changes:

    - `toml`: text of the scenario;
    - `tcps`: names of the TCPs;
    - `time`: place of the time cursor in seconds;
    - `measures`: results of the newest runs by TCP, each as `flows`, `links` and `run` with
      their metrics; empty while there are none. The page writes it.
    - `error`: message about a wrong scenario, or an empty text. The page writes it.

    Parameters
    ----------
    scenario
        As for `run`.
    tcp
        TCPs to compare, by default the scenario's own.
    overrides
        Values by path, as for `run`.
    seed
        As for `run`.
    height
        Height in pixels.

    Raises
    ------
    ScenarioError
        If the scenario is wrong, the page was not built, or anywidget is not installed (extra
        `notebook`).
    """
    names = [tcp] if isinstance(tcp, str) else tcp
    state = address.experiment(scenario, names, source.changes(overrides, seed))
    contents = files.read("fl.live", "widget.js", "widget.css")
    return _widget_class(contents)(
        toml=state["toml"],
        tcps=state["tcps"],
        changes=state.get("set", []),
        height=height,
        engine=contents[files.ENGINE],
    )


def _widget_class(contents: Mapping[str, bytes]) -> "type[AnyWidget]":
    """Return the class of the widget, which needs the packages of the extra `notebook`."""
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise extras.lacking("fl.live", "notebook") from None

    class Live(anywidget.AnyWidget):
        """Page of a scenario in a notebook (`fl.live`)."""

        _esm = contents["widget.js"].decode()
        _css = contents["widget.css"].decode()
        toml = traitlets.Unicode().tag(sync=True)
        tcps = traitlets.List(traitlets.Unicode()).tag(sync=True)
        changes = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
        time = traitlets.Float(0.0).tag(sync=True)
        page = traitlets.Unicode(contents["single.html"].decode()).tag(sync=True)
        measures = traitlets.Dict().tag(sync=True)
        error = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int(720).tag(sync=True)
        engine = traitlets.Bytes().tag(sync=True)

        def __repr__(self) -> str:
            """Return the names of the TCPs."""
            return f"<farlink page: {', '.join(self.tcps)}>"

    return Live
