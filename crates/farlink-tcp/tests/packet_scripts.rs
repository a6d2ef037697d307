//! Runs every script below tests/scripts as a test of its own, and scripts that
//! the runner must refuse.
//!
//! `cargo test --test packet_scripts -- recovery` runs those whose name
//! contains `recovery`.
#![allow(
    clippy::print_stdout,
    reason = "this is the test harness: its output is the report"
)]

mod script;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let filters: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    // `--ignored` selects long tests only, and no script is a long test.
    let none = arguments.iter().any(|a| a == "--ignored");
    let asked = |name: &str| {
        !none && (filters.is_empty() || filters.iter().any(|f| name.contains(f.as_str())))
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut paths = Vec::new();
    collect(&root, &mut paths).expect("tests/scripts can be read");
    paths.sort();
    let scripts = paths.iter().map(|path| {
        let name = name(&root, path);
        let result = play(path, &name);
        (name, result)
    });
    let tests: Vec<_> = script::refusals()
        .chain(scripts)
        .filter(|(name, _)| asked(name))
        .collect();
    if arguments.iter().any(|a| a == "--list") {
        for (name, _) in &tests {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    println!("\nrunning {} tests", tests.len());
    for (name, result) in &tests {
        println!(
            "test {name} ... {}",
            if result.is_ok() { "ok" } else { "FAILED" }
        );
    }
    let failures: Vec<_> = tests
        .iter()
        .filter_map(|(_, result)| result.as_ref().err())
        .collect();
    for failure in &failures {
        println!("\n{failure}");
    }
    let verdict = if failures.is_empty() { "ok" } else { "FAILED" };
    let passed = tests.len() - failures.len();
    println!(
        "\ntest result: {verdict}. {passed} passed; {} failed\n",
        failures.len()
    );
    if failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn play(path: &Path, name: &str) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{name}: {e}"))?;
    script::parse(&text)
        .and_then(|script| script::run(&script))
        .map_err(|f| f.at(name))
}

/// Collects the scripts below a folder.
fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            paths.push(path);
        }
    }
    Ok(())
}

/// Returns the name `mechanism/script.pkt`, with `/` on any operating system.
fn name(root: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}
