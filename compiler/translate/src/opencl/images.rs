//! Images and samplers: textures and samplers of Metal's.
//!
//! The type of an image's texels is told by the functions that read or write it, in the function whose
//! parameter it is or in those that it is passed to. Samplers with a value become `constexpr` ones.

use super::Translator;
use super::builtins::TAKEN;
use super::declarations::Function;

/// Images with the textures, their coordinates being of one, two or three numbers.
const IMAGES: &[(&str, &str)] = &[
    ("image1d_t", "texture1d"),
    ("image1d_buffer_t", "texture_buffer"),
    ("image2d_t", "texture2d"),
    ("image2d_depth_t", "depth2d"),
    ("image3d_t", "texture3d"),
];

/// Images that are not translated.
const REFUSED: &[&str] = &[
    "image1d_array_t",
    "image2d_array_t",
    "image2d_msaa_t",
    "image2d_array_msaa_t",
    "image2d_array_depth_t",
];

/// Functions of images, with the type of the texels that they are of.
const FUNCTIONS: &[(&str, &str)] = &[
    ("read_imagef", "float"),
    ("read_imagei", "int"),
    ("read_imageui", "uint"),
    ("write_imagef", "float"),
    ("write_imagei", "int"),
    ("write_imageui", "uint"),
];

/// What a sampler is made of.
const STATES: &[(&str, &str)] = &[
    ("CLK_NORMALIZED_COORDS_TRUE", "coord::normalized"),
    ("CLK_NORMALIZED_COORDS_FALSE", "coord::pixel"),
    ("CLK_ADDRESS_NONE", "address::clamp_to_edge"),
    ("CLK_ADDRESS_CLAMP_TO_EDGE", "address::clamp_to_edge"),
    ("CLK_ADDRESS_CLAMP", "address::clamp_to_zero"),
    ("CLK_ADDRESS_REPEAT", "address::repeat"),
    ("CLK_ADDRESS_MIRRORED_REPEAT", "address::mirrored_repeat"),
    ("CLK_FILTER_NEAREST", "filter::nearest"),
    ("CLK_FILTER_LINEAR", "filter::linear"),
];

/// An image that is passed through more functions has texels of `float`.
const MAX_CALLS: usize = 40;

/// What a parameter is bound as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Resource {
    Texture,
    Sampler,
}

/// The resource that a word names the type of.
pub(super) fn resource(word: &str) -> Option<Resource> {
    match word {
        "sampler_t" => Some(Resource::Sampler),
        _ if IMAGES.iter().any(|(image, _)| *image == word) || REFUSED.contains(&word) => {
            Some(Resource::Texture)
        }
        _ => None,
    }
}

/// Whether the word says how an image is accessed.
fn access(word: &str) -> Option<&'static str> {
    match word.trim_start_matches('_') {
        "read_only" => Some("access::sample"),
        "write_only" => Some("access::write"),
        "read_write" => Some("access::read_write"),
        _ => None,
    }
}

impl Translator<'_> {
    /// Rewrites the types of images and samplers, and samplers with a value.
    pub(super) fn images(&mut self) {
        for function in self.declarations.functions.clone() {
            for (number, (first, last)) in
                self.text.parts(function.open, function.close).into_iter().enumerate()
            {
                self.image(&function, number, first, last);
            }
        }
        for token in 0..self.text.len() {
            if self.text.at(token) == "sampler_t" && self.text.replacement(token).is_none() {
                self.sampler(token);
            }
        }
    }

    fn image(&mut self, function: &Function, number: usize, first: usize, last: usize) {
        let Some(ty) = (first..=last).find(|&token| resource(self.text.at(token)).is_some()) else { return };
        let word = self.text.at(ty);
        if word == "sampler_t" {
            self.text.replace(ty, "sampler");
            let spare: Vec<usize> = (first..ty).filter(|&token| self.text.at(token) == "const").collect();
            return spare.into_iter().for_each(|token| self.text.remove(token));
        }
        let Some((_, texture)) = IMAGES.iter().find(|(image, _)| *image == word) else {
            let hint = "use one image for each layer, or a buffer";
            return self.refuse(ty, format!("images of the type `{word}` are not translated"), hint);
        };
        let mut how = "access::sample";
        for token in (first..=last).filter(|&token| token != ty) {
            if let Some(said) = access(self.text.at(token)) {
                how = said;
                self.text.remove(token);
            }
        }
        let texels = self.texels(function, number, 0).unwrap_or("float");
        let how = match (how, *texture) {
            ("access::sample", "texture_buffer") => ", access::read",
            ("access::sample", _) => "",
            ("access::write", _) => ", access::write",
            _ => ", access::read_write",
        };
        self.text.replace(ty, format!("{texture}<{texels}{how}>"));
    }

    /// The type of the texels of a parameter's image, by its use.
    fn texels(&self, function: &Function, number: usize, calls: usize) -> Option<&'static str> {
        let (first, last) = *self.text.parts(function.open, function.close).get(number)?;
        let name = (first..=last).rev().find(|&token| self.text.is_word(token))?;
        let (name, (open, close)) = (self.text.at(name), function.body?);
        for token in open..close {
            let word = self.text.at(token);
            if self.text.at(token + 1) != "(" || !self.text.is_word(token) {
                continue;
            }
            let Some(end) = self.text.closing(token + 1) else { continue };
            let given = self.text.parts(token + 1, end);
            let is_given = |part: &(usize, usize)| part.0 == part.1 && self.text.at(part.0) == name;
            let Some(place) = given.iter().position(is_given) else { continue };
            let word = self.alias_of(word);
            if let Some((_, texels)) = FUNCTIONS.iter().find(|(function, _)| *function == word) {
                return Some(texels);
            }
            let called =
                self.declarations.functions.iter().find(|one| one.name == word && one.body.is_some());
            let found =
                called.filter(|_| calls < MAX_CALLS).and_then(|one| self.texels(one, place, calls + 1));
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// The word that a macro stands for, or the word itself.
    fn alias_of<'w>(&'w self, word: &'w str) -> &'w str {
        match self.declarations.macros.get(word).map(Vec::as_slice) {
            Some(&[body]) => self.text.at(body),
            _ => word,
        }
    }

    /// `const sampler_t s = CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;`
    fn sampler(&mut self, ty: usize) {
        let (name, mut token) = (ty + 1, ty + 3);
        if !self.text.is_word(name) || self.text.at(ty + 2) != "=" {
            return self.refuse(
                ty,
                "a sampler that is neither a parameter nor given its value",
                "declare it `const`",
            );
        }
        let mut states = Vec::new();
        while !matches!(self.text.at(token), ";" | "") {
            let word = self.text.at(token);
            match STATES.iter().find(|(known, _)| *known == word) {
                Some((_, state)) => states.push(*state),
                None if matches!(word, "|" | "(" | ")") => {}
                None => {
                    let hint = "write its `CLK_` values there";
                    return self.refuse(token, format!("a sampler's value has `{word}`"), hint);
                }
            }
            token += 1;
        }
        if !states.iter().any(|state| state.starts_with("coord")) {
            states.push("coord::pixel");
        }
        let mut first = ty;
        while first > 0 && matches!(self.text.at(first - 1), "const" | "constant" | "__constant" | "static") {
            first -= 1;
        }
        (first..ty).for_each(|token| self.text.remove(token));
        self.text.replace(ty, "constexpr sampler");
        // As everywhere that the name is used.
        let own = self.text.at(name);
        let taken = if TAKEN.contains(&own) { "_" } else { "" };
        let value = format!("{own}{taken}({})", states.join(", "));
        self.text.remove_all(name..=token - 1);
        self.text.insert_before(name, &value);
    }
}
