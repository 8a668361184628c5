//! `/ip upnp`: hosts inside find the gateway, read what it is, and open ports; nobody else does.

use crate::rig::{Rig, mac, own_mac};
use crate::talker::{Line, Talker};
use router::discard::Discard;
use std::time::Duration;
use wire::TcpFlags;
use wire::craft::{self, Frame, ip};
use wire::layers;

const CONFIG: &str = "\
/ip address add address=10.0.0.1/24 interface=ether1
/ip address add address=192.0.2.1/24 interface=ether2
/ip firewall filter
add chain=forward connection-state=established,related
add chain=forward connection-nat-state=!dstnat connection-state=new in-interface=ether2 action=drop
/ip firewall nat add chain=srcnat action=masquerade out-interface=ether2
/ip upnp interfaces
add interface=ether1 type=internal
add interface=ether2 type=external
/ip upnp set enabled=yes
";

const ROUTER: u32 = ip(10, 0, 0, 1);
const OUTSIDE: u32 = ip(192, 0, 2, 1);
const HOST: u32 = ip(10, 0, 0, 5);
const OTHER: u32 = ip(10, 0, 0, 6);
const FAR: u32 = ip(192, 0, 2, 9);
const WAN: &str = "urn:schemas-upnp-org:service:WANIPConnection:1";

fn introduce(rig: &mut Rig) {
    rig.introduce(1, mac(5), HOST, ROUTER);
    rig.introduce(1, mac(6), OTHER, ROUTER);
    rig.introduce(2, mac(9), FAR, OUTSIDE);
}

fn rig(more: &str) -> Rig {
    let mut rig = Rig::new(2, &format!("{CONFIG}{more}"));
    introduce(&mut rig);
    rig
}

/// What a host is answered by HTTP: status, and body; `None` if nobody listens.
fn http(rig: Rig, host: u8, port: u16, request: &str) -> (Rig, Option<(String, String)>) {
    let line =
        Line { host, src: ip(10, 0, 0, host), dst: ROUTER, mac: own_mac(1), by: 1, to: 2828 };
    let mut talker = Talker::dial(rig, line, port);
    if !talker.is_open() {
        return (talker.rig, None);
    }
    let said = String::from_utf8(talker.say(request.as_bytes())).unwrap();
    assert!(talker.over, "{said}");
    let (head, body) = said.split_once("\r\n\r\n").expect("a response");
    let len = format!("Content-Length: {}\r\n", body.len());
    assert!(format!("{head}\r\n").contains(&len), "{head} {}", body.len());
    let status = head.lines().next().unwrap_or_default().to_string();
    (talker.rig, Some((status, body.to_string())))
}

struct House {
    rig: Option<Rig>,
    port: u16,
}

impl House {
    fn new(more: &str) -> House {
        House { rig: Some(rig(more)), port: 20_000 }
    }

    fn rig(&mut self) -> &mut Rig {
        self.rig.as_mut().unwrap()
    }

    fn http(&mut self, host: u8, request: &str) -> Option<(String, String)> {
        self.port += 1;
        let (rig, said) = http(self.rig.take().unwrap(), host, self.port, request);
        self.rig = Some(rig);
        said
    }

    fn get(&mut self, path: &str) -> (String, String) {
        let request = format!("GET {path} HTTP/1.1\r\nHost: 10.0.0.1:2828\r\n\r\n");
        self.http(5, &request).expect("a listener")
    }

    /// Calls an action; what its answer says, or the error's number.
    fn call(&mut self, host: u8, action: &str, arguments: &[(&str, &str)]) -> Result<String, u16> {
        let arguments = arguments.iter().map(|(name, value)| format!("<{name}>{value}</{name}>"));
        let body = format!(
            "<?xml version=\"1.0\"?><s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\">\
             <s:Body><u:{action} xmlns:u=\"{WAN}\">{}</u:{action}></s:Body></s:Envelope>",
            arguments.collect::<String>()
        );
        let request = format!(
            "POST /control/wanipc HTTP/1.1\r\nHost: 10.0.0.1:2828\r\nContent-Length: {}\r\n\
             SOAPAction: \"{WAN}#{action}\"\r\n\r\n{body}",
            body.len()
        );
        let (status, said) = self.http(host, &request).expect("a listener");
        match status.contains(" 200 ") {
            true => Ok(said),
            false => {
                assert!(status.contains(" 500 "), "{status}");
                let code = said.split("<errorCode>").nth(1).and_then(|rest| rest.get(..3));
                Err(code.and_then(|code| code.parse().ok()).expect("a number"))
            }
        }
    }

    fn add(&mut self, host: u8, changed: &[(&str, &str)]) -> Result<String, u16> {
        let client = format!("10.0.0.{host}");
        let mut arguments = vec![
            ("NewRemoteHost", ""),
            ("NewExternalPort", "8080"),
            ("NewProtocol", "TCP"),
            ("NewInternalPort", "80"),
            ("NewInternalClient", &client),
            ("NewEnabled", "1"),
            ("NewPortMappingDescription", "web &lt;1&gt;"),
            ("NewLeaseDuration", "0"),
        ];
        for (name, value) in changed {
            let at = arguments.iter_mut().find(|(other, _)| other == name);
            at.expect("an argument").1 = value;
        }
        self.call(host, "AddPortMapping", &arguments)
    }

    /// Where a segment from far away to a port outside ends.
    fn way(&mut self, src_port: u16, port: u16) -> Option<(u32, u16)> {
        let frame = craft::tcp(FAR, src_port, OUTSIDE, port, TcpFlags::SYN);
        let frame = Frame { src_mac: mac(9), dst_mac: own_mac(2), ..frame };
        let sent = self.rig().pass(2, &frame.build());
        let (out, frame) = sent.first()?;
        let tuple = layers::network(frame).unwrap().tuple;
        (*out == 1).then_some((tuple.dst, tuple.dst_port))
    }
}

/// What a search is answered, and from outside as well.
fn search(rig: &mut Rig, port: usize, src: u32, what: &str) -> Vec<String> {
    let text = format!(
        "M-SEARCH * HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\nMAN: \"ssdp:discover\"\r\nMX: 2\r\nST: {what}\r\n\r\n"
    );
    rig.take(port);
    let frame = Frame {
        src_mac: mac(if port == 1 { 5 } else { 9 }),
        dst_mac: wire::MacAddr([1, 0, 0x5e, 0x7f, 0xff, 0xfa]),
        payload: text.as_bytes(),
        ..craft::udp(src, 3000, ip(239, 255, 255, 250), 1900)
    };
    let sent = rig.pass(port, &frame.build());
    let said = sent.iter().filter(|(by, frame)| *by == port && frame[23] == 17);
    said.map(|(_, frame)| String::from_utf8_lossy(&frame[42..]).into_owned()).collect()
}

#[test]
fn it_is_found() {
    let mut rig = rig("");
    for (what, answers) in [
        ("urn:schemas-upnp-org:device:InternetGatewayDevice:1", 1),
        (WAN, 1),
        ("upnp:rootdevice", 1),
        ("ssdp:all", 9),
        ("urn:schemas-upnp-org:device:MediaServer:1", 0),
    ] {
        let said = search(&mut rig, 1, HOST, what);
        assert_eq!(said.len(), answers, "{what} {said:#?} {:?}", rig.router.discards());
        for text in said {
            assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
            assert!(text.contains("LOCATION: http://10.0.0.1:2828/gateway_description.xml\r\n"));
            assert!(what == "ssdp:all" || text.contains(&format!("ST: {what}\r\n")), "{text}");
        }
    }
    assert!(search(&mut rig, 2, FAR, "ssdp:all").is_empty(), "from outside");
    assert!(search(&mut rig, 1, ip(10, 9, 9, 9), "ssdp:all").is_empty(), "no neighbour");
    assert_eq!(rig.router.discards().get(Discard::BadUpnp), 1);
    // It tells of itself, and when it goes.
    rig.wait(Duration::from_secs(700));
    let told = |rig: &mut Rig, what: &str| {
        let frames = rig.take(1);
        let says = |frame: &&Vec<u8>| String::from_utf8_lossy(frame).contains(what);
        frames.iter().filter(says).count()
    };
    assert_eq!(told(&mut rig, "NTS: ssdp:alive"), 9);
    rig.run("/ip upnp set enabled=no");
    rig.wait(Duration::from_secs(1));
    assert_eq!(told(&mut rig, "NTS: ssdp:byebye"), 9);
    introduce(&mut rig);
    assert!(search(&mut rig, 1, HOST, "ssdp:all").is_empty());
    assert!(rig.router.frames().balance(), "{:?}", rig.router.discards());
}

#[test]
fn it_is_described() {
    let mut house = House::new("/system identity set name=\"a & b\"");
    let (status, text) = house.get("/gateway_description.xml");
    assert!(status.contains("200") && text.contains("<friendlyName>a &amp; b</friendlyName>"));
    // Each address that it names is there.
    for tag in ["<SCPDURL>", "<controlURL>"] {
        let paths = text.split(tag).skip(1).filter_map(|rest| rest.split('<').next());
        let paths: Vec<String> = paths.map(str::to_string).collect();
        assert_eq!(paths.len(), 2, "{text}");
        for path in paths {
            let (status, said) = house.get(&path);
            let wanted = if tag == "<SCPDURL>" { "200" } else { "405" };
            assert!(status.contains(wanted), "{path} {status} {said}");
        }
    }
    let (_, text) = house.get("/wanipc.xml");
    let (begins, ends) = (text.matches("<action>").count(), text.matches("</action>").count());
    assert_eq!((begins, ends), (8, 8));
    assert!(house.get("/other").0.contains("404"));
    assert!(house.http(5, "nonsense\r\n\r\n").unwrap().0.contains("400"));
    // From outside, and when it is off, nobody listens.
    house.rig().run("/ip upnp set enabled=no");
    assert_eq!(house.http(5, "GET / HTTP/1.1\r\n\r\n"), None);
}

#[test]
fn a_host_opens_a_port() {
    let mut house = House::new("");
    let outside = house.call(5, "GetExternalIPAddress", &[]).unwrap();
    assert!(outside.contains("<NewExternalIPAddress>192.0.2.1<"), "{outside}");
    assert!(house.call(5, "GetStatusInfo", &[]).unwrap().contains(">Connected<"));
    assert_eq!(house.way(1000, 8080), None);
    let dummy = house.call(5, "GetGenericPortMappingEntry", &[("NewPortMappingIndex", "0")]);
    assert!(dummy.unwrap().contains(">dummy<"));
    assert!(house.add(5, &[]).is_ok());
    assert_eq!(house.way(1001, 8080), Some((HOST, 80)));
    let place = [("NewRemoteHost", ""), ("NewExternalPort", "8080"), ("NewProtocol", "TCP")];
    let text = house.call(6, "GetSpecificPortMappingEntry", &place).unwrap();
    for part in ["NewInternalPort>80<", "NewInternalClient>10.0.0.5<", ">web &lt;1&gt;<"] {
        assert!(text.contains(part), "{part} {text}");
    }
    let index = |n| [("NewPortMappingIndex", n)];
    assert!(house.call(5, "GetGenericPortMappingEntry", &index("0")).unwrap().contains(">8080<"));
    assert_eq!(house.call(5, "GetGenericPortMappingEntry", &index("1")), Err(713));
    let print = house.rig().run("/ip firewall nat print");
    assert!(print.contains("upnp, web <1>") && print.contains("to-ports=80"), "{print}");
    assert!(!house.rig().run("/export").contains("8080"));
    // Another host cannot have it, nor give it back; its own can change it.
    assert_eq!(house.add(6, &[]), Err(718));
    assert_eq!(house.call(6, "DeletePortMapping", &place), Err(606));
    assert!(house.add(5, &[("NewInternalPort", "81"), ("NewLeaseDuration", "60")]).is_ok());
    assert_eq!(house.way(1002, 8080), Some((HOST, 81)));
    house.rig().wait(Duration::from_secs(61));
    introduce(house.rig());
    assert_eq!(house.way(1003, 8080), None, "its lease is over");
    assert!(house.add(5, &[]).is_ok());
    assert!(house.call(5, "DeletePortMapping", &place).is_ok());
    assert_eq!(house.call(5, "DeletePortMapping", &place), Err(714));
    assert_eq!(house.way(1004, 8080), None);
    let frames = house.rig().router.frames();
    assert!(frames.balance(), "{frames:?}");
}

#[test]
fn what_is_refused() {
    let mut house = House::new("/ip upnp set show-dummy-rule=no");
    for (changed, why) in [
        (("NewInternalClient", "10.0.0.6"), 606),
        (("NewInternalClient", "pc"), 402),
        (("NewInternalPort", "0"), 402),
        (("NewInternalPort", "65536"), 402),
        (("NewExternalPort", "0"), 716),
        (("NewExternalPort", "22"), 718),
        (("NewProtocol", "SCTP"), 402),
        (("NewRemoteHost", "192.0.2.9"), 726),
        (("NewLeaseDuration", "-1"), 402),
        (("NewEnabled", "0"), 402),
    ] {
        assert_eq!(house.add(5, &[changed]), Err(why), "{changed:?}");
    }
    assert_eq!(house.call(5, "ForceTermination", &[]), Err(401));
    assert_eq!(house.call(5, "DeletePortMapping", &[]), Err(402));
    let index = [("NewPortMappingIndex", "0")];
    assert_eq!(house.call(5, "GetGenericPortMappingEntry", &index), Err(713));
    house.rig().run("/ip upnp interfaces disable [find type=external]");
    assert_eq!(house.call(5, "GetExternalIPAddress", &[]), Err(501));
    assert_eq!(house.add(5, &[]), Err(501));
    for (line, why) in [
        ("/ip upnp set allow-disable-external-interface=yes", "hosts do not take interfaces down"),
        ("/ip upnp interfaces add interface=ether1", "type"),
    ] {
        let error = house.rig().try_run(line).unwrap_err().to_string();
        assert!(error.contains(why), "{line}: {error}");
    }
}
