//! The numbers by which a namespace knows others.

use super::message::{Message, attribute, u32_at};
use super::socket::Netlink;
use port::linux::Unavailable;
use std::fs::File;
use std::os::fd::AsRawFd;

// linux/rtnetlink.h, linux/net_namespace.h.
const GET: u16 = 90;
const NUMBER: u16 = 1;
const DESCRIPTOR: u16 = 3;

impl Netlink {
    /// The number by which the socket's namespace knows another, which is this file; `None` if it has
    /// never heard of it.
    ///
    /// # Errors
    /// [`Unavailable`]: what the kernel says, if the file is no namespace.
    pub fn number_of(&mut self, namespace: &File) -> Result<Option<i32>, Unavailable> {
        // `struct rtgenmsg`, filled up to four bytes.
        let message = Message::new(GET, 0, &[0; 4]);
        let message = message.with_u32(DESCRIPTOR, namespace.as_raw_fd() as u32);
        let mut number = None;
        let tried = || "ask for a namespace's number".to_string();
        self.get(tried, message, &mut |answer| {
            let attributes = answer.body.get(4..).unwrap_or_default();
            let value = attribute(attributes, NUMBER).and_then(|value| u32_at(value, 0));
            // -1: it has none.
            number = value.map(|number| number as i32).filter(|number| *number >= 0);
        })?;
        Ok(number)
    }
}
