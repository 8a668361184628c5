//! The page where clients of a hotspot log in, see what they have had, and log out.
//!
//! ```text
//! GET anything          ─► 302 /login?dst=…        GET /login ─► the page
//! /login?username=&password=&dst=  (GET or POST)  ─► 302 to dst, or the page with why not
//! GET /status, /logout
//! ```

use super::{Cookie, admit, bytes, leave};
use crate::ip::http;
use crate::ip::tcp::Ends;
use crate::router::Router;
use std::net::Ipv4Addr;
use wire::Moment;
use wire::upnp::{Request, escaped};

/// What is asked by HTTP, and answered.
pub(super) const SERVICE: http::Service = (|r| &mut r.services.hotspot.talks, answer);

/// Something has become of a TCP connection.
pub(crate) fn heard(r: &mut Router, now: Moment, ends: Ends) {
    http::heard(r, now, ends, SERVICE);
}

fn answer(r: &mut Router, now: Moment, ends: Ends, request: Option<&Request<'_>>) -> Vec<u8> {
    let client = ends.1.address;
    let Some(request) = request else { return page("400 Bad Request", "", "Bad request.") };
    let Some(own) = own(r, client) else { return page("403 Forbidden", "", "No hotspot here.") };
    let (path, query) = request.path.split_once('?').unwrap_or((request.path, ""));
    let body = std::str::from_utf8(request.body).unwrap_or_default();
    let get = |name: &str| value(query, name).or_else(|| value(body, name));
    let is_in = |r: &Router| {
        r.services.hotspot.clients.get(&client).is_some_and(|client| client.active.is_some())
    };
    let dst = get("dst").unwrap_or_default();
    let trial = r
        .services
        .hotspot
        .clients
        .get(&client)
        .and_then(|client| r.program.hotspot.on(client.interface)?.trial_of(client.mac));
    match path {
        "/login" => {
            if let Some(name) = get("username") {
                let password = get("password").unwrap_or_default();
                let by_page = r.services.hotspot.clients.get(&client).is_some_and(|client| {
                    r.program.hotspot.on(client.interface).is_some_and(|server| server.by_page)
                });
                let said = match by_page {
                    _ if trial.as_ref() == Some(&name) => admit(r, now, client, &name, "", "trial"),
                    true => admit(r, now, client, &name, &password, "http-pap"),
                    false => Err("names and passwords are not asked for here"),
                };
                return match said {
                    Ok(()) => {
                        let cookie = bake(r, now, client, &name);
                        redirect(&target(own, &dst), &cookie)
                    }
                    Err(why) => form(why, &dst, trial),
                };
            }
            if !is_in(r) && by_cookie(r, now, client, request) {
                return redirect(&target(own, &dst), "");
            }
            if is_in(r) { redirect(&at(own, "/status"), "") } else { form("", &dst, trial) }
        }
        "/logout" => {
            leave(r, now, client, "user request");
            r.services.hotspot.cookies.retain(|_, cookie| {
                r.services.hotspot.clients.get(&client).is_none_or(|c| c.mac != cookie.mac)
            });
            page("200 OK", "", "You have logged out.")
        }
        "/status" if is_in(r) => status(r, now, client),
        _ if is_in(r) => redirect(&at(own, "/status"), ""),
        _ => {
            let host = request.header("host").unwrap_or_default();
            let was = format!("http://{host}{}", request.path);
            redirect(&format!("{}?dst={}", at(own, "/login"), quoted(&was)), "")
        }
    }
}

/// The page's address for a client.
fn own(r: &Router, client: u32) -> Option<u32> {
    let client = r.services.hotspot.clients.get(&client)?;
    r.program.hotspot.on(client.interface)?.address
}

fn at(own: u32, path: &str) -> String {
    format!("http://{}{path}", Ipv4Addr::from(own))
}

/// Where a client goes who has logged in: where it wanted to, unless that is no page of somebody's.
fn target(own: u32, dst: &str) -> String {
    let is_line = dst.bytes().all(|byte| byte.is_ascii_graphic());
    let is_page = dst.starts_with("http://") || dst.starts_with("https://");
    if is_line && is_page { dst.to_string() } else { at(own, "/status") }
}

/// Whether a client's browser has kept what lets it in.
fn by_cookie(r: &mut Router, now: Moment, client: u32, request: &Request<'_>) -> bool {
    let Some(own) = r.services.hotspot.clients.get(&client) else { return false };
    let kept = request.header("cookie").unwrap_or_default();
    let token = kept.split(';').find_map(|pair| pair.trim().strip_prefix("hotspot="));
    let known = token.and_then(|token| r.services.hotspot.cookies.get(token));
    let known = known.filter(|known| known.mac == own.mac && known.until > now);
    let Some(user) = known.map(|known| known.user.clone()) else { return false };
    let password = r.program.hotspot.users.get(&user).map(|user| user.password.clone());
    password.is_some_and(|password| admit(r, now, client, &user, &password, "cookie").is_ok())
}

/// What lets a client in the next time: a header's line, or nothing.
fn bake(r: &mut Router, now: Moment, client: u32, user: &str) -> String {
    let Some(own) = r.services.hotspot.clients.get(&client) else { return String::new() };
    let (mac, server) = (own.mac, r.program.hotspot.on(own.interface));
    let Some(life) = server.and_then(|server| server.by_cookie) else { return String::new() };
    let token: String = (0..2).map(|_| format!("{:016x}", r.services.dice.throw())).collect();
    let cookie = Cookie { user: user.to_string(), mac, until: now + life };
    let cookies = &mut r.services.hotspot.cookies;
    if cookies.len() >= super::MOST {
        cookies.clear();
    }
    cookies.insert(token.clone(), cookie);
    format!("Set-Cookie: hotspot={token}; Path=/; Max-Age={}; HttpOnly\r\n", life.as_secs())
}

fn status(r: &mut Router, now: Moment, client: u32) -> Vec<u8> {
    r.learnt.recipes.fold(&mut r.stats.counters);
    let Some(own) = r.services.hotspot.clients.get(&client) else { return form("", "", None) };
    let Some(active) = &own.active else { return form("", "", None) };
    let [inward, outward] = bytes(r, own.number);
    let words = format!(
        "Welcome, {}.<br>Address: {}<br>Up / down: {} / {} bytes<br>Connected: {} s<br>\
         <a href=\"/logout\">log out</a>",
        escaped(&active.user),
        Ipv4Addr::from(client),
        inward,
        outward,
        now.since(active.since).as_secs()
    );
    page("200 OK", "", &words)
}

fn form(why: &str, dst: &str, trial: Option<String>) -> Vec<u8> {
    let trial = trial.map_or(String::new(), |name| {
        let (name, dst) = (quoted(&name), quoted(dst));
        format!("<p><a href=\"/login?username={name}&amp;dst={dst}\">free trial</a></p>")
    });
    let words = format!(
        "{}<form action=\"/login\" method=\"post\"><input type=\"hidden\" name=\"dst\" value=\"{}\">\
         <p><input name=\"username\" placeholder=\"login\" autofocus></p>\
         <p><input name=\"password\" type=\"password\" placeholder=\"password\"></p>\
         <p><input type=\"submit\" value=\"Connect\"></p></form>{trial}",
        if why.is_empty() { String::new() } else { format!("<p><b>{}</b></p>", escaped(why)) },
        escaped(dst)
    );
    page("200 OK", "", &words)
}

fn redirect(to: &str, cookie: &str) -> Vec<u8> {
    page("302 Found", &format!("Location: {to}\r\n{cookie}"), "")
}

fn page(status: &str, lines: &str, words: &str) -> Vec<u8> {
    let body = format!(
        "<!DOCTYPE html><html><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>Hotspot</title></head><body>{words}</body></html>\n"
    );
    let kind = "Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\n";
    let len = body.len();
    let head = format!("{kind}{lines}Connection: close\r\nContent-Length: {len}\r\n");
    format!("HTTP/1.1 {status}\r\n{head}\r\n{body}").into_bytes()
}

/// A field of a form, `a=b&c=d`.
fn value(form: &str, name: &str) -> Option<String> {
    let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.into_iter().find(|(own, _)| *own == name)?;
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let hex = std::str::from_utf8(&digits).ok()?;
                u8::from_str_radix(hex, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// As a field's value.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/:".contains(&byte);
    let byte = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read() {
        for (form, name, expected) in [
            ("a=b&c=d", "c", Some("d")),
            ("a=b+c%20d%26", "a", Some("b c d&")),
            ("a=%c3%a4", "a", Some("ä")),
            ("a=%4", "a", None),
            ("a=%ff", "a", None),
            ("ab=1", "a", None),
            ("", "a", None),
        ] {
            assert_eq!(value(form, name).as_deref(), expected, "{form}");
        }
        assert_eq!(
            value(&format!("x={}", quoted("http://a/b?c=d&e")), "x").unwrap(),
            "http://a/b?c=d&e"
        );
    }

    #[test]
    fn nobody_is_sent_astray() {
        for (dst, expected) in [
            ("http://a.example/x?y", "http://a.example/x?y"),
            ("javascript:alert(1)", "http://10.0.0.1/status"),
            ("http://a\r\nSet-Cookie: x", "http://10.0.0.1/status"),
            ("", "http://10.0.0.1/status"),
        ] {
            assert_eq!(target(0x0a00_0001, dst), expected);
        }
    }
}
