"""Index page of several studies: the question of each, and its verdicts by strength."""

from collections.abc import Sequence
from pathlib import Path

from farlink import files
from farlink.studies.account import AccountStatus
from farlink.studies.archive import StudyResult
from farlink.studies.outcome import (
    Outcome,
    account_table,
    count,
    fitted,
    headline,
    kind,
    outcome,
    unused,
)
from farlink.studies.page import environment
from farlink.studies.study import STRENGTHS

__all__ = ["write"]


def write(results: Sequence[StudyResult], directory: Path) -> Path:
    """Write index.html, with a link to the page of each study in a folder of its name.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    every = [judgement for result in results for judgement in result.judgements]
    together = count(every)
    rows = [
        {
            "result": result,
            "study": result.study.record["study"],
            "counts": count(result.judgements),
            "accounts": account_table(result.judgements),
            "strong": [
                (judgement, outcome(judgement))
                for judgement in result.judgements
                if kind(judgement.claim) == STRENGTHS[0]
            ],
            "fitted": fitted(result.study),
            "unused": unused(result),
            "tables": {
                name: item.agreement for name, item in result.grids.items() if item.agreement.cells
            },
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
            accounts=account_table(every),
            states=AccountStatus,
            headline=headline(together),
        )
    )
    path = directory / "index.html"
    files.write_text(path, page)
    return path
