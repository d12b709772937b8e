@tool
extends RefCounted
## Passes values of every type through JSON text and back, alone and in a list, where nothing but the
## JSON tells what type they are. Answers the types that were not tried, and what changed.

const VariantJson := preload("res://addons/tether/tools/variant_json.gd")


static func run(scene: Node) -> Array:
	var codec := VariantJson.new(scene)
	var seen: Dictionary = {}
	var changed: Array = []
	for value: Variant in values(scene):
		seen[typeof(value)] = true
		for wrapped: Array in [[value], [[value]]]:
			var given: Variant = wrapped[0]
			var text: String = JSON.stringify(codec.encode(given), "", true, true)
			var back: Variant = codec.decode(JSON.parse_string(text))
			if codec.error != "" or not same(given, back):
				changed.append([text, codec.error, str(back)])
	var missing: Array = range(TYPE_MAX).filter(func(type: int) -> bool: return not seen.has(type))
	return [missing.map(type_string), changed]


static func same(a: Variant, b: Variant) -> bool:
	if a is Array and not a.is_typed() and a.size() == 1:
		return b is Array and b.size() == 1 and same(a[0], b[0])
	if typeof(a) in [TYPE_RID, TYPE_CALLABLE, TYPE_SIGNAL] or a is Node:
		return typeof(a) == typeof(b) and a == b
	return typeof(a) == typeof(b) and var_to_str(a) == var_to_str(b)


static func values(scene: Node) -> Array:
	var rect := RectangleShape2D.new()
	rect.size = Vector2(3, 4)
	var ints: Array[int] = [1, 2]
	var shapes: Array[Shape2D] = [rect]
	var ages: Dictionary[String, int] = {"a": 1}
	var by_place: Dictionary[Vector2i, Array] = {Vector2i(1, 2): [1, "x"]}
	return [
		null, true, false, 0, 1, -1, 9007199254740992, 9223372036854775807, -9223372036854775807 - 1,
		0.0, 1.0, 0.1, -2.5, 1e300, 5e-324, INF, -INF, NAN, PI, "", "text", "ä\n\"😀", &"name", ^"A/B:position:x",
		Vector2(0.1, -2), Vector2(INF, NAN), Vector2i(1, -2147483648), Rect2(1, 2, 3, 4.5), Rect2i(1, 2, 3, 4), Vector3(1, 2, 3.3),
		Vector3i(1, 2, 3), Transform2D(0.3, Vector2(1, 2)), Vector4(1, 2, 3, 4), Vector4i(1, 2, 3, 4),
		Plane(Vector3(0, 1, 0), 2), Quaternion(Vector3(0, 1, 0), 0.5), AABB(Vector3(1, 2, 3), Vector3(4, 5, 6)),
		Basis(Vector3(1, 0, 0), 0.7), Transform3D(Basis(Vector3(0, 0, 1), 0.2), Vector3(7, 8, 9)),
		Projection.create_perspective(60, 1.5, 0.1, 100), Color(0.1, 0.2, 0.3, 0.4), Color(2, 0, 0),
		rid_from_int64(77), RID(), Callable(), Callable(scene, "queue_redraw"), Signal(), Signal(scene, "draw"),
		scene, scene.get_child(0), load("res://circle.tres"), rect,
		{}, {"a": 1, "b": [1.0, {"c": null}]}, {"Vector2": 1}, {"int": "x", "y": 2}, {1: "one", Vector2(1, 2): &"v", "k": {2.0: true}},
		ages, by_place, [], [1, 1.0, "x", null, [Vector2.ONE]], ints, shapes,
		PackedByteArray([0, 255]), PackedInt32Array([1, -2147483648]), PackedInt64Array([9223372036854775807]),
		PackedFloat32Array([0.1, 1, INF]), PackedFloat64Array([0.1, 1]), PackedStringArray(["a", ""]),
		PackedVector2Array([Vector2(0.1, 2)]), PackedVector3Array([Vector3.ONE]), PackedColorArray([Color.RED]),
		PackedVector4Array([Vector4.ONE]),
	]
