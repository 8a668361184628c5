//! Jumbo frames: longer slots, and interfaces that carry them.
//!
//! ```text
//!  the longest frame ─┬─► slots        it, and room for two tags
//!                     ├─► mtu          what of it is an IP packet, if an MTU of 1500 is too small
//!                     └─► /interface ethernet set [find mtu<9000] mtu=9000
//! ```
//!
//! While no frame is longer than an MTU of 1500 allows, all of it is as it always was.

use measure::template::FRAME_LENGTHS;
use port::slab::Slots;
use wire::FrameLen;

/// Of Ethernet: the header and the FCS, which no MTU counts.
const ETHERNET: u32 = 18;

/// Two tags: the router's interfaces leave room for them beside their MTU.
const TAGS: usize = 8;

/// The slots for frames of up to this length, in which the built-in router routes them, too: the
/// ordinary ones where those do.
///
/// # Panics
/// Of frames above those of [`measure::template::FRAME_LENGTHS`] by far: no slot is so long.
pub fn slots(longest: FrameLen) -> Slots {
    let bytes = longest.in_memory() as usize + TAGS;
    Slots::holding(bytes).unwrap_or_else(|| panic!("frames of {longest} bytes have no slots"))
}

/// What interfaces' MTU is to be so that frames of this length are whole; none if the usual 1500 do.
pub fn mtu(longest: FrameLen) -> Option<u32> {
    (longest > FrameLen::MAX).then(|| longest.l2() - ETHERNET)
}

/// The longest frames that an interface of this MTU carries, as far as a stream can have them.
pub fn carried(mtu: u32) -> FrameLen {
    FrameLen::with_fcs(mtu.saturating_add(ETHERNET)).min(FRAME_LENGTHS.1)
}

/// What is typed on the built-in router behind its configuration: interfaces with an MTU below what
/// these frames take get that. Empty if 1500 do.
pub fn command(longest: FrameLen) -> String {
    let line = |mtu| format!("/interface ethernet set [find mtu<{mtu}] mtu={mtu}\n");
    mtu(longest).map_or(String::new(), line)
}

/// What to look at where frames of this length are lost and shorter ones are not.
pub fn advice(longest: FrameLen) -> String {
    let mtu = longest.l2() - ETHERNET;
    format!(
        "an interface on their way has an MTU below {mtu}: `/interface ethernet set ether1,ether2 \
         mtu={mtu}` (Linux: `ip link set … mtu {mtu}`); bridges, VLANs and tunnels have their own"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_frames_take() {
        let typed = |mtu: u32| format!("/interface ethernet set [find mtu<{mtu}] mtu={mtu}\n");
        for (l2, room, most) in [
            (64, 1920, None),
            (1518, 1920, None),
            (1519, 1920, Some(1501)),
            (1916, 1920, Some(1898)),
            (1917, 2176, Some(1899)),
            (9018, 9088, Some(9000)),
            (9852, 9856, Some(9834)),
            (9860, 10_112, Some(9842)),
        ] {
            let frame = FrameLen::with_fcs(l2);
            assert_eq!(slots(frame).max_frame(), room, "{l2}");
            assert_eq!(mtu(frame), most, "{l2}");
            assert_eq!(command(frame), most.map_or(String::new(), typed), "{l2}");
        }
        assert_eq!(slots(FrameLen::MAX), Slots::STANDARD);
        for (mtu, l2) in
            [(1500, 1518), (9000, 9018), (9842, 9860), (65_535, 9860), (u32::MAX, 9860)]
        {
            assert_eq!(carried(mtu), FrameLen::with_fcs(l2), "{mtu}");
        }
        assert!(slots(FRAME_LENGTHS.1).max_frame() > FRAME_LENGTHS.1.in_memory() as usize);
    }
}
