//! Formats, layouts and types.

use super::*;

#[test]
fn every_format_is_found_by_its_name_and_has_a_word_of_its_own() {
    for (n, &format) in PixelFormat::ALL.iter().enumerate() {
        assert_eq!(format.name().to_uppercase().parse(), Ok(format));
        let bits: u32 = format.channels().iter().map(|(width, _)| width).sum();
        let exponent = if format.kind() == ChannelKind::SharedExponent { 5 } else { 0 };
        assert_eq!(bits + exponent, format.texel_bytes() * 8, "{format} fills its texel");
        for other in &PixelFormat::ALL[..n] {
            let alike = other.word() == format.word();
            assert!(!alike || format.is_depth(), "{format} and {other} have the same word");
        }
    }
    assert!("rgba9".parse::<PixelFormat>().is_err());
}

#[test]
fn levels_follow_one_another_and_shrink_to_one_texel() -> Result<(), TextureError> {
    let plane = TextureDescriptor::plane(PixelFormat::Rgba8Unorm, 20, 5);
    assert_eq!(plane.all_levels(), 5);
    let layout = TextureLayout::new(&plane.with_levels(5))?;
    let extents: Vec<_> = layout.levels().iter().map(|level| level.extent).collect();
    assert_eq!(extents, [[20, 5, 1], [10, 2, 1], [5, 1, 1], [2, 1, 1], [1, 1, 1]]);
    let offsets: Vec<_> = layout.levels().iter().map(|level| level.offset).collect();
    assert_eq!(offsets, [0, 448, 576, 640, 704]);
    assert_eq!((layout.bytes(), layout.levels()[1].row_bytes), (768, 48));
    Ok(())
}

#[test]
fn slices_are_planes_faces_and_elements() -> Result<(), TextureError> {
    let cubes = TextureDescriptor::plane(PixelFormat::R8Unorm, 4, 4)
        .of_kind(TextureKind::CubeArray)
        .with_array_length(2);
    let layout = TextureLayout::new(&cubes)?;
    assert_eq!(layout.slice(0, 11)?.1, 11 * 64);
    assert_eq!(layout.slice(0, 12), Err(TextureError::NoSuchPlace { level: 0, slice: 12 }));
    let volume = TextureDescriptor::plane(PixelFormat::R8Unorm, 4, 4).of_kind(TextureKind::D3).with_depth(3);
    assert_eq!(TextureLayout::new(&volume)?.levels()[0].slices, 3);
    Ok(())
}

#[test]
fn wrong_shapes_are_refused() {
    let plane = TextureDescriptor::plane(PixelFormat::Rgba8Unorm, 8, 4);
    let refused = |descriptor: TextureDescriptor| TextureLayout::new(&descriptor).expect_err("is wrong");
    assert!(matches!(refused(TextureDescriptor { width: 0, ..plane }), TextureError::Extent { .. }));
    assert!(matches!(refused(plane.with_depth(2)), TextureError::Extent { dimension: "depth", .. }));
    assert!(matches!(refused(plane.with_levels(5)), TextureError::Levels { limit: 4, .. }));
    assert!(matches!(refused(plane.of_kind(TextureKind::Cube)), TextureError::CubeNotSquare { .. }));
    for row_bytes in [31, 33] {
        let error = TextureLayout::over_rows(&plane, row_bytes);
        assert!(matches!(error, Err(TextureError::RowBytes { needs: 32, .. })), "{row_bytes}");
    }
    assert_eq!(TextureLayout::over_rows(&plane, 40).map(|layout| layout.bytes()), Ok(3 * 40 + 32));
}

#[test]
fn argument_types_are_read_from_their_spelling() {
    let parsed = TextureType::parse("metal::texture2d_array<half, metal::access::read_write>");
    let expected = TextureType { kind: TextureKind::D2Array, component: Component::Float, is_depth: false };
    assert_eq!(parsed, Some(expected));
    let buffer = TextureType::parse("texture_buffer<uint, access::write>").expect("is one");
    assert!(buffer.takes(TextureKind::Buffer, PixelFormat::R8Uint));
    assert!(!buffer.takes(TextureKind::Buffer, PixelFormat::R8Sint));
    let depth = TextureType::parse("depth2d<float>").expect("is one");
    assert!(depth.takes(TextureKind::D2, PixelFormat::Depth32Float));
    assert!(!depth.takes(TextureKind::D2, PixelFormat::R32Float));
    assert_eq!(TextureType::parse("device float*"), None);
}

#[test]
fn the_default_sampler_has_no_choices() {
    assert_eq!(
        SamplerDescriptor::default().state(),
        SamplerState { word: SamplerState::IS_SAMPLER, levels: 0 }
    );
    let other = SamplerDescriptor::default().with_address(AddressMode::Repeat).with_filter(Filter::Linear);
    assert_eq!(other.state().word, SamplerState::IS_SAMPLER | 2 | 2 << 3 | 2 << 6 | 3 << 9);
}
