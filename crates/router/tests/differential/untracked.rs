//! Configurations without connection tracking, where first packets go by their class.

/// If it `is_untracked`: of the lines typed those that leave that way open, and the one that ends tracking.
pub(super) fn lines(is_untracked: bool, typed: Vec<String>) -> Vec<String> {
    if !is_untracked {
        return typed;
    }
    const CLOSE: [&str; 5] =
        ["/queue ", "firewall nat", "route rule", "tracking set enabled", "change-tcp-mss"];
    let leaves_open = |line: &String| !CLOSE.iter().any(|close| line.contains(close));
    let off = "/ip firewall connection tracking set enabled=no".to_string();
    typed.into_iter().filter(leaves_open).chain([off]).collect()
}
