//! One function for all: its locals say in their names what is expected.

use super::definitely_stored;
use anymetal_ir::{parse_module, verify};

const FUNCTION: &str = r#"
func f0 "f" (v0: ptr.device, v1: i32, v2: bool) {
  local l0 "stored before the load" size 4 align 4
  local l1 "no: stored in one branch" size 4 align 4
  local l2 "stored in both branches" size 4 align 4
  local l3 "no: stored by the loop's body alone" size 4 align 4
  local l4 "stored before every break" size 4 align 4
  local l5 "no: begins again around the loop" size 4 align 4
  local l6 "no: half of it stored" size 8 align 4
  local l7 "no: copied" size 4 align 4
  local l8 "zeroed" size 8 align 4
  local l9 "no: one case does not store" size 4 align 4
  local l10 "stored before what returns otherwise" size 4 align 4
  local l11 "no: continue skips the store" size 4 align 4
  v10 = local_addr l0 : ptr.thread
  v11 = local_addr l1 : ptr.thread
  v12 = local_addr l2 : ptr.thread
  v13 = local_addr l3 : ptr.thread
  v14 = local_addr l4 : ptr.thread
  v15 = local_addr l5 : ptr.thread
  v16 = local_addr l6 : ptr.thread
  v17 = local_addr l7 : ptr.thread
  v18 = local_addr l8 : ptr.thread
  v19 = local_addr l9 : ptr.thread
  v20 = local_addr l10 : ptr.thread
  v21 = local_addr l11 : ptr.thread
  store v10, v1, align 4
  v30 = load v10, align 4 : i32
  if v2 {
    store v11, v1, align 4
    store v12, v1, align 4
  } else {
    store v12, v1, align 4
  }
  v31 = load v11, align 4 : i32
  v32 = load v12, align 4 : i32
  loop label0 {
    if v2 {
      store v14, v1, align 4
      break label0
    }
    store v13, v1, align 4
    store v14, v1, align 4
    if v2 {
      continue label0
    }
    store v21, v1, align 4
    break label0
  } continuing {
    v33 = load v21, align 4 : i32
  }
  v34 = load v13, align 4 : i32
  v35 = load v14, align 4 : i32
  store v15, v1, align 4
  loop label1 {
    v36 = load v15, align 4 : i32
    local_start l5
    if v2 {
      break label1
    }
  }
  store v16, v1, align 4
  v37 = ptr_add v16 + 4 : ptr.thread
  v38 = load v37, align 4 : i32
  store v17, v1, align 4
  v39 = load v17, align 4 : i32
  mem_copy v17, v0, size 4, align 4
  mem_zero v18, size 8, align 4
  v40 = ptr_add v18 + 4 : ptr.thread
  v41 = load v40, align 4 : i32
  switch label2 v1 case 1 {
    store v19, v1, align 4
  } default {
  }
  v42 = load v19, align 4 : i32
  if v2 {
    store v20, v1, align 4
  } else {
    return
  }
  v43 = load v20, align 4 : i32
}
"#;

#[test]
fn locals_are_stored_on_every_path_or_not() {
    let module = parse_module(FUNCTION).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(verify(&module), Ok(()));
    let function = &module.functions[0];
    for (local, definite) in function.locals.iter().zip(definitely_stored(function)) {
        assert_eq!(definite, !local.name.starts_with("no: "), "{}", local.name);
    }
}
