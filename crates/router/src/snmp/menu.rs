//! The property tables of `/snmp`.

use super::users::{self, Cipher, Hash, Keys};
use super::{Community, Level, Settings};
use crate::facility::Facility;
use crate::queue::facilities as queue;
use crate::queue::menu::SIMPLE;
use crate::queue::trees::TREE;
use crate::status::Values;
use config::{Menu, MenuKind, Property, Read, Tree, Type, Value};
use wire::Ipv4Prefix;

static SNMP: Menu = Menu {
    path: "/snmp",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("enabled", Type::Bool, "Whether questions are answered.").default("no"),
        Property::new("contact", Type::Text, "Who is to be called."),
        Property::new("location", Type::Text, "Where it stands."),
        Property::only("src-address", &Type::Text, &["::", "0.0.0.0"], FROM_WHERE).default(""),
        Property::only("trap-target", &Type::Text, &[""], NO_TRAPS).default(""),
        Property::new("trap-community", Type::Text, NO_TRAPS),
        Property::new("trap-generators", Type::Text, NO_TRAPS),
        Property::new("trap-interfaces", Type::Text, NO_TRAPS),
        Property::new("trap-version", Type::Number(1, 3), NO_TRAPS).default("1"),
        Property::new("engine-id", Type::Text, ENGINE_ID),
        Property::new("engine-id-suffix", Type::Text, ENGINE_ID),
        Property::only("vrf", &Type::Text, &["main"], "there is one VRF").default(""),
    ],
    help: "Answers managers by SNMP, versions 1, 2c and 3.",
};

static COMMUNITY: Menu = Menu {
    path: "/snmp community",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("community"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::flag("default", '*', "RouterOS begins with it."),
        Property::new("name", Type::Text, "What who asks must know.").column(),
        Property::new("addresses", Type::List(&NETWORK), "From where.").default("::/0").column(),
        Property::new(
            "security",
            SECURITY,
            "How he asks: by the name alone, or as a user of version 3, signed or encrypted, too.",
        )
        .default("none")
        .column(),
        Property::new("read-access", Type::Bool, "Whether it may ask.").default("yes").column(),
        Property::new("write-access", Type::Bool, "Kept: nothing can be set.").default("no"),
        Property::new("authentication-protocol", Type::Enum(&["MD5", "SHA1"]), "How he signs.")
            .default("MD5"),
        Property::new("authentication-password", Type::Text, "What he signs with."),
        Property::new("encryption-protocol", Type::Enum(&["DES", "AES"]), "How he encrypts.")
            .default("DES"),
        Property::new("encryption-password", Type::Text, "What he encrypts with."),
    ],
    help: "Who may ask.",
};

const SECURITY: Type = Type::Enum(&["none", "authorized", "private"]);
const NETWORK: Type = Type::Either(&[Type::Cidr, Type::Cidr6]);
const NO_TRAPS: &str = "there are no traps";
const ENGINE_ID: &str = "What follows MikroTik's number in the name of this engine of version 3.";
const FROM_WHERE: &str = "answers come from where was asked";

/// `/snmp`.
pub(crate) static FACILITY: Facility = Facility {
    after: &[&queue::SIMPLE, &queue::TREE],
    compile: |c| c.program.system.snmp = compile(c.tree, &c.program.system.snmp).into(),
    ..Facility::of(&SNMP)
};

/// `/snmp community`.
pub(crate) static COMMUNITIES: Facility =
    Facility { part_of: Some(&FACILITY), factory: communities, ..Facility::of(&COMMUNITY) };

fn communities() -> Vec<Values> {
    let public = Value::Text("public".to_string());
    vec![[("name", public), ("default", Value::Bool(true))].into()]
}

/// `old` may have the keys, which take some milliseconds each.
fn compile(tree: &Tree, old: &Settings) -> Settings {
    let read = tree.read_settings(&SNMP);
    if !read.bool("enabled") {
        return Settings::default();
    }
    let may = tree.read(&COMMUNITY);
    let may = may.filter(|item| !item.bool("disabled") && item.bool("read-access"));
    let from = |value: &Value| match value {
        Value::Cidr(address, len) => Some(Ipv4Prefix::new((*address).into(), *len)),
        // Everybody.
        Value::Cidr6(_, 0) => Some(Ipv4Prefix::new(0, 0)),
        _ => None,
    };
    let names = |path| {
        let items = tree.items(path).iter();
        items.map(|item| (item.name("name").to_string(), item.id)).collect()
    };
    let engine = users::engine(&(read.text("engine-id") + &read.text("engine-id-suffix")));
    let keys = |item: &Read| {
        let hash =
            if item.text("authentication-protocol") == "MD5" { Hash::Md5 } else { Hash::Sha1 };
        let cipher =
            if item.text("encryption-protocol") == "DES" { Cipher::Des } else { Cipher::Aes };
        let passwords = ["authentication-password", "encryption-password"];
        let known = old.communities.iter().filter_map(|community| community.keys.as_ref());
        Keys::new(hash, cipher, passwords.map(|name| item.text(name)), &engine, known)
    };
    let level = |item: &Read| match item.text("security").as_str() {
        "authorized" => Level::Authorized,
        "private" => Level::Private,
        _ => Level::None,
    };
    Settings {
        enabled: true,
        contact: read.text("contact"),
        location: read.text("location"),
        communities: may
            .map(|item| Community {
                name: item.name().to_string(),
                from: item.list("addresses").iter().filter_map(from).collect(),
                level: level(&item),
                keys: (level(&item) != Level::None).then(|| keys(&item)),
            })
            .collect(),
        engine: engine.clone(),
        simple: names(SIMPLE.path),
        tree: names(TREE.path),
    }
}
