//! The property tables of `/ip dhcp-server` and `/ip dhcp-client`.

use super::option;
use crate::firewall::menu::WORD;
use crate::interface::menu::ANY_INTERFACE;
use crate::interface::ppp::menu::rate;
use crate::ip::pool;
use config::{Menu, MenuKind, Property, Type};

/// `/ip dhcp-server`.
pub(crate) const SERVER: Menu = Menu {
    path: "/ip dhcp-server",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("dhcp"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::flag("invalid", 'I', "Its interface has no address."),
        Property::new("name", Type::Text, "Name of the server.").column(),
        Property::new("interface", ANY_INTERFACE, "Whose clients it serves.").required().column(),
        Property::new(
            "relay",
            Type::Address,
            "The relay whose clients it serves; 0.0.0.0: those of the interface; 255.255.255.255: any.",
        )
        .default("0.0.0.0")
        .column(),
        Property::new("address-pool", POOL, "Whose addresses it gives out; or only typed leases.")
            .default("static-only")
            .column(),
        Property::new("lease-time", Type::Time, "For how long an address is given.")
            .default("10m")
            .column(),
        Property::new(
            "add-arp",
            Type::Bool,
            "Whether clients with a lease are known to ARP at once.",
        )
        .default("no")
        .column(),
        Property::new(
            "authoritative",
            Type::Enum(&["after-2sec-delay", "after-10sec-delay", "no", "yes"]),
            "Whether clients are told that what they ask for is not theirs.",
        )
        .default("after-2sec-delay"),
        Property::new("always-broadcast", Type::Bool, "Whether all answers are broadcasts.")
            .default("no"),
        Property::new("bootp-support", Type::Enum(&["dynamic", "none", "static"]), BOOTP)
            .default("static"),
        Property::new("conflict-detection", Type::Bool, "Whether ARP asks for an address first.")
            .default("yes"),
        Property::new("delay-threshold", DELAY, "Clients that wait for less are not answered.")
            .default("none"),
        Property::new("dhcp-option-set", OPTION_SET, "Options for all its clients.")
            .default("none"),
        Property::new(
            "server-address",
            Type::Address,
            "The router's address that clients know it by; 0.0.0.0: that of the interface.",
        )
        .default("0.0.0.0"),
        Property::only("use-radius", &Type::Enum(&["accounting", "no", "yes"]), &["no"], NO_RADIUS),
        Property::new(
            "lease-script",
            Type::Text,
            "The script that runs when a lease begins, or ends.",
        ),
        Property::only("insert-queue-before", &WORD, &["first"], NO_QUEUE),
        Property::new("allow-dual-stack-queue", Type::Bool, NO_QUEUE).default("yes"),
        Property::missing("client-mac-limit", "every MAC address has one lease"),
        Property::missing("src-address", "the interface's address in the client's network is used"),
        Property::missing("parent-queue", "queues of leases have no parent"),
    ],
    help: "DHCP servers: one for an interface.",
};

/// `/ip dhcp-server network`.
pub(crate) const NETWORK: Menu = Menu {
    path: "/ip dhcp-server network",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new(
            "address",
            Type::Cidr,
            "Clients with an address in it are told the following.",
        )
        .required()
        .column(),
        Property::new("gateway", ADDRESSES, "Their gateways.").column(),
        Property::new("netmask", Type::Number(0, 32), "Length of their network; 0: of this one.")
            .default("0"),
        Property::new("dns-server", ADDRESSES, "Their name servers; none: those of the router.")
            .column(),
        Property::new("dns-none", Type::Bool, "Whether they are told none, not even the router's.")
            .default("no"),
        Property::new("ntp-server", ADDRESSES, "Their time servers."),
        Property::new("ntp-none", Type::Bool, "Kept; the router has no time servers of its own.")
            .default("no"),
        Property::new("wins-server", ADDRESSES, "Their WINS servers.").column(),
        Property::new("domain", Type::Text, "The domain they are in.").column(),
        Property::new("next-server", Type::Address, "Where they find what they boot from."),
        Property::new("boot-file-name", Type::Text, "What they boot from."),
        Property::new("dhcp-option", OPTIONS, "Further options."),
        Property::new("dhcp-option-set", OPTION_SET, "Further options, as a set.").default("none"),
        Property::new("caps-manager", ADDRESSES, "Their controllers of access points: option 138."),
    ],
    help: "What clients are told of the network they are in.",
};

/// `/ip dhcp-server lease`.
pub(crate) const LEASE: Menu = Menu {
    path: "/ip dhcp-server lease",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::flag("dynamic", 'D', "A server made it."),
        Property::flag("blocked", 'B', "It is not given out."),
        Property::new("address", Type::Address, "The client's address.").required().wide(15),
        Property::new("mac-address", Type::Mac, "The client's MAC address.").wide(17),
        Property::new("client-id", Type::Custom(option::client_id), "What the client says it is."),
        Property::new(
            "address-lists",
            Type::Text,
            "The address is in these /ip firewall address-list, from when it is bound to its end.",
        ),
        Property::new("server", SERVERS, "The server whose client it is.").default("all").column(),
        Property::new("lease-time", LEASE_TIME, "For how long; 0s: as the server has it.")
            .default("0s"),
        Property::new("always-broadcast", Type::Bool, "Whether its answers are broadcasts.")
            .default("no"),
        Property::new("block-access", Type::Bool, "Whether the client gets no address.")
            .default("no"),
        Property::new("dhcp-option", OPTIONS, "Further options."),
        Property::new("dhcp-option-set", OPTION_SET, "Further options, as a set.").default("none"),
        Property::only("use-src-mac", &Type::Bool, &["no"], "a client's MAC address is chaddr's"),
        Property::only("insert-queue-before", &WORD, &["first"], NO_QUEUE),
        Property::new("allow-dual-stack-queue", Type::Bool, NO_QUEUE).default("yes"),
        Property::new(
            "rate-limit",
            Type::Custom(rate),
            "rx[/tx] [burst [threshold [time [priority [least]]]]]: the queue of its address.",
        ),
        Property::new("host-name", WORD, "The client's name for itself.").read_only().column(),
        Property::new("status", WORD, "waiting, testing, offered, bound or conflict.")
            .read_only()
            .column(),
        Property::new("expires-after", Type::Time, "How long it is still the client's.")
            .read_only()
            .column(),
        Property::new("last-seen", Type::Time, "When the client was heard last.").read_only(),
        Property::new("active-address", Type::Address, "The address in use.").read_only(),
        Property::new("active-mac-address", Type::Mac, "By whom.").read_only(),
        Property::new("active-client-id", WORD, "By whom, in its own words.").read_only(),
        Property::new("active-server", WORD, "By which server.").read_only(),
    ],
    help: "Who has which address, and those typed: who always gets the same.",
};

/// `/ip dhcp-server option`.
pub(crate) const OPTION: Menu = Menu {
    path: "/ip dhcp-server option",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("option"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::new("name", Type::Text, "Name of the option.").column(),
        Property::new("code", Type::Number(1, 254), "Its number.").required().column(),
        Property::new(
            "value",
            Type::Custom(option::value),
            "0x…, 'address or number', s'text'; several stand side by side.",
        )
        .column(),
        Property::new("force", Type::Bool, "Whether clients get it that have not asked for it.")
            .default("no"),
        Property::new("raw-value", WORD, "Its bytes.").read_only().column(),
    ],
    help: "Options that clients get.",
};

/// `/ip dhcp-server option sets`.
pub(crate) const SETS: Menu = Menu {
    path: "/ip dhcp-server option sets",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("set"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::new("name", Type::Text, "Name of the set.").column(),
        Property::new("options", OPTIONS, "Its options.").required().column(),
    ],
    help: "Options that are given together.",
};

/// `/ip dhcp-server config`.
pub(crate) const CONFIG: Menu = Menu {
    path: "/ip dhcp-server config",
    kind: MenuKind::Settings,
    properties: &[
        Property::only("store-leases-disk", &STORE, &["5m", "never"], "leases are not stored"),
        Property::new("accounting", Type::Bool, "Kept: leases are not told to RADIUS.")
            .default("yes"),
        Property::only("interim-update", &Type::Time, &["0s"], NO_RADIUS),
        Property::new("radius-password", Type::Enum(&["empty", "same-as-user"]), "Kept, too.")
            .default("empty"),
    ],
    help: "What holds for all DHCP servers.",
};

/// `/ip dhcp-client`.
pub(crate) const CLIENT: Menu = Menu {
    path: "/ip dhcp-client",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("interface", ANY_INTERFACE, "Which interface gets an address.")
            .required()
            .column(),
        Property::new(
            "add-default-route",
            Type::Enum(&["no", "special-classless", "yes"]),
            "yes: classless routes, or if there are none the default route; special-classless: both.",
        )
        .default("yes")
        .column(),
        Property::new("default-route-distance", Type::Number(1, 255), "Of these routes.")
            .default("1"),
        Property::new("use-peer-dns", Type::Bool, "Whether its name servers are used.")
            .default("yes")
            .column(),
        Property::new(
            "use-peer-ntp",
            Type::Bool,
            "Whether its time servers are asked, in place of those of /system ntp client.",
        )
        .default("yes"),
        Property::new("dhcp-options", CLIENT_OPTIONS, "What it says beside.")
            .default("hostname,clientid"),
        Property::only("default-route-tables", &WORDS, &["default", "main"], "it is in main"),
        Property::new(
            "script",
            Type::Text,
            "Runs when an address is given or lost; knows bound, interface, lease-address, \
             gateway-address and server-address.",
        ),
        Property::new(
            "status",
            WORD,
            "searching..., requesting..., bound, renewing... or stopped.",
        )
        .read_only()
        .column(),
        Property::new("address", Type::Cidr, "The address it was given.").read_only().wide(18),
        Property::new("gateway", WORD, "The gateway it was told.").read_only(),
        Property::new("dhcp-server", WORD, "Who has given it.").read_only(),
        Property::new("primary-dns", WORD, "The first name server it was told.").read_only(),
        Property::new("secondary-dns", WORD, "The second.").read_only(),
        Property::new("expires-after", Type::Time, "How long the address is still ours.")
            .read_only(),
    ],
    help: "Interfaces that get their address by DHCP.",
};

/// `/ip dhcp-client option`.
pub(crate) const CLIENT_OPTION: Menu = Menu {
    path: "/ip dhcp-client option",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("option"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::flag("default", '*', "RouterOS begins with it."),
        Property::new("name", Type::Text, "Name of the option.").column(),
        Property::new("code", Type::Number(1, 254), "Its number.").required().column(),
        Property::new(
            "value",
            Type::Custom(option::client_value),
            "What it says; $(HOSTNAME), $(CLIENT_MAC) and $(CLIENT_DUID) stand for the router's own.",
        )
        .column(),
    ],
    help: "Options that clients send.",
};

const CLIENT_OPTIONS: Type = Type::List(&Type::Reference(&[CLIENT_OPTION.path]));
const POOL: Type = Type::Or(&["static-only"], &Type::Reference(&[pool::POOL.path]));
const SERVERS: Type = Type::Or(&["all"], &Type::Reference(&[SERVER.path]));
const OPTION_SET: Type = Type::Or(&["none"], &Type::Reference(&[SETS.path]));
const OPTIONS: Type = Type::List(&Type::Reference(&[OPTION.path]));
const ADDRESSES: Type = Type::List(&Type::Address);
const DELAY: Type = Type::Or(&["none"], &Type::Time);
const LEASE_TIME: Type = Type::Time;
const STORE: Type = Type::Or(&["immediately", "never"], &Type::Time);
const WORDS: Type = Type::Text;
const BOOTP: &str = "static: BOOTP clients get typed leases. Kept otherwise: they get no others.";
const NO_RADIUS: &str = "RADIUS is not asked of leases";
const NO_QUEUE: &str = "Kept: queues of leases stand behind those typed.";
