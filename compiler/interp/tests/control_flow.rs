//! Divergent control flow: lanes that take different paths, calls, early exits.

mod support;

use anymetal_ir::{BinOp, Label, Module, Op, Space, SwitchCase, Type};
use support::*;

#[test]
fn both_sides_of_a_divergent_if_run_for_their_lanes() {
    let module = kernel(&[Space::Device], |b, p| {
        let x = thread_x(b);
        let odd = has_bits(b, x, 1);
        b.if_else(
            odd,
            |b| {
                let value = add_const(b, x, 100);
                store_at(b, p[0], x, value);
            },
            |b| {
                let small = less(b, x, 10);
                b.if_else(small, |b| store_at(b, p[0], x, x), |_| {});
            },
        );
    });
    let expected: Vec<i32> = (0..40)
        .map(|x| {
            if x % 2 == 1 {
                x + 100
            } else if x < 10 {
                x
            } else {
                -1
            }
        })
        .collect();
    assert_eq!(run_i32(&module, grid(40, 40), 40), expected);
}

/// `for (i = 0; i < x; i++) { if (i == 20) break; if (i % 2) continue; sum += i; }`
#[test]
fn loops_break_and_continue_per_lane() {
    let module = kernel(&[Space::Device], |b, p| {
        let x = thread_x(b);
        let (i_var, sum_var) = (b.func.add_local("i", 4, 4), b.func.add_local("sum", 4, 4));
        let (i_ptr, sum_ptr) = (b.local_addr(i_var), b.local_addr(sum_var));
        let zero = b.i32(0);
        b.store(i_ptr, zero, 4);
        b.store(sum_ptr, zero, 4);
        b.endless_loop(
            |b, label| {
                let i = b.load(i_ptr, Type::I32, 4);
                let is_below = b.compare(anymetal_ir::CmpOp::ULt, i, x);
                b.if_else(is_below, |_| {}, |b| b.push(Op::break_(label)));
                let at_limit = equal(b, i, 20);
                b.if_else(at_limit, |b| b.push(Op::break_(label)), |_| {});
                let odd = has_bits(b, i, 1);
                b.if_else(odd, |b| b.push(Op::continue_(label)), |_| {});
                let sum = b.load(sum_ptr, Type::I32, 4);
                let sum = add(b, sum, i);
                b.store(sum_ptr, sum, 4);
            },
            |b, _| {
                let i = b.load(i_ptr, Type::I32, 4);
                let i = add_const(b, i, 1);
                b.store(i_ptr, i, 4);
            },
        );
        let sum = b.load(sum_ptr, Type::I32, 4);
        store_at(b, p[0], x, sum);
    });
    let expected: Vec<i32> =
        (0..50).map(|x| (0..x).take_while(|&i| i != 20).filter(|i| i % 2 == 0).sum()).collect();
    assert_eq!(run_i32(&module, grid(50, 50), 50), expected);
}

#[test]
fn a_loop_may_end_in_its_continuing_block() {
    let module = kernel(&[Space::Device], |b, p| {
        let x = thread_x(b);
        b.endless_loop(
            |b, _| {
                let old = load_i32(b, p[0], x);
                let new = add_const(b, old, 1);
                store_at(b, p[0], x, new);
            },
            |b, label| {
                let now = load_i32(b, p[0], x);
                let done = b.compare(anymetal_ir::CmpOp::SGe, now, x);
                b.if_else(done, |b| b.push(Op::break_(label)), |_| {});
            },
        );
        let now = load_i32(b, p[0], x);
        let doubled = add(b, now, now);
        store_at(b, p[0], x, doubled);
    });
    let expected: Vec<i32> = (0..33).map(|x| 2 * x).collect();
    assert_eq!(run_i32(&module, grid(33, 33), 33), expected);
}

#[test]
fn switches_pick_one_case_break_early_and_have_a_default() {
    let module = kernel(&[Space::Device], |b, p| {
        let x = thread_x(b);
        let six = b.i32(6);
        let selector = b.binary(BinOp::URem, x, six);
        let minus = b.i32(-3);
        let selector = add(b, selector, minus);
        let label = b.func.add_label();
        let store = |n: i32| {
            move |b: &mut anymetal_ir::Builder<'_>, p: anymetal_ir::Value, x| {
                let value = b.i32(n);
                store_at(b, p, x, value);
            }
        };
        let first = b.nested(|b| store(10)(b, p[0], x));
        let second = b.nested(|b| {
            store(20)(b, p[0], x);
            let low = less(b, x, 16);
            b.if_else(low, |b| b.push(Op::break_(label)), |_| {});
            store(21)(b, p[0], x);
        });
        let default = b.nested(|b| store(30)(b, p[0], x));
        let cases = vec![
            SwitchCase { values: vec![-3, 0], body: first },
            SwitchCase { values: vec![-1], body: second },
        ];
        b.push(Op::switch(label, selector, cases, default));
        let value = load_i32(b, p[0], x);
        let value = add_const(b, value, 1000);
        store_at(b, p[0], x, value);
    });
    let expected: Vec<i32> = (0..32)
        .map(|x| match x % 6 - 3 {
            -3 | 0 => 1010,
            -1 => {
                if x < 16 {
                    1020
                } else {
                    1021
                }
            }
            _ => 1030,
        })
        .collect();
    assert_eq!(run_i32(&module, grid(32, 32), 32), expected);
}

#[test]
fn breaks_leave_outer_scopes_and_loops() {
    let module = kernel(&[Space::Device], |b, p| {
        let x = thread_x(b);
        let outer: Label = b.func.add_label();
        let body = b.nested(|b| {
            b.endless_loop(
                |b, inner| {
                    let low = less(b, x, 5);
                    b.if_else(low, |b| b.push(Op::break_(outer)), |_| {});
                    let middle = less(b, x, 9);
                    b.if_else(middle, |b| b.push(Op::break_(inner)), |b| b.push(Op::Return(None)));
                },
                |_, _| {},
            );
            let value = b.i32(1);
            store_at(b, p[0], x, value);
        });
        b.push(Op::scope(outer, body));
        let old = load_i32(b, p[0], x);
        let new = add_const(b, old, 10);
        store_at(b, p[0], x, new);
    });
    let expected: Vec<i32> = (0..16)
        .map(|x| {
            if x < 5 {
                9
            } else if x < 9 {
                11
            } else {
                -1
            }
        })
        .collect();
    assert_eq!(run_i32(&module, grid(16, 16), 16), expected);
}

#[test]
fn nested_calls_return_early_per_lane() {
    let mut module = Module::new();
    // inner(x): if (x < 3) return 7; loop { if (x & 1) return x; break; } return 2 * x;
    let inner = function(&mut module, "inner", &[Type::I32], Some(Type::I32), |b, p| {
        let small = less(b, p[0], 3);
        let seven = b.i32(7);
        b.if_else(small, |b| b.push(Op::Return(Some(seven))), |_| {});
        b.endless_loop(
            |b, label| {
                let odd = has_bits(b, p[0], 1);
                b.if_else(odd, |b| b.push(Op::Return(Some(p[0]))), |_| {});
                b.push(Op::break_(label));
            },
            |_, _| {},
        );
        let twice = add(b, p[0], p[0]);
        b.push(Op::Return(Some(twice)));
    });
    // outer(x, y): inner(x) + 1000 * inner(y), with values live across the calls.
    let outer = function(&mut module, "outer", &[Type::I32, Type::I32], Some(Type::I32), |b, p| {
        let kept = add(b, p[0], p[1]);
        let first = b.value(Op::Call(inner, vec![p[0]]), Type::I32);
        let second = b.value(Op::Call(inner, vec![p[1]]), Type::I32);
        let thousand = b.i32(1000);
        let second = b.binary(BinOp::Mul, second, thousand);
        let sum = add(b, first, second);
        let million = b.i32(1_000_000);
        let kept = b.binary(BinOp::Mul, kept, million);
        let sum = add(b, sum, kept);
        b.push(Op::Return(Some(sum)));
    });
    add_kernel(&mut module, &[Space::Device], |b, p| {
        let x = thread_x(b);
        let odd = has_bits(b, x, 2);
        let plus = add_const(b, x, 1);
        b.if_else(
            odd,
            |b| {
                let value = b.value(Op::Call(outer, vec![x, plus]), Type::I32);
                store_at(b, p[0], x, value);
            },
            |_| {},
        );
    });
    let inner = |x: i32| {
        if x < 3 {
            7
        } else if x % 2 == 1 {
            x
        } else {
            2 * x
        }
    };
    let expected: Vec<i32> = (0..20)
        .map(|x| if x & 2 == 0 { -1 } else { inner(x) + 1000 * inner(x + 1) + 1_000_000 * (2 * x + 1) })
        .collect();
    assert_eq!(run_i32(&module, grid(20, 20), 20), expected);
}

#[test]
fn a_pointer_to_a_local_crosses_calls_and_each_lane_has_its_own() {
    let mut module = Module::new();
    let bump = function(&mut module, "bump", &[Type::Ptr(Space::Thread)], None, |b, p| {
        let own = b.func.add_local("own", 4, 4);
        let own = b.local_addr(own);
        let old = b.load(p[0], Type::I32, 4);
        b.store(own, old, 4);
        let old = b.load(own, Type::I32, 4);
        let new = add_const(b, old, 1);
        b.store(p[0], new, 4);
        b.push(Op::Return(None));
    });
    add_kernel(&mut module, &[Space::Device], |b, p| {
        let x = thread_x(b);
        let var = b.func.add_local("var", 16, 16);
        b.push(Op::LocalStart(var));
        let base = b.local_addr(var);
        let third = b.ptr_offset(base, 8);
        b.store(third, x, 4);
        b.push(Op::Call(bump, vec![third]));
        b.push(Op::Call(bump, vec![third]));
        let value = b.load(third, Type::I32, 4);
        store_at(b, p[0], x, value);
    });
    let expected: Vec<i32> = (0..70).map(|x| x + 2).collect();
    assert_eq!(run_i32(&module, grid(70, 64), 70), expected);
}

#[test]
fn recursion_is_refused() {
    let mut module = Module::new();
    let id = anymetal_ir::FuncId(0);
    function(&mut module, "f", &[], None, |b, _| b.push(Op::Call(id, vec![])));
    add_kernel(&mut module, &[], |b, _| b.push(Op::Call(id, vec![])));
    let error = anymetal_interp::Program::new(&module, "k").expect_err("recursive");
    assert_eq!(error, anymetal_interp::InterpError::Recursion { function: "f".to_owned() });
}
