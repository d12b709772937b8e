@tool
extends RefCounted
## The numbers that vectors, transforms, colours and packed arrays are made of.

## Names of the numbers of the types that have short ones; an object with these keys is understood.
const NAMES: Dictionary[int, Array] = {
	TYPE_VECTOR2: ["x", "y"], TYPE_VECTOR2I: ["x", "y"],
	TYPE_VECTOR3: ["x", "y", "z"], TYPE_VECTOR3I: ["x", "y", "z"],
	TYPE_VECTOR4: ["x", "y", "z", "w"], TYPE_VECTOR4I: ["x", "y", "z", "w"],
	TYPE_QUATERNION: ["x", "y", "z", "w"], TYPE_COLOR: ["r", "g", "b", "a"],
}
## How many numbers each type has.
const SIZES: Dictionary[int, int] = {
	TYPE_VECTOR2: 2, TYPE_VECTOR2I: 2, TYPE_RECT2: 4, TYPE_RECT2I: 4, TYPE_VECTOR3: 3,
	TYPE_VECTOR3I: 3, TYPE_TRANSFORM2D: 6, TYPE_VECTOR4: 4, TYPE_VECTOR4I: 4, TYPE_PLANE: 4,
	TYPE_QUATERNION: 4, TYPE_AABB: 6, TYPE_BASIS: 9, TYPE_TRANSFORM3D: 12, TYPE_PROJECTION: 16,
	TYPE_COLOR: 4,
}
## What the elements of a packed array are.
const PACKED: Dictionary[int, int] = {
	TYPE_PACKED_BYTE_ARRAY: TYPE_INT, TYPE_PACKED_INT32_ARRAY: TYPE_INT,
	TYPE_PACKED_INT64_ARRAY: TYPE_INT, TYPE_PACKED_FLOAT32_ARRAY: TYPE_FLOAT,
	TYPE_PACKED_FLOAT64_ARRAY: TYPE_FLOAT, TYPE_PACKED_STRING_ARRAY: TYPE_STRING,
	TYPE_PACKED_VECTOR2_ARRAY: TYPE_VECTOR2, TYPE_PACKED_VECTOR3_ARRAY: TYPE_VECTOR3,
	TYPE_PACKED_COLOR_ARRAY: TYPE_COLOR, TYPE_PACKED_VECTOR4_ARRAY: TYPE_VECTOR4,
}
const WHOLE: Array[int] = [TYPE_VECTOR2I, TYPE_VECTOR3I, TYPE_VECTOR4I, TYPE_RECT2I]


## The numbers of a value of one of the types in SIZES: rows of axes for bases and transforms, the
## position before the size, and the origin last.
static func take(value: Variant) -> Array:
	match typeof(value):
		TYPE_RECT2, TYPE_RECT2I, TYPE_AABB:
			return take(value.position) + take(value.size)
		TYPE_TRANSFORM2D:
			return take(value.x) + take(value.y) + take(value.origin)
		TYPE_PLANE:
			return take(value.normal) + [value.d]
		TYPE_BASIS:
			return take(value.x) + take(value.y) + take(value.z)
		TYPE_TRANSFORM3D:
			return take(value.basis) + take(value.origin)
		TYPE_PROJECTION:
			return take(value.x) + take(value.y) + take(value.z) + take(value.w)
	var numbers: Array = []
	for index: int in SIZES[typeof(value)]:
		numbers.append(value[NAMES[typeof(value)][index]])
	return numbers


## The value that is made of such numbers; there must be SIZES[type] of them.
static func make(type: int, n: Array) -> Variant:
	match type:
		TYPE_VECTOR2:
			return Vector2(n[0], n[1])
		TYPE_VECTOR2I:
			return Vector2i(n[0], n[1])
		TYPE_RECT2:
			return Rect2(n[0], n[1], n[2], n[3])
		TYPE_RECT2I:
			return Rect2i(n[0], n[1], n[2], n[3])
		TYPE_VECTOR3:
			return Vector3(n[0], n[1], n[2])
		TYPE_VECTOR3I:
			return Vector3i(n[0], n[1], n[2])
		TYPE_TRANSFORM2D:
			return Transform2D(Vector2(n[0], n[1]), Vector2(n[2], n[3]), Vector2(n[4], n[5]))
		TYPE_VECTOR4:
			return Vector4(n[0], n[1], n[2], n[3])
		TYPE_VECTOR4I:
			return Vector4i(n[0], n[1], n[2], n[3])
		TYPE_PLANE:
			return Plane(n[0], n[1], n[2], n[3])
		TYPE_QUATERNION:
			return Quaternion(n[0], n[1], n[2], n[3])
		TYPE_AABB:
			return AABB(Vector3(n[0], n[1], n[2]), Vector3(n[3], n[4], n[5]))
		TYPE_BASIS:
			return _basis(n)
		TYPE_TRANSFORM3D:
			return Transform3D(_basis(n), Vector3(n[9], n[10], n[11]))
		TYPE_PROJECTION:
			return Projection(_column(n, 0), _column(n, 4), _column(n, 8), _column(n, 12))
	return Color(n[0], n[1], n[2], n[3])


static func _basis(n: Array) -> Basis:
	return Basis(Vector3(n[0], n[1], n[2]), Vector3(n[3], n[4], n[5]), Vector3(n[6], n[7], n[8]))


static func _column(n: Array, from: int) -> Vector4:
	return Vector4(n[from], n[from + 1], n[from + 2], n[from + 3])


## The shortest number that becomes the same one where the engine keeps 32 bits: 0.1 instead of
## 0.10000000149011612.
static func shorten(number: float) -> float:
	if is_nan(number) or is_inf(number):
		return number
	if number == 0.0:
		return number
	var exponent: int = floori(log(absf(number)) / log(10.0))
	for digits: int in [5, 6, 7, 8]: # behind the point
		var short: float = ("%.*fe%d" % [digits, number / pow(10.0, exponent), exponent]).to_float()
		if PackedFloat32Array([short])[0] == PackedFloat32Array([number])[0]:
			return short
	return number
