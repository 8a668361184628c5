//! Names of the kernel's routing tables, as `ip route … table NAME` knows them.
//!
//! ```text
//! routing-mark=wan2, 100 ─► number, or a line of rt_tables ─► table 100
//! ```

use std::fs;
use std::path::{Path, PathBuf};

/// Where iproute2 looks, the machine's own first.
const PLACES: [&str; 3] =
    ["/etc/iproute2/rt_tables", "/usr/share/iproute2/rt_tables", "/usr/lib/iproute2/rt_tables"];

/// The kernel's tables that have these names: their numbers, or what iproute2 calls them. Those that the
/// kernel itself asks always (main, local) are none of them.
pub(super) fn numbered<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<(u32, String)> {
    let known: Vec<(u32, String)> = files().iter().flat_map(|text| lines(text)).collect();
    let number = |name: &str| {
        let said = known.iter().find(|(_, known)| known == name).map(|(number, _)| *number);
        let number = name.parse().ok().or(said)?;
        (!(253..=255).contains(&number) && number != 0).then_some((number, name.to_string()))
    };
    names.into_iter().filter_map(number).collect()
}

fn files() -> Vec<String> {
    let beside = |place: &&str| -> Vec<PathBuf> {
        let entries = fs::read_dir(format!("{place}.d")).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        paths.filter(|path| path.extension().is_some_and(|end| end == "conf")).collect()
    };
    let files = PLACES
        .iter()
        .flat_map(|place| std::iter::once(Path::new(place).to_path_buf()).chain(beside(place)));
    files.filter_map(|path| fs::read_to_string(path).ok()).collect()
}

/// `NUMBER NAME`, the number in decimal or as 0x…; what follows # is a remark.
fn lines(text: &str) -> impl Iterator<Item = (u32, String)> {
    text.lines().filter_map(|line| {
        let mut words = line.split('#').next()?.split_whitespace();
        let (number, name) = (words.next()?, words.next()?);
        let number = match number.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        };
        Some((number, name.to_string()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_numbers_and_names() {
        let text =
            "# reserved\n255\tlocal\n 0x64 wan2 # the other one\n7\n-1 x\nseven seven\n1000 far\n";
        let read: Vec<_> = lines(text).collect();
        let expected = [(255, "local"), (100, "wan2"), (1000, "far")];
        assert_eq!(read, expected.map(|(number, name)| (number, name.to_string())));
        let named = numbered(["100", "254", "255", "0", "nobody-calls-one-so", "4294967295"]);
        let expected = [(100, "100"), (u32::MAX, "4294967295")];
        assert_eq!(named, expected.map(|(number, name)| (number, name.to_string())));
    }
}
