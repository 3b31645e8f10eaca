//! Tests of the runtime through `objc2` where it can ask, and through the C functions where it
//! cannot.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use objc2::rc::{Retained, Weak, autoreleasepool};
use objc2::runtime::{AnyClass, AnyObject, AnyProtocol, ClassBuilder, NSObject, NSObjectProtocol};
use objc2::{AnyThread, ClassType, DefinedClass, Message, msg_send, sel};

use super::class::Class;
use super::class_builder::{add_method, allocate_pair, register_pair};
use super::message::implementation;
use super::object::{Imp, Object};
use super::selector::Sel;

/// Counts its drops.
#[derive(Debug, Clone)]
struct Drops(Arc<AtomicUsize>);

impl Drops {
    fn new() -> (Drops, Arc<AtomicUsize>) {
        let count = Arc::default();
        (Drops(Arc::clone(&count)), count)
    }
}

impl Drop for Drops {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

objc2::define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "TestCounted"]
    #[ivars = Drops]
    struct Counted;

    impl Counted {
        #[unsafe(method(fortyTwo))]
        fn forty_two(&self) -> i32 {
            42
        }

        #[unsafe(method_id(itself))]
        fn itself(&self) -> Retained<Counted> {
            self.retain()
        }
    }
);

// SAFETY: a counted object has an atomic count only.
unsafe impl Send for Counted {}
// SAFETY: as above.
unsafe impl Sync for Counted {}

impl Counted {
    fn new() -> (Retained<Counted>, Arc<AtomicUsize>) {
        let (drops, count) = Drops::new();
        (crate::foundation::object(drops), count)
    }
}

fn dropped(count: &AtomicUsize) -> usize {
    count.load(Ordering::SeqCst)
}

#[test]
fn a_selector_is_one_object_for_each_name() {
    let (first, second) = (Sel::of(c"oneName:and:"), Sel::of(c"oneName:and:"));
    assert_eq!((first.key(), first.colons()), (second.key(), 2));
    assert_ne!(first, Sel::of(c"oneName:"));
    assert_eq!(sel!(oneName:and:).name(), c"oneName:and:");
}

#[test]
fn references_from_many_threads_end_an_object_once() {
    let (object, drops) = Counted::new();
    let start = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                start.wait();
                for _ in 0..10_000 {
                    drop(std::hint::black_box(object.clone()));
                }
            });
        }
    });
    assert_eq!((object.retainCount(), dropped(&drops)), (1, 0));
    drop(object);
    assert_eq!(dropped(&drops), 1);
}

#[test]
fn a_weak_reference_gives_the_object_or_nothing_while_its_last_reference_goes() {
    for _ in 0..500 {
        let (object, drops) = Counted::new();
        let weak = Weak::from_retained(&object);
        let start = Barrier::new(3);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let weak = weak.clone();
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    for _ in 0..20 {
                        if let Some(object) = weak.load() {
                            assert_eq!(object.forty(), 42);
                        }
                    }
                });
            }
            scope.spawn(|| {
                start.wait();
                drop(object);
            });
        });
        assert!(weak.load().is_none());
        assert_eq!(dropped(&drops), 1);
    }
}

impl Counted {
    fn forty(&self) -> i32 {
        // SAFETY: the class has the method.
        unsafe { msg_send![self, fortyTwo] }
    }
}

#[test]
fn weak_references_are_copied_moved_and_stored_anew() {
    let ((first, _), (second, _)) = (Counted::new(), Counted::new());
    let weak = Weak::from_retained(&first);
    let copy = weak.clone();
    let moved = copy;
    assert!(moved.load().is_some_and(|object| Retained::as_ptr(&object) == Retained::as_ptr(&first)));
    let mut place = std::ptr::null_mut::<Object>();
    let pointer = |object: &Retained<Counted>| Retained::as_ptr(object).cast_mut().cast::<Object>();
    // SAFETY: the place is used by these functions only, and both objects live.
    unsafe {
        super::weak::objc_initWeak(&mut place, pointer(&first));
        super::weak::objc_storeWeak(&mut place, pointer(&second));
        drop(second);
        assert!(super::weak::objc_loadWeakRetained(&mut place).is_null());
        super::weak::objc_destroyWeak(&mut place);
    }
    drop(first);
    assert!(weak.load().is_none() && moved.load().is_none());
}

#[test]
fn pools_release_what_came_after_their_start_innermost_first() {
    let ((outer, outer_drops), (inner, inner_drops)) = (Counted::new(), Counted::new());
    autoreleasepool(|_| {
        let _later = Retained::autorelease_ptr(outer);
        autoreleasepool(|_| {
            let _later = Retained::autorelease_ptr(inner);
            assert_eq!(dropped(&inner_drops), 0);
        });
        assert_eq!((dropped(&outer_drops), dropped(&inner_drops)), (0, 1));
    });
    assert_eq!(dropped(&outer_drops), 1);
}

#[test]
fn a_thread_that_ends_releases_what_no_pool_did() {
    let (object, drops) = Counted::new();
    std::thread::spawn(move || {
        let _later = Retained::autorelease_ptr(object);
    })
    .join()
    .unwrap();
    assert_eq!(dropped(&drops), 1);
}

objc2::define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "TestLeavesMore"]
    #[ivars = LeavesMore]
    struct LeavesMoreObject;
);

/// Leaves an object to the pool when it ends.
struct LeavesMore(Option<Retained<Counted>>);

impl Drop for LeavesMore {
    fn drop(&mut self) {
        if let Some(object) = self.0.take() {
            let _later = Retained::autorelease_ptr(object);
        }
    }
}

#[test]
fn a_pool_releases_what_its_own_end_adds() {
    let (object, drops) = Counted::new();
    autoreleasepool(|_| {
        let last: Retained<LeavesMoreObject> = crate::foundation::object(LeavesMore(Some(object)));
        let _later = Retained::autorelease_ptr(last);
    });
    assert_eq!(dropped(&drops), 1);
}

#[test]
fn returned_objects_need_no_pool() {
    let (object, drops) = Counted::new();
    for _ in 0..100_000 {
        // SAFETY: the class has the method.
        let same: Retained<Counted> = unsafe { msg_send![&*object, itself] };
        drop(same);
    }
    assert_eq!(object.retainCount(), 1, "no pool holds references");
    drop(object);
    assert_eq!(dropped(&drops), 1);
}

/// A method that gives a number.
fn constant<const N: usize>() -> Imp {
    extern "C-unwind" fn number<const N: usize>(_: &Object, _: Sel) -> usize {
        N
    }
    let code: extern "C-unwind" fn(&Object, Sel) -> usize = number::<N>;
    // SAFETY: the code is cast back before it is called.
    unsafe { std::mem::transmute::<extern "C-unwind" fn(&Object, Sel) -> usize, Imp>(code) }
}

fn ask(class: &'static Class, selector: Sel) -> usize {
    let code = implementation(class, Some(selector));
    // SAFETY: the tests' methods have this type and do not look at the receiver.
    let code = unsafe { std::mem::transmute::<Imp, extern "C-unwind" fn(&Object, Sel) -> usize>(code) };
    code(class.as_object(), selector)
}

fn test_class(name: &std::ffi::CStr, superclass: Option<&'static Class>) -> &'static Class {
    let root = superclass.or_else(|| super::registry::class_named(c"NSObject"));
    let class = allocate_pair(root, name).expect("a new name");
    register_pair(class);
    class
}

#[test]
fn caches_stay_right_while_classes_and_methods_are_added() {
    let base = test_class(c"TestCacheBase", None);
    let changing = Sel::of(c"testChanging");
    add_method(base, changing, constant::<0>(), c"Q16@0:8");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for reader in 0..3 {
            let done = &done;
            scope.spawn(move || {
                let mut seen = 0;
                while !done.load(Ordering::Acquire) {
                    let now = ask(base, changing);
                    assert!(now >= seen, "reader {reader} saw {now} after {seen}");
                    seen = now;
                }
            });
        }
        scope.spawn(|| {
            let replace = |code: Imp| super::class_builder::replace_method(base, changing, code, c"Q16@0:8");
            for round in 0..200usize {
                let class =
                    test_class(&std::ffi::CString::new(format!("TestCache{round}")).unwrap(), Some(base));
                let own = Sel::of(&std::ffi::CString::new(format!("testOwn{round}")).unwrap());
                add_method(class, own, constant::<7>(), c"Q16@0:8");
                assert_eq!((ask(class, own), ask(class, changing) < 4), (7, true));
                match round {
                    50 => drop(replace(constant::<1>())),
                    100 => drop(replace(constant::<2>())),
                    150 => drop(replace(constant::<3>())),
                    _ => {}
                }
            }
            done.store(true, Ordering::Release);
        });
    });
    assert_eq!(ask(base, changing), 3);
}

#[test]
fn a_method_added_later_is_found_by_classes_that_had_messages() {
    let base = test_class(c"TestLateBase", None);
    let below = test_class(c"TestLateBelow", Some(base));
    let selector = Sel::of(c"testLate");
    assert!(below.implementation(selector).is_none());
    add_method(base, selector, constant::<1>(), c"Q16@0:8");
    assert_eq!(ask(below, selector), 1);
    add_method(below, selector, constant::<2>(), c"Q16@0:8");
    assert_eq!((ask(below, selector), ask(base, selector)), (2, 1));
}

fn failure(run: impl FnOnce()) -> String {
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).expect_err("it fails");
    payload.downcast_ref::<String>().cloned().expect("a text")
}

#[test]
fn a_message_that_nothing_answers_fails_with_its_name() {
    let (object, _) = Counted::new();
    let pointer = Retained::as_ptr(&object).cast_mut().cast::<Object>();
    let text = failure(|| {
        // SAFETY: the object lives; the message is answered by a failure.
        unsafe { super::message::send(pointer, Sel::of(c"testNothing")) };
    });
    assert_eq!(text, "-[TestCounted testNothing]: anymetal has no such method");
}

#[test]
fn a_class_that_is_only_a_name_links_and_fails_with_it() {
    let class = super::registry::place_of(c"MTLTensorDescriptor").expect("a place");
    let object = std::ptr::from_ref(class.as_object()).cast_mut();
    let text = failure(|| {
        // SAFETY: a class is an object; the message is answered by a failure.
        unsafe { super::message::send(object, Sel::of(c"new")) };
    });
    assert_eq!(text, "+[MTLTensorDescriptor new]: anymetal does not implement the class MTLTensorDescriptor");
    assert!(
        AnyClass::get(c"MTLIntersectionFunctionTableDescriptor").is_none(),
        "a program that looks can do without it"
    );
}

#[test]
fn nothing_answers_every_message_with_nothing() {
    let code = super::message::objc_msg_lookup(None, Some(Sel::of(c"retainCount")));
    // SAFETY: what answers messages to nothing gives a zero that fits any register.
    let code =
        unsafe { std::mem::transmute::<Imp, extern "C-unwind" fn(Option<&Object>, Sel) -> usize>(code) };
    assert_eq!(code(None, Sel::of(c"retainCount")), 0);
}

#[test]
fn classes_are_built_and_asked_as_the_documentation_of_objc2_shows() {
    let mut builder = ClassBuilder::new(c"TestBuilt", NSObject::class()).expect("a new name");
    builder.add_ivar::<u32>(c"_small");
    builder.add_ivar::<u64>(c"_large");
    let class = builder.register();
    let (small, large) = (class.instance_variable(c"_small"), class.instance_variable(c"_large"));
    assert_eq!((small.unwrap().offset(), large.unwrap().offset()), (8, 16));
    assert_eq!((class.instance_size(), class.superclass()), (24, Some(NSObject::class())));
    assert!(AnyClass::get(c"TestBuilt") == Some(class) && ClassBuilder::new(c"TestBuilt", class).is_none());
    let protocol = AnyProtocol::get(c"NSObject").expect("the root's protocol");
    assert!(
        class.conforms_to(protocol)
            && class.responds_to(sel!(retain))
            && !class.responds_to(sel!(testAbsent))
    );
    assert!(class.metaclass().is_metaclass() && class.metaclass().name() == c"TestBuilt");
    let method = NSObject::class().instance_method(sel!(isKindOfClass:)).expect("the root has it");
    assert_eq!((method.arguments_count(), method.return_type().to_str().unwrap()), (3, "C"));
}

#[test]
fn an_object_knows_its_classes_and_says_what_it_is() {
    let (object, _) = Counted::new();
    assert!(object.isKindOfClass(NSObject::class()) && object.isMemberOfClass(Counted::class()));
    assert!(object.respondsToSelector(sel!(fortyTwo)) && !object.isProxy());
    // SAFETY: every object has the method.
    let text: Retained<AnyObject> = unsafe { msg_send![&*object, description] };
    // SAFETY: it is a string.
    let text = unsafe { crate::foundation::text_of(Retained::as_ptr(&text).cast_mut()) };
    assert!(text.starts_with("<TestCounted: 0x"), "{text}");
}

#[test]
fn a_block_is_copied_once_and_drops_what_it_captured() {
    let (drops, count) = Drops::new();
    let block = block2::RcBlock::new(move |add: i32| add + drops.0.load(Ordering::SeqCst) as i32);
    let copy = block.clone();
    drop(block);
    assert_eq!((copy.call((2,)), dropped(&count)), (2, 0));
    drop(copy);
    assert_eq!(dropped(&count), 1);
    let stack = block2::StackBlock::new(|| 5);
    let heap = stack.copy();
    assert_eq!((stack.call(()), heap.call(())), (5, 5));
}

#[test]
fn an_associated_object_ends_with_the_one_that_it_is_attached_to() {
    static KEY: u8 = 0;
    let ((object, _), (value, drops)) = (Counted::new(), Counted::new());
    let pointer = |object: &Retained<Counted>| Retained::as_ptr(object).cast_mut().cast::<AnyObject>();
    let key = (&raw const KEY).cast();
    // SAFETY: both objects live, and 1 is the policy that holds the value.
    unsafe { objc2::ffi::objc_setAssociatedObject(pointer(&object), key, pointer(&value), 1) };
    drop(value);
    // SAFETY: the object lives.
    let found = autoreleasepool(|_| unsafe { objc2::ffi::objc_getAssociatedObject(pointer(&object), key) });
    assert!(!found.is_null() && dropped(&drops) == 0);
    drop(object);
    assert_eq!(dropped(&drops), 1);
}

#[test]
fn a_lock_of_an_object_is_its_threads_until_the_last_exit() {
    let (object, _) = Counted::new();
    let pointer = Retained::as_ptr(&object).cast_mut().cast::<Object>();
    assert_eq!((super::sync::objc_sync_enter(pointer), super::sync::objc_sync_enter(pointer)), (0, 0));
    assert_eq!((super::sync::objc_sync_exit(pointer), super::sync::objc_sync_exit(pointer)), (0, 0));
    assert_eq!(super::sync::objc_sync_exit(pointer), -1);
    let counter = AtomicUsize::new(0);
    let address = pointer.expose_provenance();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let object = std::ptr::with_exposed_provenance_mut(address);
                for _ in 0..1000 {
                    super::sync::objc_sync_enter(object);
                    let before = counter.load(Ordering::Relaxed);
                    counter.store(before + 1, Ordering::Relaxed);
                    super::sync::objc_sync_exit(object);
                }
            });
        }
    });
    assert_eq!(counter.load(Ordering::Relaxed), 4000);
}

#[test]
fn allocated_objects_start_with_one_reference() {
    let object = Counted::alloc().set_ivars(Drops::new().0);
    // SAFETY: `init` takes nothing and gives its receiver.
    let object: Retained<Counted> = unsafe { msg_send![super(object), init] };
    assert_eq!((object.retainCount(), object.ivars().0.load(Ordering::SeqCst)), (1, 0));
}
