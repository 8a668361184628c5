//! What the prompt says: who, where, and what is still open.

use super::colour::Colours;

/// `[admin@MikroTik] /ip address> `.
pub(super) fn main(user: &str, identity: &str, place: &str, colours: Colours) -> String {
    let place = match place {
        "/" => String::new(),
        place => colours.paint("dir", place),
    };
    format!("[{user}@{identity}] {place}> ")
}

/// `{... `, while brackets of a command are open.
pub(super) fn more(open: char) -> String {
    format!("{open}... ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_routeros() {
        let plain = Colours(false);
        assert_eq!(main("admin", "MikroTik", "/", plain), "[admin@MikroTik] > ");
        let place = main("admin", "dut", "/ip address", plain);
        assert_eq!(place, "[admin@dut] /ip address> ");
        assert_eq!(more('{'), "{... ");
    }
}
