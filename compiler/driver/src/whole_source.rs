//! Checks whole sources without making code.

use anymetal_msl::Diagnostics;

use crate::big_stack;
use crate::compiler::Compiler;
use crate::error::CompileError;
use crate::includes::FileIncludes;
use crate::source::Source;

impl Compiler {
    /// Reports everything that is wrong with a source, in all its functions, whether a kernel calls them or not.
    /// No code is made and nothing is cached.
    ///
    /// # Errors
    ///
    /// A bug of the front end, or a thread that the system does not start. What is wrong with the source is not
    /// an error of this function. The front end runs in this process: where [`Compiler::is_isolated`], the
    /// caller decides whether that is acceptable.
    pub fn check_source(&self, source: &Source) -> Result<Diagnostics, CompileError> {
        let options = source.options.of_front_end();
        big_stack::run("front end", || {
            let mut includes = FileIncludes::new(source);
            Ok(anymetal_msl::check_source(&source.name, &source.bytes, &options, &mut includes))
        })
    }
}
