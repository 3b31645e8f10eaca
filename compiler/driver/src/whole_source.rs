//! Checks whole sources without making code.

use anymetal_msl::Diagnostics;

use crate::big_stack;
use crate::compiler::Compiler;
use crate::error::CompileError;
use crate::includes::FileIncludes;
use crate::source::Source;

impl Compiler {
    /// Reports all errors and warnings of a source, in all functions, whether a kernel calls them or not.
    /// Makes no code and caches nothing.
    ///
    /// # Errors
    ///
    /// A bug of the front end, or a thread that the system does not start. Errors in the source are results.
    /// The front end runs in this process, also where [`Compiler::is_isolated`] returns true; the caller
    /// decides whether that is acceptable.
    pub fn check_source(&self, source: &Source) -> Result<Diagnostics, CompileError> {
        let options = source.options.of_front_end();
        big_stack::run("front end", || {
            let mut includes = FileIncludes::new(source);
            Ok(anymetal_msl::check_source(&source.name, &source.bytes, &options, &mut includes))
        })
    }
}
