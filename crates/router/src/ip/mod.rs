//! IPv4: the forwarding table.

/// The forwarding table: longest prefix match.
pub mod fib;
