//! Hashes the engine's sources, so that results stored by another version of the engine are not
//! reused.

use std::fs;
use std::path::{Path, PathBuf};

/// Crates that determine results.
const CRATES: [&str; 7] = [
    "farlink-tcp",
    "farlink-wire",
    "farlink-channel",
    "farlink-link",
    "farlink-agent",
    "farlink-scenario",
    "farlink-sim",
];

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut digest = Fnv(0xcbf2_9ce4_8422_2325);
    for name in CRATES {
        let sources = here.join("..").join(name).join("src");
        assert!(sources.is_dir(), "no folder {}", sources.display());
        println!("cargo::rerun-if-changed={}", sources.display());
        add(&sources, &mut digest);
    }
    println!("cargo::rustc-env=FARLINK_SOURCES={:016x}", digest.0);
}

/// Adds the files of a folder in the order of their names, with Unix line ends.
fn add(folder: &Path, digest: &mut Fnv) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            add(&path, digest);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let name = path.file_name().unwrap_or_default();
            digest.add(name.as_encoded_bytes());
            let text = fs::read(&path).unwrap_or_default();
            digest.add(text.split(|&byte| byte == b'\r').flatten());
        }
    }
}

/// FNV-1a hash of 64 bits.
struct Fnv(u64);

impl Fnv {
    fn add<'a>(&mut self, bytes: impl IntoIterator<Item = &'a u8>) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
