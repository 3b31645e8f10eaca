//! `--against nvcc`: where the kernels in CUDA C are compiled and kept, and which GPU runs them.

use std::path::PathBuf;

use anymetal::Device;
use anymetal_bench_peers::cublas::Blas;
use anymetal_bench_peers::cuda::{Cuda, Modules};
use anymetal_bench_peers::peer::Runtime;
use anymetal_driver::CacheConfig;

use super::told;
use crate::bench::prepare;
use crate::failure::Failure;
use crate::workload;

/// Options of `--against nvcc`.
#[derive(clap::Args, Debug)]
pub(crate) struct CudaArgs {
    /// Where `--against nvcc` keeps compiled kernels; a folder that was filled elsewhere needs no `nvcc` here
    /// [default: in the cache folder]
    #[arg(long, value_name = "FOLDER")]
    cuda_modules: Option<PathBuf>,
    /// Only compile the kernels in CUDA C, for this architecture (such as sm_90); needs `nvcc` and no GPU
    #[arg(long, value_name = "SM", requires = "cuda_modules")]
    compile_for: Option<String>,
}

impl CudaArgs {
    /// Compiles all kernels if that is all there is to do; says whether it was.
    pub(crate) fn only_compile(&self) -> Result<bool, Failure> {
        let Some(architecture) = &self.compile_for else { return Ok(false) };
        let device = Device::by_name("cpu")?;
        let modules = self.modules()?;
        for workload in workload::all() {
            // The smallest inputs: only the text counts.
            let prepared = prepare(&workload, &device, anymetal::CheckMode::Sanitize)?;
            if let Some(job) = prepared.job() {
                modules.compile(&job, architecture).map_err(|error| told(&error.to_string()))?;
                eprintln!("{}: compiled", workload.name);
            }
        }
        Ok(true)
    }

    /// The GPU that the device is, by the bare driver, and by cuBLAS if there is one.
    pub(super) fn runtimes(&self, device: &Device) -> Result<Vec<Box<dyn Runtime>>, Failure> {
        let number = device.name().strip_prefix("nvidia").map(|rest| rest.trim_start_matches(':'));
        let number = number.and_then(|number| if number.is_empty() { Some(0) } else { number.parse().ok() });
        let Some(number) = number else {
            let message = format!("`--against nvcc` needs `--device nvidia`, not `{}`", device.name());
            return Err(Failure::Input(message));
        };
        let cuda = Cuda::open(number, self.modules()?).map_err(|error| told(&error.to_string()))?;
        let mut runtimes: Vec<Box<dyn Runtime>> = vec![Box::new(cuda)];
        match Blas::open(number) {
            Ok(blas) => runtimes.push(Box::new(blas)),
            Err(error) => eprintln!("note: without cuBLAS: {error}"),
        }
        Ok(runtimes)
    }

    fn modules(&self) -> Result<Modules, Failure> {
        let folder = self.cuda_modules.clone();
        let folder = folder.or_else(|| Some(CacheConfig::from_environment().folder?.join("cuda-peers")));
        let none = || Failure::Input("there is no cache folder; name one with --cuda-modules".to_owned());
        let compiler = std::env::var_os("NVCC").filter(|program| !program.is_empty());
        let compiler = compiler.unwrap_or_else(|| "nvcc".into());
        Ok(Modules::new(compiler, folder.ok_or_else(none)?))
    }
}
