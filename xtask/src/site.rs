//! `cargo xtask site`: the documentation as a site, with a gallery that is made by the build.
//!
//! MkDocs comes from PyPI into a virtual environment under `target/`, and so does everything it writes. Its
//! configuration, the versions of its packages and the pages that are not in `docs/` are in `xtask/site`.
//! Every warning fails, such as a link to nowhere.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::wheel::{environment, succeeds};

pub(crate) const USAGE: &str = "\
usage: cargo xtask site [--serve]

  --serve  show it at http://127.0.0.1:8000 and build it again when a page changes
";

/// What builds the site, by the root of the tree.
const TOOLS: &str = "xtask/site/requirements.txt";

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
    if !install(&tools, &root.join(TOOLS))? {
        return Ok(false);
    }
    if !build_cli(root)? || !gallery(root, &folder.join("gallery"))? {
        return Ok(false);
    }
    let mut mkdocs = Command::new(tools.join("bin/mkdocs"));
    // Its theme warns of MkDocs 2, which the pinned list does not install.
    mkdocs.env("NO_MKDOCS_2_WARNING", "1");
    mkdocs.arg(action).arg("--config-file").arg(root.join("xtask/site/mkdocs.yml")).current_dir(root);
    if !succeeds(&mut mkdocs)? {
        return Ok(false);
    }
    println!("site: {}", folder.join("html/index.html").display());
    Ok(true)
}

/// Makes the environment of the tools, unless it has been made from the same list.
fn install(tools: &Path, list: &Path) -> io::Result<bool> {
    let (wanted, installed) = (std::fs::read_to_string(list)?, tools.join("installed.txt"));
    if std::fs::read_to_string(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(true);
    }
    if tools.exists() {
        std::fs::remove_dir_all(tools)?;
    }
    let done = environment(tools, &[OsStr::new("--requirement"), list.as_os_str()])?;
    if done {
        std::fs::write(installed, wanted)?;
    }
    Ok(done)
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

/// Builds the command line of anymetal with the features of the whole workspace, so that what other commands
/// have built serves.
fn build_cli(root: &Path) -> io::Result<bool> {
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--locked", "--workspace", "--bin", "anymetal"]).current_dir(root);
    succeeds(&mut build)
}

/// The command line that was built.
fn anymetal(root: &Path) -> Command {
    // The same folder as this program's: `target/debug`, or where the environment puts it.
    let beside = std::env::current_exe().ok().and_then(|this| Some(this.parent()?.join("anymetal")));
    let mut command = Command::new(beside.unwrap_or_else(|| root.join("target/debug/anymetal")));
    command.current_dir(root);
    command
}
