//! `X[,Y[,Z]]`.

use std::fmt;

/// One to three extents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    sizes: [u32; 3],
    given: usize,
}

impl Extent {
    /// A single one.
    pub(crate) const ONE: Extent = Extent { sizes: [1; 3], given: 1 };

    /// Parses the option's text.
    pub(crate) fn parse(text: &str) -> Result<Extent, String> {
        let mut extent = Extent::ONE;
        let parts: Vec<&str> = text.split([',', 'x']).collect();
        if parts.len() > 3 {
            return Err("there are at most three dimensions".to_owned());
        }
        extent.given = parts.len();
        for (size, part) in extent.sizes.iter_mut().zip(parts) {
            *size =
                part.trim().parse().map_err(|_| format!("`{part}` is no number from 0 to {}", u32::MAX))?;
        }
        Ok(extent)
    }

    /// The three extents; those not given are 1.
    pub(crate) fn to_array(&self) -> [u32; 3] {
        self.sizes
    }

    /// The extents as the crate takes them.
    pub(crate) fn extents(&self) -> anymetal::Extent {
        let [x, y, z] = self.sizes;
        match self.given {
            1 => x.into(),
            2 => (x, y).into(),
            _ => (x, y, z).into(),
        }
    }

    /// How many were given.
    pub(crate) fn dimensions(&self) -> usize {
        self.given
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given: Vec<String> = self.sizes[..self.given].iter().map(u32::to_string).collect();
        formatter.write_str(&given.join("x"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_to_three_numbers() {
        assert_eq!(Extent::parse("7").unwrap().to_array(), [7, 1, 1]);
        assert_eq!(Extent::parse("7,8,9").unwrap().to_array(), [7, 8, 9]);
        assert_eq!(Extent::parse("7,8").unwrap().to_string(), "7x8");
        for text in ["", "a", "1,2,3,4", "-1", "1,,2", "4294967296"] {
            assert!(Extent::parse(text).is_err(), "{text}");
        }
    }
}
