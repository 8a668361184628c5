//! No device: what comes in by one of its ends goes out by the other, in the kernel, untouched.
//!
//! ```text
//!  t0 ═══ d0 ── redirect ─► d1 ═══ t1        three instructions at the earliest place there is
//!     ═══    ◄─ redirect ──    ═══
//! ```
//!
//! Of more ends, each two are patched together, as far as there are two.
//!
//! What the tester does through this, no device between the same veths can exceed.

use super::veth::Rig;
use super::wired::Wired;
use crate::jumbo;
use crate::traffic::tester_mac;
use port::linux::Unavailable;
use port::linux::bpf::assembler::Register;
use port::linux::bpf::{Assembler, Link, Mode, Program, interface_index};
use wire::MacAddr;

/// What it is called.
pub const DEVICE: &str = "no device";

/// `bpf_redirect`, the helper's number.
const REDIRECT: i32 = 23;

/// The programs, one for each end.
pub struct Patch {
    _links: Vec<Link>,
}

impl Patch {
    /// Patches a rig's ends together, as long as this lives.
    ///
    /// # Errors
    /// [`Unavailable`]: no rights for BPF.
    pub fn new(rig: &Rig) -> Result<Patch, Unavailable> {
        let attach = || -> Result<Patch, Unavailable> {
            let (mut links, long) = (vec![], jumbo::mtu(rig.longest()).is_some());
            for pair in rig.inner().chunks_exact(2) {
                let (a, b) = (interface_index(pair[0])?, interface_index(pair[1])?);
                links.extend([link(a, b, long)?, link(b, a, long)?]);
            }
            Ok(Patch { _links: links })
        };
        let attached = rig.device.run(attach);
        attached.unwrap_or_else(|error| Err(Unavailable::because("enter a namespace", error)))
    }
}

/// Whatever comes in by one interface goes out by the other: if it is `long`, in several buffers.
fn link(from: u32, to: u32, long: bool) -> Result<Link, Unavailable> {
    let mut code = Assembler::new();
    code.set(Register::R1, to as i32);
    code.set(Register::R2, 0);
    code.call(REDIRECT);
    code.exit();
    Program::xdp("patch", &code.finish(), long)?.attach(from, Mode::Native)
}

impl Wired for Patch {
    fn name(&self) -> &'static str {
        DEVICE
    }

    fn macs(&self) -> Option<[MacAddr; 2]> {
        Some([tester_mac(1), tester_mac(0)])
    }
}
