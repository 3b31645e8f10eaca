//! A machine that runs typed trees to find constant values.
//!
//! Memory is bytes, as the kernel's will be, so that unions and casts mean here what they mean there.
//! Scalar arithmetic is [`anymetal_ir::eval`]'s. Every node costs a step of the check's budget.

use super::place::{Address, Place, Val};
use super::{NotConstant, convert_scalar, ir_binary, ir_compare, value_to_bytes};
use crate::hir::{
    BinaryOp, Block, CastKind, CompareOp, ConstValue, Expr, ExprKind, FuncId, LocalId, LogicalOp, ScalarTy,
    Stmt, StmtKind, Ty, TyKind, UnaryOp,
};
use crate::sema::checker::{Checker, MAX_CONSTANT_STEPS};
use anymetal_diag::Span;
use anymetal_ir::{UnOp, eval};
use rustc_hash::FxHashMap;

/// Why evaluation stopped.
pub(super) type Fail = NotConstant;

/// The deepest nesting of calls.
const MAX_CALLS: usize = 512;

/// The deepest nesting of expressions, those of all calls together.
const MAX_DEPTH: u32 = 20_000;

/// What a statement did.
enum Flow {
    Next,
    Break,
    Continue,
    Return(Val),
}

/// See the module's documentation.
pub(super) struct Machine<'c, 'a> {
    pub(super) checker: &'c mut Checker<'a>,
    pub(super) memory: Vec<Vec<u8>>,
    pub(super) bytes_used: usize,
    depth: u32,
    frames: Vec<FxHashMap<LocalId, Address>>,
    /// Globals that were copied into memory.
    globals: FxHashMap<u32, Address>,
}

impl<'c, 'a> Machine<'c, 'a> {
    pub(super) fn new(checker: &'c mut Checker<'a>) -> Self {
        Self {
            checker,
            memory: Vec::new(),
            bytes_used: 0,
            depth: 0,
            frames: vec![FxHashMap::default()],
            globals: FxHashMap::default(),
        }
    }

    pub(super) fn fail(&self, span: Span, message: impl Into<String>) -> Fail {
        NotConstant { span, message: message.into() }
    }

    /// Evaluates an expression to a constant.
    pub(super) fn run(mut self, expr: &Expr) -> Result<ConstValue, Fail> {
        let value = self.value(expr)?;
        Ok(match value {
            Val::Scalar(bits) => ConstValue::Scalar(bits),
            Val::Vector(elements) => ConstValue::Vector(elements),
            Val::Bytes(bytes) => ConstValue::Bytes(bytes),
            Val::Pointer(Address::NULL) => ConstValue::Null,
            Val::Pointer(_) => return Err(self.fail(expr.span, "an address is not a constant")),
            Val::Void => return Err(self.fail(expr.span, "there is no value")),
        })
    }

    fn step(&mut self, span: Span) -> Result<(), Fail> {
        self.checker.constant_steps += 1;
        if self.checker.constant_steps > MAX_CONSTANT_STEPS {
            return Err(self.fail(span, "constant evaluation takes too many steps"));
        }
        Ok(())
    }

    // --- places

    fn local(&mut self, local: LocalId, span: Span) -> Result<Address, Fail> {
        if let Some(&at) = self.frames.last().and_then(|frame| frame.get(&local)) {
            return Ok(at);
        }
        if self.frames.len() == 1 {
            // A variable of the function being checked: only constants are known.
            let key = (self.checker.function.serial, local);
            if let Some(value) = self.checker.local_constants.get(&key).cloned() {
                let ty = self.checker.function.locals[local.0 as usize].ty;
                let at = self.place_constant(&value, ty, span)?;
                self.frames[0].insert(local, at);
                return Ok(at);
            }
        }
        Err(self.fail(span, "the value of a variable is not known at compile time"))
    }

    fn place_constant(&mut self, value: &ConstValue, ty: Ty, span: Span) -> Result<Address, Fail> {
        let bytes = value_to_bytes(&self.checker.types, ty, value);
        let at = self.allocate(bytes.len() as u64, span)?;
        self.memory[at.alloc as usize - 1] = bytes;
        Ok(at)
    }

    fn place(&mut self, expr: &Expr) -> Result<Place, Fail> {
        self.enter(expr.span)?;
        let result = self.place_inner(expr);
        self.depth -= 1;
        result
    }

    /// Goes one level deeper, if that is allowed. The caller comes back up.
    fn enter(&mut self, span: Span) -> Result<(), Fail> {
        self.step(span)?;
        if self.depth >= MAX_DEPTH {
            return Err(self.fail(span, "constant evaluation nests too deeply"));
        }
        self.depth += 1;
        Ok(())
    }

    fn place_inner(&mut self, expr: &Expr) -> Result<Place, Fail> {
        let span = expr.span;
        let ty = expr.ty.ty;
        match &expr.kind {
            ExprKind::Local(local) => Ok(Place::Memory(self.local(*local, span)?, ty)),
            ExprKind::Global(global) => {
                if let Some(&at) = self.globals.get(&global.0) {
                    return Ok(Place::Memory(at, ty));
                }
                let bytes = self.checker.hir_globals[global.0 as usize].bytes.clone();
                let at = self.allocate(bytes.len() as u64, span)?;
                self.memory[at.alloc as usize - 1] = bytes;
                self.globals.insert(global.0, at);
                Ok(Place::Memory(at, ty))
            }
            ExprKind::Deref(pointer) => Ok(Place::Memory(self.address(pointer)?, ty)),
            ExprKind::Field(base, record, index) => {
                let base = self.memory_of(base)?;
                let offset = self.checker.types.record(*record).fields[*index as usize].offset;
                Ok(Place::Memory(base.plus(offset as i64), ty))
            }
            ExprKind::Element(base, index) => {
                let at = self.memory_of(base)?;
                let index = self.scalar(index)? as i64;
                let size = self.checker.types.layout(ty).size as i64;
                Ok(Place::Memory(at.plus(index.wrapping_mul(size)), ty))
            }
            ExprKind::Column(base, index) => {
                let Some((elem, _, rows)) = self.checker.types.as_matrix(base.ty.ty) else {
                    return Err(self.fail(span, "an unexpected type"));
                };
                let at = self.memory_of(base)?;
                let index = self.scalar(index)? as i64;
                let stride = self.checker.types.column_stride(elem, rows) as i64;
                Ok(Place::Memory(at.plus(index.wrapping_mul(stride)), ty))
            }
            ExprKind::Swizzle(base, picks) => {
                let Some((elem, _)) = self.checker.types.as_vector(base.ty.ty) else {
                    return Err(self.fail(span, "an unexpected type"));
                };
                match self.place(base)? {
                    Place::Memory(at, _) => Ok(Place::Elements(at, elem, picks.clone())),
                    Place::Elements(at, elem, inner) => {
                        let picks =
                            picks.iter().filter_map(|&n| inner.get(usize::from(n)).copied()).collect();
                        Ok(Place::Elements(at, elem, picks))
                    }
                }
            }
            ExprKind::VectorElement(base, index) => {
                let Some((elem, len)) = self.checker.types.as_vector(base.ty.ty) else {
                    return Err(self.fail(span, "an unexpected type"));
                };
                let at = self.memory_of(base)?;
                let index = self.scalar(index)? % u64::from(len);
                Ok(Place::Elements(at, elem, vec![index as u8]))
            }
            ExprKind::Materialize(value) => {
                let held = self.value(value)?;
                let size = self.checker.types.layout(ty).size;
                let at = self.allocate(size, span)?;
                self.store_memory(at, ty, &held, span)?;
                Ok(Place::Memory(at, ty))
            }
            ExprKind::Assign(target, value) => {
                let value = self.value(value)?;
                let target = self.place(target)?;
                self.store(&target, &value, span)?;
                Ok(target)
            }
            ExprKind::Update { .. } => self.update(expr).map(|(place, _)| place),
            ExprKind::Let(local, init, body) => {
                self.bind(*local, init.as_deref(), span)?;
                self.place(body)
            }
            ExprKind::Comma(a, b) => {
                self.effect(a)?;
                self.place(b)
            }
            ExprKind::Threadgroup(_) => {
                Err(self.fail(span, "threadgroup memory is not known at compile time"))
            }
            _ => Err(self.fail(span, "this is not known at compile time")),
        }
    }

    fn memory_of(&mut self, expr: &Expr) -> Result<Address, Fail> {
        if !expr.is_place {
            let value = self.value(expr)?;
            let size = self.checker.types.layout(expr.ty.ty).size;
            let at = self.allocate(size, expr.span)?;
            self.store_memory(at, expr.ty.ty, &value, expr.span)?;
            return Ok(at);
        }
        match self.place(expr)? {
            Place::Memory(at, _) => Ok(at),
            Place::Elements(at, elem, picks) => {
                let first = picks.first().copied().unwrap_or(0);
                Ok(at.plus(i64::from(first) * i64::from(elem.size())))
            }
        }
    }

    fn bind(&mut self, local: LocalId, init: Option<&Expr>, span: Span) -> Result<(), Fail> {
        let value = init.map(|init| self.value(init)).transpose()?;
        let ty = match init {
            Some(init) => init.ty.ty,
            None => Ty::LONG,
        };
        let size = self.checker.types.layout(ty).size;
        let at = self.allocate(size, span)?;
        if let Some(value) = value {
            self.store_memory(at, ty, &value, span)?;
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.insert(local, at);
        }
        Ok(())
    }

    fn update(&mut self, expr: &Expr) -> Result<(Place, Val), Fail> {
        let ExprKind::Update { rhs, place, old, value, .. } = &expr.kind else {
            return Err(self.fail(expr.span, "an unexpected expression"));
        };
        if let Some((local, rhs)) = rhs {
            self.bind(*local, Some(rhs), expr.span)?;
        }
        let ty = place.ty.ty;
        let target = self.place(place)?;
        let before = self.load(&target, expr.span)?;
        let size = self.checker.types.layout(ty).size;
        let at = self.allocate(size, expr.span)?;
        self.store_memory(at, ty, &before, expr.span)?;
        if let Some(frame) = self.frames.last_mut() {
            frame.insert(*old, at);
        }
        let after = self.value(value)?;
        self.store(&target, &after, expr.span)?;
        // The temporary is dead.
        self.bytes_used = self.bytes_used.saturating_sub(size as usize);
        Ok((target, before))
    }

    // --- values

    fn address(&mut self, expr: &Expr) -> Result<Address, Fail> {
        match self.value(expr)? {
            Val::Pointer(at) => Ok(at),
            _ => Err(self.fail(expr.span, "a pointer is not known at compile time")),
        }
    }

    pub(super) fn scalar(&mut self, expr: &Expr) -> Result<u64, Fail> {
        match self.value(expr)? {
            Val::Scalar(bits) => Ok(bits),
            _ => Err(self.fail(expr.span, "an unexpected value")),
        }
    }

    fn flag(&mut self, expr: &Expr) -> Result<bool, Fail> {
        Ok(self.scalar(expr)? != 0)
    }

    /// The elements of a scalar or vector.
    pub(super) fn elements(&mut self, expr: &Expr) -> Result<Vec<u64>, Fail> {
        match self.value(expr)? {
            Val::Scalar(bits) => Ok(vec![bits]),
            Val::Vector(elements) => Ok(elements),
            _ => Err(self.fail(expr.span, "an unexpected value")),
        }
    }

    /// Elements as a value of a type.
    pub(super) fn pack(&self, ty: Ty, elements: Vec<u64>) -> Val {
        match (self.checker.types.as_vector(ty), elements.as_slice()) {
            (None, &[one]) => Val::Scalar(one),
            _ => Val::Vector(elements),
        }
    }

    fn effect(&mut self, expr: &Expr) -> Result<(), Fail> {
        if expr.is_place { self.place(expr).map(|_| ()) } else { self.value(expr).map(|_| ()) }
    }

    pub(super) fn value(&mut self, expr: &Expr) -> Result<Val, Fail> {
        self.enter(expr.span)?;
        let result = self.value_inner(expr);
        self.depth -= 1;
        result
    }

    fn value_inner(&mut self, expr: &Expr) -> Result<Val, Fail> {
        let span = expr.span;
        let ty = expr.ty.ty;
        match &expr.kind {
            ExprKind::Const(value) => Ok(match value {
                ConstValue::Scalar(bits) => Val::Scalar(*bits),
                ConstValue::Vector(elements) => Val::Vector(elements.clone()),
                ConstValue::Bytes(bytes) => Val::Bytes(bytes.clone()),
                ConstValue::Null => Val::Pointer(Address::NULL),
            }),
            ExprKind::Zero => self.zero(ty, span),
            ExprKind::Undef => Err(self.fail(span, "this value was never given")),
            ExprKind::Load(place) => {
                let place = self.place(place)?;
                self.load(&place, span)
            }
            ExprKind::AddressOf(place) | ExprKind::ArrayDecay(place) => {
                self.memory_of(place).map(Val::Pointer)
            }
            ExprKind::Unary(op, a) => self.unary(*op, a),
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, span),
            ExprKind::Compare(op, a, b) => self.compare(*op, a, b, span),
            ExprKind::Logical(op, a, b) => {
                let a = self.flag(a)?;
                if a == (*op == LogicalOp::Or) { Ok(Val::Scalar(u64::from(a))) } else { self.value(b) }
            }
            ExprKind::Conditional(cond, a, b) => {
                if self.flag(cond)? {
                    self.value(a)
                } else {
                    self.value(b)
                }
            }
            ExprKind::Select(cond, a, b) => {
                let (cond, a, b) = (self.elements(cond)?, self.elements(a)?, self.elements(b)?);
                let picked =
                    cond.iter().zip(a.iter().zip(&b)).map(|(&c, (&a, &b))| if c != 0 { a } else { b });
                Ok(Val::Vector(picked.collect()))
            }
            ExprKind::Cast(kind, a) => self.cast(*kind, a, ty, span),
            ExprKind::PointerAdd(..) | ExprKind::PointerDiff(..) => self.pointer_arithmetic(expr),
            ExprKind::Vector(parts) => {
                let mut elements = Vec::new();
                for part in parts {
                    elements.extend(self.elements(part)?);
                }
                Ok(Val::Vector(elements))
            }
            ExprKind::Matrix(columns) => self.matrix(columns, ty, span),
            ExprKind::Struct(values) => self.record(values, ty, span),
            ExprKind::Union(index, value) => {
                let value_ty = value.ty.ty;
                let value = self.value(value)?;
                let mut bytes = self.bytes_of(&value, value_ty, span)?;
                let _ = index;
                bytes.resize(self.checker.types.layout(ty).size as usize, 0);
                Ok(Val::Bytes(bytes))
            }
            ExprKind::Array(values) => self.array(values, ty, span),
            ExprKind::Construct(func, args) => self.construct(*func, args, ty, span),
            ExprKind::Call(func, args) => {
                let mut values = Vec::with_capacity(args.len());
                for arg in args {
                    values.push(self.value(arg)?);
                }
                self.call(*func, values, span)
            }
            ExprKind::Builtin(id, args) => self.builtin(*id, args, ty, span),
            ExprKind::FunctionConstant(_) | ExprKind::FunctionConstantDefined(_) => {
                Err(self.fail(span, "a function constant is not known before the pipeline is made"))
            }
            ExprKind::Update { .. } => self.update(expr).map(|(_, before)| before),
            ExprKind::Let(local, init, body) => {
                self.bind(*local, init.as_deref(), span)?;
                self.value(body)
            }
            ExprKind::Comma(a, b) => {
                self.effect(a)?;
                self.value(b)
            }
            ExprKind::Column(..) | ExprKind::Swizzle(..) | ExprKind::VectorElement(..) => self.part(expr),
            ExprKind::Error => Err(self.fail(span, "an erroneous expression")),
            _ => Err(self.fail(span, "this is not known at compile time")),
        }
    }

    fn pointer_arithmetic(&mut self, expr: &Expr) -> Result<Val, Fail> {
        let (span, ty) = (expr.span, expr.ty.ty);
        match &expr.kind {
            ExprKind::PointerAdd(pointer, index) => {
                let at = self.address(pointer)?;
                let index = self.scalar(index)? as i64;
                Ok(Val::Pointer(at.plus(index.wrapping_mul(self.pointee_size(ty)))))
            }
            ExprKind::PointerDiff(a, b) => {
                let (x, y) = (self.address(a)?, self.address(b)?);
                if x.alloc != y.alloc {
                    return Err(self.fail(span, "pointers into different objects"));
                }
                let size = self.pointee_size(a.ty.ty).max(1);
                Ok(Val::Scalar((x.offset.wrapping_sub(y.offset) / size) as u64))
            }
            _ => Err(self.fail(span, "an unexpected expression")),
        }
    }

    /// Elements of a vector value, or a column of a matrix value.
    fn part(&mut self, expr: &Expr) -> Result<Val, Fail> {
        let (span, ty) = (expr.span, expr.ty.ty);
        match &expr.kind {
            ExprKind::Column(base, index) => {
                let at = self.memory_of(base)?;
                let index = self.scalar(index)? as i64;
                let size = self.checker.types.layout(ty).size as i64;
                self.load_memory(at.plus(index.wrapping_mul(size)), ty, span)
            }
            ExprKind::Swizzle(base, picks) => {
                let base = self.elements(base)?;
                let picked: Option<Vec<u64>> =
                    picks.iter().map(|&n| base.get(usize::from(n)).copied()).collect();
                match picked {
                    Some(picked) => Ok(self.pack(ty, picked)),
                    None => Err(self.fail(span, "an unexpected value")),
                }
            }
            ExprKind::VectorElement(base, index) => {
                let base = self.elements(base)?;
                let index = self.scalar(index)? as usize % base.len().max(1);
                base.get(index)
                    .map(|&bits| Val::Scalar(bits))
                    .ok_or_else(|| self.fail(span, "an unexpected value"))
            }
            _ => Err(self.fail(span, "an unexpected expression")),
        }
    }

    fn pointee_size(&self, ty: Ty) -> i64 {
        self.checker.types.pointee(ty).map_or(1, |to| self.checker.types.layout(to.ty).size as i64)
    }

    fn zero(&mut self, ty: Ty, span: Span) -> Result<Val, Fail> {
        match *self.checker.types.kind(ty) {
            TyKind::Void => Ok(Val::Void),
            _ => {
                let size = self.checker.types.layout(ty).size;
                let at = self.allocate(size, span)?;
                self.load_memory(at, ty, span)
            }
        }
    }

    fn unary(&mut self, op: UnaryOp, a: &Expr) -> Result<Val, Fail> {
        let ty = a.ty.ty;
        let Some(elem) = self.checker.types.element(ty) else {
            return Err(self.fail(a.span, "an unexpected type"));
        };
        let op = match op {
            UnaryOp::Neg if elem.is_float() => UnOp::FNeg,
            UnaryOp::Neg => UnOp::INeg,
            UnaryOp::BitNot | UnaryOp::Not => UnOp::Not,
        };
        let elements =
            self.elements(a)?.into_iter().map(|bits| eval::eval_unary(op, elem.ir(), bits)).collect();
        Ok(self.pack(ty, elements))
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr, span: Span) -> Result<Val, Fail> {
        let ty = a.ty.ty;
        let Some(elem) = self.checker.types.element(ty) else {
            return Err(self.fail(span, "an unexpected type"));
        };
        let (x, y) = (self.elements(a)?, self.elements(b)?);
        if matches!(op, BinaryOp::Div | BinaryOp::Rem) && elem.is_integral() && y.contains(&0) {
            return Err(self.fail(span, "division by zero"));
        }
        let ir = ir_binary(op, elem);
        let elements = x.iter().zip(&y).map(|(&x, &y)| eval::eval_binary(ir, elem.ir(), x, y)).collect();
        Ok(self.pack(ty, elements))
    }

    fn compare(&mut self, op: CompareOp, a: &Expr, b: &Expr, span: Span) -> Result<Val, Fail> {
        if self.checker.types.pointee(a.ty.ty).is_some() {
            let (x, y) = (self.address(a)?, self.address(b)?);
            let equal = x == y;
            return match op {
                CompareOp::Eq => Ok(Val::Scalar(u64::from(equal))),
                CompareOp::Ne => Ok(Val::Scalar(u64::from(!equal))),
                _ if x.alloc == y.alloc => {
                    let ir = ir_compare(op, ScalarTy::I64);
                    let less =
                        eval::eval_compare(ir, anymetal_ir::Scalar::I64, x.offset as u64, y.offset as u64);
                    Ok(Val::Scalar(u64::from(less)))
                }
                _ => Err(self.fail(span, "pointers into different objects")),
            };
        }
        let Some(elem) = self.checker.types.element(a.ty.ty) else {
            return Err(self.fail(span, "an unexpected type"));
        };
        let ir = ir_compare(op, elem);
        let is_vector = self.checker.types.as_vector(a.ty.ty).is_some();
        let (x, y) = (self.elements(a)?, self.elements(b)?);
        let flags: Vec<u64> =
            x.iter().zip(&y).map(|(&x, &y)| u64::from(eval::eval_compare(ir, elem.ir(), x, y))).collect();
        Ok(if is_vector { Val::Vector(flags) } else { Val::Scalar(flags.first().copied().unwrap_or(0)) })
    }

    fn cast(&mut self, kind: CastKind, a: &Expr, to: Ty, span: Span) -> Result<Val, Fail> {
        match kind {
            CastKind::ToVoid => self.effect(a).map(|()| Val::Void),
            CastKind::Pointer => self.value(a),
            CastKind::PointerToBool => {
                let at = self.address(a)?;
                Ok(Val::Scalar(u64::from(at != Address::NULL)))
            }
            CastKind::PointerToInt | CastKind::IntToPointer => {
                Err(self.fail(span, "the bits of a pointer are not known at compile time"))
            }
            CastKind::Splat => {
                let bits = self.scalar(a)?;
                let len = self.checker.types.as_vector(to).map_or(1, |(_, len)| len);
                Ok(Val::Vector(vec![bits; usize::from(len)]))
            }
            CastKind::Bitcast => {
                let elements = self.elements(a)?;
                self.bitcast(a.ty.ty, elements, to, span)
            }
            CastKind::Convert => self.convert(a, to, span),
        }
    }

    fn convert(&mut self, a: &Expr, to: Ty, span: Span) -> Result<Val, Fail> {
        let types = &self.checker.types;
        let (Some(from), Some(target)) = (types.element(a.ty.ty), types.element(to)) else {
            return Err(self.fail(span, "an unexpected type"));
        };
        if let Some((_, cols, rows)) = types.as_matrix(to) {
            let from_column = self.checker.types.vector(from, rows);
            let to_column = self.checker.types.vector(target, rows);
            let Val::Bytes(bytes) = self.value(a)? else {
                return Err(self.fail(span, "an unexpected value"));
            };
            let stride = self.checker.types.layout(from_column).size as usize;
            let mut out = Vec::new();
            for c in 0..usize::from(cols) {
                let column = bytes.get(c * stride..).unwrap_or(&[]);
                let Some(ConstValue::Vector(elements)) =
                    super::value_from_bytes(&self.checker.types, from_column, column)
                else {
                    return Err(self.fail(span, "an unexpected value"));
                };
                let converted = elements.into_iter().map(|bits| convert_scalar(from, target, bits)).collect();
                out.extend(value_to_bytes(&self.checker.types, to_column, &ConstValue::Vector(converted)));
            }
            return Ok(Val::Bytes(out));
        }
        let elements: Vec<u64> =
            self.elements(a)?.into_iter().map(|bits| convert_scalar(from, target, bits)).collect();
        Ok(self.pack(to, elements))
    }

    /// The same bits as another type.
    pub(super) fn bitcast(&mut self, from: Ty, elements: Vec<u64>, to: Ty, span: Span) -> Result<Val, Fail> {
        let types = &self.checker.types;
        let (Some(a), Some(b)) = (types.element(from), types.element(to)) else {
            return Err(self.fail(span, "an unexpected type"));
        };
        let len = types.as_vector(to).map_or(1, |(_, len)| usize::from(len));
        let mut elements = eval::eval_bitcast(a.ir(), &elements, b.ir());
        elements.truncate(len);
        Ok(self.pack(to, elements))
    }

    fn matrix(&mut self, columns: &[Expr], ty: Ty, span: Span) -> Result<Val, Fail> {
        let mut bytes = Vec::new();
        for column in columns {
            let value = self.value(column)?;
            bytes.extend(self.bytes_of(&value, column.ty.ty, span)?);
        }
        bytes.resize(self.checker.types.layout(ty).size as usize, 0);
        Ok(Val::Bytes(bytes))
    }

    fn record(&mut self, values: &[Expr], ty: Ty, span: Span) -> Result<Val, Fail> {
        let Some(record) = self.checker.types.as_record(ty) else {
            return Err(self.fail(span, "an unexpected type"));
        };
        let size = self.checker.types.layout(ty).size;
        let at = self.allocate(size, span)?;
        for (n, value) in values.iter().enumerate() {
            let held = self.value(value)?;
            let offset = self.checker.types.record(record).fields[n].offset as i64;
            self.store_memory(at.plus(offset), value.ty.ty, &held, span)?;
        }
        self.load_memory(at, ty, span)
    }

    fn array(&mut self, values: &[Expr], ty: Ty, span: Span) -> Result<Val, Fail> {
        let Some((elem, _)) = self.checker.types.as_array(ty) else {
            return Err(self.fail(span, "an unexpected type"));
        };
        let layout = self.checker.types.layout(ty);
        let stride = self.checker.types.layout(elem).size as i64;
        let at = self.allocate(layout.size, span)?;
        for (n, value) in values.iter().enumerate() {
            let held = self.value(value)?;
            self.store_memory(at.plus(n as i64 * stride), elem, &held, span)?;
        }
        self.load_memory(at, ty, span)
    }

    // --- calls

    fn construct(&mut self, func: FuncId, args: &[Expr], ty: Ty, span: Span) -> Result<Val, Fail> {
        let size = self.checker.types.layout(ty).size;
        let at = self.allocate(size, span)?;
        let mut values = vec![Val::Pointer(at)];
        for arg in args {
            values.push(self.value(arg)?);
        }
        self.call(func, values, span)?;
        self.load_memory(at, ty, span)
    }

    fn call(&mut self, func: FuncId, args: Vec<Val>, span: Span) -> Result<Val, Fail> {
        if self.frames.len() >= MAX_CALLS {
            return Err(self.fail(span, "constant evaluation calls too deeply"));
        }
        self.checker.ensure_body(func);
        let Some(function) = self.checker.inst(func).hir.clone() else {
            return Err(self.fail(span, "the called function has no body that could be evaluated"));
        };
        let (memory, used) = (self.memory.len(), self.bytes_used);
        let mut frame = FxHashMap::default();
        for (&param, value) in function.params.iter().zip(&args) {
            let ty = function.locals[param.0 as usize].ty;
            let size = self.checker.types.layout(ty).size;
            let at = self.allocate(size, span)?;
            self.store_memory(at, ty, value, span)?;
            frame.insert(param, at);
        }
        self.frames.push(frame);
        let flow = self.checker.depth_guard(span);
        let result = match flow {
            true => self.block(&function.body, &function.locals),
            false => Err(self.fail(span, "constant evaluation nests too deeply")),
        };
        self.checker.depth = self.checker.depth.saturating_sub(u32::from(flow));
        self.frames.pop();
        let value = match result? {
            Flow::Return(value) => value,
            _ => Val::Void,
        };
        // Nothing outlives the call except what it returned, unless that is an address.
        if !matches!(value, Val::Pointer(_)) && self.globals.values().all(|at| (at.alloc as usize) <= memory)
        {
            self.memory.truncate(memory);
            self.bytes_used = used;
        }
        Ok(value)
    }

    fn block(&mut self, block: &Block, locals: &[crate::hir::Local]) -> Result<Flow, Fail> {
        for stmt in &block.stmts {
            match self.stmt(stmt, locals)? {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    fn stmt(&mut self, stmt: &Stmt, locals: &[crate::hir::Local]) -> Result<Flow, Fail> {
        self.step(stmt.span)?;
        match &stmt.kind {
            StmtKind::Expr(expr) => {
                self.effect(expr)?;
                Ok(Flow::Next)
            }
            StmtKind::Declare { local, init } => {
                let ty = locals[local.0 as usize].ty;
                let value = init.as_ref().map(|init| self.value(init)).transpose()?;
                let known = self.frames.last().and_then(|frame| frame.get(local)).copied();
                let at = match known {
                    // Another round of a loop.
                    Some(at) => at,
                    None => {
                        let size = self.checker.types.layout(ty).size;
                        self.allocate(size, stmt.span)?
                    }
                };
                if let Some(value) = value {
                    self.store_memory(at, ty, &value, stmt.span)?;
                }
                if let Some(frame) = self.frames.last_mut() {
                    frame.insert(*local, at);
                }
                Ok(Flow::Next)
            }
            StmtKind::Block(block) => self.block(block, locals),
            StmtKind::If { cond, then, otherwise } => {
                let branch = if self.flag(cond)? { then } else { otherwise };
                self.block(branch, locals)
            }
            StmtKind::Loop { cond, post_test, step, body, .. } => {
                self.run_loop(cond.as_ref(), *post_test, step.as_ref(), body, locals)
            }
            StmtKind::Switch { selector, cases } => {
                let bits = self.scalar(selector)?;
                let scalar = self.checker.types.scalar_repr(selector.ty.ty).unwrap_or(ScalarTy::I64);
                let wanted =
                    if scalar.is_signed_int() { eval::sign_extend(scalar.ir(), bits) } else { bits as i64 };
                let case = cases
                    .iter()
                    .find(|case| case.values.contains(&wanted))
                    .or_else(|| cases.iter().find(|case| case.is_default));
                match case {
                    Some(case) => match self.block(&case.body, locals)? {
                        Flow::Break => Ok(Flow::Next),
                        other => Ok(other),
                    },
                    None => Ok(Flow::Next),
                }
            }
            StmtKind::Break => Ok(Flow::Break),
            StmtKind::Continue => Ok(Flow::Continue),
            StmtKind::Return(None) => Ok(Flow::Return(Val::Void)),
            StmtKind::Return(Some(expr)) => self.value(expr).map(Flow::Return),
            StmtKind::MathMode(_) => Ok(Flow::Next),
        }
    }

    fn run_loop(
        &mut self,
        cond: Option<&Expr>,
        post_test: bool,
        step: Option<&Expr>,
        body: &Block,
        locals: &[crate::hir::Local],
    ) -> Result<Flow, Fail> {
        loop {
            if let (Some(cond), false) = (cond, post_test)
                && !self.flag(cond)?
            {
                return Ok(Flow::Next);
            }
            match self.block(body, locals)? {
                Flow::Break => return Ok(Flow::Next),
                Flow::Return(value) => return Ok(Flow::Return(value)),
                Flow::Next | Flow::Continue => {}
            }
            if let Some(step) = step {
                self.effect(step)?;
            }
            if let (Some(cond), true) = (cond, post_test)
                && !self.flag(cond)?
            {
                return Ok(Flow::Next);
            }
        }
    }
}
