//! Names that sema itself must know, interned once per check.

use crate::token::Name;

macro_rules! known_names {
    ($($field:ident = $text:literal,)*) => {
        /// See the module's documentation.
        #[derive(Debug)]
        pub(super) struct KnownNames {
            $(pub(super) $field: Name,)*
        }

        impl KnownNames {
            pub(super) fn new() -> Self {
                Self { $($field: Name::new($text),)* }
            }
        }
    };
}

known_names! {
    metal = "metal",
    vec = "vec",
    packed_vec = "packed_vec",
    matrix = "matrix",
    conversion = "(conversion)",
    call_operator = "operator()",
    index_operator = "operator[]",
    assign_operator = "operator=",
    arrow_operator = "operator->",
    this = "this",
    is_function_constant_defined = "is_function_constant_defined",
    texture_handle = "__texture",
    sampler_state = "__state",
    array_elements = "__elems",
    array_ref = "__in_thread",
    make_integer_seq = "__make_integer_seq",
    type_pack_element = "__type_pack_element",
    log_object = "__log",
    uniform = "uniform",
    function_table = "__functions",
    tensor_elements = "__tensor",
    attribute = "attribute",
    function_constant = "function_constant",
    max_total_threads = "max_total_threads_per_threadgroup",
    required_threads = "required_threads_per_threadgroup",
}
