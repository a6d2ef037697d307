//! Debug output of trait objects.

/// Supertrait of traits whose objects are printed for debugging: [`std::fmt::Debug`] natively.
///
/// In the browser the supertrait is empty. A trait object's table would otherwise keep the `Debug`
/// code of each of its types, which nothing prints there. [`printable!`](macro@crate::printable)
/// gives such objects their `Debug`.
#[cfg(not(target_arch = "wasm32"))]
pub use std::fmt::Debug as Printable;

/// Supertrait of traits whose objects are printed for debugging. The trait is empty in the browser.
#[cfg(target_arch = "wasm32")]
pub trait Printable {}

#[cfg(target_arch = "wasm32")]
impl<T: ?Sized> Printable for T {}

/// Implements `Debug` for the objects of a trait that has the supertrait [`Printable`]. The output
/// is the trait's name in the browser. Natively the macro expands to nothing, because the object
/// prints its type.
#[macro_export]
macro_rules! printable {
    ($($name:ident),+) => {$(
        #[cfg(target_arch = "wasm32")]
        impl std::fmt::Debug for dyn $name + '_ {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    )+};
}
