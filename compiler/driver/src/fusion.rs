//! Fused kernels: one artifact for several kernels that are launched one after the other.
//!
//! Owns [`Fusion`] with its two requests: [`Fusion::refusal`], the proof alone, and [`Fusion::artifact`].
//! Invariant: proofs and artifacts are cached, in memory and on disk, under a key of all kernels, so that a
//! warm start repeats no proof. A proof for one-dimensional grids of any length covers all of them; where it
//! fails, a proof for the given grid and bytes is tried. The code is the same for all grids.

use std::sync::Arc;

use anymetal_hal::artifact::{ArgumentKind, Artifact, ArtifactCode, ArtifactTarget, KernelInfo};
use anymetal_hal::launch::ABI_VERSION;
use anymetal_hal::metal_source::MetalSource;
use anymetal_opt::fuse::{self, FusedKernel, Launched};
use anymetal_opt::pipeline::simplify;
use anymetal_opt::{PassManager, PassOptions};

use crate::artifacts::{self, Subject};
use crate::big_stack;
use crate::bug::RunBoundary;
use crate::compiler::CompilerState;
use crate::error::CompileError;
use crate::isolated::{AskedFusion, Wanted};
use crate::key::{Key, KeyBuilder};
use crate::library::{Library, Specialisation, Target};
use crate::pipeline::check;
use crate::prepared::Prepared;

/// A kernel to be fused.
#[derive(Debug, Clone, Copy)]
pub struct FusionPart<'a> {
    /// Its library.
    pub library: &'a Library,
    /// Its description by [`Library::describe`].
    pub kernel: &'a KernelInfo,
    /// The specialisation of its own artifact.
    pub specialisation: &'a Specialisation,
    /// For each bound buffer argument, by Metal's index, what it is bound to: the same number for exactly the
    /// same bytes. Arguments with different numbers share no byte that a kernel writes.
    pub places: &'a [(u32, u32)],
    /// For buffer arguments that are bound to bytes which stay as they are, by Metal's index, those bytes.
    pub bytes: &'a [(u32, &'a [u8])],
}

/// An argument of a fused kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FusedArgument {
    /// Its Metal index.
    pub index: u32,
    /// The part of the argument that it represents.
    pub part: usize,
    /// That argument's Metal index.
    pub of_part: u32,
}

/// Kernels to be fused, in the order of their launches over one grid of threads.
#[derive(Debug, Clone)]
pub struct Fusion<'a> {
    parts: Vec<FusionPart<'a>>,
    /// For each part, the place of each argument in source order.
    places: Vec<Vec<u32>>,
    specialisation: Specialisation,
    threads: Option<[u32; 3]>,
}

impl<'a> Fusion<'a> {
    /// For that threadgroup size, or any, and for a grid of that many threads, or any one-dimensional grid.
    /// `None` if the parts are not compiled by one compiler, or not with the same checks and passes, or if
    /// one writes messages or encodes commands.
    pub fn new(
        parts: Vec<FusionPart<'a>>,
        group_size: Option<[u32; 3]>,
        threads: Option<[u32; 3]>,
    ) -> Option<Self> {
        let first = parts.first()?;
        let (shared, common) = (first.library.shared(), first.specialisation);
        let fits = |part: &FusionPart<'_>| {
            let is_alike = std::ptr::eq(part.library.shared(), shared)
                && part.specialisation.checks == common.checks
                && part.specialisation.passes == common.passes;
            // A fused kernel has no log, and encodes nothing.
            is_alike && !part.kernel.has_messages() && !part.kernel.encodes_commands()
        };
        if !parts.iter().all(fits) {
            return None;
        }
        // Unbound arguments share no bytes.
        let mut alone = u32::MAX;
        let mut place = |part: &FusionPart<'_>, kind: ArgumentKind, index: u32| {
            let bound = part.places.iter().find(|(bound, _)| kind == ArgumentKind::Buffer && *bound == index);
            alone -= 1;
            bound.map_or(alone, |(_, place)| *place)
        };
        let mut places = Vec::new();
        for part in &parts {
            let arguments = part.kernel.arguments.iter();
            places.push(arguments.map(|argument| place(part, argument.kind, argument.index)).collect());
        }
        let (checks, passes) = (common.checks, common.passes.clone());
        let specialisation = Specialisation { group_size, checks, passes, ..Specialisation::default() };
        Some(Fusion { parts, places, specialisation, threads })
    }

    /// The fused kernel's name: those of its parts.
    pub fn name(&self) -> String {
        let names: Vec<&str> = self.parts.iter().map(|part| part.kernel.name.as_str()).collect();
        names.join(" + ")
    }

    /// The fused kernel's arguments that something is bound to.
    pub fn arguments(&self) -> Vec<FusedArgument> {
        let of_part = |(part, places): (&FusionPart<'_>, &Vec<u32>)| {
            let spaces = part.kernel.arguments.iter().map(|argument| argument.address_space);
            places.iter().copied().zip(spaces).collect()
        };
        let parts: Vec<Vec<_>> = self.parts.iter().zip(&self.places).map(of_part).collect();
        let known = fuse::arguments(&parts).into_iter().zip(0..);
        let bound = known.filter_map(|((part, position), index)| {
            let argument = &self.parts[part].kernel.arguments[position];
            let is_bound = argument.enabled && argument.kind == ArgumentKind::Buffer;
            is_bound.then_some(FusedArgument { index, part, of_part: argument.index })
        });
        bound.collect()
    }

    /// Why the kernels cannot be fused; `None`: one launch of the fused kernel is equivalent to theirs.
    pub fn refusal(&self) -> Result<Option<String>, CompileError> {
        let is_line = self.threads.is_none_or(|[_, y, z]| [y, z] == [1; 2]);
        if is_line && self.verdict(None)?.is_none() {
            return Ok(None);
        }
        self.verdict(self.threads)
    }

    /// Why they cannot be fused for this grid and the bound bytes; without a grid, for any one-dimensional
    /// grid and any bytes.
    fn verdict(&self, threads: Option<[u32; 3]>) -> Result<Option<String>, CompileError> {
        let key = || {
            let key = self.key_builder("proof");
            let Some(threads) = threads else {
                // The verdict holds for any grid and any bytes.
                return key.finish();
            };
            let key = self.parts.iter().fold(key.numbers(threads), |key, part| {
                let key = key.number(part.bytes.len() as u64);
                part.bytes.iter().fold(key, |key, (index, bytes)| key.number((*index).into()).field(bytes))
            });
            key.finish()
        };
        let name = self.name();
        // Kept like an artifact, without code; the refusal is stored in place of the symbol.
        let prove = || {
            let refusal = match self.shared().isolation()? {
                Some(pool) => self.asked(threads).verdict(pool)?,
                None => self.module(threads)?.err(),
            };
            let refusal = refusal.unwrap_or_default();
            Ok(Artifact::new(
                ArtifactTarget::Interpreter,
                ArtifactCode::Object(Arc::from(Vec::new())),
                vec![KernelInfo::new(name.clone(), refusal)],
            ))
        };
        let verdict = artifacts::kept(self.shared(), &name, key, prove)?;
        let symbol = verdict.kernel(&name).map(|kernel| kernel.symbol.clone());
        Ok(symbol.filter(|refusal| !refusal.is_empty()))
    }

    /// The fused kernel's artifact: from memory, from disk, or compiled now. Kernels that cannot be fused are
    /// an error.
    pub fn artifact(&self, target: Target) -> Result<Arc<Artifact>, CompileError> {
        // The code may have been made for another grid.
        if let Some(reason) = self.refusal()? {
            return Err(CompileError::Unsupported { kernel: self.name(), reason });
        }
        artifacts::artifact(self, target)
    }

    fn key_builder(&self, target: &str) -> KeyBuilder {
        let mut key = self.specialisation.add_to(KeyBuilder::new("fusion").field(target));
        for (part, places) in self.parts.iter().zip(&self.places) {
            let of_part = part.library.key(&part.kernel.name, part.specialisation, target);
            key = key.field(of_part.as_bytes()).number(places.len() as u64);
            key = places.iter().fold(key, |key, place| key.number((*place).into()));
        }
        key.number(ABI_VERSION.into())
    }

    /// How the kernels are launched, and what each part's arguments are bound to as far as that is known.
    fn launched(&self, threads: Option<[u32; 3]>) -> (Launched, Vec<Vec<Option<&'a [u8]>>>) {
        let group_size = self.specialisation.group_size;
        let launched = match threads {
            Some(threads) => Launched::exactly(threads.map(u64::from), group_size),
            None => Launched { group_size, ..Launched::ANY_LINE },
        };
        let known = |part: &FusionPart<'a>, kind: ArgumentKind, index: u32| {
            let is_known = kind == ArgumentKind::Buffer && launched.exact;
            let bytes = part.bytes.iter().find(|(bound, _)| is_known && *bound == index);
            bytes.map(|(_, bytes)| *bytes)
        };
        let of_part = |part: &FusionPart<'a>| {
            let arguments = part.kernel.arguments.iter();
            arguments.map(|argument| known(part, argument.kind, argument.index)).collect()
        };
        (launched, self.parts.iter().map(of_part).collect())
    }

    /// The kernels as workers are asked about them.
    fn asked(&self, threads: Option<[u32; 3]>) -> AskedFusion<'_> {
        AskedFusion { parts: &self.parts, group_size: self.specialisation.group_size, threads }
    }

    /// The modules of the parts, and the passes that are left for the fused kernel.
    ///
    /// A bisection limit counts the executions of all parts and of the fused kernel in one sequence, so each
    /// part gets what the parts before it have left of it.
    fn prepared_parts(&self) -> Result<(Vec<Arc<Prepared>>, PassOptions), CompileError> {
        let mut passes = self.specialisation.passes.clone();
        let mut prepared = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let specialisation = Specialisation { passes, ..part.specialisation.clone() };
            let of_part = part.library.prepared(&part.kernel.name, &specialisation)?;
            passes = of_part.passes.clone();
            prepared.push(of_part);
        }
        Ok((prepared, passes))
    }

    /// The fused kernel's module as executors take it, or the reason for the refusal.
    pub(crate) fn module(&self, threads: Option<[u32; 3]>) -> Result<Result<Prepared, String>, CompileError> {
        let (prepared, passes) = self.prepared_parts()?;
        let (launched, bytes) = self.launched(threads);
        big_stack::run("fusion", || {
            let parts = prepared.iter().map(|prepared| &prepared.module).zip(&self.places).zip(&bytes);
            let parts = parts.map(|((module, places), bytes)| FusedKernel { module, places, bytes });
            let parts: Vec<FusedKernel<'_>> = parts.collect();
            match fuse::fuse(&self.name(), &parts, &launched) {
                Err(refusal) => Ok(Err(refusal.to_string())),
                Ok(mut module) => {
                    let mut manager = PassManager::new(&passes);
                    simplify(&mut module, &mut manager);
                    check(&module, "fusion")?;
                    Ok(Ok(Prepared::of_module(module, passes.after(manager.executions()))))
                }
            }
        })
    }
}

impl Subject for Fusion<'_> {
    fn shared(&self) -> &CompilerState {
        self.parts[0].library.shared()
    }

    fn name(&self) -> String {
        Fusion::name(self)
    }

    fn specialisation(&self) -> &Specialisation {
        &self.specialisation
    }

    fn run_boundary(&self) -> RunBoundary {
        RunBoundary { source: None }
    }

    fn key(&self, target: &str) -> Key {
        self.key_builder(target).finish()
    }

    fn prepared(&self) -> Result<Arc<Prepared>, CompileError> {
        if let Some(pool) = Subject::shared(self).isolation()? {
            return self.asked(self.threads).prepared(pool).map(Arc::new);
        }
        let unproved = |reason| CompileError::Unsupported { kernel: Fusion::name(self), reason };
        self.module(self.threads)?.map(Arc::new).map_err(unproved)
    }

    fn prepared_inlined(&self) -> Result<Arc<Prepared>, CompileError> {
        self.prepared()
    }

    fn metal_source(&self) -> Result<MetalSource, CompileError> {
        let reason = "fused kernels have no source".to_owned();
        Err(CompileError::Unsupported { kernel: Fusion::name(self), reason })
    }

    fn isolated(&self, target: Target, wanted: Wanted) -> Option<Result<Artifact, CompileError>> {
        let pool = Subject::shared(self).isolation().transpose()?;
        let name = Fusion::name(self);
        Some(pool.and_then(|pool| self.asked(self.threads).artifact(pool, &name, target, wanted)))
    }
}

#[cfg(test)]
mod tests;
