//! Routing rules of either family (`ip rule`), which are only read.
//!
//! ```text
//!  100: from 10.0.1.0/24 iif eth1 lookup 100   ─► Rule { priority: 100, src, interface, action: Table(100) }
//!  101: from all fwmark 0x1 lookup 101         ─► Rule { …, beside: ["fwmark"] }
//! ```

use super::message::{Message, Received, attributes, ipv4, text, u32_at};
use super::socket::Netlink;
use port::linux::Unavailable;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Whether it is IPv6's.
    pub is_ipv6: bool,
    /// The least comes first.
    pub priority: u32,
    /// Packets from there: an address and how much of it counts.
    pub src: Option<(IpAddr, u8)>,
    /// Packets to there.
    pub dst: Option<(IpAddr, u8)>,
    /// Packets that came in by this interface; `lo` stands for the kernel's own.
    pub interface: Option<String>,
    /// What becomes of them.
    pub action: RuleAction,
    /// Prefixes of this length, or shorter, do not count.
    pub suppressed: Option<u32>,
    /// What it looks at beside, by iproute2's words.
    pub beside: Vec<&'static str>,
}

/// What becomes of a rule's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleAction {
    /// They ask this table, and the next rule where it has no route.
    Table(u32),
    /// They ask on behind the rule of another priority.
    Goto,
    /// Nothing: the next rule is asked.
    Nop,
    /// They are dropped.
    Blackhole,
    /// Dropped, with "host unreachable".
    Unreachable,
    /// Dropped, with "administratively prohibited".
    Prohibit,
    /// Something else: the number in `linux/fib_rules.h`.
    Other(u8),
}

// linux/rtnetlink.h, linux/fib_rules.h.
pub(super) const NEW: u16 = 32;
pub(super) const DEL: u16 = 33;
const GET: u16 = 34;
const DST: u16 = 1;
const SRC: u16 = 2;
const IIFNAME: u16 = 3;
const PRIORITY: u16 = 6;
const SUPPRESS_PREFIXLEN: u16 = 14;
const TABLE: u16 = 15;
/// `FIB_RULE_INVERT`.
const INVERT: u32 = 2;
const INET: u8 = 2;
const INET6: u8 = 10;

/// Attributes that say which packets are meant, by iproute2's words.
const BESIDE: [(u16, &str); 17] = [
    (10, "fwmark"),
    (12, "tun_id"),
    (13, "suppress_ifgroup"),
    (16, "fwmark"),
    (17, "oif"),
    (19, "l3mdev"),
    (20, "uidrange"),
    (22, "ipproto"),
    (23, "sport"),
    (24, "dport"),
    (25, "dscp"),
    (26, "flowlabel"),
    (27, "flowlabel"),
    (28, "sport"),
    (29, "dport"),
    (30, "dscp"),
    (4, "goto"),
];
/// The last attribute that is known here.
const KNOWN: u16 = 30;

impl Rule {
    /// What a message says of a rule; `None` for what is none of IPv4 or IPv6.
    pub(super) fn read(message: &Received<'_>) -> Option<Rule> {
        let &[family, dst_len, src_len, tos, table, _, _, action, ..] = message.body else {
            return None;
        };
        let flags = u32_at(message.body, 8)?;
        let is_ipv6 = match family {
            INET => false,
            INET6 => true,
            _ => return None,
        };
        let address = |value: &[u8]| -> Option<IpAddr> {
            match is_ipv6 {
                false => Some(Ipv4Addr::from(ipv4(value)?).into()),
                true => Some(Ipv6Addr::from(<[u8; 16]>::try_from(value).ok()?).into()),
            }
        };
        let prefix = |value, len: u8| {
            let longest = if is_ipv6 { 128 } else { 32 };
            Some((address(value)?, len)).filter(|_| len <= longest)
        };
        let (mut table, mut beside) = (u32::from(table), Vec::new());
        let (mut priority, mut suppressed) = (0, None);
        let (mut src, mut dst, mut interface) = (None, None, None);
        for (kind, value) in attributes(message.body.get(12..)?) {
            match kind {
                DST => dst = Some(prefix(value, dst_len)?),
                SRC => src = Some(prefix(value, src_len)?),
                IIFNAME => interface = Some(text(value)),
                PRIORITY => priority = u32_at(value, 0)?,
                SUPPRESS_PREFIXLEN => suppressed = u32_at(value, 0).filter(|&len| len != u32::MAX),
                TABLE => table = u32_at(value, 0)?,
                kind => {
                    let known = BESIDE.iter().find(|(number, _)| *number == kind);
                    let word = known.map(|(_, word)| *word);
                    let word = word.or((kind > KNOWN).then_some("something new"));
                    beside.extend(word.filter(|word| !beside.contains(word)));
                }
            }
        }
        if flags & INVERT != 0 {
            beside.push("not");
        }
        if tos != 0 {
            beside.push("tos");
        }
        let action = match action {
            1 => RuleAction::Table(table),
            2 => RuleAction::Goto,
            3 => RuleAction::Nop,
            6 => RuleAction::Blackhole,
            7 => RuleAction::Unreachable,
            8 => RuleAction::Prohibit,
            other => RuleAction::Other(other),
        };
        Some(Rule { is_ipv6, priority, src, dst, interface, action, suppressed, beside })
    }
}

impl Netlink {
    /// All rules of both families, each family's in its order.
    ///
    /// # Errors
    /// [`Unavailable`]: what the kernel says.
    pub fn rules(&mut self) -> Result<Vec<Rule>, Unavailable> {
        /// `EAFNOSUPPORT`, `EOPNOTSUPP`: a kernel without rules.
        const NONE: [i32; 2] = [97, 95];
        let mut rules = Vec::new();
        let all = || Message::new(GET, 0, &[0; 12]);
        let done = self.dump("list the routing rules", all, &mut |message| match message {
            None => rules.clear(),
            Some(message) => rules.extend(Rule::read(&message)),
        });
        match done {
            Err(refused) if refused.error.raw_os_error().is_some_and(|n| NONE.contains(&n)) => {
                Ok(Vec::new())
            }
            done => done.map(|()| rules),
        }
    }
}
