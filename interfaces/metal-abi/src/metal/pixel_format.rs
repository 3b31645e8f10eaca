//! `MTLPixelFormat` and `MTLTextureType`: Metal's numbers for formats and kinds of textures.
//!
//! To add a format, move its row from [`OTHERS`] to [`FORMATS`].

use anymetal::PixelFormat;
use anymetal::texture::TextureKind;

use super::violation;

/// The formats that there are.
#[rustfmt::skip]
const FORMATS: &[(usize, PixelFormat)] = &{
    use PixelFormat as F;
    [
        (1, F::A8Unorm), (10, F::R8Unorm), (11, F::R8UnormSrgb), (12, F::R8Snorm), (13, F::R8Uint),
        (14, F::R8Sint), (20, F::R16Unorm), (22, F::R16Snorm), (23, F::R16Uint), (24, F::R16Sint),
        (25, F::R16Float), (30, F::Rg8Unorm), (31, F::Rg8UnormSrgb), (32, F::Rg8Snorm),
        (33, F::Rg8Uint), (34, F::Rg8Sint), (40, F::B5g6r5Unorm), (41, F::A1bgr5Unorm),
        (42, F::Abgr4Unorm), (43, F::Bgr5a1Unorm), (53, F::R32Uint), (54, F::R32Sint),
        (55, F::R32Float), (60, F::Rg16Unorm), (62, F::Rg16Snorm), (63, F::Rg16Uint),
        (64, F::Rg16Sint), (65, F::Rg16Float), (70, F::Rgba8Unorm), (71, F::Rgba8UnormSrgb),
        (72, F::Rgba8Snorm), (73, F::Rgba8Uint), (74, F::Rgba8Sint), (80, F::Bgra8Unorm),
        (81, F::Bgra8UnormSrgb), (90, F::Rgb10a2Unorm), (91, F::Rgb10a2Uint), (92, F::Rg11b10Float),
        (93, F::Rgb9e5Float), (94, F::Bgr10a2Unorm), (103, F::Rg32Uint), (104, F::Rg32Sint),
        (105, F::Rg32Float), (110, F::Rgba16Unorm), (112, F::Rgba16Snorm), (113, F::Rgba16Uint),
        (114, F::Rgba16Sint), (115, F::Rgba16Float), (123, F::Rgba32Uint), (124, F::Rgba32Sint),
        (125, F::Rgba32Float), (250, F::Depth16Unorm), (252, F::Depth32Float),
    ]
};

/// The names of Metal's other formats: compressed, of video, of extended range, with stencils.
#[rustfmt::skip]
const OTHERS: &[(usize, &str)] = &[
    (130, "BC1_RGBA"), (131, "BC1_RGBA_sRGB"), (132, "BC2_RGBA"), (133, "BC2_RGBA_sRGB"),
    (134, "BC3_RGBA"), (135, "BC3_RGBA_sRGB"), (140, "BC4_RUnorm"), (141, "BC4_RSnorm"),
    (142, "BC5_RGUnorm"), (143, "BC5_RGSnorm"), (150, "BC6H_RGBFloat"), (151, "BC6H_RGBUfloat"),
    (152, "BC7_RGBAUnorm"), (153, "BC7_RGBAUnorm_sRGB"), (160, "PVRTC_RGB_2BPP"),
    (161, "PVRTC_RGB_2BPP_sRGB"), (162, "PVRTC_RGB_4BPP"), (163, "PVRTC_RGB_4BPP_sRGB"),
    (164, "PVRTC_RGBA_2BPP"), (165, "PVRTC_RGBA_2BPP_sRGB"), (166, "PVRTC_RGBA_4BPP"),
    (167, "PVRTC_RGBA_4BPP_sRGB"), (170, "EAC_R11Unorm"), (172, "EAC_R11Snorm"),
    (174, "EAC_RG11Unorm"), (176, "EAC_RG11Snorm"), (178, "EAC_RGBA8"), (179, "EAC_RGBA8_sRGB"),
    (180, "ETC2_RGB8"), (181, "ETC2_RGB8_sRGB"), (182, "ETC2_RGB8A1"), (183, "ETC2_RGB8A1_sRGB"),
    (186, "ASTC_4x4_sRGB"), (187, "ASTC_5x4_sRGB"), (188, "ASTC_5x5_sRGB"),
    (189, "ASTC_6x5_sRGB"), (190, "ASTC_6x6_sRGB"), (192, "ASTC_8x5_sRGB"),
    (193, "ASTC_8x6_sRGB"), (194, "ASTC_8x8_sRGB"), (195, "ASTC_10x5_sRGB"),
    (196, "ASTC_10x6_sRGB"), (197, "ASTC_10x8_sRGB"), (198, "ASTC_10x10_sRGB"),
    (199, "ASTC_12x10_sRGB"), (200, "ASTC_12x12_sRGB"), (204, "ASTC_4x4_LDR"),
    (205, "ASTC_5x4_LDR"), (206, "ASTC_5x5_LDR"), (207, "ASTC_6x5_LDR"), (208, "ASTC_6x6_LDR"),
    (210, "ASTC_8x5_LDR"), (211, "ASTC_8x6_LDR"), (212, "ASTC_8x8_LDR"), (213, "ASTC_10x5_LDR"),
    (214, "ASTC_10x6_LDR"), (215, "ASTC_10x8_LDR"), (216, "ASTC_10x10_LDR"),
    (217, "ASTC_12x10_LDR"), (218, "ASTC_12x12_LDR"), (222, "ASTC_4x4_HDR"),
    (223, "ASTC_5x4_HDR"), (224, "ASTC_5x5_HDR"), (225, "ASTC_6x5_HDR"), (226, "ASTC_6x6_HDR"),
    (228, "ASTC_8x5_HDR"), (229, "ASTC_8x6_HDR"), (230, "ASTC_8x8_HDR"), (231, "ASTC_10x5_HDR"),
    (232, "ASTC_10x6_HDR"), (233, "ASTC_10x8_HDR"), (234, "ASTC_10x10_HDR"),
    (235, "ASTC_12x10_HDR"), (236, "ASTC_12x12_HDR"), (240, "GBGR422"), (241, "BGRG422"),
    (253, "Stencil8"), (255, "Depth24Unorm_Stencil8"), (260, "Depth32Float_Stencil8"),
    (261, "X32_Stencil8"), (262, "X24_Stencil8"), (263, "Unspecialized"), (552, "BGRA10_XR"),
    (553, "BGRA10_XR_sRGB"), (554, "BGR10_XR"), (555, "BGR10_XR_sRGB"),
];

/// `MTLTextureType`.
const KINDS: &[(usize, TextureKind)] = &[
    (0, TextureKind::D1),
    (1, TextureKind::D1Array),
    (2, TextureKind::D2),
    (3, TextureKind::D2Array),
    (5, TextureKind::Cube),
    (6, TextureKind::CubeArray),
    (7, TextureKind::D3),
    (9, TextureKind::Buffer),
];

/// The format with a number, for a method that takes it.
pub(crate) fn format_of(method: &str, number: usize) -> PixelFormat {
    if let Some((_, format)) = FORMATS.iter().find(|(known, _)| *known == number) {
        return *format;
    }
    match OTHERS.iter().find(|(known, _)| *known == number) {
        Some((_, name)) => {
            violation(method, format_args!("anymetal has no textures of the format MTLPixelFormat{name}"))
        }
        None if number == 0 => violation(method, "the pixel format is MTLPixelFormatInvalid"),
        None => violation(method, format_args!("there is no pixel format with the number {number}")),
    }
}

/// The number of a format; 0, which is none of them, for one that Metal does not have.
pub(crate) fn number_of_format(format: PixelFormat) -> usize {
    FORMATS.iter().find(|(_, known)| *known == format).map_or(0, |(number, _)| *number)
}

/// The kind with a number, for a method that takes it.
pub(crate) fn kind_of(method: &str, number: usize) -> TextureKind {
    match (KINDS.iter().find(|(known, _)| *known == number), number) {
        (Some((_, kind)), _) => *kind,
        (None, 4 | 8) => violation(method, "anymetal has no multisampled textures"),
        (None, _) => violation(method, format_args!("there is no texture type with the number {number}")),
    }
}

/// The number of a kind.
pub(crate) fn number_of_kind(kind: TextureKind) -> usize {
    KINDS.iter().find(|(_, known)| *known == kind).map_or(usize::MAX, |(number, _)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_and_kind_has_one_number() {
        for &format in PixelFormat::ALL {
            let number = number_of_format(format);
            assert!(number != 0 && format_of("", number) == format, "{format}");
            assert!(OTHERS.iter().all(|(other, _)| *other != number), "{format}");
        }
        assert_eq!(FORMATS.len(), PixelFormat::ALL.len());
        for (number, kind) in KINDS {
            assert_eq!(number_of_kind(*kind), *number);
        }
    }

    #[test]
    fn formats_and_kinds_that_are_missing_are_told_by_name() {
        let failure = |number: usize| {
            let payload = std::panic::catch_unwind(|| format_of("MTLDevice x", number)).expect_err("fails");
            payload.downcast_ref::<String>().cloned().expect("a text")
        };
        assert!(failure(204).contains("MTLPixelFormatASTC_4x4_LDR"));
        assert!(failure(0).contains("MTLPixelFormatInvalid"));
        assert!(failure(9999).contains("9999"));
        assert!(std::panic::catch_unwind(|| kind_of("MTLDevice x", 4)).is_err());
    }
}
