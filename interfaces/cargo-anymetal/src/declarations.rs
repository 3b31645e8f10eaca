//! What `objc2-metal` declares: protocols and classes with their methods, read from its source.
//!
//! The source is generated, so its form is regular: each method has an attribute with its selector
//! before the function. Invariant: types come out as text that names what the crate exports, or
//! what stands for it in a message: any object is `*mut AnyObject`, any block a block, C's `BOOL`
//! is `Bool`.

/// A method as a message is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Method {
    /// The protocol or class that declares it.
    pub(crate) owner: String,
    pub(crate) selector: String,
    /// Whether it is sent to the class itself.
    pub(crate) of_class: bool,
    /// The types of its arguments.
    pub(crate) arguments: Vec<String>,
    /// The type of its result.
    pub(crate) result: String,
}

/// The methods that a file declares, in order.
pub(crate) fn methods(source: &str) -> Vec<Method> {
    let source = without_comments(source);
    let mut owner = String::new();
    let mut methods = Vec::new();
    let mut rest = source.as_str();
    while let Some((at, kind)) = next_mark(rest) {
        let after = &rest[at + kind.len()..];
        match kind {
            SELECTOR => {
                let (method, left) = method(&owner, after);
                methods.extend(method);
                rest = left;
            }
            // A type of the file, such as an enumeration's, owns no methods.
            _ => {
                owner = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                rest = after;
            }
        }
    }
    methods
}

const SELECTOR: &str = "#[unsafe(method(";
const PROTOCOL: &str = "pub unsafe trait ";
const CLASS: &str = "pub struct ";
const MORE_OF_CLASS: &str = "\nimpl ";

fn next_mark(text: &str) -> Option<(usize, &'static str)> {
    let found = [SELECTOR, PROTOCOL, CLASS, MORE_OF_CLASS].map(|mark| text.find(mark).map(|at| (at, mark)));
    found.into_iter().flatten().min()
}

fn without_comments(source: &str) -> String {
    let is_comment = |line: &&str| line.trim_start().starts_with("//");
    source.lines().filter(|line| !is_comment(line)).collect::<Vec<_>>().join("\n")
}

/// The method after its attribute's start, and what follows its signature.
fn method<'a>(owner: &str, text: &'a str) -> (Option<Method>, &'a str) {
    let Some((selector, after)) = text.split_once(")") else { return (None, "") };
    let Some((_, after)) = after.split_once("fn ") else { return (None, "") };
    let Some(start) = parameters_start(after) else { return (None, "") };
    let length = closing(&after[start..]);
    let parameters = &after[start + 1..start + length];
    let after = &after[start + length + 1..];
    let end = after.find(['{', ';']).unwrap_or(after.len());
    let result = after[..end].split_once("->").map_or("", |(_, result)| result);
    let result = result.split("where").next().unwrap_or_default();
    (signature(owner, selector, parameters, result), &after[end..])
}

/// Where the parameter list starts: after the name and its generics.
fn parameters_start(text: &str) -> Option<usize> {
    let mut depth = 0i32;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            '(' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// Where the bracket that opens the text is closed.
fn closing(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

fn signature(owner: &str, selector: &str, parameters: &str, result: &str) -> Option<Method> {
    let mut arguments = Vec::new();
    let mut of_class = true;
    for parameter in split(parameters) {
        match parameter.as_str() {
            "&self" => of_class = false,
            receiver if receiver.starts_with("this:") => of_class = false,
            other => arguments.push(in_message(other.split_once(':')?.1)?),
        }
    }
    // The error is the last argument of the message and the `Err` of the function.
    let (selector, with_error) = match selector.strip_suffix('_') {
        Some(selector) => (selector, true),
        None => (selector, false),
    };
    if with_error {
        arguments.push("*mut *mut AnyObject".to_owned());
    }
    let result = result_in_message(result)?;
    Some(Method { owner: owner.to_owned(), selector: selector.to_owned(), of_class, arguments, result })
}

/// A parameter list's parts.
fn split(parameters: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0i32;
    let mut before = ' ';
    for c in parameters.chars() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' if before == '-' => {}
            '>' | ')' | ']' => depth -= 1,
            _ => {}
        }
        match (c, depth) {
            (',', 0) => parts.push(String::new()),
            _ => parts.iter_mut().last().into_iter().for_each(|part| part.push(c)),
        }
        before = c;
    }
    parts
        .iter()
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|part| !part.is_empty())
        .collect()
}

/// The type of an argument in a message; `None` for one that needs another crate.
fn in_message(rust: &str) -> Option<String> {
    let rust = rust.trim();
    let is_other_crates =
        ["IOSurface", "Dispatch", "dispatch", "CFRunLoop"].iter().any(|name| rust.contains(name));
    if is_other_crates {
        return None;
    }
    if rust.contains("Block<") || rust.ends_with("Handler") || rust.ends_with("NotificationBlock") {
        return Some("*mut block2::Block<dyn Fn()>".to_owned());
    }
    if rust.starts_with("Option<&mut Option<Retained<") {
        return Some("*mut *mut AnyObject".to_owned());
    }
    let pointee = rust.strip_prefix("NonNull<").and_then(|rest| rest.strip_suffix('>')).map(str::trim);
    if pointee.is_some_and(|pointee| pointee.starts_with("NonNull<Pro") || pointee.starts_with("*const Pro"))
    {
        return Some("*mut *mut AnyObject".to_owned());
    }
    if rust.starts_with('&') || rust.starts_with("Option<&") {
        return Some("*mut AnyObject".to_owned());
    }
    Some(match rust {
        "bool" => "Bool".to_owned(),
        "CFTimeInterval" => "f64".to_owned(),
        other => other.to_owned(),
    })
}

fn result_in_message(rust: &str) -> Option<String> {
    let rust = rust.split_whitespace().collect::<Vec<_>>().join(" ");
    match rust.as_str() {
        "" => Some("()".to_owned()),
        "Result<(), Retained<NSError>>" => Some("Bool".to_owned()),
        object if object.contains("Retained<") => Some("*mut AnyObject".to_owned()),
        other => in_message(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
extern_protocol!(
    /// Documentation with fn and ( brackets.
    pub unsafe trait MTLThing: NSObjectProtocol {
        #[unsafe(method(name))]
        #[unsafe(method_family = none)]
        fn name(&self) -> Retained<NSString>;

        #[unsafe(method(makeWith:count:error:_))]
        unsafe fn makeWith_count_error(
            &self,
            other: Option<&ProtocolObject<dyn MTLThing>>,
            count: NSUInteger,
        ) -> Result<Retained<ProtocolObject<dyn MTLThing>>, Retained<NSError>>;

        #[unsafe(method(use:with:done:))]
        fn use_with_done(&self, all: NonNull<NonNull<ProtocolObject<dyn MTLThing>>>, on: bool, done: &block2::DynBlock<dyn Fn(NSUInteger, bool) -> bool>);
    }
);
extern_class!(
    pub struct MTLOther;
);
impl MTLOther {
    extern_methods!(
        #[unsafe(method(new))]
        pub unsafe fn new() -> Retained<Self>;
    );
}
";

    #[test]
    fn methods_come_out_as_they_are_in_a_message() {
        let methods = methods(SOURCE);
        let shown: Vec<String> = methods
            .iter()
            .map(|m| format!("{} {} {:?} {} {}", m.owner, m.selector, m.arguments, m.result, m.of_class))
            .collect();
        assert_eq!(
            shown,
            [
                "MTLThing name [] *mut AnyObject false",
                "MTLThing makeWith:count:error: [\"*mut AnyObject\", \"NSUInteger\", \"*mut *mut AnyObject\"] *mut AnyObject false",
                "MTLThing use:with:done: [\"*mut *mut AnyObject\", \"Bool\", \"*mut block2::Block<dyn Fn()>\"] () false",
                "MTLOther new [] *mut AnyObject true",
            ]
        );
    }
}
