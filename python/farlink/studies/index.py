"""Index page of several studies: the question of each, and its verdicts by strength."""

from collections.abc import Sequence
from pathlib import Path

from farlink import files
from farlink.studies.archive import StudyResult
from farlink.studies.page import counts, environment, grounds, sentence

__all__ = ["write"]


def write(results: Sequence[StudyResult], directory: Path) -> Path:
    """Write index.html, with a link to the page of each study in a folder of its name.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    rows = [(result, result.study.record["study"], counts(result)) for result in results]
    statuses = sorted({j.status for result in results for j in result.judgements})
    together = grounds(j for result in results for j in result.judgements)
    template = environment().get_template("index.html")
    page = template.render(
        rows=rows, statuses=statuses, grounds=together, sentence=sentence(together)
    )
    path = directory / "index.html"
    files.write_text(path, page)
    return path
