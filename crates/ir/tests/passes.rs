//! Runs the passes over `tests/ir/<pass>/*.ir`: each file holds a module, a line `; after`, and
//! the module after the pass. `ANYMETAL_BLESS=1` writes what came out.

use std::path::{Path, PathBuf};

use anymetal_ir::passes::uniform_div_versioning::{Divergence, UniformDivVersioning};
use anymetal_ir::passes::{self, SpecialiseError, group_size, memcpy_idiom, merge_stores};
use anymetal_ir::{
    BinOp, Function, FunctionConstantId, Module, Op, Query, Value, parse_module, print_module, verify,
};

const MARK: &str = "\n; after\n";

/// Runs a pass; gives the new text, or the error's.
type Pass = fn(&mut Module, &str) -> Result<(), String>;

fn on_each_function(module: &mut Module, pass: impl Fn(&Module, &mut Function) -> bool) {
    let mut functions = std::mem::take(&mut module.functions);
    for function in &mut functions {
        pass(module, function);
        passes::compact::compact(function);
    }
    module.functions = functions;
}

/// Values from a header line such as `; constants: 3=7 5=1`: position and bits.
fn specialise(module: &mut Module, text: &str) -> Result<(), String> {
    let line = text.lines().find_map(|line| line.strip_prefix("; constants:")).unwrap_or("");
    let values: Vec<(FunctionConstantId, Option<u64>)> = line
        .split_whitespace()
        .map(|pair| {
            let (id, bits) = pair.split_once('=').expect("position=bits");
            (FunctionConstantId(id.parse().expect("a position")), Some(bits.parse().expect("bits")))
        })
        .collect();
    passes::specialise(module, &values).map_err(|error: SpecialiseError| error.to_string())
}

const PASSES: &[(&str, Pass)] = &[
    ("schedule-long-latency", |module, _| {
        on_each_function(module, |_, function| {
            passes::schedule_long_latency::schedule_long_latency(function)
        });
        Ok(())
    }),
    ("hoist-common-code", |module, _| {
        on_each_function(module, |_, function| passes::hoist_common_code::hoist_common_code(function));
        Ok(())
    }),
    ("if-convert", |module, _| {
        on_each_function(module, |_, function| passes::if_convert::if_convert(function));
        Ok(())
    }),
    ("separable-filter", |module, _| {
        on_each_function(module, |_, function| passes::separable_filter::separable_filter(function));
        Ok(())
    }),
    ("dce", |module, _| {
        on_each_function(module, |_, function| passes::dce::dce(function));
        Ok(())
    }),
    ("fold", |module, _| {
        on_each_function(module, passes::fold::fold);
        Ok(())
    }),
    ("mem2reg", |module, _| {
        on_each_function(module, |_, function| {
            passes::mem2reg::mem2reg(function) | passes::dce::dce(function)
        });
        Ok(())
    }),
    ("group-size", |module, _| {
        group_size::choose_by_group_size(module, [64, 1, 1]).map_err(|error| error.to_string())?;
        passes::inline(module).map_err(|error| error.to_string())
    }),
    ("licm", |module, _| {
        on_each_function(module, |_, function| passes::licm::licm(function));
        Ok(())
    }),
    ("inline", |module, _| passes::inline(module).map_err(|error| error.to_string())),
    ("prefetch", |module, _| {
        on_each_function(module, |_, function| passes::prefetch::prefetch(function));
        Ok(())
    }),
    ("hoist-divergent-barriers", |module, _| {
        on_each_function(module, |_, function| {
            passes::hoist_divergent_barriers::hoist_divergent_barriers(function)
        });
        Ok(())
    }),
    ("localize-divergent-exits", |module, _| {
        on_each_function(module, |_, function| {
            passes::localize_divergent_exits::localize_divergent_exits(function)
        });
        Ok(())
    }),
    ("optimise", |module, _| {
        passes::inline(module).map_err(|error| error.to_string())?;
        passes::optimise(module);
        Ok(())
    }),
    ("memcpy-idiom", |module, _| {
        on_each_function(module, |_, function| memcpy_idiom::memcpy_idiom(function, &small_queries));
        Ok(())
    }),
    ("merge-stores", |module, _| {
        on_each_function(module, |_, function| merge_stores::merge_stores(function, &small_queries));
        Ok(())
    }),
    ("speculate-select-loads", |module, _| {
        on_each_function(module, |_, function| {
            passes::speculate_select_loads::speculate_select_loads(function) | passes::dce::dce(function)
        });
        Ok(())
    }),
    ("div-rem-pairs", |module, _| {
        on_each_function(module, |_, function| passes::div_rem_pairs::div_rem_pairs(function));
        Ok(())
    }),
    ("uniform-div-versioning", |module, _| {
        on_each_function(module, |_, function| quotients(function));
        Ok(())
    }),
    ("early-cse", |module, _| {
        on_each_function(module, |_, function| passes::early_cse::early_cse(function));
        Ok(())
    }),
    ("specialise", specialise),
    ("sroa", |module, _| {
        on_each_function(module, |_, function| passes::sroa::sroa(function) | passes::dce::dce(function));
        Ok(())
    }),
    ("unroll", |module, _| {
        on_each_function(module, |_, function| passes::unroll::unroll(function));
        Ok(())
    }),
];

/// All that is known is that no threadgroup has more than 1024 threads.
fn small_queries(function: &Function, value: Value) -> u64 {
    match function.def(value) {
        Some(Op::Query(Query::ThreadIndexInThreadgroup)) => 1023,
        _ => u64::MAX,
    }
}

/// Positions are affine, loaded values are uniform, and a remainder is affine with the stride of its
/// dividend.
fn quotients(function: &mut Function) -> bool {
    let mut quotients = UniformDivVersioning::default();
    let mut changed = false;
    loop {
        let known = function.clone();
        let threads = |value| match known.def(value) {
            Some(Op::Query(Query::ThreadPositionInGrid(0)) | Op::Binary(BinOp::Add, ..)) => {
                Divergence::Affine(1)
            }
            Some(Op::Load { .. }) => Divergence::Uniform,
            _ => Divergence::Varying,
        };
        if !quotients.version_one(function, &threads) {
            return changed;
        }
        changed = true;
    }
}

fn data_files(pass: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ir").join(pass);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "ir"));
    files.sort();
    files
}

/// The module after the pass, as text, with every check on the way.
fn run(path: &Path, before: &str, pass: Pass) -> String {
    let name = path.display();
    let mut module = parse_module(before).unwrap_or_else(|error| panic!("{name}:{error}"));
    if let Err(errors) = verify(&module) {
        panic!("{name}: before the pass: {}", errors[0]);
    }
    if let Err(message) = pass(&mut module, before) {
        return format!("; error: {message}\n");
    }
    let text = print_module(&module);
    if let Err(errors) = verify(&module) {
        panic!("{name}: after the pass: {}\n{text}", errors[0]);
    }
    text
}

#[test]
fn pass_files_match_their_expected_output() {
    let bless = std::env::var_os("ANYMETAL_BLESS").is_some();
    let mut count = 0;
    for (name, pass) in PASSES {
        for path in data_files(name) {
            count += 1;
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let (before, after) = text.split_once(MARK).unwrap_or((&text, ""));
            let found = run(&path, before, *pass);
            if bless {
                let text = format!("{}{MARK}{found}", before.trim_end_matches('\n'));
                std::fs::write(&path, text).expect("a writable file");
            } else {
                assert_eq!(found, after, "{}: set ANYMETAL_BLESS=1 to accept", path.display());
            }
        }
    }
    assert!(count >= PASSES.len(), "each pass has a file");
}
