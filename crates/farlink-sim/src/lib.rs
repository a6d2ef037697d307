//! Engine, scenarios and results.
