//! Arrays of descriptors: a fixed number of elements, which are made when they are first looked at.

use std::sync::Mutex;

use objc2::Message;
use objc2::rc::Retained;

use super::descriptor::locked;
use super::violation;

/// A descriptor or an array of descriptors.
pub(crate) trait Descriptor: Message + Sized {
    /// One with the values that it has at first.
    fn fresh() -> Retained<Self>;

    /// Another one with the same values.
    fn duplicate(&self) -> Retained<Self>;
}

/// The elements of an array that were looked at or set.
#[derive(Debug)]
pub(crate) struct Elements<E, const N: usize>([Mutex<Option<Retained<E>>>; N]);

impl<E, const N: usize> Default for Elements<E, N> {
    fn default() -> Self {
        Elements([const { Mutex::new(None) }; N])
    }
}

impl<E: Descriptor, const N: usize> Elements<E, N> {
    /// The element at an index, which the method was called with.
    pub(crate) fn get(&self, method: &str, index: usize) -> Retained<E> {
        locked(self.slot(method, index)).get_or_insert_with(E::fresh).clone()
    }

    /// Copies an element in, or takes the one away that is there.
    pub(crate) fn put(&self, method: &str, index: usize, element: Option<&E>) {
        let copy = element.map(E::duplicate);
        let before = std::mem::replace(&mut *locked(self.slot(method, index)), copy);
        // Outside the lock: its end may look at the array.
        drop(before);
    }

    /// The elements that were looked at or set, with their indices.
    pub(crate) fn known(&self) -> Vec<(u32, Retained<E>)> {
        (0..).zip(&self.0).filter_map(|(index, slot)| Some((index, locked(slot).clone()?))).collect()
    }

    pub(crate) fn duplicate(&self) -> Self {
        Elements(self.0.each_ref().map(|slot| {
            let element = locked(slot).clone();
            Mutex::new(element.map(|element| element.duplicate()))
        }))
    }

    fn slot(&self, method: &str, index: usize) -> &Mutex<Option<Retained<E>>> {
        self.0.get(index).unwrap_or_else(|| violation(method, format_args!("index {index} is not below {N}")))
    }
}

/// Defines the class of an array of so many descriptors.
macro_rules! descriptor_array {
    ($array:ident = $name:literal, $element:ty, $count:expr) => {
        define_class!(
            // SAFETY: `NSObject` asks nothing of those below it.
            #[unsafe(super(objc2::runtime::NSObject))]
            #[name = $name]
            #[ivars = crate::metal::descriptor_array::Elements<$element, { $count }>]
            #[derive(Debug)]
            pub(crate) struct $array;

            impl $array {
                #[unsafe(method_id(init))]
                fn init(this: objc2::rc::Allocated<Self>) -> objc2::rc::Retained<Self> {
                    crate::foundation::initialized(this, Default::default())
                }

                #[unsafe(method_id(objectAtIndexedSubscript:))]
                fn get(&self, index: usize) -> objc2::rc::Retained<$element> {
                    let method = concat!($name, " objectAtIndexedSubscript:");
                    self.ivars().get(method, index)
                }

                #[unsafe(method(setObject:atIndexedSubscript:))]
                fn put(&self, element: Option<&$element>, index: usize) {
                    let method = concat!($name, " setObject:atIndexedSubscript:");
                    self.ivars().put(method, index, element);
                }
            }
        );

        impl crate::metal::descriptor_array::Descriptor for $array {
            fn fresh() -> objc2::rc::Retained<Self> {
                crate::foundation::object(Default::default())
            }

            fn duplicate(&self) -> objc2::rc::Retained<Self> {
                crate::foundation::object(self.ivars().duplicate())
            }
        }
    };
}

pub(crate) use descriptor_array;
