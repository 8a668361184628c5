//! The property tables of `/ip ipsec` (`routeros/H-ip.md`, H.6).

use config::{Menu, MenuKind, Property, Type};

/// `/ip ipsec profile`.
pub(crate) static PROFILE: Menu = Menu {
    path: "/ip ipsec profile",
    kind: named("profile"),
    properties: &[
        Property::flag("default", '*', "RouterOS begins with it."),
        Property::new("name", Type::Text, "What peers call it.").column(),
        Property::new("hash-algorithm", HASH, "How IKE proves its messages.")
            .default("sha1")
            .column(),
        Property::new("prf-algorithm", PRF, "By what keys are made; auto is hash-algorithm.")
            .default("auto"),
        Property::new("enc-algorithm", Type::List(&IKE_CIPHER), "How IKE encrypts them.")
            .default("aes-128,3des")
            .column(),
        Property::new("dh-group", Type::List(&GROUP), "How a secret is agreed upon.")
            .default("modp2048,modp1024")
            .column(),
        Property::new("lifetime", Type::Time, "Then IKE's keys are made anew.").default("1d"),
        Property::new(
            "lifebytes",
            Type::Number(0, i64::MAX),
            "Kept: keys are made anew by their time.",
        )
        .default("0"),
        Property::new(
            "proposal-check",
            CHECK,
            "IKEv1: with obey who begins decides about pfs-group; each end has its own lifetime.",
        )
        .default("obey"),
        Property::new("nat-traversal", Type::Bool, "Whether ESP goes in UDP where NAT is found.")
            .default("yes"),
        Property::new(
            "dpd-interval",
            Type::Or(&["disable-dpd"], &Type::Time),
            "After such silence the other end is asked whether it lives.",
        )
        .default("2m"),
        Property::new(
            "dpd-maximum-failures",
            Type::Number(1, 100),
            "So often, five seconds apart, before it is given up.",
        )
        .default("5"),
    ],
    help: "How keys are agreed upon.",
};

/// `/ip ipsec proposal`.
pub(crate) static PROPOSAL: Menu = Menu {
    path: "/ip ipsec proposal",
    kind: named("proposal"),
    properties: &[
        Property::flag("default", '*', "RouterOS begins with it."),
        Property::new("name", Type::Text, "What policies call it.").column(),
        Property::new("auth-algorithms", Type::List(&AUTH), "How packets are proven.")
            .default("sha1")
            .column(),
        Property::new("enc-algorithms", Type::List(&ESP_CIPHER), "How they are encrypted.")
            .default("aes-256-cbc,aes-192-cbc,aes-128-cbc")
            .column(),
        Property::new("lifetime", Type::Time, "Then the keys are made anew.")
            .default("30m")
            .column(),
        Property::new("pfs-group", PFS, "How a secret for them alone is agreed upon.")
            .default("modp1024")
            .column(),
    ],
    help: "How packets are encrypted.",
};

/// `/ip ipsec peer`.
pub(crate) static PEER: Menu = Menu {
    path: "/ip ipsec peer",
    kind: named("peer"),
    properties: &[
        Property::flag("responder", 'R', "It waits for the other end to begin."),
        Property::new("name", Type::Text, "What policies and identities call it.").column(),
        Property::new("address", Type::Cidr, "Where it is, or may be.")
            .default("0.0.0.0/0")
            .column(),
        Property::new("port", Type::Number(1, 65535), "Its UDP port.").default("500"),
        Property::new(
            "local-address",
            Type::Address,
            "The router's end, if not as the routes say.",
        ),
        Property::new(
            "profile",
            Type::Reference(&["/ip ipsec profile"]),
            "How keys are agreed upon.",
        )
        .default("default")
        .column(),
        Property::new("exchange-mode", MODE, "By which protocol: IKEv2, or IKEv1 in main mode.")
            .default("main")
            .column(),
        Property::new("passive", Type::Bool, "Whether the other end has to begin.").default("no"),
        Property::new(
            "send-initial-contact",
            Type::Bool,
            "Whether the other end is told to forget what was before.",
        )
        .default("yes"),
    ],
    help: "Routers with which keys are agreed upon.",
};

/// `/ip ipsec identity`.
pub(crate) static IDENTITY: Menu = Menu {
    path: "/ip ipsec identity",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("peer", Type::Reference(&["/ip ipsec peer"]), "Whose.").required().column(),
        Property::only(
            "auth-method",
            &METHOD,
            &["pre-shared-key"],
            "there are no certificates, and no EAP",
        )
        .default("pre-shared-key")
        .column(),
        Property::new("secret", Type::Text, "What both ends know."),
        Property::new("my-id", Type::Custom(super::settings::id), "Who the router says it is.")
            .default("auto")
            .column(),
        Property::new(
            "remote-id",
            Type::Custom(super::settings::id),
            "Who the other end has to be; auto is anybody who knows the secret.",
        )
        .default("auto")
        .column(),
        Property::only(
            "generate-policy",
            &Type::Enum(&["no", "port-override", "port-strict"]),
            &["no"],
            "policies are those that are typed",
        )
        .default("no"),
        Property::new(
            "policy-template-group",
            Type::Text,
            "Kept: no policy is made of a template.",
        )
        .default("default"),
        Property::new("match-by", Type::Enum(&["certificate", "remote-id"]), "Kept.")
            .default("remote-id"),
        Property::missing("mode-config", "nobody is given an address"),
        Property::missing("notrack-chain", "say it in /ip firewall raw"),
        Property::missing("certificate", "there are no certificates"),
        Property::missing("remote-certificate", "there are no certificates"),
        Property::missing("eap-methods", "there is no EAP"),
        Property::missing("username", "there is no EAP"),
        Property::missing("password", "there is no EAP"),
    ],
    help: "How both ends prove who they are.",
};

/// `/ip ipsec policy`.
pub(crate) static POLICY: Menu = Menu {
    path: "/ip ipsec policy",
    kind: MenuKind::List { key: None, auto_name: None, ordered: true, fixed: false },
    properties: &[
        Property::flag("active", 'A', "There are keys for it."),
        Property::flag("invalid", 'I', "It has no peer, or no identity."),
        Property::flag("default", '*', "RouterOS begins with it."),
        Property::new("peer", Type::Reference(&["/ip ipsec peer"]), "With whom.").column(),
        Property::new("tunnel", Type::Bool, "Whether whole packets are encrypted.")
            .default("no")
            .column(),
        Property::new("src-address", NETWORK, "From there.").default("0.0.0.0/0").column(),
        Property::new("src-port", PORT, "From this port.").default("any"),
        Property::new("dst-address", NETWORK, "To there.").default("0.0.0.0/0").column(),
        Property::new("dst-port", PORT, "To this port.").default("any"),
        Property::new("protocol", PROTOCOL, "Of this protocol.").default("all").column(),
        Property::new(
            "action",
            Type::Enum(&["discard", "encrypt", "none"]),
            "What becomes of such packets; the first policy decides.",
        )
        .default("encrypt")
        .column(),
        Property::new(
            "level",
            Type::Enum(&["require", "unique", "use"]),
            "Without keys a packet is lost, or (use) goes as it is. Each policy has its own keys.",
        )
        .default("require"),
        Property::only(
            "ipsec-protocols",
            &Type::Enum(&["ah", "ah-esp", "esp"]),
            &["esp"],
            "there is no AH",
        )
        .default("esp"),
        Property::new("sa-src-address", Type::Address, "The router's end, if the peer has none.")
            .default("0.0.0.0"),
        Property::new("sa-dst-address", Type::Address, "Which peer, where none is named.")
            .default("0.0.0.0"),
        Property::new(
            "proposal",
            Type::Reference(&["/ip ipsec proposal"]),
            "How packets are encrypted.",
        )
        .default("default"),
        Property::new("template", Type::Bool, "Kept: no policy is made of it.").default("no"),
        Property::new("group", Type::Text, "Kept: whose template it is.").default("default"),
        Property::new("ph2-count", Type::Number(0, i64::MAX), "How many SAs it has.").read_only(),
        Property::new("ph2-state", Type::Text, "Whether it has some.").read_only().column(),
    ],
    help: "Which packets are encrypted.",
};

/// `/ip ipsec active-peers`.
pub(crate) static ACTIVE: Menu = Menu {
    path: "/ip ipsec active-peers",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::flag("responder", 'R', "The other end began."),
        Property::flag("natt-peer", 'N', "ESP goes in UDP."),
        Property::new("id", Type::Text, "Who it says it is.").read_only().column(),
        Property::new("state", Type::Text, "How far it is.").read_only().column(),
        Property::new("uptime", Type::Time, "How long.").read_only().column(),
        Property::new("ph2-total", Type::Number(0, i64::MAX), "Its SAs.").read_only().column(),
        Property::new("local-address", Type::Address, "The router's end.").read_only(),
        Property::new("remote-address", Type::Address, "Its address.").read_only().column(),
        Property::new("last-seen", Type::Time, "When it was heard last.").read_only(),
        Property::new("spii", Type::Text, "The SPI of who began.").read_only(),
        Property::new("spir", Type::Text, "The other one's.").read_only(),
    ],
    help: "Peers with which keys are agreed upon.",
};

/// `/ip ipsec installed-sa`.
pub(crate) static SA: Menu = Menu {
    path: "/ip ipsec installed-sa",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::flag("hw-aead", 'H', "By hardware."),
        Property::flag("ah", 'A', "AH."),
        Property::flag("esp", 'E', "ESP."),
        Property::new("spi", Type::Text, "What its packets begin with.").read_only().column(),
        Property::new("src-address", Type::Address, "From there.").read_only().column(),
        Property::new("dst-address", Type::Address, "To there.").read_only().column(),
        Property::new("state", Type::Text, "Whether a newer one is used.").read_only().column(),
        Property::new("auth-algorithm", Type::Text, "How it proves.").read_only().column(),
        Property::new("enc-algorithm", Type::Text, "How it encrypts.").read_only().column(),
        Property::new("enc-key-size", Type::Number(0, 512), "The key's bits.").read_only(),
        Property::new("addtime", Type::Time, "How long it is there.").read_only(),
        Property::new("expires-in", Type::Time, "How long it is to be.").read_only(),
        Property::new("current-bytes", Type::Number(0, i64::MAX), "What passed.").read_only(),
        Property::new("current-packets", Type::Number(0, i64::MAX), "In so many.").read_only(),
        Property::new("replay", Type::Number(0, 4096), "Packets that may come late.").read_only(),
    ],
    help: "Keys that packets are encrypted with, one way each.",
};

const fn named(prefix: &'static str) -> MenuKind {
    MenuKind::List { key: Some("name"), auto_name: Some(prefix), ordered: false, fixed: false }
}

const HASH: Type = Type::Only(
    &Type::Enum(&["md5", "sha1", "sha256", "sha512"]),
    &["sha1", "sha256", "sha512"],
    "MD5 is broken",
);
const PRF: Type = Type::Enum(&["auto", "sha1", "sha256", "sha384", "sha512"]);
const CHECK: Type = Type::Enum(&["claim", "exact", "obey", "strict"]);
const AUTH: Type = Type::Only(
    &Type::Enum(&["md5", "null", "sha1", "sha256", "sha512"]),
    &["sha1", "sha256", "sha512", "null"],
    "MD5 is broken",
);
const IKE_CIPHER: Type = Type::Only(
    &Type::Enum(&[
        "des",
        "3des",
        "aes-128",
        "aes-192",
        "aes-256",
        "blowfish",
        "camellia-128",
        "camellia-192",
        "camellia-256",
    ]),
    &["aes-128", "aes-192", "aes-256", "3des"],
    "AES and 3DES are built",
);
const ESP_CIPHER: Type = Type::Only(
    &Type::Enum(&[
        "null",
        "des",
        "3des",
        "aes-128-cbc",
        "aes-192-cbc",
        "aes-256-cbc",
        "aes-128-ctr",
        "aes-192-ctr",
        "aes-256-ctr",
        "aes-128-gcm",
        "aes-192-gcm",
        "aes-256-gcm",
        "blowfish",
        "twofish",
        "camellia-128",
        "camellia-192",
        "camellia-256",
        "chacha20poly1305",
    ]),
    &[
        "aes-256-cbc",
        "aes-192-cbc",
        "aes-128-cbc",
        "aes-128-gcm",
        "aes-192-gcm",
        "aes-256-gcm",
        "3des",
        "null",
    ],
    "AES in CBC and GCM and 3DES are built",
);
const GROUPS: Type = Type::Enum(&[
    "none", "modp768", "ec2n155", "ec2n185", "modp1024", "modp1536", "modp2048", "modp3072",
    "modp4096", "modp6144", "modp8192", "ecp256", "ecp384", "ecp521", "x25519",
]);
const NO_GROUP: &str = "modp1024 to modp4096, ecp256 and x25519 are built";
const GROUP: Type = Type::Only(
    &GROUPS,
    &["modp2048", "modp1024", "modp1536", "modp3072", "modp4096", "ecp256", "x25519"],
    NO_GROUP,
);
const PFS: Type = Type::Only(
    &GROUPS,
    &["modp1024", "none", "modp1536", "modp2048", "modp3072", "modp4096", "ecp256", "x25519"],
    NO_GROUP,
);
const MODE: Type = Type::Only(
    &Type::Enum(&["aggressive", "base", "ike2", "main", "main-l2tp"]),
    &["main", "ike2", "main-l2tp"],
    "of IKEv1 main mode is built",
);
const METHOD: Type = Type::Enum(&[
    "digital-signature",
    "eap",
    "eap-radius",
    "pre-shared-key",
    "pre-shared-key-xauth",
    "rsa-key",
    "rsa-signature-hybrid",
]);
const NETWORK: Type = Type::Either(&[Type::Cidr, Type::Cidr6]);
const PORT: Type = Type::Or(&["any"], &Type::Number(0, 65535));
const PROTOCOL: Type = Type::Or(&["all"], &Type::Custom(crate::firewall::syntax::read_protocol));
