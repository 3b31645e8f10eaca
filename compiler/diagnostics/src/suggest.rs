//! Spelling suggestions: "did you mean `x`?".

/// Names longer than this are not compared; the cost grows with the product of the lengths.
const LONGEST: usize = 64;

/// The candidate nearest to `name` by edit distance, when it is near enough to be a typing slip: at
/// most a third of the letters wrong. Of equally near ones the first wins.
pub fn suggest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters: Vec<char> = name.chars().flat_map(char::to_lowercase).take(LONGEST + 1).collect();
    if letters.is_empty() || letters.len() > LONGEST {
        return None;
    }
    let mut best: Option<(usize, &'a str)> = None;
    let most = (letters.len() / 3).max(1);
    for candidate in candidates {
        if candidate == name || candidate.len() > 4 * LONGEST {
            continue;
        }
        let limit = best.map_or(most, |(distance, _)| distance.saturating_sub(1));
        let other: Vec<char> = candidate.chars().flat_map(char::to_lowercase).collect();
        if let Some(distance) = distance_within(&letters, &other, limit)
            // A single letter is always one edit away from any other.
            && distance < letters.len()
        {
            best = Some((distance, candidate));
            if distance == 0 {
                break;
            }
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The number of insertions, deletions, substitutions and swaps of neighbours between two words, if
/// at most `limit`.
fn distance_within(a: &[char], b: &[char], limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for (i, &from) in a.iter().enumerate() {
        let mut current = Vec::with_capacity(b.len() + 1);
        current.push(i + 1);
        for (j, &to) in b.iter().enumerate() {
            let substituted = previous[j] + usize::from(from != to);
            let mut cost = substituted.min(previous[j + 1] + 1).min(current[j] + 1);
            if i > 0 && j > 0 && from == b[j - 1] && a[i - 1] == to {
                cost = cost.min(before[j - 1] + 1);
            }
            current.push(cost);
        }
        if current.iter().min().is_none_or(|&least| least > limit) {
            return None;
        }
        before = std::mem::replace(&mut previous, current);
    }
    previous.last().copied().filter(|&distance| distance <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_typing_slips() {
        let names = ["threadgroup", "thread", "simd_sum", "float4"];
        assert_eq!(suggest("theadgroup", names), Some("threadgroup"));
        assert_eq!(suggest("simd_smu", names), Some("simd_sum"));
        assert_eq!(suggest("Float4", names), Some("float4"));
        assert_eq!(suggest("flaot4", names), Some("float4"));
        assert_eq!(suggest("texture", names), None);
    }

    #[test]
    fn does_not_suggest_the_name_itself_or_anything_for_a_letter() {
        assert_eq!(suggest("x", ["y", "z"]), None);
        assert_eq!(suggest("same", ["same"]), None);
        assert_eq!(suggest("", ["a"]), None);
        let long = "a".repeat(100_000);
        assert_eq!(suggest(&long, [long.as_str()]), None);
    }
}
