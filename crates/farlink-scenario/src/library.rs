//! Scenarios of the library, from the folder `scenarios/`.

macro_rules! scenarios {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../scenarios/", $name, ".toml")))),*]
    };
}

/// Returns the name and the TOML text of each scenario of the library.
pub fn library() -> &'static [(&'static str, &'static str)] {
    scenarios![
        "geo-omueti2007",
        "geo-http-omueti2007",
        "geo-lossy",
        "geo-bursts",
        "geo-mixed",
        "geo-pep",
        "geo-250-3",
        "geo-50-10",
        "geo-10-2",
        "geo-2-10",
        "geo-20-2",
        "geo-20-2-loss",
        "two-stations",
        "wlan-west1997",
        "wwan-west1997",
        "several-losses",
        "cdpd-rlp-wong1998",
        "fairness-omueti2007",
        "gigabit-cubic",
        "dumbbell-100",
        "dumbbell-1000",
        "dumbbell-1000-pairs",
        "internet-leung1998",
        "leo-lossy",
        "mars-contacts",
        "leo-reconfiguration",
        "starlink-laniewski2024",
        "oneweb-ara2025",
        "car-starlink-hu2023",
        "car-5g-hu2023",
    ]
}
