//! The recorded runs: small runs that together cover every table.

use crate::links::{LINKS, RATES, STAGES};
use crate::tables::{APPS, PATHS, TCP, WHOLE};
use farlink_sim::scenario;
use farlink_tcp::congestion::{ALGORITHMS, Range, Setting};
use farlink_tcp::profile::PROFILES;
use farlink_tcp::variant::VARIANTS;

/// A scenario with overrides.
pub(crate) struct Run {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) set: Vec<(String, String)>,
}

/// Returns every run, in order.
pub(crate) fn runs() -> Vec<Run> {
    let mut all = Vec::new();
    for (path, down, flow) in PATHS {
        let text = between_two(&format!("down = {{ {down} }}"), flow);
        for tcp in tcps() {
            all.push(Run::new(
                &format!("tcp {tcp} {path}"),
                &text,
                &in_keys(&tcp),
            ));
        }
        for (on, keys) in TCP {
            if on == path {
                all.push(Run::new(&format!("keys {keys} {path}"), &text, keys));
            }
        }
    }
    for (keys, path) in parameters() {
        let (_, down, flow) = PATHS[path];
        let text = between_two(&format!("down = {{ {down} }}"), flow);
        all.push(Run::new(
            &format!("control {keys} {}", PATHS[path].0),
            &text,
            &keys,
        ));
    }
    let number = |n: usize| format!("{n:02}");
    let rate = "rate = '1 Mbit/s', delay = '50 ms'";
    for (n, (app, flow)) in APPS.iter().enumerate() {
        let text = between_two(
            &format!(
                "down = {{ {rate}, queue = {{ packets = 20 }}, channel = {{ loss = 0.01 }} }}"
            ),
            &format!("app = '{app}'\n{flow}"),
        );
        all.push(Run::new(&format!("app {} {app}", number(n)), &text, ""));
    }
    let two = |text: &str| {
        text.to_owned()
            + "\n[[flows]]\nfrom = 'b'\nto = 'a'\napp = 'cbr'\nrate = '50 kbit/s'\npacket = '300 B'\ndatagrams = 30\n"
    };
    for (n, (stage, value)) in STAGES.iter().enumerate() {
        let channel = format!("{rate}, channel = {{ {stage} = {value} }}");
        let text = between_two(
            &format!("down = {{ {channel} }}\nup = {{ {channel} }}"),
            "size = '150 kB'",
        );
        all.push(Run::new(
            &format!("channel {} {stage}", number(n)),
            &two(&text),
            "",
        ));
    }
    for (name, link, down) in LINKS {
        let text = between_two(
            &format!("down = {{ {rate}, {down} }}\n{link}"),
            "size = '100 kB'",
        );
        all.push(Run::new(&format!("link {name}"), &two(&text), ""));
    }
    for (name, down) in RATES {
        let text = between_two(
            &format!("down = {{ {down} }}\nup = {{ {rate} }}"),
            "size = '200 kB'",
        );
        all.push(Run::new(&format!("rate {name}"), &text, ""));
    }
    for (name, text) in WHOLE {
        all.push(Run::new(&format!("whole {name}"), text, ""));
    }
    all.extend(over_two_paths());
    all.extend(coupled());
    for (name, text) in scenario::library() {
        // Only the beginning of each scenario is run, and the largest have fewer flows.
        let set: &[_] = match *name {
            "dumbbell-100" => &[("duration", "200 ms")],
            "dumbbell-1000" | "dumbbell-1000-pairs" => {
                &[("duration", "100 ms"), ("flows.0.count", "50")]
            }
            "gigabit-cubic" => &[("duration", "100 ms")],
            "leo-reconfiguration" => &[("duration", "300 ms")],
            "internet-leung1998" => &[("duration", "1 s")],
            "geo-mixed" => &[("duration", "10 s")],
            _ => &[("duration", "2 s")],
        };
        let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        all.push(Run {
            name: format!("scenario_{name}"),
            text: (*text).to_owned(),
            set: set.iter().map(owned).collect(),
        });
    }
    all
}

impl Run {
    /// `set` has keys of `[tcp]` with their values, without the prefix.
    pub(crate) fn new(name: &str, text: &str, set: &str) -> Self {
        let mut pairs = Vec::new();
        let mut rest = set;
        while let Some((key, after)) = rest.split_once('=') {
            let (value, after) = match after.strip_prefix('\'') {
                Some(quoted) => quoted.split_once('\'').unwrap_or((quoted, "")),
                None => after.split_once(' ').unwrap_or((after, "")),
            };
            pairs.push((format!("tcp.{key}"), value.to_owned()));
            rest = after.trim_start();
        }
        Self {
            name: name.replace('\'', "").replace(' ', "_"),
            text: text.replace('\'', "\""),
            set: pairs,
        }
    }
}

/// Returns a run of each rule that couples congestion windows.
fn coupled() -> impl Iterator<Item = Run> {
    ["lia", "olia"]
        .map(|coupling| {
            let text = format!(
                "[tcp]\nvariant = 'newreno'\n\
             [[links]]\nbetween = ['a', 'b']\n\
             down = {{ rate = '2 Mbit/s', delay = '20 ms', channel = {{ loss = 0.005 }} }}\n\
             [[links]]\nbetween = ['c', 'd']\n\
             down = {{ rate = '1 Mbit/s', delay = '150 ms', channel = {{ loss = 0.01 }} }}\n\
             [[flows]]\nfrom = 'a'\nto = 'b'\nsize = '5 MB'\n\
             [flows.multipath]\ncoupling = '{coupling}'\n\
             paths = [{{ from = 'c', to = 'd', variant = 'sack' }}]\n"
            );
            Run::new(&format!("multipath {coupling}"), &text, "")
        })
        .into_iter()
}

/// Returns a run of each scheduler of several paths.
fn over_two_paths() -> impl Iterator<Item = Run> {
    ["minrtt", "round-robin", "redundant", "blest"]
        .map(|scheduler| {
            let opportunistic = scheduler == "minrtt";
            let text = format!(
                "[tcp]\nvariant = 'cubic'\n\
             [[links]]\nbetween = ['a', 'b']\n\
             down = {{ rate = '2 Mbit/s', delay = '20 ms', channel = {{ loss = 0.02 }} }}\n\
             [[links]]\nbetween = ['c', 'd']\n\
             down = {{ rate = '1 Mbit/s', delay = '150 ms', channel = {{ loss = 0.01 }} }}\n\
             [[flows]]\nfrom = 'a'\nto = 'b'\nsize = '300 kB'\n\
             [flows.multipath]\nscheduler = '{scheduler}'\nopportunistic = {opportunistic}\n\
             paths = [{{ from = 'c', to = 'd', variant = 'sack' }}]\n"
            );
            Run::new(&format!("multipath {scheduler}"), &text, "")
        })
        .into_iter()
}

fn between_two(link: &str, flow: &str) -> String {
    format!("[[links]]\nbetween = ['a', 'b']\n{link}\n[[flows]]\nfrom = 'a'\nto = 'b'\n{flow}\n")
}

/// Returns every variant, and every TCP of a profile with TCPs of its own.
pub(crate) fn tcps() -> Vec<String> {
    let rows = VARIANTS.iter().map(|row| row.name.to_owned());
    let families = PROFILES.iter().filter(|family| family.members.is_some());
    let of_kernels = families.flat_map(|family| {
        let names = family.names().into_iter();
        names.map(move |name| format!("{}-{name}", family.name))
    });
    rows.chain(of_kernels).collect()
}

/// Returns the keys of a TCP; "linux-cubic" is profile and variant.
fn in_keys(tcp: &str) -> String {
    match farlink_tcp::profile::split(tcp) {
        Some((profile, row)) => format!("profile={} variant={row}", profile.name),
        None => format!("variant={tcp}"),
    }
}

/// Returns each parameter of each congestion control with a value other than its default, on two
/// paths.
fn parameters() -> Vec<(String, usize)> {
    let mut all = Vec::new();
    for algorithm in ALGORITHMS {
        for parameter in algorithm.parameters {
            let values: Vec<String> = match (parameter.default, parameter.range) {
                (Setting::Flag(on), _) => vec![(!on).to_string()],
                (Setting::Choice(usual), Range::Choice(words)) => {
                    let others = words
                        .iter()
                        .map(|word| word.0)
                        .filter(|&word| word != usual);
                    others.map(str::to_owned).collect()
                }
                (Setting::Number(usual), Range::Number(_, most)) => {
                    let more = usual * 1.25 + 0.01;
                    let value = if more <= most { more } else { usual * 0.75 };
                    vec![value.to_string()]
                }
                (Setting::Count(usual), Range::Count(_, most)) => {
                    let value = if usual < most { usual + 1 } else { usual - 1 };
                    vec![value.to_string()]
                }
                (Setting::Time(usual), _) => vec![format!("{}us", usual.as_nanos() / 800 + 100)],
                (setting, range) => panic!("{setting:?} of {range:?}"),
            };
            for value in values {
                let (name, key) = (algorithm.name, parameter.name);
                let row = match name {
                    "westwood_plus" => "westwood+",
                    "ledbat_plus_plus" => "ledbat++",
                    "adalr" => "adalr-sack",
                    "reno" => "sack",
                    other => other,
                };
                let keys = format!("variant={row} control.{name}.{key}={value}");
                all.extend([0, 1].map(|path| (keys.clone(), path)));
            }
        }
    }
    all
}
