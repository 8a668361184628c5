//! Device that is served.

use config::{Host, Language};
use std::sync::Arc;

/// A device, as its server sees it: the language it speaks and a way to it for each command.
pub trait Device: Send + Sync {
    /// The language. Mount [`MENUS`](crate::MENUS) into it, with [`FACTORY`](crate::FACTORY).
    fn language(&self) -> Arc<Language>;

    /// A way to the device for one command. It runs on a thread of its own beside others, so it
    /// must not keep the device from working: it looks at it between two breaths.
    fn host(&self) -> Box<dyn Host + '_>;
}
