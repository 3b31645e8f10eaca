//! The functions that the API exports; [`crate::walk`] calls each with null and 0.

macro_rules! functions {
    ($list:ident: $($name:ident)*) => {
        /// Names and codes.
        pub const $list: &[(&str, unsafe extern "C-unwind" fn())] = &[
            $((stringify!($name), {
                unsafe extern "C-unwind" {
                    fn $name();
                }
                $name
            }),)*
        ];
    };
}

functions! { FUNCTIONS:
    CFRelease CFRetain CGColorSpaceCreateWithName CGColorSpaceRelease MPSSupportsMTLDevice
    MTLCodeGenServiceBuildRequest MTLCodeGenServiceCreate MTLCodeGenServiceDestroy MTLCopyAllDevices MTLCopyAllDevicesWithObserver MTLCreateSystemDefaultDevice
    MTLIOCompressionContextAppendData MTLIOCompressionContextDefaultChunkSize MTLIOCreateCompressionContext
    MTLIOFlushAndDestroyCompressionContext MTLRemoveDeviceObserver NSLog NSLogv _Block_copy _Block_has_signature _Block_object_assign
    _Block_object_dispose _Block_release _Block_signature __objc_load class_addIvar class_addMethod
    class_addProperty class_addProtocol class_conformsToProtocol class_copyIvarList class_copyMethodList
    class_copyPropertyList class_copyProtocolList class_createInstance class_getClassMethod
    class_getClassVariable class_getInstanceMethod class_getInstanceSize class_getInstanceVariable
    class_getIvarLayout class_getMethodImplementation class_getName class_getProperty class_getSuperclass
    class_getVersion class_isMetaClass class_replaceMethod class_replaceProperty class_respondsToSelector
    class_setIvarLayout class_setVersion dispatch_apply dispatch_apply_f dispatch_async dispatch_async_f
    dispatch_data_create dispatch_data_create_map dispatch_data_get_size
    dispatch_get_global_queue dispatch_group_async dispatch_group_create dispatch_group_enter
    dispatch_group_leave dispatch_group_notify dispatch_group_wait dispatch_once dispatch_queue_create
    dispatch_release dispatch_retain dispatch_semaphore_create dispatch_semaphore_signal
    dispatch_semaphore_wait dispatch_sync dispatch_sync_f dispatch_time imp_getBlock
    imp_implementationWithBlock imp_removeBlock mach_absolute_time mach_timebase_info ivar_getName ivar_getOffset ivar_getTypeEncoding
    method_copyArgumentType method_copyReturnType method_exchangeImplementations method_getArgumentType
    method_getImplementation method_getName method_getNumberOfArguments method_getReturnType
    method_getTypeEncoding method_setImplementation objc_alloc objc_alloc_init objc_allocateClassPair
    objc_allocateProtocol objc_autorelease objc_autoreleasePoolPop objc_autoreleasePoolPush
    objc_autoreleaseReturnValue objc_begin_catch objc_copyClassList objc_copyProtocolList objc_copyStruct
    objc_copyWeak objc_destroyWeak objc_disposeClassPair objc_end_catch objc_enumerationMutation
    objc_exception_rethrow objc_getAssociatedObject objc_getClass objc_getClassList objc_getMetaClass
    objc_getProperty objc_getPropertyStruct objc_getProtocol objc_getRequiredClass objc_initWeak
    objc_loadWeak objc_loadWeakRetained objc_lookUpClass objc_moveWeak objc_msgSend objc_msgSendSuper
    objc_msg_lookup objc_msg_lookup_super objc_registerClassPair objc_registerProtocol objc_release
    objc_removeAssociatedObjects objc_retain objc_retainAutorelease objc_retainAutoreleaseReturnValue
    objc_retainAutoreleasedReturnValue objc_retainBlock objc_send_initialize objc_setAssociatedObject
    objc_setProperty objc_setPropertyStruct objc_setProperty_atomic objc_setProperty_atomic_copy
    objc_setProperty_nonatomic objc_setProperty_nonatomic_copy objc_storeStrong objc_storeWeak
    objc_sync_enter objc_sync_exit object_dispose object_getClass object_getClassName
    object_getIndexedIvars object_getInstanceVariable object_getIvar object_setClass
    object_setInstanceVariable object_setIvar property_copyAttributeList property_copyAttributeValue
    property_getAttributes property_getName protocol_addMethodDescription protocol_addProperty
    protocol_addProtocol protocol_conformsToProtocol protocol_copyMethodDescriptionList
    protocol_copyPropertyList protocol_copyProtocolList protocol_getMethodDescription protocol_getName
    protocol_getProperty protocol_isEqual sel_getName sel_getUid sel_isEqual sel_registerName
}

#[cfg(target_arch = "x86_64")]
functions! { FUNCTIONS_OF_X86_64:
    class_getMethodImplementation_stret objc_msgSendSuper_stret objc_msgSend_fpret objc_msgSend_stret
}

#[cfg(not(target_arch = "x86_64"))]
functions! { FUNCTIONS_OF_X86_64: }

/// The functions that are not called, and why.
pub const EXEMPT: &[(&str, &str)] = &[
    ("__gnustep_objc_personality_v0", "the unwinder calls it, with its own structures"),
    ("__gnustep_objcxx_personality_v0", "the unwinder calls it, with its own structures"),
    ("dispatch_main", "it does not return"),
    ("objc_anymetal_throw_exceptions", "it changes how all failures are raised"),
    ("objc_exception_throw", "it throws an object, which no frame of Rust can catch"),
];
