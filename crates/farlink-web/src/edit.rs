//! Values in the text of a scenario are read, changed and removed in place, so that comments and
//! order stay.
//!
//! Paths are those of overrides, such as `links.0.down.delay`. An element of a list may be named by
//! its number, its `name`, or the nodes of a link.

use crate::failure::Failure;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};

/// Most steps of a path.
const DEEPEST: usize = 64;

/// Returns the value of a key as written in the text, with strings unquoted; `None` for an absent
/// key.
pub(crate) fn value(text: &str, path: &str) -> Result<Option<String>, Failure> {
    let document = parse(text)?;
    let steps = steps(path)?;
    Ok(find(document.as_table(), &steps).map(written))
}

/// Changes values, and removes those with `None`. Tables that do not exist are added.
pub(crate) fn edit(text: &str, edits: &[(String, Option<String>)]) -> Result<String, Failure> {
    let mut document = parse(text)?;
    for (path, value) in edits {
        let steps = steps(path)?;
        match value {
            Some(value) => {
                mirror(document.as_table_mut(), &steps);
                add_header(document.as_table_mut(), &steps);
                set(document.as_table_mut(), &steps, &parse_value(value))
                    .map_err(|message| Failure::at(message, None, Some(path)))?;
            }
            None => remove(document.as_table_mut(), &steps),
        }
    }
    Ok(document.to_string())
}

fn parse(text: &str) -> Result<DocumentMut, Failure> {
    text.parse().map_err(|fault: toml_edit::TomlError| {
        let line = fault.span().map(|span| {
            let before = text.get(..span.start).unwrap_or(text);
            1 + before.matches('\n').count()
        });
        let words: Vec<_> = fault.message().split_whitespace().collect();
        Failure::at(words.join(" "), line, None)
    })
}

fn steps(path: &str) -> Result<Vec<String>, Failure> {
    let plain = path.replace('[', ".").replace(']', "");
    let steps: Vec<_> = plain
        .split('.')
        .map(|step| step.trim().to_owned())
        .collect();
    if steps.len() > DEEPEST || steps.iter().any(String::is_empty) {
        let message = format!("{path:?} is no path; write for example \"links.0.down.delay\"");
        return Err(Failure::at(message, None, Some(path)));
    }
    Ok(steps)
}

/// Parses a value: TOML if it is valid TOML, otherwise plain text.
fn parse_value(text: &str) -> Value {
    let text = text.trim();
    let mut value = text.parse().unwrap_or_else(|_| Value::from(text));
    value.decor_mut().clear();
    value
}

/// A value in the text, or a table with a header of its own.
#[derive(Clone, Copy)]
enum Place<'a> {
    Item(&'a Item),
    Table,
    Value(&'a Value),
}

/// Returns the text of a value; tables with headers are empty.
fn written(place: Place<'_>) -> String {
    let value = match place {
        Place::Item(Item::Value(value)) | Place::Value(value) => value,
        Place::Item(_) | Place::Table => return String::new(),
    };
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string().trim().to_owned(),
    }
}

/// Finds the value at a path.
fn find<'a>(table: &'a dyn TableLike, steps: &[String]) -> Option<Place<'a>> {
    let (key, rest) = steps.split_first()?;
    let item = table.get(key)?;
    let Some((index, after)) = rest.split_first() else {
        return Some(Place::Item(item));
    };
    if let Some(tables) = item.as_array_of_tables() {
        let element = tables.get(table_index(tables, index)?)?;
        return if after.is_empty() {
            Some(Place::Table)
        } else {
            find(element, after)
        };
    }
    if let Some(list) = item.as_array() {
        let element = list.get(value_index(list, index)?)?;
        return if after.is_empty() {
            Some(Place::Value(element))
        } else {
            find(element.as_inline_table()?, after)
        };
    }
    find(item.as_table_like()?, rest)
}

fn table_index(tables: &ArrayOfTables, step: &str) -> Option<usize> {
    let by_name = || tables.iter().position(|table| is_called(table, step));
    step.parse().ok().or_else(by_name)
}

fn value_index(list: &Array, step: &str) -> Option<usize> {
    let called = |value: &Value| value.as_inline_table().is_some_and(|t| is_called(t, step));
    step.parse().ok().or_else(|| list.iter().position(called))
}

/// Returns whether an element of a list has this name. The name of a link without one is that of
/// its nodes with a hyphen.
fn is_called(table: &dyn TableLike, name: &str) -> bool {
    if let Some(own) = table.get("name").and_then(Item::as_str) {
        return own == name;
    }
    let Some(nodes) = table.get("between").and_then(Item::as_array) else {
        return false;
    };
    let nodes: Vec<_> = nodes.iter().filter_map(Value::as_str).collect();
    nodes.join("-") == name
}

/// Writes a copy of `down` to the `up` of a link, if a change below `up` would otherwise hide
/// `down`.
fn mirror(root: &mut Table, steps: &[String]) {
    let [links, link, up, _, ..] = steps else {
        return;
    };
    if links != "links" || up != "up" {
        return;
    }
    let Some(item) = root.get_mut(links) else {
        return;
    };
    let element: &mut dyn TableLike = if let Some(tables) = item.as_array_of_tables_mut() {
        let index = table_index(tables, link);
        let Some(table) = index.and_then(|i| tables.get_mut(i)) else {
            return;
        };
        table
    } else if let Some(list) = item.as_array_mut() {
        let index = value_index(list, link);
        let value = index.and_then(|i| list.get_mut(i));
        let Some(table) = value.and_then(Value::as_inline_table_mut) else {
            return;
        };
        table
    } else {
        return;
    };
    if element.contains_key("up") || element.contains_key("preset") {
        return;
    }
    if let Some(down) = element.get("down") {
        let mut down = down.clone();
        if let Item::Table(table) = &mut down {
            table.set_position(None);
            table.decor_mut().clear();
        } else if let Some(value) = down.as_value_mut() {
            value.decor_mut().set_suffix("");
        }
        element.insert("up", down);
    }
}

/// Adds the table at the top that a path needs, with a header.
fn add_header(root: &mut Table, steps: &[String]) {
    if let [key, _, ..] = steps
        && !root.contains_key(key)
    {
        let mut table = Table::new();
        table.decor_mut().set_prefix("\n");
        root.insert(key, Item::Table(table));
    }
}

/// Puts a value at a path below a table. Returns a message if the path leads nowhere.
fn set(table: &mut dyn TableLike, steps: &[String], value: &Value) -> Result<(), String> {
    let Some((key, rest)) = steps.split_first() else {
        return Ok(());
    };
    if !table.contains_key(key) {
        return insert(table, key, rest, value);
    }
    let Some(item) = table.get_mut(key) else {
        return Ok(());
    };
    let Some((index, after)) = rest.split_first() else {
        replace(item, value);
        return Ok(());
    };
    let missing = || format!("{key} has no element {index:?}; write its number, counted from 0");
    if let Some(tables) = item.as_array_of_tables_mut() {
        let element = table_index(tables, index).and_then(|i| tables.get_mut(i));
        return set(element.ok_or_else(missing)?, after, value);
    }
    if let Some(list) = item.as_array_mut() {
        let element = value_index(list, index).and_then(|i| list.get_mut(i));
        return set_element(element.ok_or_else(missing)?, after, value);
    }
    if item.as_table_like().is_none() {
        replace(item, &Value::InlineTable(InlineTable::new()));
    }
    if let Some(inline) = item.as_inline_table_mut() {
        return set_inline(inline, rest, value);
    }
    match item.as_table_like_mut() {
        Some(table) => set(table, rest, value),
        None => Ok(()),
    }
}

fn set_inline(table: &mut InlineTable, steps: &[String], value: &Value) -> Result<(), String> {
    let len = table.len();
    set(table, steps, value)?;
    tidy(table, len);
    Ok(())
}

/// Puts a value into an element of an inline list.
fn set_element(element: &mut Value, steps: &[String], value: &Value) -> Result<(), String> {
    if steps.is_empty() {
        let decor = element.decor().clone();
        *element = value.clone();
        *element.decor_mut() = decor;
        return Ok(());
    }
    match element.as_inline_table_mut() {
        Some(table) => set_inline(table, steps, value),
        None => Err(format!("{} is no table", element.to_string().trim())),
    }
}

/// Replaces a value, and keeps its trailing comment.
fn replace(item: &mut Item, value: &Value) {
    let decor = item.as_value().map(|old| old.decor().clone());
    *item = Item::Value(value.clone());
    if let (Some(decor), Some(new)) = (decor, item.as_value_mut()) {
        *new.decor_mut() = decor;
    }
}

/// Adds a key, with the inline tables that lead to it.
fn insert(
    table: &mut dyn TableLike,
    key: &str,
    rest: &[String],
    value: &Value,
) -> Result<(), String> {
    let item = if rest.is_empty() {
        value.clone()
    } else {
        let mut inner = InlineTable::new();
        set(&mut inner, rest, value)?;
        inner.into()
    };
    table.insert(key, Item::Value(item));
    Ok(())
}

/// Renews the blanks of an inline table after a key was added or removed, unless the table has
/// comments.
fn tidy(table: &mut InlineTable, len_before: usize) {
    if table.len() != len_before && !table.to_string().contains('\n') {
        table.fmt();
    }
}

/// Removes the value at a path, and the enclosing inline table if it is then empty.
fn remove(table: &mut dyn TableLike, steps: &[String]) {
    let Some((key, rest)) = steps.split_first() else {
        return;
    };
    let Some((index, after)) = rest.split_first() else {
        table.remove(key);
        return;
    };
    let Some(item) = table.get_mut(key) else {
        return;
    };
    if let Some(tables) = item.as_array_of_tables_mut() {
        match table_index(tables, index) {
            Some(i) if after.is_empty() && i < tables.len() => {
                tables.remove(i);
            }
            Some(i) => {
                if let Some(element) = tables.get_mut(i) {
                    remove(element, after);
                }
            }
            None => {}
        }
    } else if let Some(list) = item.as_array_mut() {
        match value_index(list, index) {
            Some(i) if after.is_empty() && i < list.len() => {
                list.remove(i);
            }
            Some(i) => {
                if let Some(element) = list.get_mut(i).and_then(Value::as_inline_table_mut) {
                    remove_inline(element, after);
                }
            }
            None => {}
        }
    } else if let Some(inline) = item.as_inline_table_mut() {
        remove_inline(inline, rest);
        if inline.is_empty() {
            table.remove(key);
        }
    } else if let Some(inner) = item.as_table_like_mut() {
        remove(inner, rest);
    }
}

fn remove_inline(table: &mut InlineTable, steps: &[String]) {
    let len = table.len();
    remove(table, steps);
    tidy(table, len);
}

#[cfg(test)]
mod tests;
