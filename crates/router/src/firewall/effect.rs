//! Effects of a rule that do not decide a packet's fate: marks, edits of the header, FastTrack, no tracking.
//!
//! ```text
//! mangle, raw, filter: walk ─► Do(Effect) ─► the flow does it ─► the next rule sees it done
//! ```
//!
//! Only says what: [`flow`](crate::flow) does it, and notes in the trace what a recipe must know.

use crate::firewall::invalid::Invalid;
use crate::firewall::mark::{Mark, MarkBook, MarkNames};
use crate::firewall::read::text;
use config::{Item, Type, Value};

/// One thing that a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// `fasttrack-connection`.
    Fasttrack,
    /// `notrack`.
    Notrack,
    MarkPacket(Mark),
    MarkConnection(Mark),
    MarkRouting(Mark),
    /// `change-dscp`, 0 to 63.
    Dscp(u8),
    Ttl(NewTtl),
    Mss(NewMss),
    Priority(NewPriority),
    ClearDf,
    /// `strip-ipv4-options`.
    StripOptions,
    /// `sniff-tzsp`, `sniff-pc`.
    Sniff(Watcher),
}

/// Who gets copies of packets, and in which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Watcher {
    pub(crate) address: u32,
    /// UDP's.
    pub(crate) port: u16,
    /// `sniff-id` in front of the packet; `None` for TZSP.
    pub(crate) id: Option<u32>,
}

impl Watcher {
    /// Where Wireshark and others wait for TZSP.
    const TZSP_PORT: u16 = 37008;
    /// Where RouterOS waits for `sniff-pc`.
    const PC_PORT: u16 = 5000;

    fn read(item: &Item, id: Option<u32>) -> Option<Watcher> {
        let Some(&Value::Address(address)) = item.get("sniff-target") else { return None };
        let usual = if id.is_none() { Watcher::TZSP_PORT } else { Watcher::PC_PORT };
        let port = item.get("sniff-target-port");
        let port = if port.is_some() { number(port)? } else { usual };
        Some(Watcher { address: address.into(), port, id })
    }
}

/// `new-ttl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewTtl {
    Set(u8),
    Increment(u8),
    Decrement(u8),
}

impl NewTtl {
    /// What a TTL becomes; it ends at 0 and at 255.
    pub(crate) fn of(self, ttl: u8) -> u8 {
        match self {
            NewTtl::Set(ttl) => ttl,
            NewTtl::Increment(by) => ttl.saturating_add(by),
            NewTtl::Decrement(by) => ttl.saturating_sub(by),
        }
    }

    fn parse(text: &str) -> Option<NewTtl> {
        let (word, number) = text.split_once(':')?;
        let number = number.parse().ok()?;
        Some(match word {
            "set" => NewTtl::Set(number),
            "increment" => NewTtl::Increment(number),
            "decrement" => NewTtl::Decrement(number),
            _ => return None,
        })
    }
}

/// `new-mss`. It is never raised, as with Linux: the host knows what it can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewMss {
    Set(u16),
    /// What fits the MTUs of the interfaces it comes and goes by.
    ClampToPmtu,
}

/// `new-priority`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewPriority {
    /// 0 to 63.
    Set(u8),
    FromDscp,
    FromDscpHigh3Bits,
    /// That of the VLAN tag it came with.
    FromIngress,
}

/// `new-ttl` as typed.
pub(crate) const NEW_TTL: Type = Type::Custom(|text| match NewTtl::parse(text) {
    Some(_) => Ok(Value::Text(text.to_string())),
    None => Err("set:N, increment:N or decrement:N, N from 0 to 255".to_string()),
});
/// `new-mss` as typed.
pub(crate) const NEW_MSS: Type = Type::Or(&["clamp-to-pmtu"], &Type::Number(0, 65535));
/// `new-priority` as typed.
pub(crate) const NEW_PRIORITY: Type =
    Type::Or(&["from-dscp", "from-dscp-high-3-bits", "from-ingress"], &Type::Number(0, 63));

impl Effect {
    /// The property that an action cannot do without.
    pub(crate) fn needs(action: &str) -> Option<&'static str> {
        Some(match action {
            "mark-packet" => "new-packet-mark",
            "mark-connection" => "new-connection-mark",
            "mark-routing" => "new-routing-mark",
            "route" => "route-dst",
            "change-dscp" => "new-dscp",
            "change-ttl" => "new-ttl",
            "change-hop-limit" => "new-hop-limit",
            "change-mss" => "new-mss",
            "set-priority" => "new-priority",
            "sniff-tzsp" | "sniff-pc" => "sniff-target",
            _ => return None,
        })
    }

    /// What an action that is an effect does; `None` if it is none.
    ///
    /// # Errors
    /// Its property cannot be read, or there are too many marks.
    pub(crate) fn read(
        action: &str,
        item: &Item,
        marks: &MarkBook,
    ) -> Result<Option<Effect>, Invalid> {
        let name = Effect::needs(action).unwrap_or_default();
        let value = item.get(name);
        let mark = |names: &MarkNames| {
            let word = text(item, name).ok_or(Invalid::Unreadable(name))?;
            names.find(word).ok_or_else(|| Invalid::TooManyMarks(name, word.to_string()))
        };
        let effect = match action {
            "fasttrack-connection" => Some(Effect::Fasttrack),
            "notrack" => Some(Effect::Notrack),
            "clear-df" => Some(Effect::ClearDf),
            "strip-ipv4-options" => Some(Effect::StripOptions),
            "sniff-tzsp" => Watcher::read(item, None).map(Effect::Sniff),
            "sniff-pc" => {
                let id = number(item.get("sniff-id")).unwrap_or(0);
                Watcher::read(item, Some(id)).map(Effect::Sniff)
            }
            "mark-packet" => Some(Effect::MarkPacket(mark(&marks.packet)?)),
            "mark-connection" => Some(Effect::MarkConnection(mark(&marks.connection)?)),
            "mark-routing" | "route" => Some(Effect::MarkRouting(mark(&marks.routing)?)),
            "change-dscp" => number(value).map(Effect::Dscp),
            "change-ttl" | "change-hop-limit" => {
                text(item, name).and_then(NewTtl::parse).map(Effect::Ttl)
            }
            "change-mss" => match value {
                Some(Value::Text(_)) => Some(Effect::Mss(NewMss::ClampToPmtu)),
                value => number(value).map(|mss| Effect::Mss(NewMss::Set(mss))),
            },
            "set-priority" => match value {
                Some(Value::Text(word)) if word == "from-dscp" => {
                    Some(Effect::Priority(NewPriority::FromDscp))
                }
                Some(Value::Text(word)) if word == "from-ingress" => {
                    Some(Effect::Priority(NewPriority::FromIngress))
                }
                Some(Value::Text(_)) => Some(Effect::Priority(NewPriority::FromDscpHigh3Bits)),
                value => number(value).map(|n| Effect::Priority(NewPriority::Set(n))),
            },
            _ => return Ok(None),
        };
        effect.map(Some).ok_or(Invalid::Unreadable(name))
    }
}

fn number<N: TryFrom<i64>>(value: Option<&Value>) -> Option<N> {
    match value {
        Some(&Value::Number(n)) => n.try_into().ok(),
        _ => None,
    }
}
