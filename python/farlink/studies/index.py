"""Index page of several studies: the question of each, and its verdicts by strength."""

from collections.abc import Sequence
from pathlib import Path

from farlink import files
from farlink.studies.archive import StudyResult
from farlink.studies.outcome import Outcome, account_counts, count, fitted, headline, unused_numbers
from farlink.studies.page import environment

__all__ = ["write"]


def write(results: Sequence[StudyResult], directory: Path) -> Path:
    """Write index.html, with a link to the page of each study in a folder of its name.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    together = count(j for result in results for j in result.judgements)
    rows = [
        {
            "result": result,
            "study": result.study.record["study"],
            "counts": count(result.judgements),
            "accounts": account_counts(result.judgements),
            "fitted": fitted(result.study),
            "unused": unused_numbers(result),
        }
        for result in results
    ]
    page = (
        environment()
        .get_template("index.html")
        .render(
            rows=rows,
            outcomes=[item for item in Outcome if any(item in row for row in together.values())],
            together=together,
            headline=headline(together),
        )
    )
    path = directory / "index.html"
    files.write_text(path, page)
    return path
