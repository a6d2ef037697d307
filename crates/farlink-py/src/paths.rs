//! Paths over satellites, for Python.

use farlink_channel::paths::{Grid, Limits, Place, least};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Returns the least length (km; infinite for none) and the satellites of the path of each pair.
///
/// `positions` has three little-endian doubles for each satellite, plane by plane. A place is its
/// position and its vertical. `shell` is planes, shift and whether there is a seam, or `None` for
/// satellites without links. `limits` are the sine of the least elevation, the longest range and
/// the longest link.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // what PyO3 extracts is owned
pub(crate) fn least_paths(
    py: Python<'_>,
    positions: &[u8],
    places: Vec<Place>,
    pairs: Vec<(usize, usize)>,
    shell: Option<(usize, usize, bool)>,
    limits: (f64, f64, f64),
) -> PyResult<Vec<(f64, Vec<usize>)>> {
    let (doubles, _) = positions.as_chunks::<8>();
    let values: Vec<f64> = doubles.iter().map(|&b| f64::from_le_bytes(b)).collect();
    let (points, rest) = values.as_chunks::<3>();
    let grid = shell.map(|(planes, shift, seam)| Grid {
        planes,
        per_plane: points.len() / planes.max(1),
        shift,
        seam,
    });
    let whole =
        |grid: &Grid| grid.planes * grid.per_plane == points.len() && grid.shift <= grid.per_plane;
    if !rest.is_empty()
        || !grid.as_ref().is_none_or(whole)
        || pairs.iter().any(|&(a, b)| a.max(b) >= places.len())
    {
        return Err(PyValueError::new_err(
            "positions, places and shell disagree",
        ));
    }
    let (sine, range, link) = limits;
    let limits = Limits { sine, range, link };
    Ok(py.detach(|| least(points, &places, &pairs, grid, limits)))
}
