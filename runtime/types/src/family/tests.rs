//! The table of features.

use super::table::{FEATURES, Feature};
use super::*;

#[test]
fn rows_are_in_the_order_of_the_features() {
    for (place, row) in FEATURES.iter().enumerate() {
        assert_eq!((row.feature as usize, row.feature.row()), (place, row));
    }
    assert_eq!(FEATURES.len(), Feature::Tensors as usize + 1);
}

#[test]
fn later_apple_families_have_all_that_earlier_ones_have() {
    for row in FEATURES {
        let has: Vec<bool> = Family::ALL[..7].iter().map(|family| family.supports(row.feature)).collect();
        assert!(has.is_sorted() && has[6], "{}: {has:?}", row.name);
        let first = row.feature.first_family();
        assert_eq!(Family::ALL[has.iter().position(|&has| has).unwrap()], first, "{}", row.name);
        // What Metal 3 promises, Apple7 and Mac2 keep; what Metal 4 promises, Apple7 keeps.
        let promised = row.metal3 || row.metal4;
        assert!(!promised || Family::Apple7.supports(row.feature), "{}", row.name);
        assert!(!row.metal3 || Family::Mac2.supports(row.feature), "{}", row.name);
        assert_eq!(Family::Paravirtual.supports(row.feature), Family::Apple5.supports(row.feature));
    }
}

#[test]
fn names_are_read_back_and_others_are_refused_with_those_that_exist() {
    for family in Family::ALL {
        assert_eq!(family.name().parse(), Ok(family));
        assert_eq!(family.name().to_uppercase().parse(), Ok(family));
    }
    let error = "apple3".parse::<Family>().unwrap_err().to_string();
    assert_eq!(error, "`apple3` is not a family: apple4 to apple10, mac2, metal3, metal4 or paravirtual");
}
