//! Rules that can never match, and why: RouterOS (since 6.19) marks them `I`, skips them, and
//! prints the reason above them.
//!
//! The words are RouterOS's where they are known (a slave as interface), ours otherwise.

use std::fmt;

/// Why a rule can never match or never be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// No interface of this name, or none of this kind.
    NoInterface(&'static str, String),
    /// The interface is a port of a bridge: IP sees the bridge.
    Slave(String, String),
    /// `in-bridge-port` or `out-bridge-port` of an interface that is no port of a bridge.
    NotSlave(String),
    /// Bridge ports are unknown to IP as long as `use-ip-firewall` is off.
    NoIpFirewall(&'static str),
    /// `in-interface` where nothing came in.
    InInterface,
    /// `out-interface` where it is not known yet.
    OutInterface,
    /// The `jump-target` has no rule.
    NoChain(String),
    /// The `jump-target` is one of the flow's own chains.
    BuiltinTarget(String),
    /// The jump leads back to its own chain.
    Loop(String),
    /// No valid rule jumps to the rule's chain.
    Unreachable(String),
    /// The address list has no entry.
    EmptyList(&'static str, String),
    /// `layer7-protocol` of a pattern that is not in the menu, or too much with the others.
    NoPattern(String),
    /// `ipsec-policy` of packets that there are not.
    NoIpsec(String),
    /// No packet has such a value.
    Never(&'static str, String),
    /// The action belongs to other chains.
    WrongChain(&'static str, &'static str),
    /// `src-nat` or `dst-nat` to neither an address nor a port.
    NothingToTranslate(&'static str),
    /// `reject-with=tcp-reset` without `protocol=tcp`.
    TcpReset,
    /// `action=tarpit` without `protocol=tcp`.
    Tarpit,
    /// There are no more numbers for names of marks.
    TooManyMarks(&'static str, String),
    /// The value is not of the property's type: the tree was not filled by the interpreter.
    Unreadable(&'static str),
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Invalid::NoInterface(property, name) => {
                write!(f, "{property}={name}: there is no such interface")
            }
            Invalid::Slave(name, bridge) => write!(
                f,
                "in/out-interface matcher not possible when interface ({name}) is slave - use \
                 master instead ({bridge})"
            ),
            Invalid::NoPattern(name) => write!(
                f,
                "layer7-protocol={name}: there is no such pattern, or all together need too much \
                 memory"
            ),
            Invalid::NotSlave(name) => write!(
                f,
                "in/out-bridge-port matcher not possible when interface ({name}) is not slave"
            ),
            Invalid::NoIpFirewall(property) => {
                write!(f, "{property} needs use-ip-firewall=yes in /interface bridge settings")
            }
            Invalid::InInterface => {
                f.write_str("incoming interface matching not possible in output and srcnat chains")
            }
            Invalid::OutInterface => {
                f.write_str("outgoing interface matching not possible in input and dstnat chains")
            }
            Invalid::NoChain(chain) => write!(f, "jump-target={chain}: there is no such chain"),
            Invalid::BuiltinTarget(chain) => {
                write!(f, "jump-target={chain}: cannot jump to a builtin chain")
            }
            Invalid::Loop(chain) => write!(f, "jump-target={chain}: the jump closes a loop"),
            Invalid::Unreachable(chain) => write!(f, "no rule jumps to chain={chain}"),
            Invalid::EmptyList(property, list) => {
                write!(f, "{property}={list}: the list is empty")
            }
            Invalid::NoIpsec(policy) => {
                write!(
                    f,
                    "ipsec-policy={policy}: no packet matches, for there is no policy in /ip ipsec"
                )
            }
            Invalid::Never(property, value) => {
                write!(f, "{property}={value}: no packet matches")
            }
            Invalid::WrongChain(action, chains) => {
                write!(f, "action={action} is possible in {chains} only")
            }
            Invalid::NothingToTranslate(action) => {
                write!(f, "action={action} needs to-addresses or to-ports")
            }
            Invalid::TcpReset => f.write_str("reject-with=tcp-reset works only with tcp"),
            Invalid::Tarpit => f.write_str("action=tarpit works only with tcp"),
            Invalid::TooManyMarks(property, name) => {
                write!(f, "{property}={name}: bad new mark, there are too many")
            }
            Invalid::Unreadable(property) => write!(f, "{property}: unreadable value"),
        }
    }
}
