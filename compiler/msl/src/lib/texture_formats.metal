// Pixel formats: texels to vectors and back, by the word that describes a format (`anymetal_abi::
// textures` has its bits). Everything here is exact or rounds once, so it is the same on all devices. All
// channels are computed at once: the code of a format that is not known stays small, and that of one that is
// known folds to what the format needs.
#pragma METAL fp math_mode(safe)

namespace metal {

// Bits of a format: log2 of a texel's bytes, the kind of its channels, whether it is sRGB and swizzled; of
// each channel the width, 0 if it is absent, and the position in the texel.
constexpr uint __lib_size(ulong format) { return uint(format) & 7u; }
constexpr uint __lib_kind(ulong format) { return (uint(format) >> 3) & 7u; }
constexpr bool __lib_is_srgb(ulong format) { return (format & 64ul) != 0; }
constexpr bool __lib_is_swizzled(ulong format) { return (format & 128ul) != 0; }
uint4 __lib_widths(ulong format) {
  return uint4(uint(format >> 8), uint(format >> 21), uint(format >> 34), uint(format >> 47)) & 63u;
}
uint4 __lib_positions(ulong format) {
  return uint4(uint(format >> 14), uint(format >> 27), uint(format >> 40), uint(format >> 53)) & 127u;
}
uint4 __lib_masks(uint4 widths) {
  return __am_select((uint4(1) << (widths & 31u)) - 1u, uint4(0xffffffffu), widths == 32u);
}
enum __lib_kinds : uint { __lib_unorm, __lib_snorm, __lib_uint, __lib_sint, __lib_float, __lib_shared_exponent };

// A texel's bytes as words.
uint4 __lib_load(const device uchar* at, uint size) {
  if (size == 2) return uint4(*(const device uint*)at, 0, 0, 0);
  if (size == 0) return uint4(*at, 0, 0, 0);
  if (size == 1) return uint4(*(const device ushort*)at, 0, 0, 0);
  if (size == 3) return uint4(*(const device uint2*)at, 0, 0);
  return *(const device uint4*)at;
}
void __lib_store(device uchar* at, uint size, uint4 words) {
  if (size == 2) *(device uint*)at = words.x;
  else if (size == 0) *at = uchar(words.x);
  else if (size == 1) *(device ushort*)at = ushort(words.x);
  else if (size == 3) *(device uint2*)at = words.xy;
  else *(device uint4*)at = words;
}

// The channels' bits; 0 where one is absent.
uint4 __lib_bits(uint4 words, ulong format) {
  uint4 at = __lib_positions(format);
  uint4 low = __am_select(uint4(words.x), uint4(words.y), at >= 32u), high = __am_select(uint4(words.z), uint4(words.w), at >= 96u);
  return (__am_select(low, high, at >= 64u) >> (at & 31u)) & __lib_masks(__lib_widths(format));
}
int4 __lib_sign_extended(uint4 bits, uint4 widths) {
  uint4 shift = (32u - widths) & 31u;
  return int4(bits << shift) >> int4(shift);
}
// The largest value of a channel with sign.
int4 __lib_most_signed(uint4 widths) { return int4((uint4(1) << ((widths - 1u) & 31u)) - 1u); }

// n / most, rounded to nearest: the sum of the products with the inverse's two parts. That is so for all
// numbers of 2 to 16 bits, with sign and without; n is 0 where there is no channel.
float4 __lib_quotient(float4 n, float4 most) {
  float4 inverse = 1.0f / most, rest = __am_fma(-inverse, most, float4(1.0f)) / most;
  return __am_fma(n, inverse, n * rest);
}

float __lib_linear_of_srgb(uint code) {
  constexpr constant float table[256] = {
    0.0f, 0.000303527f, 0.000607054f, 0.000910581f, 0.001214108f, 0.001517635f, 0.001821162f,
    0.0021246888f, 0.002428216f, 0.0027317428f, 0.00303527f, 0.0033465358f, 0.0036765074f,
    0.004024717f, 0.004391442f, 0.0047769533f, 0.0051815165f, 0.0056053917f, 0.006048833f,
    0.0065120906f, 0.00699541f, 0.007499032f, 0.008023193f, 0.008568126f, 0.009134059f,
    0.009721218f, 0.010329823f, 0.010960094f, 0.011612245f, 0.012286488f, 0.0129830325f,
    0.013702083f, 0.014443844f, 0.015208514f, 0.015996294f, 0.016807375f, 0.017641954f, 0.01850022f,
    0.019382361f, 0.020288562f, 0.02121901f, 0.022173885f, 0.023153367f, 0.024157632f, 0.02518686f,
    0.026241222f, 0.027320892f, 0.02842604f, 0.029556835f, 0.030713445f, 0.031896032f, 0.033104766f,
    0.034339808f, 0.035601314f, 0.03688945f, 0.038204372f, 0.039546236f, 0.0409152f, 0.04231141f,
    0.04373503f, 0.045186203f, 0.046665087f, 0.048171826f, 0.049706567f, 0.051269457f, 0.052860647f,
    0.054480277f, 0.05612849f, 0.05780543f, 0.059511237f, 0.061246052f, 0.063010015f, 0.064803265f,
    0.06662594f, 0.06847817f, 0.070360094f, 0.07227185f, 0.07421357f, 0.07618538f, 0.07818742f,
    0.08021982f, 0.08228271f, 0.08437621f, 0.08650046f, 0.08865558f, 0.09084171f, 0.093058966f,
    0.09530747f, 0.09758735f, 0.099898726f, 0.10224173f, 0.104616486f, 0.107023105f, 0.10946171f,
    0.11193243f, 0.114435375f, 0.116970666f, 0.11953843f, 0.122138776f, 0.12477182f, 0.12743768f,
    0.13013647f, 0.13286832f, 0.13563333f, 0.13843161f, 0.14126329f, 0.14412847f, 0.14702727f,
    0.14995979f, 0.15292615f, 0.15592647f, 0.15896083f, 0.16202937f, 0.1651322f, 0.1682694f,
    0.17144111f, 0.1746474f, 0.17788842f, 0.18116425f, 0.18447499f, 0.18782078f, 0.19120169f,
    0.19461784f, 0.19806932f, 0.20155625f, 0.20507874f, 0.20863687f, 0.21223076f, 0.2158605f,
    0.2195262f, 0.22322796f, 0.22696587f, 0.23074006f, 0.23455058f, 0.23839757f, 0.24228112f,
    0.24620132f, 0.25015828f, 0.2541521f, 0.25818285f, 0.26225066f, 0.2663556f, 0.2704978f,
    0.2746773f, 0.27889428f, 0.28314874f, 0.28744084f, 0.29177064f, 0.29613826f, 0.30054379f,
    0.3049873f, 0.30946892f, 0.31398872f, 0.31854677f, 0.3231432f, 0.3277781f, 0.33245152f,
    0.33716363f, 0.34191442f, 0.34670407f, 0.3515326f, 0.35640013f, 0.3613068f, 0.3662526f,
    0.3712377f, 0.37626213f, 0.38132602f, 0.38642943f, 0.39157248f, 0.39675522f, 0.40197778f,
    0.4072402f, 0.4125426f, 0.41788507f, 0.42326766f, 0.4286905f, 0.43415365f, 0.43965718f,
    0.4452012f, 0.4507858f, 0.45641103f, 0.462077f, 0.4677838f, 0.47353148f, 0.47932017f,
    0.48514995f, 0.49102086f, 0.49693298f, 0.5028865f, 0.50888133f, 0.5149177f, 0.52099556f,
    0.5271151f, 0.5332764f, 0.5394795f, 0.54572445f, 0.55201143f, 0.5583404f, 0.5647115f,
    0.57112485f, 0.57758045f, 0.58407843f, 0.59061885f, 0.59720176f, 0.60382736f, 0.61049557f,
    0.6172066f, 0.6239604f, 0.63075715f, 0.63759685f, 0.6444797f, 0.65140563f, 0.65837485f,
    0.6653873f, 0.67244315f, 0.6795425f, 0.6866853f, 0.69387174f, 0.7011019f, 0.70837575f,
    0.7156935f, 0.7230551f, 0.73046076f, 0.7379104f, 0.7454042f, 0.7529422f, 0.7605245f,
    0.76815116f, 0.7758222f, 0.7835378f, 0.7912979f, 0.7991027f, 0.80695224f, 0.8148466f,
    0.82278574f, 0.8307699f, 0.838799f, 0.8468732f, 0.8549926f, 0.8631572f, 0.8713671f, 0.8796224f,
    0.8879231f, 0.8962694f, 0.9046612f, 0.91309863f, 0.92158186f, 0.9301109f, 0.9386857f,
    0.9473065f, 0.9559733f, 0.9646863f, 0.9734453f, 0.9822506f, 0.9911021f, 1.0f,
  };
  return table[code & 255u];
}

float4 __lib_normalized(uint4 bits, ulong format) {
  uint4 widths = __lib_widths(format);
  if (__lib_kind(format) == __lib_snorm) {
    float4 most = float4(__lib_most_signed(widths));
    return __am_fmax(__lib_quotient(float4(__lib_sign_extended(bits, widths)), most), float4(-1.0f));
  }
  float4 color = __lib_quotient(float4(int4(bits)), float4(int4(__lib_masks(widths))));
  if (!__lib_is_srgb(format)) return color;
  return float4(__lib_linear_of_srgb(bits.x), __lib_linear_of_srgb(bits.y), __lib_linear_of_srgb(bits.z), color.w);
}
// Floats without sign, with 5 bits of exponent and 6 or 5 of mantissa, are halves without the last bits.
float4 __lib_floats(uint4 bits, ulong format) {
  uint4 widths = __lib_widths(format);
  if (widths.x == 32) return as_type<float4>(bits);
  return float4(as_type<half4>(ushort4(bits << __am_select((15u - widths) & 31u, uint4(0), widths == 16u))));
}

// The values of a texel, by the type of the texture's components.
float4 __lib_decode(uint4 words, ulong format, float) {
  uint kind = __lib_kind(format);
  if (kind == __lib_shared_exponent) {
    float scale = as_type<float>(((words.x >> 27) + 103u) << 23);
    return float4(float3(int3(uint3(words.x, words.x >> 9, words.x >> 18) & 511u)) * scale, 1.0f);
  }
  uint4 bits = __lib_bits(words, format);
  float4 color = kind == __lib_float ? __lib_floats(bits, format) : __lib_normalized(bits, format);
  return __am_select(color, float4(0, 0, 0, 1), __lib_widths(format) == 0u);
}
uint4 __lib_decode(uint4 words, ulong format, uint) {
  uint4 bits = __lib_bits(words, format), widths = __lib_widths(format);
  if (__lib_kind(format) == __lib_sint) bits = uint4(__lib_sign_extended(bits, widths));
  return __am_select(bits, uint4(0, 0, 0, 1), widths == 0u);
}
half4 __lib_decode(uint4 words, ulong format, half) { return half4(__lib_decode(words, format, 0.0f)); }
int4 __lib_decode(uint4 words, ulong format, int) { return int4(__lib_decode(words, format, 0u)); }
ushort4 __lib_decode(uint4 words, ulong format, ushort) { return ushort4(__lib_decode(words, format, 0u)); }
short4 __lib_decode(uint4 words, ulong format, short) { return short4(__lib_decode(words, format, 0u)); }

uint __lib_srgb_of_linear(float x) {
  // The smallest value of each code but 0.
  constexpr constant float table[255] = {
    0.0001517635f, 0.0004552905f, 0.0007588175f, 0.0010623445f, 0.0013658715f, 0.0016693985f,
    0.0019729256f, 0.0022764525f, 0.0025799794f, 0.0028835065f, 0.003188301f, 0.0035092595f,
    0.003848315f, 0.0042057484f, 0.004581833f, 0.0049768374f, 0.0053910245f, 0.005824651f,
    0.0062779696f, 0.0067512277f, 0.0072446684f, 0.007758531f, 0.0082930485f, 0.008848454f,
    0.009424971f, 0.0100228265f, 0.010642237f, 0.011283422f, 0.0119465925f, 0.01263196f,
    0.013339732f, 0.014070112f, 0.014823304f, 0.015599503f, 0.01639891f, 0.017221717f, 0.018068116f,
    0.018938296f, 0.019832443f, 0.020750746f, 0.021693384f, 0.022660539f, 0.023652392f,
    0.024669116f, 0.025710888f, 0.026777884f, 0.027870271f, 0.028988222f, 0.030131903f,
    0.031301484f, 0.032497123f, 0.03371899f, 0.034967244f, 0.036242045f, 0.037543554f, 0.03887193f,
    0.04022732f, 0.04160989f, 0.043019786f, 0.044457164f, 0.045922175f, 0.047414966f, 0.04893569f,
    0.050484486f, 0.05206151f, 0.0536669f, 0.055300802f, 0.05696336f, 0.058654718f, 0.060375012f,
    0.062124386f, 0.063902974f, 0.06571092f, 0.06754836f, 0.06941541f, 0.07131224f, 0.07323896f,
    0.07519571f, 0.07718262f, 0.07919982f, 0.08124745f, 0.083325624f, 0.08543449f, 0.08757416f,
    0.08974477f, 0.091946445f, 0.0941793f, 0.09644348f, 0.098739095f, 0.10106628f, 0.10342514f,
    0.105815805f, 0.10823841f, 0.11069305f, 0.11317987f, 0.11569897f, 0.11825049f, 0.12083452f,
    0.1234512f, 0.12610064f, 0.12878296f, 0.13149826f, 0.13424668f, 0.1370283f, 0.13984329f,
    0.14269169f, 0.14557366f, 0.14848931f, 0.15143874f, 0.15442206f, 0.1574394f, 0.16049084f,
    0.1635765f, 0.1666965f, 0.16985095f, 0.17303993f, 0.17626357f, 0.17952198f, 0.18281525f,
    0.1861435f, 0.18950684f, 0.19290535f, 0.19633916f, 0.19980836f, 0.20331305f, 0.20685335f,
    0.21042934f, 0.21404114f, 0.21768886f, 0.22137257f, 0.2250924f, 0.22884843f, 0.23264077f,
    0.23646952f, 0.24033478f, 0.24423665f, 0.24817522f, 0.2521506f, 0.25616285f, 0.26021212f,
    0.2642985f, 0.26842204f, 0.2725829f, 0.2767811f, 0.28101683f, 0.2852901f, 0.28960103f,
    0.29394975f, 0.2983363f, 0.3027608f, 0.30722338f, 0.31172407f, 0.31626296f, 0.3208402f,
    0.32545584f, 0.33011f, 0.33480275f, 0.3395342f, 0.34430438f, 0.34911346f, 0.3539615f,
    0.35884857f, 0.3637748f, 0.36874023f, 0.373745f, 0.37878916f, 0.38387278f, 0.388996f,
    0.3941589f, 0.39936155f, 0.40460402f, 0.40988642f, 0.41520885f, 0.42057136f, 0.42597407f,
    0.43141705f, 0.43690038f, 0.44242412f, 0.44798842f, 0.45359334f, 0.45923892f, 0.46492532f,
    0.47065255f, 0.47642073f, 0.48222995f, 0.48808026f, 0.49397177f, 0.49990457f, 0.50587875f,
    0.51189435f, 0.5179514f, 0.5240502f, 0.5301906f, 0.5363727f, 0.54259676f, 0.5488627f,
    0.55517066f, 0.5615207f, 0.56791294f, 0.5743474f, 0.58082414f, 0.58734334f, 0.59390503f,
    0.6005093f, 0.60715616f, 0.61384577f, 0.62057817f, 0.6273534f, 0.63417166f, 0.64103293f,
    0.6479373f, 0.6548849f, 0.66187567f, 0.66890985f, 0.6759874f, 0.68310845f, 0.6902731f,
    0.6974814f, 0.7047334f, 0.71202916f, 0.7193689f, 0.72675246f, 0.7341801f, 0.74165183f,
    0.74916774f, 0.7567279f, 0.7643323f, 0.7719812f, 0.7796745f, 0.78741235f, 0.7951948f,
    0.8030219f, 0.81089383f, 0.8188106f, 0.8267722f, 0.83477885f, 0.84283054f, 0.8509273f,
    0.8590693f, 0.8672565f, 0.8754891f, 0.8837671f, 0.89209056f, 0.9004596f, 0.9088742f,
    0.91733456f, 0.9258407f, 0.9343926f, 0.9429904f, 0.9516342f, 0.96032405f, 0.96906f, 0.97784215f,
    0.98667055f, 0.99554527f,
  };
  uint code = 0;
  for (uint step = 128; step > 0; step >>= 1) code += x >= table[code + step - 1] ? step : 0u;
  return code;
}

// To nearest, ties to even, of floats without sign with 5 bits of exponent and 6 or 5 of mantissa.
uint3 __lib_small_floats(float3 x) {
  constexpr uint3 mantissa = uint3(6, 6, 5), shift = uint3(17, 17, 18), infinite = uint3(31 * 64, 31 * 64, 31 * 32);
  uint3 bits = as_type<uint3>(x);
  uint3 rounded = (bits + (uint3(1) << (shift - 1u)) - 1u + ((bits >> shift) & 1u)) >> shift;
  uint3 normal = min(rounded - (uint3(112) << mantissa), infinite);
  uint3 tiny = uint3(__am_rint(__am_fmin(__am_fmax(x, float3(0.0f)), float3(1.0f)) * float3(0x1p20f, 0x1p20f, 0x1p19f)));
  uint3 found = __am_select(normal, tiny, x < 0x1p-14f);
  return __am_select(__am_select(uint3(0), found, x > 0.0f), infinite | 1u, x != x);
}
uint3 __lib_shared_mantissas(float3 x, float scale) {
  float3 scaled = x * scale, whole = __am_floor(scaled);
  return uint3(whole) + __am_select(uint3(0), uint3(1), scaled - whole >= 0.5f);
}
uint __lib_shared_exponent_of(float3 color) {
  float3 clamped = __am_fmin(__am_fmax(color, float3(0.0f)), float3(65408.0f));
  float most = __am_fmax(__am_fmax(clamped.x, clamped.y), clamped.z);
  uint exponent = uint(max(int(as_type<uint>(most) >> 23) - 127, -16) + 16);
  if (__lib_shared_mantissas(float3(most), as_type<float>((151u - exponent) << 23)).x == 512u) exponent += 1u;
  uint3 mantissas = __lib_shared_mantissas(clamped, as_type<float>((151u - exponent) << 23));
  return mantissas.x | (mantissas.y << 9) | (mantissas.z << 18) | (exponent << 27);
}

// A texel's words, of its channels' bits.
uint4 __lib_packed(uint4 bits, ulong format) {
  uint kind = __lib_kind(format);
  // Those without sign are limited already, to 0 where there is no channel; but not in sRGB.
  bool fits = kind == __lib_unorm && !__lib_is_srgb(format) || kind == __lib_uint;
  uint4 at = __lib_positions(format), masks = fits ? uint4(0xffffffffu) : __lib_masks(__lib_widths(format));
  uint4 placed = (bits & masks) << (at & 31u);
  uint4 x = __am_select(uint4(0), placed, at < 32u), y = __am_select(uint4(0), placed, (at >> 5) == 1u);
  uint4 z = __am_select(uint4(0), placed, (at >> 5) == 2u), w = __am_select(uint4(0), placed, at >= 96u);
  return uint4(x.x | x.y | x.z | x.w, y.x | y.y | y.z | y.w, z.x | z.y | z.z | z.w, w.x | w.y | w.z | w.w);
}
uint4 __lib_normalized_bits(float4 color, ulong format) {
  uint4 widths = __lib_widths(format);
  bool is_signed = __lib_kind(format) == __lib_snorm;
  // What is not a number is 0, which it becomes by the maximum where there is no sign.
  float4 number = is_signed ? __am_select(color, float4(0.0f), color != color) : color;
  float4 most = float4(is_signed ? __lib_most_signed(widths) : int4(__lib_masks(widths)));
  float4 least = is_signed ? -most : float4(0.0f);
  uint4 bits = uint4(int4(__am_rint(__am_fmin(__am_fmax(number * most, least), most))));
  if (!__lib_is_srgb(format)) return bits;
  return uint4(__lib_srgb_of_linear(number.x), __lib_srgb_of_linear(number.y), __lib_srgb_of_linear(number.z), bits.w);
}
uint4 __lib_encode(float4 color, ulong format) {
  uint kind = __lib_kind(format), width = __lib_widths(format).x;
  if (kind == __lib_shared_exponent) return uint4(__lib_shared_exponent_of(color.xyz), 0, 0, 0);
  uint4 bits;
  if (kind != __lib_float) bits = __lib_normalized_bits(color, format);
  else if (width == 32) bits = as_type<uint4>(color);
  else if (width == 16) bits = uint4(as_type<ushort4>(half4(color)));
  else bits = uint4(__lib_small_floats(color.xyz), 0);
  return __lib_packed(bits, format);
}
uint4 __lib_encode(half4 color, ulong format) { return __lib_encode(float4(color), format); }
uint4 __lib_encode(uint4 color, ulong format) {
  return __lib_packed(min(color, __lib_masks(__lib_widths(format))), format);
}
uint4 __lib_encode(ushort4 color, ulong format) { return __lib_encode(uint4(color), format); }
uint4 __lib_encode(int4 color, ulong format) {
  int4 most = __lib_most_signed(__lib_widths(format));
  return __lib_packed(uint4(clamp(color, -most - 1, most)), format);
}
uint4 __lib_encode(short4 color, ulong format) { return __lib_encode(int4(color), format); }

}
