import pytest

from farlink.units import parse_rate, parse_size, prefixed, rounded


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (999.0, "bit/s", (1.0, "bit/s")),
        (1000.0, "bit/s", (1e3, "kbit/s")),
        (2_048_000.0, "bit/s", (1e6, "Mbit/s")),
        (65_535.0, "B", (1e3, "kB")),
        (5e9, "B", (1e9, "GB")),
        (5e9, "s", (1.0, "s")),
    ],
)
def test_prefixes_are_decimal(value: float, unit: str, expected: tuple[float, str]) -> None:
    assert prefixed(value, unit) == expected


@pytest.mark.parametrize(
    ("value", "half_width", "expected"),
    [
        (0.0, None, "0"),
        (412.0, None, "412"),
        (36_000.0, None, "36,000"),
        (1.01537, None, "1.015"),
        (434.98, None, "435.0"),
        (0.0001234, None, "0.0001234"),
        (434.98, 2.3456, "435.0"),
        (434.98, 23.456, "435"),
        (434.98, 0.0234, "434.980"),
        (12.0, 0.0, "12"),
    ],
)
def test_digits_follow_the_interval(value: float, half_width: float | None, expected: str) -> None:
    assert rounded(value, half_width) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2048 kbit/s", 2_048_000.0),
        ("10Mbit/s", 1e7),
        ("9600 bit/s", 9600.0),
        ("1.5 Gbit/s", 1.5e9),
        (64_000, 64_000.0),
        ("250 ms", None),
        (None, None),
    ],
)
def test_rates_as_scenarios_write_them(text: object, expected: float | None) -> None:
    assert parse_rate(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1500 B", 1500.0),
        ("5 MB", 5e6),
        ("64KiB", 65_536.0),
        ("2.5 GB", 2.5e9),
        ("1 MiB", 1_048_576.0),
        ("unlimited", None),
        (100, None),
    ],
)
def test_sizes_as_scenarios_write_them(text: object, expected: float | None) -> None:
    assert parse_size(text) == expected
