//! Visible functions: tables, handles, functions of other libraries, and what is said of calls of none.

use anymetal::command::ResourceUsage;
use anymetal::error::{DeviceError, OutOfBounds};
use anymetal::functions::{LinkedFunctions, VisibleFunctionTable};
use anymetal::sanitizer;
use anymetal::{
    Buffer, CheckMode, CompileOptions, Device, Error, FunctionConstants, Library, LibraryDescriptor,
    Pipeline, PipelineDescriptor,
};

const KERNELS: &str = "
    #include <metal_stdlib>
    using namespace metal;
    using Op = float(float);
    [[visible]] float twice(float x) { return 2 * x; }
    extern [[visible]] float other(float);
    template <typename T> [[visible]] T generic(T);
    template [[host_name(\"generic_float\")]] [[visible]] float generic<float>(float);
    kernel void apply(device float* x, visible_function_table<Op> ops, constant uint& which,
                      uint i [[thread_position_in_grid]]) {
      x[i] = ops[which](x[i]);
    }
    kernel void by_name(device float* x, uint i [[thread_position_in_grid]]) { x[i] = other(x[i]); }
    kernel void by_template(device float* x, uint i [[thread_position_in_grid]]) { x[i] = generic(x[i]); }
    struct Arguments { visible_function_table<Op> ops; };
    kernel void from_memory(device float* x, constant Arguments& arguments, uint i [[thread_position_in_grid]]) {
      x[i] = arguments.ops[i](x[i]);
    }";

const SHAPES: &str = "
    constant float factor [[function_constant(0)]];
    constant float table[2] = {100, 200};
    static float helper(float x) { return x + table[int(x) & 1]; }
    [[visible]] float other(float x) { return helper(x); }
    [[visible]] float scaled(float x) { return factor * x; }
    [[visible]] float beyond(float x) { return other(x) + 1; }
    [[visible]] int integer(int x) { return x; }
    template <typename T> T generic(T x) { return x * x; }
    [[visible]] float generic_float(float x) { return generic(x); }";

struct Setup {
    device: Device,
    kernels: Library,
    shapes: Library,
}

impl Setup {
    fn new(check_mode: CheckMode) -> Self {
        let device = Device::system_default().unwrap();
        let library = |source: &str, name: &str| {
            let options = CompileOptions::new().check_mode(check_mode).file_name(name);
            device.create_library(&LibraryDescriptor::from_source(source).options(&options)).unwrap()
        };
        let (kernels, shapes) = (library(KERNELS, "kernels.metal"), library(SHAPES, "shapes.metal"));
        Setup { device, kernels, shapes }
    }

    fn pipeline(&self, kernel: &str, linked: LinkedFunctions) -> Result<Pipeline, Error> {
        self.kernels.pipeline(PipelineDescriptor::new(kernel).linked_functions(linked))
    }

    /// What `apply` makes of 3 with that entry of a table.
    fn apply(&self, pipeline: &Pipeline, ops: &VisibleFunctionTable, which: u32) -> Result<f32, Error> {
        let x = self.device.buffer(&[3.0f32])?;
        let launch = self.device.queue()?.launch(pipeline).arg(&x).arg(ops).arg(which).threads(1).submit()?;
        launch.wait()?;
        Ok(x.read()?[0])
    }
}

fn fault(outcome: Result<impl std::fmt::Debug, Error>) -> OutOfBounds {
    match outcome {
        Err(Error::Device(DeviceError::OutOfBounds(fault))) => *fault,
        other => panic!("no fault, but {other:?}"),
    }
}

#[test]
fn tables_have_functions_of_several_libraries() {
    let setup = Setup::new(CheckMode::Bounds);
    let factor = |value: f32| FunctionConstants::new().with(0, value);
    let linked = LinkedFunctions::new()
        .function(&setup.shapes, "other")
        .function(&setup.shapes, "beyond")
        .function_as(&setup.shapes, "scaled", "by_ten", factor(10.0))
        .function_as(&setup.shapes, "scaled", "by_half", factor(0.5))
        .function(&setup.shapes, "integer");
    let pipeline = setup.pipeline("apply", linked).unwrap();
    let names = ["twice", "other", "beyond", "by_ten", "by_half"];
    let ops = VisibleFunctionTable::new(&pipeline, names.len()).unwrap();
    for (index, name) in names.into_iter().enumerate() {
        ops.set(index, &pipeline.function_handle(name).unwrap()).unwrap();
    }
    let results: Vec<f32> =
        (0..5).map(|which| setup.apply(&pipeline, &ops, which).expect("it runs")).collect();
    assert_eq!(results, [6.0, 203.0, 204.0, 30.0, 1.5]);
    // A function of another type is in the table, but no candidate.
    ops.set(0, &pipeline.function_handle("integer").unwrap()).unwrap();
    assert_eq!(fault(setup.apply(&pipeline, &ops, 0)).invalid_call(), Some("float(float)"));
    ops.clear(1).unwrap();
    let null = fault(setup.apply(&pipeline, &ops, 1));
    assert_eq!((null.kernel.as_str(), null.file.as_str(), null.line), ("apply", "kernels.metal", 11));
    assert!(null.to_string().contains("call of a null function pointer, as a function of type"), "{null}");
    let beyond = fault(setup.apply(&pipeline, &ops, 7));
    assert_eq!((beyond.argument_name.as_str(), beyond.element_index), ("ops", Some(7)));
}

#[test]
fn a_table_holds_for_other_pipelines_and_faults_where_a_function_is_missing() {
    let setup = Setup::new(CheckMode::Bounds);
    let with = setup.pipeline("apply", LinkedFunctions::new().function(&setup.shapes, "other")).unwrap();
    let without = setup.pipeline("apply", LinkedFunctions::new()).unwrap();
    let ops = VisibleFunctionTable::new(&with, 2).unwrap();
    ops.set(0, &with.function_handle("twice").unwrap()).unwrap();
    ops.set(1, &with.function_handle("other").unwrap()).unwrap();
    assert_eq!((setup.apply(&with, &ops, 0), setup.apply(&without, &ops, 0)), (Ok(6.0), Ok(6.0)));
    assert_eq!(setup.apply(&with, &ops, 1), Ok(203.0));
    let missing = fault(setup.apply(&without, &ops, 1));
    assert!(missing.to_string().contains("which is no function of the pipeline's"), "{missing}");
}

#[test]
fn declared_functions_are_found_in_what_is_linked_or_refused_by_name() {
    let setup = Setup::new(CheckMode::Bounds);
    let run = |kernel: &str, linked: LinkedFunctions| -> Result<f32, Error> {
        let (pipeline, x) = (setup.pipeline(kernel, linked)?, setup.device.buffer(&[3.0f32])?);
        setup.device.queue()?.launch(&pipeline).arg(&x).threads(1).submit()?.wait()?;
        Ok(x.read()?[0])
    };
    let link = |name: &str| LinkedFunctions::new().function(&setup.shapes, name);
    assert_eq!(run("by_name", link("other")), Ok(203.0));
    assert_eq!(run("by_template", link("generic_float")), Ok(9.0));
    let private = LinkedFunctions::new().private_function(&setup.shapes, "other");
    assert_eq!(run("by_name", private.clone()), Ok(203.0));
    let pipeline = setup.pipeline("by_name", private).unwrap();
    assert!(matches!(pipeline.function_handle("other"), Err(Error::UnknownFunction { .. })));
    let refused = |kernel: &str, linked| run(kernel, linked).unwrap_err().to_string();
    let missing = refused("by_name", LinkedFunctions::new());
    assert!(missing.contains("`other` is used but never defined") && missing.contains("link"), "{missing}");
    let unknown = refused("by_name", link("nobody"));
    assert!(unknown.contains("no visible function `nobody`; there are `other`"), "{unknown}");
    let constant = refused("apply", link("scaled"));
    assert!(constant.contains("factor"), "{constant}");
}

#[test]
fn a_linked_function_of_another_type_is_refused() {
    let setup = Setup::new(CheckMode::Bounds);
    let wrong = "[[visible]] int other(int x) { return x; }";
    let wrong = setup.device.library_from_source(wrong).unwrap();
    let error = setup.pipeline("by_name", LinkedFunctions::new().function(&wrong, "other")).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("`other` is declared as") && text.contains("int(int)"), "{text}");
    assert_eq!(wrong.function_type("other").unwrap(), "int(int)");
    assert_eq!(setup.kernels.visible_function_names().unwrap(), ["twice"]);
}

#[test]
fn tables_are_found_through_memory() {
    let setup = Setup::new(CheckMode::Bounds);
    let pipeline = setup.pipeline("from_memory", LinkedFunctions::new()).unwrap();
    let ops = VisibleFunctionTable::new(&pipeline, 2).unwrap();
    let twice = pipeline.function_handle("twice").unwrap();
    (0..2).for_each(|index| ops.set(index, &twice).unwrap());
    let x: Buffer<f32> = setup.device.buffer(&[1.0, 5.0]).unwrap();
    let arguments = setup.device.buffer(&[ops.gpu_resource_id().unwrap()]).unwrap();
    let queue = setup.device.queue().unwrap();
    let launch = queue.launch(&pipeline).arg(&x).arg(&arguments).use_resource(&ops, ResourceUsage::Read);
    launch.threads(2).submit().unwrap().wait().unwrap();
    assert_eq!(x.read().unwrap(), [2.0, 10.0]);
}

#[test]
fn buffers_and_tables_are_told_apart() {
    let setup = Setup::new(CheckMode::Bounds);
    let pipeline =
        setup.pipeline("by_name", LinkedFunctions::new().function(&setup.shapes, "other")).unwrap();
    let ops = VisibleFunctionTable::new(&pipeline, 1).unwrap();
    let queue = setup.device.queue().unwrap();
    let error = queue.launch(&pipeline).arg(&ops).threads(1).submit().map(drop).unwrap_err();
    assert!(error.to_string().contains("a table of visible functions"), "{error}");
    let beyond = ops.set(1, &pipeline.function_handle("other").unwrap());
    assert!(matches!(beyond, Err(Error::RangeOutsideBuffer { .. })));
}

#[test]
fn the_sanitizer_runs_linked_functions_and_finds_calls_of_none() {
    let setup = Setup::new(CheckMode::Sanitize);
    let pipeline = setup.pipeline("apply", LinkedFunctions::new().function(&setup.shapes, "other")).unwrap();
    let ops = VisibleFunctionTable::new(&pipeline, 2).unwrap();
    ops.set(1, &pipeline.function_handle("other").unwrap()).unwrap();
    assert_eq!(setup.apply(&pipeline, &ops, 1), Ok(203.0));
    assert_eq!(setup.apply(&pipeline, &ops, 0), Ok(0.0));
    let findings = sanitizer::findings();
    assert!(
        findings.iter().any(|finding| format!("{finding:?}").contains("(function) float")),
        "{findings:?}"
    );
}
