//! Tables of visible functions, and calls of no function.
//!
//! A table is memory of entries of [`ENTRY_BYTES`] bytes ([`entry`]): the number that a function has in its
//! pipeline, from 1, and the number of the table's entries. An entry without a function has the number 0.
//!
//! A call of a number that no function has is an access out of bounds of a variable without bytes, whose name
//! ([`invalid_call`]) says so, at the number as its byte offset: whoever reports the access knows by the name
//! ([`invalid_call_type`]) what it was.

/// The bytes of a table's entry.
pub const ENTRY_BYTES: u64 = 8;

const PREFIX: &str = "(function) ";

/// An entry of a table with `count` entries; 0 is no function.
pub const fn entry(number: u32, count: u32) -> u64 {
    (count as u64) << 32 | number as u64
}

/// The name of the variable that a call of no function accesses; the function's type is in MSL.
pub fn invalid_call(function_type: &str) -> String {
    format!("{PREFIX}{function_type}")
}

/// The type of the function that was to be called, if an access to a variable of that name is such a call.
/// What follows the last dot of a name tells variables of one name apart.
pub fn invalid_call_type(variable: &str) -> Option<&str> {
    let rest = variable.strip_prefix(PREFIX)?;
    Some(rest.rsplit_once('.').map_or(rest, |(ty, _)| ty))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_and_names_are_read_as_they_are_written() {
        assert_eq!(entry(3, 7), 0x7_0000_0003);
        assert_eq!(invalid_call_type(&invalid_call("float (float)")), Some("float (float)"));
        assert_eq!(invalid_call_type(&format!("{}.12", invalid_call("int ()"))), Some("int ()"));
        assert_eq!(invalid_call_type("table.0"), None);
    }
}
