//! Conditions of FastPath and FastTrack that a configuration does not meet.

/// Why a quick way is not taken: the conditions of `routeros/C-fastpath.md` that are not met. A way
/// with none of these is active.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unmet {
    /// IPv4 FastPath.
    pub ipv4_fast_path: Vec<&'static str>,
    /// Bridge FastPath.
    pub bridge_fast_path: Vec<&'static str>,
    /// IPv4 FastTrack.
    pub ipv4_fasttrack: Vec<&'static str>,
}

pub(crate) const IPV4: fn(&mut Unmet) -> &mut Vec<&'static str> = |unmet| &mut unmet.ipv4_fast_path;
pub(crate) const BRIDGE_PATH: fn(&mut Unmet) -> &mut Vec<&'static str> =
    |unmet| &mut unmet.bridge_fast_path;
pub(crate) const FASTTRACK: fn(&mut Unmet) -> &mut Vec<&'static str> =
    |unmet| &mut unmet.ipv4_fasttrack;

/// Whether a condition is violated, how to say so, and which ways it closes.
pub(crate) type Condition =
    (bool, &'static str, &'static [fn(&mut Unmet) -> &mut Vec<&'static str>]);

impl Unmet {
    /// The conditions of all ways.
    pub(crate) fn ways(&mut self) -> [&mut Vec<&'static str>; 3] {
        [&mut self.ipv4_fast_path, &mut self.bridge_fast_path, &mut self.ipv4_fasttrack]
    }

    pub(crate) fn of(conditions: &[Condition]) -> Unmet {
        let mut unmet = Unmet::default();
        for &(violated, text, ways) in conditions {
            for way in ways.iter().filter(|_| violated) {
                way(&mut unmet).push(text);
            }
        }
        unmet
    }
}
