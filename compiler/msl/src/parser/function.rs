//! Functions: what follows the declarator.

use super::Parser;
use super::declarator::{DeclaratorName, ParsedDeclarator};
use super::qualified_name::Expected;
use super::specifier::Specifiers;
use crate::ast::{
    Function, FunctionBody, FunctionName, MemInit, MethodQualifiers, Noexcept, OperatorName, RefQualifier,
};
use crate::token::{Kw, Punct, TokenKind};

impl Parser<'_> {
    /// Inside a class, is this its own name followed by a parameter list (or `S<T>(`)?
    pub(super) fn at_constructor_name(&self) -> bool {
        let TokenKind::Ident(name) = self.peek() else { return false };
        if self.scopes.class_name != Some(name) || !self.scopes.in_class_body() {
            return false;
        }
        self.next_is(1, Punct::LParen) || self.constructor_with_args()
    }

    /// Outside of its class: `A::S::S(`. Classes that are templates (`S<T>::S(`) are known as none.
    pub(super) fn at_qualified_constructor_name(&self) -> bool {
        let TokenKind::Ident(mut class) = self.peek() else { return false };
        let mut ahead = 1;
        while self.next_is(ahead, Punct::ColonColon)
            && let TokenKind::Ident(name) = self.peek_at(ahead + 1)
        {
            ahead += 2;
            if name == class && self.next_is(ahead, Punct::LParen) {
                return !self.scopes.in_class_body();
            }
            class = name;
        }
        false
    }

    /// `MD<T>(`: a template-id as the constructor's name.
    fn constructor_with_args(&self) -> bool {
        if !self.next_is(1, Punct::Less) {
            return false;
        }
        let mut open = 0u32;
        for ahead in 1..64 {
            match self.peek_at(ahead) {
                TokenKind::Punct(Punct::Less) => open += 1,
                TokenKind::Punct(Punct::Greater) => {
                    open -= 1;
                    if open == 0 {
                        return self.next_is(ahead + 1, Punct::LParen);
                    }
                }
                TokenKind::Punct(Punct::Semi | Punct::LBrace) | TokenKind::Eof => return false,
                _ => {}
            }
        }
        false
    }

    /// Parses a constructor's name and parameters where a declarator would stand.
    pub(super) fn constructor_declarator(&mut self) -> Option<ParsedDeclarator> {
        let (name, span) = self.ident("the class's name")?;
        if self.is(Punct::Less) {
            self.template_args()?;
        }
        let params = self.parameters()?;
        let ty = crate::ast::Type { kind: crate::ast::TypeKind::Error, quals: Default::default(), span };
        Some(ParsedDeclarator {
            name: Some(DeclaratorName { name: FunctionName::Constructor(name), scope: None, args: None }),
            ty,
            params: Some(params),
            attributes: Default::default(),
            span,
        })
    }

    /// The rest of a function after its parameters, in the scope that holds the parameters.
    pub(super) fn function_rest(&mut self, specs: Specifiers, declarator: ParsedDeclarator) -> Function {
        let (params, is_variadic) = declarator.params.unwrap_or_default();
        let mut attributes = specs.attributes;
        attributes.list.extend(declarator.attributes.list);
        let mut method = MethodQualifiers::default();
        let mut ret = specs.ty.as_ref().map(|_| declarator.ty);
        let mut noexcept = Noexcept::default();
        self.method_qualifiers(&mut method, &mut noexcept, &mut attributes);
        if self.eat(Punct::Arrow) {
            ret = self.type_id().or(ret);
        }
        self.method_qualifiers(&mut method, &mut noexcept, &mut attributes);
        let mem_inits = if self.eat(Punct::Colon) { self.mem_inits() } else { Vec::new() };
        let is_destructor =
            declarator.name.as_ref().is_some_and(|name| matches!(name.name, FunctionName::Destructor));
        if is_destructor && self.is(Punct::LBrace) && !self.next_is(1, Punct::RBrace) {
            let message =
                "a destructor with statements is not supported: call a method at the end of the block";
            self.error("unsupported-feature", declarator.span, message);
        }
        let body = self.function_body();
        let is_kernel = specs.function.is_kernel || attributes.has("kernel");
        let (name, scope, specialisation) = match declarator.name {
            Some(name) => (name.name, name.scope, name.args),
            None => (FunctionName::Name(crate::token::Name::EMPTY), None, None),
        };
        if matches!(name, FunctionName::Operator(OperatorName::Conversion(_)) | FunctionName::Constructor(_))
        {
            ret = None;
        }
        Function {
            id: self.ids.fresh(),
            name,
            scope,
            specialisation,
            ret,
            params,
            is_variadic,
            specifiers: crate::ast::FunctionSpecifiers { is_kernel, ..specs.function },
            method,
            noexcept,
            attributes: attributes.list,
            mem_inits,
            body,
            fp: self.fp,
            span: declarator.span,
        }
    }

    fn method_qualifiers(
        &mut self,
        method: &mut MethodQualifiers,
        noexcept: &mut Noexcept,
        attributes: &mut super::attribute::Attributes,
    ) {
        loop {
            if let Some(space) = self.address_space() {
                method.space = Some(space);
                self.advance();
                continue;
            }
            match self.peek() {
                TokenKind::Keyword(Kw::Const) => method.is_const = true,
                TokenKind::Keyword(Kw::Volatile) => method.is_volatile = true,
                TokenKind::Punct(Punct::Amp) => method.reference = Some(RefQualifier::Lvalue),
                TokenKind::Punct(Punct::AndAnd) => method.reference = Some(RefQualifier::Rvalue),
                TokenKind::Keyword(Kw::Noexcept) => {
                    *noexcept = self.noexcept_specifier();
                    continue;
                }
                _ if self.at_attribute() => {
                    self.attributes(attributes);
                    continue;
                }
                _ => return,
            }
            self.advance();
        }
    }

    /// `noexcept`, `noexcept(e)`
    pub(super) fn noexcept_specifier(&mut self) -> Noexcept {
        self.advance();
        if !self.eat(Punct::LParen) {
            return Noexcept::Always;
        }
        let condition = self.parenthesised_expr();
        self.expect(Punct::RParen, "to end `noexcept`");
        Noexcept::If(Box::new(condition))
    }

    fn mem_inits(&mut self) -> Vec<MemInit> {
        let mut inits = Vec::new();
        loop {
            let start = self.span();
            let Some(parsed) = self.path(Expected::Type) else { break };
            let (args, braced) = if self.is(Punct::LBrace) {
                (self.brace_clauses(), true)
            } else {
                match self.initialiser() {
                    Some(crate::ast::Initialiser::Paren(args)) => (self.plain_clauses(args), false),
                    _ => {
                        self.error(
                            "expected-token",
                            self.span(),
                            "expected `(` or `{` after the member's name",
                        );
                        break;
                    }
                }
            };
            let is_pack = self.eat(Punct::Ellipsis);
            inits.push(MemInit { name: parsed.path, args, braced, is_pack, span: self.since(start) });
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        inits
    }

    fn function_body(&mut self) -> FunctionBody {
        match self.peek() {
            TokenKind::Punct(Punct::LBrace) => {
                if let Some(body) = self.skip_body() {
                    return FunctionBody::Block(body);
                }
                let class_name = self.scopes.class_name.take();
                let template_depth = std::mem::replace(&mut self.template_depth, 0);
                let body = self.own_body(Self::block_in_scope);
                self.template_depth = template_depth;
                self.scopes.class_name = class_name;
                FunctionBody::Block(body.into())
            }
            TokenKind::Punct(Punct::Assign) => {
                self.advance();
                let body = match self.peek() {
                    TokenKind::Keyword(Kw::Default) => FunctionBody::Default,
                    TokenKind::Keyword(Kw::Delete) => FunctionBody::Delete,
                    found => {
                        self.error(
                            "expected-token",
                            self.span(),
                            format!("expected `default` or `delete`, found {found}"),
                        );
                        FunctionBody::None
                    }
                };
                self.advance();
                self.expect(Punct::Semi, "after the function");
                body
            }
            TokenKind::Punct(Punct::Semi) => {
                self.advance();
                FunctionBody::None
            }
            found => {
                self.error(
                    "expected-token",
                    self.span(),
                    format!("expected a function's body or `;`, found {found}"),
                );
                self.skip_statement();
                FunctionBody::None
            }
        }
    }
}
