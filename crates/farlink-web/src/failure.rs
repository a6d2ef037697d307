//! Errors of requests.

use farlink_sim::RunError;
use farlink_sim::scenario::ScenarioError;
use serde::Serialize;

/// Why a request has no answer.
#[derive(Serialize, Debug)]
pub(crate) struct Failure {
    /// "scenario", "too long" or "internal".
    kind: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

impl Failure {
    fn new(kind: &'static str, message: String) -> Self {
        Self {
            kind,
            message,
            line: None,
            key: None,
        }
    }

    /// A fault of the scenario at a line or a key.
    pub(crate) fn at(message: String, line: Option<usize>, key: Option<&str>) -> Self {
        Self {
            line,
            key: key.map(str::to_owned),
            ..Self::scenario(message)
        }
    }

    /// A fault of the scenario.
    pub(crate) fn scenario(message: String) -> Self {
        Self::new("scenario", message)
    }

    /// A run above its bounds.
    pub(crate) fn too_long(message: String) -> Self {
        Self::new("too long", message)
    }

    /// A fault of the caller.
    pub(crate) fn internal(message: &str) -> Self {
        Self::new("internal", message.to_owned())
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self {
            line: error.line(),
            key: error.key().map(str::to_owned),
            ..Self::scenario(error.text().to_owned())
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Full { .. } => Self::too_long(error.to_string()),
            other => Self::scenario(other.to_string()),
        }
    }
}
