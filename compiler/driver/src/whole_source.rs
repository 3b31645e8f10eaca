//! Checks whole sources without making code.

use anymetal_msl::Diagnostics;

use crate::big_stack;
use crate::compiler::Compiler;
use crate::error::CompileError;
use crate::includes::FileIncludes;
use crate::isolated;
use crate::source::Source;

impl Compiler {
    /// Reports all errors and warnings of a source, in all functions, whether a kernel calls them or not.
    /// Makes no code and caches nothing.
    ///
    /// # Errors
    ///
    /// A bug of the front end, a thread that the system does not start, or a worker that fails where compiles
    /// are isolated. Errors in the source are results.
    pub fn check_source(&self, source: &Source) -> Result<Diagnostics, CompileError> {
        if let Some(pool) = self.isolation()? {
            return isolated::check_source(pool, source);
        }
        let options = source.options.of_front_end();
        big_stack::run("front end", || {
            let mut includes = FileIncludes::new(source);
            Ok(anymetal_msl::check_source(&source.name, &source.bytes, &options, &mut includes))
        })
    }
}
