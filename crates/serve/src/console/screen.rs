//! Screen of the console: long texts a page at a time, monitors in one place.
//!
//! ```text
//! Text  ─► lines ─► a page is full? ─► -- [Q quit|D dump|down]      (prints only)
//! Frame ─► up over the last frame, erase, draw, cut at the edges ─► -- [Q quit|D dump|C-z pause]
//! ```
//!
//! Without a terminal there are no pages and no hints, and frames stand one below the other. Keys
//! come from whoever runs the command; nothing is read here.

use std::io::{self, Write};

/// The last line under a monitor.
const MONITOR: &str = "-- [Q quit|D dump|C-z pause]";
/// While it is held.
const PAUSED: &str = "-- [Q quit|D dump|C-z continue]";
/// The last line of a full page.
const MORE: &str = "-- [Q quit|D dump|down]";

/// Where a command's output goes.
pub(super) struct Screen<W> {
    out: W,
    is_terminal: bool,
    columns: usize,
    rows: usize,
    /// Whether to stop at full pages.
    pages: bool,
    /// Lines since the last stop.
    lines: usize,
    /// Text that waits for the next page.
    rest: String,
    /// Rows of the frame on the screen, its hint included; 0 if there is none.
    drawn: usize,
    is_paused: bool,
    /// What came while paused.
    held: Option<String>,
    /// Whether anything was printed.
    has_printed: bool,
    /// Whether the cursor stands at the beginning of a line.
    at_line_start: bool,
}

impl<W: Write> Screen<W> {
    /// A screen of this size; `None` where there is no terminal.
    pub(super) fn new(out: W, size: Option<(usize, usize)>, pages: bool) -> Screen<W> {
        let (columns, rows) = size.unwrap_or((80, 24));
        Screen {
            out,
            is_terminal: size.is_some(),
            columns: columns.max(1),
            rows: rows.max(4),
            pages: pages && size.is_some(),
            lines: 0,
            rest: String::new(),
            drawn: 0,
            is_paused: false,
            held: None,
            has_printed: false,
            at_line_start: true,
        }
    }

    /// Whether anything was printed.
    pub(super) fn has_printed(&self) -> bool {
        self.has_printed
    }

    /// Whether a page is full and more waits for a key.
    pub(super) fn is_waiting(&self) -> bool {
        !self.rest.is_empty()
    }

    /// Text below what is there.
    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        if self.is_waiting() {
            self.rest.push_str(text);
            return Ok(());
        }
        self.keep_frame()?;
        self.print(text)
    }

    /// A frame in the place of the last.
    pub(super) fn frame(&mut self, frame: &str) -> io::Result<()> {
        if self.is_waiting() {
            self.rest.push_str(frame);
            return Ok(());
        }
        if !self.is_terminal {
            return self.print(frame);
        }
        if self.is_paused {
            self.held = Some(frame.to_string());
            return Ok(());
        }
        self.draw(frame)
    }

    /// Prints as many lines as fit, or a single one, or all; the rest waits.
    pub(super) fn more(&mut self, n_lines: Option<usize>) -> io::Result<()> {
        self.erase_line()?;
        match n_lines {
            Some(n) => self.lines = (self.rows - 1).saturating_sub(n),
            None => self.pages = false,
        }
        let rest = std::mem::take(&mut self.rest);
        self.print(&rest)
    }

    /// Lines of a page.
    pub(super) fn page(&self) -> usize {
        self.rows - 1
    }

    /// Forgets what waits.
    pub(super) fn quit(&mut self) -> io::Result<()> {
        if self.is_waiting() {
            self.rest.clear();
            self.erase_line()?;
        }
        Ok(())
    }

    /// Leaves the frame where it is; the next stands below it.
    pub(super) fn dump(&mut self) -> io::Result<()> {
        if let Some(frame) = self.held.take() {
            self.draw(&frame)?;
        }
        let had_frame = self.drawn > 0;
        self.keep_frame()?;
        if had_frame { self.hint() } else { Ok(()) }
    }

    /// Holds the monitor, or lets it go on.
    pub(super) fn pause(&mut self) -> io::Result<()> {
        if self.drawn == 0 {
            return Ok(());
        }
        self.is_paused = !self.is_paused;
        if let Some(frame) = self.held.take() {
            return self.draw(&frame);
        }
        self.erase_line()?;
        write!(self.out, "{}", if self.is_paused { PAUSED } else { MONITOR })?;
        self.out.flush()
    }

    /// The command has ended: no hint is left, and the cursor stands on a line of its own.
    pub(super) fn end(&mut self) -> io::Result<()> {
        if let Some(frame) = self.held.take() {
            self.is_paused = false;
            self.draw(&frame)?;
        }
        self.keep_frame()?;
        if !self.at_line_start {
            self.out.write_all(b"\n")?;
            self.at_line_start = true;
        }
        self.out.flush()
    }

    fn print(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        while !rest.is_empty() {
            let line = rest.split_inclusive('\n').next().unwrap_or(rest);
            let rows = self.rows_of(line);
            if self.pages && self.lines > 0 && self.lines + rows >= self.rows {
                self.rest = rest.to_string();
                write!(self.out, "{MORE}")?;
                return self.out.flush();
            }
            self.out.write_all(line.as_bytes())?;
            self.lines += rows;
            self.has_printed = true;
            self.at_line_start = line.ends_with('\n');
            rest = &rest[line.len()..];
        }
        self.out.flush()
    }

    fn draw(&mut self, frame: &str) -> io::Result<()> {
        self.erase_frame()?;
        // What goes beyond the screen could not be drawn over: lines are cut at both edges.
        let lines = frame.lines().take(self.rows - 2);
        let mut rows = 0;
        for line in lines {
            let line = line.char_indices().nth(self.columns).map_or(line, |(end, _)| &line[..end]);
            writeln!(self.out, "{line}")?;
            rows += 1;
        }
        self.has_printed = true;
        self.drawn = rows;
        self.hint()
    }

    fn hint(&mut self) -> io::Result<()> {
        // The hint stands on a row of its own, without a line break.
        self.drawn += 1;
        self.at_line_start = false;
        write!(self.out, "{}", if self.is_paused { PAUSED } else { MONITOR })?;
        self.out.flush()
    }

    fn erase_frame(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.drawn) {
            0 => {}
            1 => self.out.write_all(b"\r\x1b[J")?,
            rows => write!(self.out, "\r\x1b[{}A\x1b[J", rows - 1)?,
        }
        self.at_line_start = true;
        Ok(())
    }

    /// Leaves what is drawn and takes the hint away.
    fn keep_frame(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.drawn) > 0 {
            self.erase_line()?;
            self.at_line_start = true;
        }
        Ok(())
    }

    fn erase_line(&mut self) -> io::Result<()> {
        self.out.write_all(b"\r\x1b[K")
    }

    /// Rows a line takes.
    fn rows_of(&self, line: &str) -> usize {
        line.trim_end_matches('\n').chars().count().div_ceil(self.columns).max(1)
    }
}

/// Whether what a line prints is shown a page at a time: `print`, however shortened, unless it is
/// told not to, or goes on by itself.
pub(super) fn is_paged(line: &str) -> bool {
    let statement = line.trim().trim_end_matches(';').rsplit([';', '\n']).next().unwrap_or("");
    let mut words = statement.split([' ', '/', '\t']);
    let is_print = |word: &str| !word.is_empty() && "print".starts_with(word);
    words.any(is_print)
        && !words.any(|word| {
            ["without-paging", "follow", "follow-only"].contains(&word)
                || word.starts_with("interval=")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(size: Option<(usize, usize)>) -> Screen<Vec<u8>> {
        Screen::new(Vec::new(), size, true)
    }

    fn seen(screen: &Screen<Vec<u8>>) -> String {
        String::from_utf8_lossy(&screen.out).replace('\x1b', "^")
    }

    #[test]
    fn pages() {
        let mut screen = screen(Some((10, 4)));
        screen.text("1\n2\n3\n4\n12345678901\n6\n").unwrap();
        assert_eq!(seen(&screen), "1\n2\n3\n-- [Q quit|D dump|down]");
        screen.more(Some(1)).unwrap();
        assert_eq!(
            seen(&screen),
            "1\n2\n3\n-- [Q quit|D dump|down]\r^[K4\n-- [Q quit|D dump|down]"
        );
        screen.text("7\n").unwrap();
        screen.more(Some(screen.page())).unwrap();
        assert!(seen(&screen).ends_with("\r^[K12345678901\n6\n-- [Q quit|D dump|down]"));
        screen.more(None).unwrap();
        screen.end().unwrap();
        assert!(seen(&screen).ends_with("\r^[K7\n") && !screen.is_waiting());
    }

    #[test]
    fn monitors() {
        let mut screen = screen(Some((10, 6)));
        screen.frame("a\nb\n").unwrap();
        assert_eq!(seen(&screen), format!("a\nb\n{MONITOR}"));
        screen.frame("123456789äbc\n").unwrap();
        assert!(seen(&screen).ends_with(&format!("\r^[2A^[J123456789ä\n{MONITOR}")));
        screen.pause().unwrap();
        screen.frame("c\n").unwrap();
        assert!(seen(&screen).ends_with(&format!("\r^[K{PAUSED}")));
        screen.pause().unwrap();
        assert!(seen(&screen).ends_with(&format!("\r^[1A^[Jc\n{MONITOR}")));
        screen.dump().unwrap();
        screen.frame("d\n").unwrap();
        assert!(seen(&screen).ends_with(&format!("{MONITOR}\r^[K{MONITOR}\r^[Jd\n{MONITOR}")));
        screen.end().unwrap();
        assert!(seen(&screen).ends_with(&format!("d\n{MONITOR}\r^[K")));
    }

    #[test]
    fn in_a_pipe() {
        let mut screen = screen(None);
        screen.text(&"x\n".repeat(100)).unwrap();
        screen.frame("a\n").unwrap();
        screen.frame("b\n").unwrap();
        screen.text("no end").unwrap();
        screen.end().unwrap();
        assert_eq!(seen(&screen), "x\n".repeat(100) + "a\nb\nno end\n");
    }

    #[test]
    fn which_lines() {
        for (line, expected) in [
            ("/ip address print", true),
            ("/ip address/pr detail", true),
            ("print", true),
            ("p", true),
            ("print without-paging", false),
            ("print interval=1", false),
            ("print follow where chain=a", false),
            ("export", false),
            ("/ping 1.1.1.1", false),
            ("print; export", false),
            ("", false),
        ] {
            assert_eq!(is_paged(line), expected, "{line}");
        }
    }
}
