//! Subscripts of Einstein sums: `bij,jk->bik`.
//!
//! Owns [`Subscripts`] and their parser. Letters name dimensions; `...` stands for leading ones that
//! broadcast; spaces mean nothing. Invariant: an operand's labels are as many as its dimensions, and every
//! label of the result is one of an operand.

use std::collections::BTreeMap;

use crate::error::OpError;
use crate::layout::MAX_RANK;

/// What names a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Label {
    /// One of `...`, counted from the last.
    Broadcast(usize),
    Letter(char),
}

/// Parsed subscripts of operands with so many dimensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subscripts {
    pub(super) operands: Vec<Vec<Label>>,
    pub(super) result: Vec<Label>,
}

/// A mistake in the text.
pub(super) fn mistake(problem: impl Into<String>) -> OpError {
    OpError::argument("einsum", problem)
}

impl Subscripts {
    pub(super) fn parse(text: &str, ranks: &[usize]) -> Result<Subscripts, OpError> {
        let stripped: String = text.chars().filter(|character| *character != ' ').collect();
        let (left, result) = match stripped.split_once("->") {
            Some((left, result)) => (left, Some(result)),
            None => (&*stripped, None),
        };
        let terms: Vec<&str> = left.split(',').collect();
        if terms.len() != ranks.len() {
            let (terms, given) = (terms.len(), ranks.len());
            return Err(mistake(format!(
                "`{text}` has subscripts of {terms} operands, and {given} are given"
            )));
        }
        let operands = terms.iter().zip(ranks).enumerate();
        let operands = operands.map(|(number, (term, rank))| operand(term, *rank, number));
        let operands = operands.collect::<Result<Vec<_>, _>>()?;
        let result = match result {
            Some(result) => explicit(result, &operands)?,
            None => implicit(&operands),
        };
        Ok(Subscripts { operands, result })
    }
}

/// The labels of an operand with that many dimensions.
fn operand(term: &str, rank: usize, number: usize) -> Result<Vec<Label>, OpError> {
    let (before, broadcast, after) = letters(term)?;
    let named = before.len() + after.len();
    let fits = if broadcast { named <= rank } else { named == rank };
    if !fits {
        return Err(mistake(format!("`{term}` names {named} dimensions, and operand {number} has {rank}")));
    }
    let leading = (0..rank - named).rev().map(Label::Broadcast);
    Ok(before.into_iter().chain(leading).chain(after).collect())
}

/// The letters before and after `...`, and whether that is there.
fn letters(term: &str) -> Result<(Vec<Label>, bool, Vec<Label>), OpError> {
    let labels = |text: &str| {
        let label = |letter: char| match letter.is_ascii_alphabetic() {
            true => Ok(Label::Letter(letter)),
            false => Err(mistake(format!("`{letter}` in `{term}` is neither a letter nor one `...`"))),
        };
        text.chars().map(label).collect::<Result<Vec<_>, _>>()
    };
    match term.split_once("...") {
        Some((before, after)) => Ok((labels(before)?, true, labels(after)?)),
        None => Ok((labels(term)?, false, Vec::new())),
    }
}

fn explicit(text: &str, operands: &[Vec<Label>]) -> Result<Vec<Label>, OpError> {
    let (before, broadcast, after) = letters(text)?;
    let known = || operands.iter().flatten();
    let leading = known().filter_map(|label| match label {
        Label::Broadcast(number) => Some(number + 1),
        Label::Letter(_) => None,
    });
    let leading = if broadcast { leading.max().unwrap_or(0) } else { 0 };
    for (at, label) in before.iter().chain(&after).enumerate() {
        let Label::Letter(letter) = label else { continue };
        if !known().any(|other| other == label) {
            return Err(mistake(format!("`{letter}` of the result is in no operand")));
        }
        if before.iter().chain(&after).take(at).any(|other| other == label) {
            return Err(mistake(format!("`{letter}` is twice in the result")));
        }
    }
    Ok(before.into_iter().chain((0..leading).rev().map(Label::Broadcast)).chain(after).collect())
}

/// What is there once, in the order of the alphabet, after what broadcasts.
fn implicit(operands: &[Vec<Label>]) -> Vec<Label> {
    let mut counts = BTreeMap::<Label, usize>::new();
    for label in operands.iter().flatten() {
        *counts.entry(*label).or_default() += 1;
    }
    let leading = counts.keys().filter(|label| matches!(label, Label::Broadcast(_))).rev();
    let letters = counts.iter().filter(|(label, count)| matches!(label, Label::Letter(_)) && **count == 1);
    leading.chain(letters.map(|(label, _)| label)).copied().collect()
}

/// The dimensions that a tensor of those labels would have, if it may have as many.
pub(super) fn check_rank(labels: &[Label]) -> Result<(), OpError> {
    match labels.len() <= MAX_RANK {
        true => Ok(()),
        false => Err(mistake(format!(
            "a product on the way has {} dimensions, and at most {MAX_RANK} are allowed",
            labels.len()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(labels: &[Label]) -> String {
        let one = |label: &Label| match label {
            Label::Broadcast(number) => number.to_string(),
            Label::Letter(letter) => letter.to_string(),
        };
        labels.iter().map(one).collect()
    }

    fn parsed(text: &str, ranks: &[usize]) -> String {
        match Subscripts::parse(text, ranks) {
            Ok(Subscripts { operands, result }) => {
                let operands: Vec<String> = operands.iter().map(|labels| shown(labels)).collect();
                format!("{}->{}", operands.join(","), shown(&result))
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn subscripts_are_labels_of_dimensions() {
        assert_eq!(parsed("ij, jk -> ik", &[2, 2]), "ij,jk->ik");
        assert_eq!(parsed("ba", &[2]), "ba->ab", "in the order of the alphabet");
        assert_eq!(parsed("ij,jk", &[2, 2]), "ij,jk->ik");
        assert_eq!(parsed("ii", &[2]), "ii->");
        assert_eq!(parsed("...ij,...jk->...ik", &[4, 3]), "10ij,0jk->10ik");
        assert_eq!(parsed("i...j,j...", &[3, 3]), "i0j,j10->10i");
        assert_eq!(parsed("...->...", &[0]), "->");
        assert_eq!(parsed("...i->i", &[3]), "10i->i", "what broadcasts is summed");
        assert_eq!(parsed(",->", &[0, 0]), ",->");
    }

    #[test]
    fn mistakes_are_told_by_name() {
        let said = |text: &str, ranks: &[usize], words: &str| {
            let error = parsed(text, ranks);
            assert!(error.starts_with("einsum: ") && error.contains(words), "{error} instead of {words}");
        };
        said("ij,jk", &[2], "2 operands, and 1 are given");
        said("ij", &[3], "names 2 dimensions, and operand 0 has 3");
        said("ijk...", &[2], "names 3 dimensions");
        said("i-", &[2], "`-` in `i-`");
        said("i...j...", &[2], "`.` in");
        said("ij->ik", &[2], "`k` of the result is in no operand");
        said("ij->ii", &[2], "`i` is twice in the result");
        said("é", &[1], "neither a letter");
        said("i->i->i", &[1], "`-` in");
    }
}
