//! Layout of the packet flow's picture: groups of boxes as the manual draws them.
//!
//! ```text
//!  IN ───────────► BRIDGING ─────────► BRIDGE FORWARD ───► OUT ◄──────┐
//!  TO THE ROUTER ◄ BRIDGE INPUT                            BRIDGE OUTPUT ◄┐
//!   └─► PREROUTING ────────────────────┐                                  │
//!       FORWARD ◄──────────────────────┴──► INPUT                         │
//!       POSTROUTING ◄─┘            ┌──────────┘ ──────────────────────────┘
//!       OUTPUT ───────────── ◄─────┘
//! ```

use crate::step::Step::{self, *};

/// The picture's size.
pub(super) const WIDTH: i32 = 1340;
pub(super) const HEIGHT: i32 = 872;
pub(super) const BOX_WIDTH: i32 = 124;
pub(super) const BOX_HEIGHT: i32 = 40;
/// From box to box.
const STEP_X: i32 = BOX_WIDTH + 14;
const STEP_Y: i32 = BOX_HEIGHT + 20;
/// Around the boxes of a group, and for its name.
const MARGIN: i32 = 14;
const NAME: i32 = 26;

/// Boxes that stand together.
pub(super) struct Group {
    pub(super) name: &'static str,
    pub(super) x: i32,
    pub(super) y: i32,
    /// Boxes in a row.
    columns: usize,
    pub(super) boxes: &'static [Step],
}

const fn group(
    name: &'static str,
    (x, y): (i32, i32),
    columns: usize,
    boxes: &'static [Step],
) -> Group {
    Group { name, x, y, columns, boxes }
}

const IN: usize = 0;
const BRIDGING: usize = 1;
const BRIDGE_FORWARD: usize = 2;
const BRIDGE_INPUT: usize = 3;
const TO_ROUTER: usize = 4;
const PREROUTING: usize = 5;
const FORWARD: usize = 6;
const INPUT: usize = 7;
const OUTPUT: usize = 8;
const POSTROUTING: usize = 9;
const BRIDGE_OUTPUT: usize = 10;
const OUT: usize = 11;

/// All groups, in the order of the flow.
pub(super) const GROUPS: &[Group] = &[
    group("IN", (24, 120), 1, &[PhysicalIn]),
    group("BRIDGING", (216, 120), 2, &[BridgeDstNat, BridgingDecision]),
    group("BRIDGE FORWARD", (546, 120), 2, &[BridgeForward, BridgeSrcNat]),
    group("BRIDGE INPUT", (216, 236), 1, &[BridgeInput]),
    group("TO THE ROUTER", (24, 236), 1, &[MplsDecision, Decapsulation]),
    group(
        "PREROUTING",
        (216, 352),
        6,
        &[HotspotIn, RawPrerouting, TrackPrerouting, ManglePrerouting, DstNat, RoutingDecision],
    ),
    group("FORWARD", (216, 468), 4, &[Ttl, MangleForward, FilterForward, Accounting]),
    group(
        "INPUT",
        (822, 468),
        3,
        &[MangleInput, FilterInput, HtbGlobalInput, SimpleQueuesInput, LocalIn],
    ),
    group(
        "OUTPUT",
        (216, 768),
        7,
        &[
            LocalOut,
            RoutingDecision,
            RawOutput,
            TrackOutput,
            MangleOutput,
            FilterOutput,
            RoutingAdjustment,
        ],
    ),
    group(
        "POSTROUTING",
        (216, 648),
        7,
        &[ManglePostrouting, SrcNat, HotspotOut, HtbGlobal, SimpleQueues, IpsecPolicy, MplsOutput],
    ),
    group("BRIDGE OUTPUT", (876, 236), 3, &[BridgingDecision, BridgeOutput, BridgeSrcNat]),
    group("OUT", (876, 120), 3, &[Encapsulation, InterfaceHtb, PhysicalOut]),
];

impl Group {
    pub(super) fn width(&self) -> i32 {
        self.columns.min(self.boxes.len()) as i32 * STEP_X - 14 + 2 * MARGIN
    }

    pub(super) fn height(&self) -> i32 {
        NAME + self.boxes.len().div_ceil(self.columns) as i32 * STEP_Y - 20 + MARGIN
    }

    /// The upper left corner of a box.
    pub(super) fn place(&self, place: usize) -> (i32, i32) {
        let (column, row) = ((place % self.columns) as i32, (place / self.columns) as i32);
        (self.x + MARGIN + column * STEP_X, self.y + NAME + row * STEP_Y)
    }
}

/// A way from a box of one group to the first of another, and its corners.
pub(super) struct Line {
    from: (usize, usize),
    to: usize,
    corners: &'static [(i32, i32)],
}

const fn line(from: (usize, usize), to: usize, corners: &'static [(i32, i32)]) -> Line {
    Line { from, to, corners }
}

/// The ways there are from group to group: in the gaps between them.
pub(super) const LINES: &[Line] = &[
    line((IN, 0), BRIDGING, &[]),
    line((IN, 0), TO_ROUTER, &[]),
    line((BRIDGING, 1), BRIDGE_FORWARD, &[]),
    line((BRIDGING, 1), BRIDGE_INPUT, &[(430, 218), (292, 218)]),
    line((BRIDGE_INPUT, 0), TO_ROUTER, &[]),
    line((TO_ROUTER, 0), PREROUTING, &[(196, 282), (196, 398)]),
    line((PREROUTING, 5), FORWARD, &[(982, 450), (292, 450)]),
    line((PREROUTING, 5), INPUT, &[(982, 450), (898, 450)]),
    line((FORWARD, 3), POSTROUTING, &[(706, 600), (292, 600)]),
    line((INPUT, 4), OUTPUT, &[(1036, 628), (196, 628), (196, 814)]),
    line((OUTPUT, 6), POSTROUTING, &[(1120, 748), (292, 748)]),
    line((POSTROUTING, 6), BRIDGE_OUTPUT, &[(1320, 694), (1320, 334), (952, 334)]),
    line((POSTROUTING, 6), OUT, &[(1320, 694), (1320, 218), (952, 218)]),
    line((BRIDGE_FORWARD, 1), OUT, &[]),
    line((BRIDGE_OUTPUT, 2), OUT, &[(1228, 218), (952, 218)]),
];

impl Line {
    /// The whole way, from box to box.
    pub(super) fn points(&self) -> Vec<(i32, i32)> {
        between(self.from, (self.to, 0))
    }
}

/// The middle of a box.
fn middle((group, place): (usize, usize)) -> (i32, i32) {
    let (x, y) = GROUPS[group].place(place);
    (x + BOX_WIDTH / 2, y + BOX_HEIGHT / 2)
}

/// The corners of the way from box to box: along the line there is, straight within a row, else
/// through the gap above.
pub(super) fn between(from: (usize, usize), to: (usize, usize)) -> Vec<(i32, i32)> {
    let ((ax, ay), (bx, by)) = (middle(from), middle(to));
    let same = |line: &&Line| (line.from, line.to) == (from, to.0) && to.1 == 0;
    if let Some(line) = LINES.iter().find(same) {
        return [&[(ax, ay)], line.corners, &[(bx, by)]].concat();
    }
    if ay == by && ax < bx || ax == bx {
        return vec![(ax, ay), (bx, by)];
    }
    // To the next row of the group, or back for another copy of the frame.
    let gap = if from.0 == to.0 && ay < by { (ay + by) / 2 } else { GROUPS[to.0].y - 12 };
    vec![(ax, ay), (ax, gap), (bx, gap), (bx, by)]
}

/// A name in one or two lines.
pub(super) fn wrapped(name: &str) -> Vec<String> {
    const CHARACTERS: usize = 16;
    if name.len() <= CHARACTERS {
        return vec![name.to_string()];
    }
    let middle = name.len() / 2;
    let blanks = name.match_indices([' ', '-']).map(|(at, _)| at);
    match blanks.min_by_key(|at| at.abs_diff(middle)) {
        Some(at) if name.as_bytes()[at] == b' ' => {
            vec![name[..at].to_string(), name[at + 1..].to_string()]
        }
        Some(at) => vec![name[..=at].to_string(), name[at + 1..].to_string()],
        None => vec![name.to_string()],
    }
}
