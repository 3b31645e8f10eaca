//! Everything of a module that is not an instruction.

use std::fmt::{self, Write};

use anymetal_abi::logging::LogSite;

use crate::{ElementType, Function, KernelArg, Module, StageInput};

/// A string in quotes; control characters, quotes and backslashes escaped.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn signed(signed: bool) -> &'static str {
    if signed { " signed" } else { "" }
}

pub(super) fn declarations(out: &mut String, module: &Module) -> fmt::Result {
    for (n, file) in module.files.iter().enumerate() {
        writeln!(out, "file {n} {}", quoted(file))?;
    }
    for (n, fc) in module.function_constants.iter().enumerate() {
        let name = quoted(&fc.name);
        writeln!(
            out,
            "function_constant fc{n} {name} index {} : {}{}{}",
            fc.index,
            fc.ty.name(),
            signed(fc.signed),
            if fc.lanes > 1 { format!(" lane {} of {}", fc.lane, fc.lanes) } else { String::new() }
        )?;
    }
    for (n, global) in module.globals.iter().enumerate() {
        write!(out, "global g{n} {} align {} bytes ", quoted(&global.name), global.align)?;
        out.push('"');
        for byte in &global.bytes {
            write!(out, "{byte:02x}")?;
        }
        out.push_str("\"\n");
    }
    for (n, var) in module.threadgroup_vars.iter().enumerate() {
        writeln!(out, "threadgroup tg{n} {} size {} align {}", quoted(&var.name), var.size, var.align)?;
    }
    if module.threadgroup_reserve != 0 {
        writeln!(out, "threadgroup_reserve {}", module.threadgroup_reserve)?;
    }
    if module.whole_buffers {
        out.push_str("whole_buffers\n");
    }
    Ok(())
}

pub(super) fn function_header(out: &mut String, function: &Function, number: usize) -> fmt::Result {
    let params = super::instruction::typed(function, &function.params);
    write!(out, "func f{number} {} ({})", quoted(&function.name), params.join(", "))?;
    if let Some(ret) = function.ret {
        write!(out, " -> {ret}")?;
    }
    out.push_str(" {\n");
    for (n, local) in function.locals.iter().enumerate() {
        writeln!(out, "  local l{n} {} size {} align {}", quoted(&local.name), local.size, local.align)?;
    }
    Ok(())
}

pub(super) fn kernels(out: &mut String, module: &Module) -> fmt::Result {
    for kernel in &module.kernels {
        if !out.is_empty() {
            out.push('\n');
        }
        write!(out, "kernel {} {}", quoted(&kernel.name), kernel.function)?;
        if let Some(max) = kernel.max_threads {
            write!(out, " max_threads {max}")?;
        }
        if let Some([x, y, z]) = kernel.required_threads {
            write!(out, " required_threads {x} {y} {z}")?;
        }
        if !kernel.thread_attributes.is_empty() {
            let names: Vec<_> = kernel.thread_attributes.iter().map(|name| quoted(name)).collect();
            write!(out, " attributes [{}]", names.join(", "))?;
        }
        out.push_str(" {\n");
        for arg in &kernel.args {
            argument(out, arg)?;
        }
        for LogSite { level, subsystem, category, format } in &kernel.logs {
            let [subsystem, category, format] = [subsystem, category, format].map(|text| quoted(text));
            writeln!(out, "  log {} {subsystem} {category} {format}", level.name())?;
        }
        for StageInput { name, attribute, element: of } in &kernel.stage_inputs {
            write!(out, "  stage_input {} {attribute} ", quoted(name))?;
            element(out, of)?;
            out.push('\n');
        }
        out.push_str("}\n");
    }
    Ok(())
}

fn element(out: &mut String, element: &ElementType) -> fmt::Result {
    match element {
        ElementType::Scalar { scalar, signed: s } => write!(out, "scalar {}{}", scalar.name(), signed(*s)),
        ElementType::Vector { scalar, signed: s, count } => {
            write!(out, "vector {} {count}{}", scalar.name(), signed(*s))
        }
        ElementType::Aggregate => write!(out, "aggregate"),
    }
}

fn argument(out: &mut String, arg: &KernelArg) -> fmt::Result {
    let (name, kind, space) = (quoted(&arg.name), arg.kind.name(), arg.space.name());
    write!(out, "  arg {name} {kind} {} {space} {} ", arg.index, quoted(&arg.type_name))?;
    element(out, &arg.element)?;
    write!(out, " size {} align {} {}", arg.element_size, arg.element_align, arg.access.name())?;
    if arg.reference {
        out.push_str(" reference");
    }
    if let Some(function) = arg.index_by {
        write!(out, " index_by {function}")?;
    }
    if let Some(function) = arg.enabled_by {
        write!(out, " enabled_by {function}")?;
    }
    if !arg.enabled {
        out.push_str(" disabled");
    }
    out.push('\n');
    Ok(())
}
