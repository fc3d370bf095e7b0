//! A comparison as a table for scripts.

use crate::error::{Error, Result};

use super::Comparison;

impl Comparison {
    /// Every number of every report: a line each, with its change, empty for the first report's and infinite where there was
    /// nothing to change.
    ///
    /// # Errors
    /// None that is known.
    pub fn csv(&self) -> Result<Vec<u8>> {
        let failed = |why: csv::Error| Error::internal(format!("a table in memory: {why}"));
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(["table", "name", "report", "value", "change"]).map_err(failed)?;
        for table in &self.tables {
            for row in &table.rows {
                for (report, (name, value)) in self.names.iter().zip(&row.values).enumerate() {
                    let value = value.map(|value| value.to_string()).unwrap_or_default();
                    let change = (report > 0).then(|| row.change(report).share().to_string());
                    let cells =
                        [&table.title, &row.name, name, &value, &change.unwrap_or_default()];
                    csv.write_record(cells).map_err(failed)?;
                }
            }
        }
        csv.into_inner().map_err(|why| Error::internal(format!("a table in memory: {why}")))
    }
}

#[cfg(test)]
mod tests {
    use crate::report::compare::Comparison;
    use crate::report::compare::tests::{base, changed};

    #[test]
    fn the_table_has_every_number_of_every_report() {
        let csv = Comparison::new(&[base(), changed()], false).csv().unwrap();
        let text = String::from_utf8(csv).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "table,name,report,value,change");
        assert_eq!(lines[1], "Totals,core cycles,base,177174,");
        assert_eq!(lines[2], "Totals,core cycles,changed,134028,-0.24352331606217617");
    }
}
