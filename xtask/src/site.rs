//! `cargo xtask site`: the documentation as a site, with a gallery that is made by the build.
//!
//! MkDocs comes from PyPI into a virtual environment under `target/`, and so does everything it writes. Its
//! configuration and the pages that are not in `docs/` are in `xtask/site`. A broken link fails.

use std::io;
use std::path::Path;
use std::process::Command;

use crate::wheel::{environment, succeeds};

pub(crate) const USAGE: &str = "\
usage: cargo xtask site [--serve]

  --serve  show it at http://127.0.0.1:8000 and build it again when a page changes
";

/// What builds the site.
const TOOLS: [&str; 5] = [
    "mkdocs>=1.6,<2",
    "mkdocs-material>=9.6,<10",
    "mkdocstrings>=0.29,<2",
    "mkdocstrings-python>=1.16,<3",
    "mdx-truly-sane-lists>=1.3,<2",
];

/// The side of the pictures in the gallery.
const SIDE: u32 = 384;

/// Does it; false if a command failed or the arguments are wrong.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> io::Result<bool> {
    let action = match arguments {
        [] => "build",
        ["--serve"] => "serve",
        _ => {
            print!("{USAGE}");
            return Ok(false);
        }
    };
    let folder = root.join("target/site");
    let tools = folder.join("tools");
    if !tools.join("bin/mkdocs").exists() && !environment(&tools, &TOOLS)? {
        return Ok(false);
    }
    if !gallery(root, &folder.join("gallery"))? {
        return Ok(false);
    }
    let mut mkdocs = Command::new(tools.join("bin/mkdocs"));
    mkdocs.arg(action).arg("--config-file").arg(root.join("xtask/site/mkdocs.yml")).current_dir(root);
    if !succeeds(&mut mkdocs)? {
        return Ok(false);
    }
    println!("site: {}", folder.join("html/index.html").display());
    Ok(true)
}

/// Runs the kernels whose pictures the gallery shows, and puts them beside their sources and reports.
fn gallery(root: &Path, folder: &Path) -> io::Result<bool> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder)?;
    for (kernel, from) in
        [("mandelbrot", None), ("relief", Some("mandelbrot")), ("ripple", Some("mandelbrot"))]
    {
        let source = root.join(format!("xtask/site/gallery/{kernel}.metal"));
        let shown = folder.join(format!("{kernel}.metal"));
        std::fs::copy(&source, shown)?;
        let mut run = anymetal(root);
        run.arg("run").arg(&source).args(["-k", kernel, "--threads", &format!("{SIDE},{SIDE}")]);
        if let Some(from) = from {
            run.arg("--arg").arg(format!("in={}", folder.join(format!("{from}.png")).display()));
        }
        run.args(["--arg", &format!("out=texture:rgba8unorm:{SIDE}x{SIDE}"), "--save"]);
        run.arg(format!("out={}", folder.join(format!("{kernel}.png")).display()));
        run.arg("--report").arg(folder.join(format!("{kernel}.html")));
        if !succeeds(&mut run)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The command line of anymetal, from this tree.
fn anymetal(root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "--locked", "-p", "anymetal-cli", "--"]).current_dir(root);
    command
}
