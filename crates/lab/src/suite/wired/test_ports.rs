//! A tester at real interfaces: taken, up, and given back when this is dropped.
//!
//! ```text
//!  PortSpec … PortSpec ─► open ─► lines on one slab ─► Tester
//! ```

use super::broken;
use crate::bench::patch::Patch;
use crate::bench::veth::Rig;
use crate::interfaces::Lines;
use crate::real::open::Opened;
use crate::real::{Line, PortSpec};
use crate::tester::{Subnet, Tester};
use measure::procedure::Stop;
use wire::FrameLen;

/// A tester at interfaces.
pub(super) struct TestPorts {
    pub(super) tester: Tester<Line>,
    /// What must not be let go.
    pub(super) opened: Vec<Opened>,
    _patch: Option<Patch>,
    pub(super) rig: Option<Rig>,
}

impl TestPorts {
    pub(super) fn open(
        specs: &[PortSpec],
        longest: FrameLen,
        subnets: &[Subnet],
        rig: Option<Rig>,
        patch: Option<Patch>,
    ) -> Result<TestPorts, Stop> {
        let Lines { lines, slab, opened } =
            Lines::open(specs, longest).map_err(|error| broken(&error))?;
        let tester = Tester::new(lines, &slab, subnets.to_vec());
        Ok(TestPorts { tester, opened, _patch: patch, rig })
    }
}
