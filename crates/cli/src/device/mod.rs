//! Arguments about the device under test: one at the end of cables, for each command that measures.

// Of `wirespeed bench`.
pub(crate) mod bench;
// Of each of them: the hosts around it.
pub(crate) mod hosts;
// Of `wirespeed iperf3`.
#[cfg(target_os = "linux")]
pub(crate) mod iperf3;
// Of `wirespeed test`.
pub(crate) mod suite;
