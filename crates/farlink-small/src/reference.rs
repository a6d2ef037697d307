//! Texts for reference pages and schemas.

/// Returns a text that only reference pages, schemas and native results show. In the browser's
/// engine the text is empty, because the page has such texts in a file of its own.
#[must_use]
pub const fn reference(text: &'static str) -> &'static str {
    if cfg!(target_arch = "wasm32") {
        ""
    } else {
        text
    }
}
