//! Documents of UPnP: the device, its services, what calls are answered.

use super::{COMMON, CONTROL_COMMON, CONTROL_WAN, Error, WAN};
use std::fmt::Write;
use wire::upnp::escaped;

/// What a device is said to be made by.
const MAKER: &str = "wirespeed";

/// An action's arguments: to it, and back.
type Action = (&'static str, &'static [&'static str], &'static [&'static str]);

const ENTRY: [&str; 8] = [
    "NewRemoteHost",
    "NewExternalPort",
    "NewProtocol",
    "NewInternalPort",
    "NewInternalClient",
    "NewEnabled",
    "NewPortMappingDescription",
    "NewLeaseDuration",
];

/// What can be done by `WANIPConnection:1` here.
const OF_WAN: &[Action] = &[
    ("GetConnectionTypeInfo", &[], &["NewConnectionType", "NewPossibleConnectionTypes"]),
    ("GetStatusInfo", &[], &["NewConnectionStatus", "NewLastConnectionError", "NewUptime"]),
    ("GetNATRSIPStatus", &[], &["NewRSIPAvailable", "NewNATEnabled"]),
    ("GetExternalIPAddress", &[], &["NewExternalIPAddress"]),
    ("AddPortMapping", &ENTRY, &[]),
    ("DeletePortMapping", &["NewRemoteHost", "NewExternalPort", "NewProtocol"], &[]),
    ("GetGenericPortMappingEntry", &["NewPortMappingIndex"], &ENTRY),
    (
        "GetSpecificPortMappingEntry",
        &["NewRemoteHost", "NewExternalPort", "NewProtocol"],
        &[
            "NewInternalPort",
            "NewInternalClient",
            "NewEnabled",
            "NewPortMappingDescription",
            "NewLeaseDuration",
        ],
    ),
];

/// And by `WANCommonInterfaceConfig:1`.
const OF_COMMON: &[Action] = &[(
    "GetCommonLinkProperties",
    &[],
    &[
        "NewWANAccessType",
        "NewLayer1UpstreamMaxBitRate",
        "NewLayer1DownstreamMaxBitRate",
        "NewPhysicalLinkStatus",
    ],
)];

/// The type of an argument's variable.
fn kind(argument: &str) -> &'static str {
    match argument {
        "NewExternalPort" | "NewInternalPort" | "NewPortMappingIndex" => "ui2",
        "NewLeaseDuration" | "NewUptime" => "ui4",
        "NewLayer1UpstreamMaxBitRate" | "NewLayer1DownstreamMaxBitRate" => "ui4",
        "NewEnabled" | "NewRSIPAvailable" | "NewNATEnabled" => "boolean",
        _ => "string",
    }
}

/// The variable behind an argument, which is called as that without `New`.
fn variable(argument: &str) -> &str {
    match argument.strip_prefix("New").unwrap_or(argument) {
        "Protocol" => "PortMappingProtocol",
        "Enabled" => "PortMappingEnabled",
        "LeaseDuration" => "PortMappingLeaseDuration",
        "PortMappingIndex" => "PortMappingNumberOfEntries",
        name => name,
    }
}

/// What a service does.
fn service(actions: &[Action]) -> String {
    let mut text = String::from(
        "<?xml version=\"1.0\"?><scpd xmlns=\"urn:schemas-upnp-org:service-1-0\"><specVersion><major>1\
         </major><minor>0</minor></specVersion><actionList>",
    );
    let mut variables = Vec::new();
    for (action, to, back) in actions {
        let _ = write!(text, "<action><name>{action}</name><argumentList>");
        for (direction, arguments) in [("in", to), ("out", back)] {
            for argument in *arguments {
                let variable = variable(argument);
                if !variables.contains(&(variable, kind(argument))) {
                    variables.push((variable, kind(argument)));
                }
                let _ = write!(
                    text,
                    "<argument><name>{argument}</name><direction>{direction}</direction>\
                     <relatedStateVariable>{variable}</relatedStateVariable></argument>"
                );
            }
        }
        text.push_str("</argumentList></action>");
    }
    text.push_str("</actionList><serviceStateTable>");
    for (variable, kind) in variables {
        let _ = write!(
            text,
            "<stateVariable sendEvents=\"no\"><name>{variable}</name><dataType>{kind}</dataType>\
             </stateVariable>"
        );
    }
    text + "</serviceStateTable></scpd>"
}

/// The document of this path; `None` if there is none.
pub(super) fn document(path: &str, name: &str, ids: [&str; 3]) -> Option<String> {
    match path {
        super::DEVICE => Some(device(name, ids)),
        super::DOES_WAN => Some(service(OF_WAN)),
        super::DOES_COMMON => Some(service(OF_COMMON)),
        _ => None,
    }
}

/// The gateway, with the devices in it.
fn device(name: &str, [root, wan, connection]: [&str; 3]) -> String {
    let begin = |kind: &str, id: &str| {
        format!(
            "<device><deviceType>urn:schemas-upnp-org:device:{kind}:1</deviceType><friendlyName>{}\
             </friendlyName><manufacturer>{MAKER}</manufacturer><modelName>{MAKER}</modelName><UDN>{id}\
             </UDN>",
            escaped(name)
        )
    };
    let service = |kind: &str, id: &str, does: &str, control: &str| {
        format!(
            "<serviceList><service><serviceType>{kind}</serviceType><serviceId>urn:upnp-org:serviceId:{id}\
             </serviceId><SCPDURL>{does}</SCPDURL><controlURL>{control}</controlURL><eventSubURL>\
             {control}</eventSubURL></service></serviceList>"
        )
    };
    format!(
        "<?xml version=\"1.0\"?><root xmlns=\"urn:schemas-upnp-org:device-1-0\"><specVersion><major>1\
         </major><minor>0</minor></specVersion>{}<deviceList>{}{}<deviceList>{}{}</device></deviceList>\
         </device></deviceList></device></root>",
        begin("InternetGatewayDevice", root),
        begin("WANDevice", wan),
        service(COMMON, "WANCommonIFC1", super::DOES_COMMON, CONTROL_COMMON),
        begin("WANConnectionDevice", connection),
        service(WAN, "WANIPConn1", super::DOES_WAN, CONTROL_WAN),
    )
}

/// What a call is answered.
pub(super) fn answer(service: &str, action: &str, values: &[(&str, String)]) -> String {
    let mut text = String::new();
    for (name, value) in values {
        let _ = write!(text, "<{name}>{}</{name}>", escaped(value));
    }
    envelope(&format!("<u:{action}Response xmlns:u=\"{service}\">{text}</u:{action}Response>"))
}

/// Why it is not done.
pub(super) fn fault(why: Error) -> String {
    envelope(&format!(
        "<s:Fault><faultcode>s:Client</faultcode><faultstring>UPnPError</faultstring><detail><UPnPError \
         xmlns=\"urn:schemas-upnp-org:control-1-0\"><errorCode>{}</errorCode><errorDescription>{}\
         </errorDescription></UPnPError></detail></s:Fault>",
        why as u16,
        why.name()
    ))
}

fn envelope(body: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\r\n<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" \
         s:encodingStyle=\"http://schemas.xmlsoap.org/soap/encoding/\"><s:Body>{body}</s:Body></s:Envelope>"
    )
}

/// A response by HTTP.
pub(super) fn response(status: &str, body: &str) -> Vec<u8> {
    let kind = "Content-Type: text/xml; charset=\"utf-8\"\r\nConnection: close\r\nExt:\r\n";
    format!(
        "HTTP/1.1 {status}\r\n{kind}Server: {}\r\nContent-Length: {}\r\n\r\n{body}",
        super::SERVER,
        body.len()
    )
    .into_bytes()
}
