//! Owners of a TAP interface: who may have it without being an administrator.
//!
//! ```text
//!  ip tuntap add dev tow mode tap user 1234 ─► owner 1234 ─┬─ is it this user? ─► no right is needed
//!  (group 5)                                   (group 5)   └─ no ─► CAP_NET_ADMIN, or another owner
//! ```
//!
//! One that is yet to be made takes CAP_NET_ADMIN.
//!
//! Source: `tun_not_capable` in `drivers/net/tun.c`.

use super::netlink::Tun;
use std::fs;

/// Who this process is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// Its effective user.
    pub uid: u32,
    /// Its effective group, and the others it is in.
    pub groups: Vec<u32>,
}

impl User {
    /// This process's.
    pub fn ours() -> User {
        User::read(&fs::read_to_string("/proc/self/status").unwrap_or_default())
    }

    /// As `/proc/PID/status` says it.
    fn read(status: &str) -> User {
        let numbers = |name: &str| -> Vec<u32> {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
        };
        // Real, effective, saved, of the file system.
        let effective = |name| numbers(name).get(1).copied();
        let mut groups = numbers("Groups:");
        groups.extend(effective("Gid:"));
        User { uid: effective("Uid:").unwrap_or(u32::MAX), groups }
    }

    /// Whether this user may have a TAP interface that is there, an administrator or not.
    pub fn may_have(&self, tun: &Tun) -> bool {
        tun.owner.is_none_or(|owner| owner == self.uid)
            && tun.group.is_none_or(|group| self.groups.contains(&group))
    }

    /// What lets this user have a TAP interface, which is so if it is there.
    pub fn remedy(&self, name: &str, tun: Option<&Tun>) -> String {
        let add = format!("ip tuntap add dev {name} mode tap user {}", self.uid);
        match tun {
            None => format!("have root make it for this user: `{add}`"),
            Some(tun) => format!(
                "{name} is {}: run it as that, or have root make it anew for this user: \
                 `ip tuntap del dev {name} mode tap && {add}`",
                whose(tun)
            ),
        }
    }
}

/// `user 1234's`, `group 5's`, or both.
fn whose(tun: &Tun) -> String {
    let user = tun.owner.map(|owner| format!("user {owner}'s"));
    let group = tun.group.map(|group| format!("group {group}'s"));
    let all: Vec<_> = user.into_iter().chain(group).collect();
    all.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_have_it_is_what_the_kernel_says() {
        let status = "Name:\tx\nUid:\t0\t1234\t0\t0\nGid:\t0\t7\t0\t0\nGroups:\t5 6 \n";
        let user = User::read(status);
        assert_eq!(user, User { uid: 1234, groups: vec![5, 6, 7] });
        for (owner, group, may) in [
            (None, None, true),
            (Some(1234), None, true),
            (Some(0), None, false),
            (None, Some(6), true),
            (None, Some(7), true),
            (None, Some(0), false),
            (Some(1234), Some(0), false),
            (Some(0), Some(5), false),
            (Some(1234), Some(5), true),
        ] {
            let tun = Tun { owner, group, ..Tun::default() };
            assert_eq!(user.may_have(&tun), may, "{tun:?}");
        }
        let tun = Tun { owner: Some(0), group: Some(5), ..Tun::default() };
        let remedy = user.remedy("tow", Some(&tun));
        assert!(remedy.starts_with("tow is user 0's and group 5's: run it as that"), "{remedy}");
        assert!(remedy.ends_with("&& ip tuntap add dev tow mode tap user 1234`"), "{remedy}");
    }
}
