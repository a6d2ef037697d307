//! Files that a scenario names. Their contents replace their names.

use super::decode::Problem;
use super::tree::{At, Node, Step, Value};
use super::units::Scalar;

/// Function that returns the text of a file by name, or the reason of a failure such as "no such
/// file".
pub type Reader<'a> = dyn FnMut(&str) -> Result<String, String> + 'a;

/// Replaces the name of each trace's file by its text.
pub(super) fn inline(tree: &mut Node, read: &mut Reader<'_>) -> Result<(), Problem> {
    let Some(links) = tree.get_mut("links") else {
        return Ok(());
    };
    for (i, link) in links.elements_mut().iter_mut().enumerate() {
        for key in ["down", "up"] {
            let Some(direction) = link.get_mut(key) else {
                continue;
            };
            in_direction(direction, read)
                .map_err(|problem| problem.within(key).within(i).within("links"))?;
        }
    }
    Ok(())
}

fn in_direction(direction: &mut Node, read: &mut Reader<'_>) -> Result<(), Problem> {
    // An override that sets a trace also replaces the scenario's rate.
    let set = |node: Option<&Node>| matches!(node.map(|n| &n.at), Some(At::Set(_)));
    let given = direction.get("rate_trace");
    if (set(given) || set(given.and_then(|t| t.get("file")))) && !set(direction.get("rate")) {
        direction.remove("rate");
    }
    for key in ["rate_trace", "contacts"] {
        if let Some(trace) = direction.get_mut(key) {
            one(trace, read).map_err(|problem| problem.within(key))?;
        }
    }
    let Some(channel) = direction.get_mut("channel") else {
        return Ok(());
    };
    let single = matches!(channel.value, Value::Table(_));
    let groups = if single {
        std::slice::from_mut(channel)
    } else {
        channel.elements_mut()
    };
    for (i, group) in groups.iter_mut().enumerate() {
        for key in ["delay_trace", "loss_trace"] {
            if let Some(trace) = group.get_mut(key) {
                one(trace, read).map_err(|problem| {
                    let problem = problem.within(key);
                    let problem = if single { problem } else { problem.within(i) };
                    problem.within("channel")
                })?;
            }
        }
    }
    Ok(())
}

fn one(trace: &mut Node, read: &mut Reader<'_>) -> Result<(), Problem> {
    let Some(file) = trace.get("file") else {
        return Ok(());
    };
    let at = file.at.clone();
    // A name that is not a text is refused when the trace is decoded.
    let Value::Scalar(Scalar::Text(name)) = &file.value else {
        return Ok(());
    };
    let name = name.clone();
    if trace.get("data").is_some() {
        if !matches!(at, At::Set(_)) {
            return Ok(());
        }
        trace.remove("data");
    }
    let text = read(&name).map_err(|why| {
        Problem::new(
            [Step::from("file")],
            format!("= {name:?} cannot be read: {why}"),
        )
    })?;
    trace.remove("file");
    trace.remove("from");
    trace.put("data", &at, text);
    trace.put("from", &at, name);
    Ok(())
}
