// <metal_matrix>: the operators, transpose and determinant. A matrix is its columns. Scalars convert to
// the element type.

namespace metal {

#define __AM_ELEMENTWISE(OP) \
  template <typename T, int C, int R> matrix<T, C, R> operator OP(matrix<T, C, R> a, matrix<T, C, R> b) { \
    matrix<T, C, R> result; \
    for (int c = 0; c < C; c++) result[c] = a[c] OP b[c]; \
    return result; \
  }
__AM_ELEMENTWISE(+)
__AM_ELEMENTWISE(-)
#undef __AM_ELEMENTWISE
template <typename T, int C, int R> matrix<T, C, R> operator-(matrix<T, C, R> m) {
  matrix<T, C, R> result;
  for (int c = 0; c < C; c++) result[c] = -m[c];
  return result;
}
template <typename T, int C, int R> matrix<T, C, R> operator+(matrix<T, C, R> m) { return m; }
template <typename T, int C, int R> matrix<T, C, R> operator*(matrix<T, C, R> m, typename __lib_identity<T>::type s) {
  matrix<T, C, R> result;
  for (int c = 0; c < C; c++) result[c] = m[c] * s;
  return result;
}
template <typename T, int C, int R> matrix<T, C, R> operator*(typename __lib_identity<T>::type s, matrix<T, C, R> m) {
  matrix<T, C, R> result;
  for (int c = 0; c < C; c++) result[c] = s * m[c];
  return result;
}
template <typename T, int C, int R> matrix<T, C, R> operator/(matrix<T, C, R> m, typename __lib_identity<T>::type s) {
  matrix<T, C, R> result;
  for (int c = 0; c < C; c++) result[c] = m[c] / s;
  return result;
}
template <typename T, int C, int R> bool operator==(matrix<T, C, R> a, matrix<T, C, R> b) {
  bool same = true;
  for (int c = 0; c < C; c++) same = same && __am_all(a[c] == b[c]);
  return same;
}
template <typename T, int C, int R> bool operator!=(matrix<T, C, R> a, matrix<T, C, R> b) { return !(a == b); }

template <typename T, int C, int R> vec<T, R> operator*(matrix<T, C, R> m, vec<T, C> v) {
  vec<T, R> sum = m[0] * v[0];
  for (int c = 1; c < C; c++) sum += m[c] * v[c];
  return sum;
}
template <typename T, int C> vec<T, C> operator*(vec<T, 2> v, matrix<T, C, 2> m) {
  vec<T, C> result;
  for (int c = 0; c < C; c++) result[c] = v[0] * m[c][0] + v[1] * m[c][1];
  return result;
}
template <typename T, int C> vec<T, C> operator*(vec<T, 3> v, matrix<T, C, 3> m) {
  vec<T, C> result;
  for (int c = 0; c < C; c++) result[c] = v[0] * m[c][0] + v[1] * m[c][1] + v[2] * m[c][2];
  return result;
}
template <typename T, int C> vec<T, C> operator*(vec<T, 4> v, matrix<T, C, 4> m) {
  vec<T, C> result;
  for (int c = 0; c < C; c++) {
    result[c] = (v[0] * m[c][0] + v[1] * m[c][1]) + (v[2] * m[c][2] + v[3] * m[c][3]);
  }
  return result;
}
template <typename T, int K, int R, int C> matrix<T, C, R> operator*(matrix<T, K, R> a, matrix<T, C, K> b) {
  matrix<T, C, R> product;
  for (int c = 0; c < C; c++) {
    vec<T, R> sum = a[0] * b[c][0];
    for (int k = 1; k < K; k++) sum += a[k] * b[c][k];
    product[c] = sum;
  }
  return product;
}
#define __AM_COMPOUND(SPACE) \
  template <typename T, int C, int R> \
  SPACE matrix<T, C, R>& operator+=(SPACE matrix<T, C, R>& a, matrix<T, C, R> b) { return a = a + b; } \
  template <typename T, int C, int R> \
  SPACE matrix<T, C, R>& operator-=(SPACE matrix<T, C, R>& a, matrix<T, C, R> b) { return a = a - b; } \
  template <typename T, int C, int R> \
  SPACE matrix<T, C, R>& operator*=(SPACE matrix<T, C, R>& a, matrix<T, C, C> b) { return a = a * b; } \
  template <typename T, int C, int R> \
  SPACE matrix<T, C, R>& operator*=(SPACE matrix<T, C, R>& a, typename __lib_identity<T>::type s) { return a = a * s; } \
  template <typename T, int C, int R> \
  SPACE matrix<T, C, R>& operator/=(SPACE matrix<T, C, R>& a, typename __lib_identity<T>::type s) { return a = a / s; }
__AM_COMPOUND(thread)
__AM_COMPOUND(device)
__AM_COMPOUND(threadgroup)
#undef __AM_COMPOUND

template <typename T, int C, int R> matrix<T, R, C> transpose(matrix<T, C, R> m) {
  matrix<T, R, C> result;
  for (int c = 0; c < C; c++) {
    for (int r = 0; r < R; r++) result[r][c] = m[c][r];
  }
  return result;
}

template <typename T> T determinant(matrix<T, 2, 2> m) { return m[0][0] * m[1][1] - m[1][0] * m[0][1]; }
template <typename T> T determinant(matrix<T, 3, 3> m) {
  return m[0][0] * (m[1][1] * m[2][2] - m[2][1] * m[1][2]) - m[1][0] * (m[0][1] * m[2][2] - m[2][1] * m[0][2]) +
         m[2][0] * (m[0][1] * m[1][2] - m[1][1] * m[0][2]);
}
template <typename T> T determinant(matrix<T, 4, 4> m) {
  T a = m[2][2] * m[3][3] - m[3][2] * m[2][3];
  T b = m[2][1] * m[3][3] - m[3][1] * m[2][3];
  T c = m[2][1] * m[3][2] - m[3][1] * m[2][2];
  T d = m[2][0] * m[3][3] - m[3][0] * m[2][3];
  T e = m[2][0] * m[3][2] - m[3][0] * m[2][2];
  T f = m[2][0] * m[3][1] - m[3][0] * m[2][1];
  return m[0][0] * (m[1][1] * a - m[1][2] * b + m[1][3] * c) - m[0][1] * (m[1][0] * a - m[1][2] * d + m[1][3] * e) +
         m[0][2] * (m[1][0] * b - m[1][1] * d + m[1][3] * f) - m[0][3] * (m[1][0] * c - m[1][1] * e + m[1][2] * f);
}

}
