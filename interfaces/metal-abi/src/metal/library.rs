//! `MTLLibrary` and `MTLFunction`.

use anymetal::FunctionConstants;
use anymetal::reflection::{ConstantKey, FunctionConstantInfo, GraphicsFunction, GraphicsStage};
use block2::Block;
use objc2::Message;
use objc2::rc::Retained;
use objc2::runtime::{AnyObject, NSObject};

use super::argument_encoder::{ArgumentEncoder, Source};
use super::constants::{ConstantValues, FunctionConstant};
use super::descriptors::FunctionDescriptor;
use super::device::Device;
use super::errors;
use super::label::Label;
use super::stage_input::{attributes_of, vertex_attributes_of};
use crate::arguments::ErrorOut;
use crate::foundation::dictionary::NSDictionary;
use crate::foundation::{NSArray, NSError, NSString};

/// `MTLFunctionTypeVisible`.
pub(crate) const VISIBLE: usize = 5;

/// What a function is for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FunctionKind {
    Kernel,
    Visible,
    /// It is named and reflected, and does not run.
    Graphics(GraphicsFunction),
}

impl FunctionKind {
    /// `MTLFunctionType`.
    fn number(&self) -> usize {
        match self {
            FunctionKind::Kernel => 3,
            FunctionKind::Visible => VISIBLE,
            FunctionKind::Graphics(function) => match function.stage {
                GraphicsStage::Vertex => 1,
                GraphicsStage::Fragment => 2,
                GraphicsStage::Intersection => 6,
                GraphicsStage::Mesh => 7,
                GraphicsStage::Object => 8,
                other => unreachable!("{other:?} is no stage of Metal's"),
            },
        }
    }
}

/// The instance variables of a library.
#[derive(Debug)]
pub(crate) struct LibraryIvars {
    pub(crate) library: anymetal::Library,
    pub(crate) device: Retained<Device>,
    pub(crate) label: Label,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalLibrary"]
    #[ivars = LibraryIvars]
    #[derive(Debug)]
    pub(crate) struct Library;

    impl Library {
        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().device.clone()
        }

        #[unsafe(method_id(label))]
        fn label(&self) -> Option<Retained<NSString>> {
            self.ivars().label.get()
        }

        #[unsafe(method_id(installName))]
        fn install_name(&self) -> Option<Retained<NSString>> {
            None
        }

        #[unsafe(method(type))]
        fn library_type(&self) -> isize {
            0
        }

        #[unsafe(method(setLabel:))]
        fn set_label(&self, label: Option<&NSString>) {
            self.ivars().label.set(label);
        }

        #[unsafe(method_id(functionNames))]
        fn function_names(&self) -> Retained<NSArray> {
            let names = self.names();
            NSArray::of(names.iter().map(|name| NSString::object_of(name)).collect())
        }

        #[unsafe(method_id(newFunctionWithName:))]
        fn new_function(&self, name: &NSString) -> Option<Retained<Function>> {
            self.function(&name.to_string(), FunctionConstants::new(), None).ok()
        }

        #[unsafe(method_id(newFunctionWithName:constantValues:error:))]
        fn new_function_with(&self, name: &NSString, constants: &ConstantValues, error: ErrorOut) -> Option<Retained<Function>> {
            self.specialized(&name.to_string(), constants.values(), None).map_or_else(|problem| error.fail(problem), Some)
        }

        #[unsafe(method(newFunctionWithName:constantValues:completionHandler:))]
        fn new_function_async(&self, name: &NSString, constants: &ConstantValues, handler: &Block<dyn Fn(*mut AnyObject, *mut NSError)>) {
            let made = self.specialized(&name.to_string(), constants.values(), None);
            super::device::tell(made, handler);
        }

        #[unsafe(method_id(newFunctionWithDescriptor:error:))]
        fn new_described_function(&self, descriptor: &FunctionDescriptor, error: ErrorOut) -> Option<Retained<Function>> {
            self.described(descriptor).map_or_else(|problem| error.fail(problem), Some)
        }

        #[unsafe(method(newFunctionWithDescriptor:completionHandler:))]
        fn new_described_function_async(&self, descriptor: &FunctionDescriptor, handler: &Block<dyn Fn(*mut AnyObject, *mut NSError)>) {
            super::device::tell(self.described(descriptor), handler);
        }
    }
);

impl Library {
    /// The function of that name, if the library has it, by another name in pipelines that link it.
    fn function(
        &self,
        name: &str,
        constants: FunctionConstants,
        specialized_name: Option<String>,
    ) -> Result<Retained<Function>, Retained<NSError>> {
        let kind = self.kind(name).ok_or_else(|| errors::function_not_found(name, &self.names()))?;
        let (library, name, label) = (self.retain(), name.to_owned(), Label::default());
        let ivars = FunctionIvars { library, name, specialized_name, kind, constants, label };
        Ok(crate::foundation::object(ivars))
    }

    /// As [`Self::function`], of a kernel that has values for all constants that it needs.
    fn specialized(
        &self,
        name: &str,
        constants: FunctionConstants,
        specialized_name: Option<String>,
    ) -> Result<Retained<Function>, Retained<NSError>> {
        let function = self.function(name, constants, specialized_name)?;
        function.require_constants()?;
        Ok(function)
    }

    /// What the function of that name is for.
    fn kind(&self, name: &str) -> Option<FunctionKind> {
        let is_named = |known: &String| known == name;
        if self.ivars().library.kernel_names().iter().any(is_named) {
            return Some(FunctionKind::Kernel);
        }
        if self.visible_names().iter().any(is_named) {
            return Some(FunctionKind::Visible);
        }
        self.graphics_functions().into_iter().find(|known| known.name == name).map(FunctionKind::Graphics)
    }

    /// The names of all functions.
    fn names(&self) -> Vec<String> {
        let mut names = self.ivars().library.kernel_names();
        names.extend(self.visible_names());
        names.extend(self.graphics_functions().into_iter().map(|function| function.name));
        names
    }

    /// The names of the visible functions; a library of ready code tells none.
    fn visible_names(&self) -> Vec<String> {
        self.ivars().library.visible_function_names().unwrap_or_default()
    }

    /// The graphics functions, likewise.
    fn graphics_functions(&self) -> Vec<GraphicsFunction> {
        self.ivars().library.graphics_functions().unwrap_or_default()
    }

    fn described(&self, descriptor: &FunctionDescriptor) -> Result<Retained<Function>, Retained<NSError>> {
        let name = descriptor.ivars().name().map(|name| name.to_string()).unwrap_or_default();
        let specialized = descriptor.ivars().specialized_name().map(|name| name.to_string());
        match descriptor.ivars().constant_values() {
            Some(values) => self.specialized(&name, values.values(), specialized),
            None => self.function(&name, FunctionConstants::new(), specialized),
        }
    }
}

/// The instance variables of a function.
#[derive(Debug)]
pub(crate) struct FunctionIvars {
    pub(crate) library: Retained<Library>,
    pub(crate) name: String,
    /// Its name in pipelines that link it, if that is another.
    specialized_name: Option<String>,
    kind: FunctionKind,
    pub(crate) constants: FunctionConstants,
    label: Label,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalFunction"]
    #[ivars = FunctionIvars]
    #[derive(Debug)]
    pub(crate) struct Function;

    impl Function {
        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().library.ivars().device.clone()
        }

        #[unsafe(method_id(label))]
        fn label(&self) -> Option<Retained<NSString>> {
            self.ivars().label.get()
        }

        #[unsafe(method(setLabel:))]
        fn set_label(&self, label: Option<&NSString>) {
            self.ivars().label.set(label);
        }

        #[unsafe(method_id(name))]
        fn name(&self) -> Retained<NSString> {
            NSString::of(self.shown_name())
        }

        #[unsafe(method(functionType))]
        fn function_type(&self) -> usize {
            self.ivars().kind.number()
        }

        #[unsafe(method(patchType))]
        fn patch_type(&self) -> usize {
            0
        }

        #[unsafe(method(patchControlPointCount))]
        fn patch_control_points(&self) -> isize {
            -1
        }

        #[unsafe(method(options))]
        fn options(&self) -> usize {
            0
        }

        #[unsafe(method_id(stageInputAttributes))]
        fn stage_inputs(&self) -> Option<Retained<NSArray>> {
            let FunctionIvars { library, name, kind, .. } = self.ivars();
            let inputs = match kind {
                FunctionKind::Graphics(function) => function.stage_inputs.clone(),
                FunctionKind::Kernel | FunctionKind::Visible => {
                    let reflected = library.ivars().library.reflect(name);
                    reflected.map(|kernel| kernel.stage_inputs).unwrap_or_default()
                }
            };
            (!inputs.is_empty()).then(|| attributes_of(inputs))
        }

        #[unsafe(method_id(vertexAttributes))]
        fn vertex_attributes(&self) -> Option<Retained<NSArray>> {
            match &self.ivars().kind {
                FunctionKind::Graphics(function) if function.stage == GraphicsStage::Vertex => {
                    Some(vertex_attributes_of(function.stage_inputs.clone()))
                }
                FunctionKind::Kernel | FunctionKind::Visible | FunctionKind::Graphics(_) => None,
            }
        }

        #[unsafe(method_id(newArgumentEncoderWithBufferIndex:))]
        fn argument_encoder(&self, index: usize) -> Retained<ArgumentEncoder> {
            self.encoder("MTLFunction newArgumentEncoderWithBufferIndex:", index)
        }

        #[unsafe(method_id(functionConstantsDictionary))]
        fn constants(&self) -> Retained<NSDictionary> {
            let FunctionIvars { library, name, .. } = self.ivars();
            let reflected = library.ivars().library.reflect(name);
            let constants = reflected.map(|kernel| kernel.function_constants).unwrap_or_default();
            NSDictionary::of_pairs(constants.into_iter().map(|constant| {
                let name = NSString::object_of(&constant.name);
                let constant: Retained<FunctionConstant> = crate::foundation::object(constant);
                (name, Retained::into_super(Retained::into_super(constant)))
            }))
        }
    }
);

impl Function {
    pub(crate) fn is_kernel(&self) -> bool {
        self.ivars().kind == FunctionKind::Kernel
    }

    /// Fails for a kernel with a function constant that it cannot do without and has no value for.
    fn require_constants(&self) -> Result<(), Retained<NSError>> {
        if !self.is_kernel() {
            return Ok(());
        }
        let FunctionIvars { library, name, constants, .. } = self.ivars();
        let reflected = library.ivars().library.reflect(name).map_err(|error| errors::of_library(&error))?;
        let has_value = |constant: &FunctionConstantInfo| {
            constants.iter().any(|(key, _)| is_declared(key, std::slice::from_ref(constant)))
        };
        let mut required = reflected.function_constants.iter().filter(|constant| constant.required);
        match required.find(|constant| !has_value(constant)) {
            Some(constant) => Err(errors::constant_without_value(name, constant)),
            None => Ok(()),
        }
    }

    /// An encoder for the structure of a buffer argument, for a method that makes one.
    pub(crate) fn encoder(&self, method: &str, index: usize) -> Retained<ArgumentEncoder> {
        let FunctionIvars { library, name, .. } = self.ivars();
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        let (device, library) = (library.ivars().device.clone(), library.ivars().library.clone());
        let source = Source { library, kernel: name.to_owned(), index, path: Vec::new() };
        ArgumentEncoder::of(method, source, device)
    }

    /// Its name: that of its specialisation, if it has one.
    pub(crate) fn shown_name(&self) -> &str {
        let FunctionIvars { name, specialized_name, .. } = self.ivars();
        specialized_name.as_deref().unwrap_or(name)
    }

    /// Adds it to what a pipeline links.
    pub(crate) fn linked_to(
        &self,
        linked: anymetal::functions::LinkedFunctions,
        is_private: bool,
    ) -> Result<anymetal::functions::LinkedFunctions, anymetal::Error> {
        let FunctionIvars { library, name, specialized_name, constants, .. } = self.ivars();
        let library = &library.ivars().library;
        Ok(match (is_private, specialized_name) {
            (true, _) => linked.private_function(library, name),
            (false, Some(alias)) => linked.function_as(library, name, alias, constants.clone()),
            (false, None) => linked.function_with(library, name, constants.clone()),
        })
    }

    /// The pipeline of the function.
    pub(crate) fn pipeline(
        &self,
        label: &str,
        linked: anymetal::functions::LinkedFunctions,
        stage_input: Option<&anymetal::stage_input::StageInputDescriptor>,
    ) -> Result<anymetal::Pipeline, anymetal::Error> {
        let FunctionIvars { library, name, constants, .. } = self.ivars();
        let library = &library.ivars().library;
        let mut descriptor =
            anymetal::PipelineDescriptor::new(name.as_str()).label(label).linked_functions(linked);
        descriptor.stage_input = stage_input.cloned();
        library.pipeline(descriptor.constants(self.known(library, constants)?))
    }

    /// The values for constants that the function has: programs set values for whole libraries.
    fn known(
        &self,
        library: &anymetal::Library,
        constants: &FunctionConstants,
    ) -> Result<FunctionConstants, anymetal::Error> {
        if constants.is_empty() {
            return Ok(FunctionConstants::new());
        }
        let declared = library.reflect(&self.ivars().name)?.function_constants;
        let known = constants.iter().filter(|(key, _)| is_declared(key, &declared));
        Ok(known.fold(FunctionConstants::new(), |all, (key, value)| all.with(key.clone(), value)))
    }
}

/// Whether the library declares what a key names.
fn is_declared(key: &ConstantKey, declared: &[FunctionConstantInfo]) -> bool {
    match key {
        ConstantKey::Index(index) => declared.iter().any(|known| known.index == *index),
        ConstantKey::Name(name) => declared.iter().any(|known| known.name == *name),
        ConstantKey::Component(whole, _) => is_declared(whole, declared),
    }
}
