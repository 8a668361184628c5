//! A CSV file by the names of its columns.

/// A file with a header.
pub(super) struct Table {
    names: Vec<String>,
    rows: Vec<Row>,
}

/// A line of it.
pub(super) struct Row {
    /// From 1, the header being the first.
    pub(super) line: u64,
    cells: Vec<String>,
}

impl Table {
    /// Reads it.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub(super) fn read(text: &str) -> Result<Table, String> {
        let mut reader =
            csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
        let names: Vec<String> = match reader.headers() {
            Ok(names) => names.iter().map(str::to_string).collect(),
            Err(error) => return Err(format!("not CSV: {error}")),
        };
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| format!("not CSV: {error}"))?;
            let line = record.position().map_or(0, csv::Position::line);
            rows.push(Row { line, cells: record.iter().map(str::to_string).collect() });
        }
        Ok(Table { names, rows })
    }

    /// The columns' names, for an error.
    pub(super) fn names(&self) -> String {
        self.names.join(", ")
    }

    pub(super) fn columns(&self) -> &[String] {
        &self.names
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|other| other == name)
    }

    /// The cell of a column; empty if there is no such column.
    pub(super) fn text<'a>(&self, row: &'a Row, name: &str) -> &'a str {
        let at = self.names.iter().position(|other| other == name);
        at.and_then(|at| row.cells.get(at)).map_or("", String::as_str)
    }

    /// The number in a cell: what follows it (`Mbps`, three dots) is left, and blanks between its
    /// digits do not matter.
    pub(super) fn number(&self, row: &Row, name: &str) -> Option<f64> {
        let text = self.text(row, name);
        let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | ' ' | '-');
        let end = text.find(|c| !digits(c)).unwrap_or(text.len());
        let digits: String = text[..end].trim_end_matches('.').split(' ').collect();
        digits.parse().ok()
    }
}
