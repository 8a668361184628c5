//! Services of the box that are off: configurations name them to say so.
//!
//! ```text
//! /ip proxy set enabled=no port=8080   is so already, and is exported again
//! /ip proxy set enabled=yes            refused: packets would meet it
//! ```
//!
//! Settings beside `enabled` are those of a service that does not run: kept, asked by nobody.
//!
//! **Missing**: the services themselves.

use config::{Menu, MenuKind, Property, Type};

/// Their menus.
pub(super) static MENUS: [&Menu; 5] = [&PROXY, &SOCKS, &WEB_ACCESS, &OVPN, &SSTP];

const NO: &[&str] = &["no"];

/// The settings of a service that is off.
const fn service(path: &'static str, properties: &'static [Property], help: &'static str) -> Menu {
    Menu { path, kind: MenuKind::Settings, properties, help }
}

/// A setting that nobody asks while the service is off.
const fn kept(name: &'static str) -> Property {
    Property::new(name, Type::Text, "Kept for a service that is off.")
}

static PROXY: Menu = service(
    "/ip proxy",
    &[
        Property::only("enabled", &Type::Bool, NO, "there is no web proxy"),
        kept("src-address"),
        kept("port").default("8080"),
        kept("anonymous").default("no"),
        kept("parent-proxy"),
        kept("parent-proxy-port"),
        kept("cache-administrator").default("webmaster"),
        kept("max-cache-size").default("unlimited"),
        kept("max-cache-object-size"),
        kept("cache-on-disk").default("no"),
        kept("cache-path"),
        kept("max-client-connections").default("600"),
        kept("max-server-connections").default("600"),
        kept("max-fresh-time").default("3d"),
        kept("serialize-connections").default("no"),
        kept("always-from-cache").default("no"),
        kept("cache-hit-dscp").default("4"),
    ],
    "The web proxy, which is off.",
);

static SOCKS: Menu = service(
    "/ip socks",
    &[
        Property::only("enabled", &Type::Bool, NO, "there is no SOCKS server"),
        kept("auth-method").default("none"),
        kept("connection-idle-timeout").default("2m"),
        kept("max-connections").default("200"),
        kept("port").default("1080"),
        kept("version").default("4"),
        kept("vrf").default("main"),
    ],
    "The SOCKS server, which is off.",
);

static WEB_ACCESS: Menu = service(
    "/ip accounting web-access",
    &[
        Property::only("accessible-via-web", &Type::Bool, NO, "accounts are read by the API"),
        kept("address").default("0.0.0.0/0"),
    ],
    "Who may read the accounts: nobody.",
);

static OVPN: Menu = service(
    "/interface ovpn-server server",
    &[
        Property::only("enabled", &Type::Bool, NO, "there is no OpenVPN"),
        kept("auth"),
        kept("certificate"),
        kept("cipher"),
        kept("default-profile").default("default"),
        kept("enable-tun-ipv6").default("no"),
        kept("ipv6-prefix-len"),
        kept("keepalive-timeout").default("60"),
        kept("mac-address"),
        kept("max-mtu").default("1500"),
        kept("mode").default("ip"),
        kept("netmask").default("24"),
        kept("port").default("1194"),
        kept("protocol").default("tcp"),
        kept("push-routes"),
        kept("redirect-gateway"),
        kept("reneg-sec"),
        kept("require-client-certificate").default("no"),
        kept("tls-version").default("any"),
        kept("tun-server-ipv6"),
        kept("user-auth-method"),
        kept("vrf"),
    ],
    "The OpenVPN server, which is off.",
);

static SSTP: Menu = service(
    "/interface sstp-server server",
    &[
        Property::only("enabled", &Type::Bool, NO, "there is no SSTP"),
        kept("authentication"),
        kept("certificate").default("none"),
        kept("ciphers"),
        kept("default-profile").default("default"),
        kept("force-aes").default("no"),
        kept("keepalive-timeout").default("60"),
        kept("max-mru").default("1500"),
        kept("max-mtu").default("1500"),
        kept("mrru").default("disabled"),
        kept("pfs").default("no"),
        kept("port").default("443"),
        kept("tls-version").default("any"),
        kept("verify-client-certificate").default("no"),
    ],
    "The SSTP server, which is off.",
);
