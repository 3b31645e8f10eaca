//! LLVM's passes, brought into memory while there is nothing to compile yet.
//!
//! The first compile of a process reads LLVM's code and tables for the first time: a thousand page faults, a
//! tenth of a small kernel's time. [`Llvm::warm_up`] has a function of a few lines take them, on another
//! processor.

use crate::compile::CompileOptions;
use crate::library::Llvm;

/// What kernels are made of: a loop, vectors, a mask, a branch.
const LITTLE: &str = "
declare <32 x float> @llvm.masked.load.v32f32.p0(ptr, i32, <32 x i1>, <32 x float>)
define void @f(ptr %a, i64 %n, i32 %bits) {
entry:
  %mask = bitcast i32 %bits to <32 x i1>
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %more ]
  %sum = phi <32 x float> [ zeroinitializer, %entry ], [ %sum.next, %more ]
  %at = getelementptr float, ptr %a, i64 %i
  %x = call <32 x float> @llvm.masked.load.v32f32.p0(ptr %at, i32 4, <32 x i1> %mask, <32 x float> zeroinitializer)
  %sum.next = fadd <32 x float> %sum, %x
  %less = fcmp olt <32 x float> %x, %sum
  %some = bitcast <32 x i1> %less to i32
  %none = icmp eq i32 %some, 0
  br i1 %none, label %more, label %rare
rare:
  store <32 x float> %sum, ptr %at, align 4
  br label %more
more:
  %next = add i64 %i, 32
  %again = icmp ult i64 %next, %n
  br i1 %again, label %loop, label %done
done:
  store <32 x float> %sum.next, ptr %a, align 4
  ret void
}
";

impl Llvm {
    /// Compiles a small function and discards it, so that the first compile takes as long as the next.
    pub fn warm_up(&self) {
        // An error of this libLLVM is reported by the first real compile.
        let _ = self.compile(LITTLE, &CompileOptions::default());
    }
}
