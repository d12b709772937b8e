@tool
extends RefCounted
## The properties of any object by their names, in the edited scene or in a running game: what
## "position", "position:x" or "material:albedo_color" is, and what it becomes.
##
## Nothing in here is for the editor alone: the helper in the game uses it, too.

const Types := preload("value_types.gd")
const VariantJson := preload("variant_json.gd")
const Words := preload("words.gd")


## The properties of some usage, all of them or those that differ from their defaults.
static func listed(object: Object, usage: int, all: bool) -> Array[Dictionary]:
	var found: Array[Dictionary] = []
	for info: Dictionary in object.get_property_list():
		if not info["usage"] & usage or info["name"] == "script":
			continue
		var current: Variant = object.get(info["name"])
		if all or not Types.is_same_value(current, default_of(object, info["name"])):
			found.append({"object": object, "property": info["name"], "info": info, "sub": [], "old": current})
	return found


## Puts the properties that the arguments ask for into [param result], as [param describe] tells each, and where
## to go on if there are more; by name, or all of some usage.
static func tell(object: Object, arguments: Dictionary, usage: int, describe_one: Callable, result: Dictionary, problem: Dictionary) -> void:
	var chosen: Array = arguments.get("properties", [])
	var found: Array[Dictionary] = []
	for name: String in chosen:
		found.append(resolve(object, name, problem))
		if problem.has("error"):
			return
	if chosen.is_empty():
		found = listed(object, usage, arguments["all"])
	var offset: int = arguments["offset"]
	var page: Array[Dictionary] = found.slice(offset, offset + int(arguments["limit"]))
	result["properties"] = {}
	for index: int in page.size():
		var name: String = name_of(page[index]) if chosen.is_empty() else str(chosen[offset + index])
		result["properties"][name] = describe_one.call(page[index])
	if offset + page.size() < found.size():
		result["next"] = offset + page.size()


static func default_of(object: Object, property: String) -> Variant:
	var script: Script = object.get_script()
	while script != null:
		for info: Dictionary in script.get_script_property_list():
			if info["name"] == property:
				return script.get_property_default_value(property)
		script = script.get_base_script()
	return ClassDB.class_get_property_default_value(object.get_class(), property)


## Finds what "position", "position:x" or "material:albedo_color" of an object names: {"object",
## "property", "info", "sub" (the rest inside the value)}.
static func resolve(object: Object, path: String, problem: Dictionary) -> Dictionary:
	var parts: PackedStringArray = path.split(":")
	var target: Object = object
	while true:
		var info: Dictionary = Types.property_of(target, parts[0])
		if info.is_empty():
			problem["error"] = "%s has no property '%s'.%s" % [target.get_class(), parts[0],
					Words.suggest(parts[0], Types.property_names(target))]
			return {}
		var current: Variant = target.get(parts[0])
		if parts.size() > 1 and info["type"] == TYPE_OBJECT:
			if current == null:
				problem["error"] = "'%s' is empty, so '%s' cannot be set in it." % [parts[0], parts[1]]
				return {}
			target = current
			parts = parts.slice(1)
			continue
		return {"object": target, "property": parts[0], "info": info, "sub": parts.slice(1), "old": current}
	return {}


## Puts the value that JSON stands for into change["value"]; false with an error if it does not fit.
static func decode(change: Dictionary, json: Variant, codec: VariantJson, problem: Dictionary) -> bool:
	if change["info"]["usage"] & PROPERTY_USAGE_READ_ONLY:
		problem["error"] = "The property '%s' cannot be set." % change["property"]
		return false
	var sub: PackedStringArray = change["sub"]
	if sub.is_empty():
		change["value"] = codec.decode(json, change["info"])
	else:
		change["value"] = _with_part(change["old"], sub, json, codec)
	if not codec.error.is_empty():
		problem["error"] = "Property '%s': %s" % [name_of(change), codec.error]
		return false
	return true


## The name by which a change was asked for, inside of values at least.
static func name_of(change: Dictionary) -> String:
	return ":".join([change["property"]] + Array(change["sub"]))


## The JSON form of what is there now.
static func describe(change: Dictionary, codec: VariantJson) -> Variant:
	var value: Variant = change["old"]
	for part: String in change["sub"]:
		value = part_of(value, part)
	return codec.encode(value, change["info"]["type"] if change["sub"].is_empty() else typeof(value))


## A copy of a value of the engine with one part of it changed: x of a position, basis:x:y of a transform.
static func _with_part(whole: Variant, parts: PackedStringArray, json: Variant, codec: VariantJson) -> Variant:
	var copy: Variant = whole
	if typeof(whole) == TYPE_DICTIONARY or typeof(whole) == TYPE_ARRAY:
		copy = whole.duplicate()
	var key: Variant = parts[0]
	if typeof(whole) == TYPE_ARRAY and parts[0].is_valid_int():
		key = parts[0].to_int()
	if not _has_part(copy, key):
		codec.error = "%s has no part '%s'." % [type_string(typeof(whole)), parts[0]]
		return null
	var part: Variant = copy[key]
	if parts.size() > 1:
		part = _with_part(part, parts.slice(1), json, codec)
	else:
		part = codec.decode(json, {"type": typeof(part)})
	if codec.error.is_empty():
		copy[key] = part
	return copy


## What "x" is in a vector, 0 in a list and a key in a dictionary; null if there is none.
static func part_of(value: Variant, part: String) -> Variant:
	var key: Variant = part
	if typeof(value) == TYPE_ARRAY and part.is_valid_int():
		key = part.to_int()
	return value[key] if _has_part(value, key) else null


static func _has_part(value: Variant, key: Variant) -> bool:
	match typeof(value):
		TYPE_DICTIONARY:
			return value.has(key)
		TYPE_ARRAY:
			return key is int and key >= 0 and key < value.size()
		TYPE_NIL, TYPE_BOOL, TYPE_INT, TYPE_FLOAT, TYPE_STRING, TYPE_STRING_NAME, TYPE_NODE_PATH, TYPE_OBJECT:
			return false
	return _part_exists(value, key)


static func _part_exists(value: Variant, key: String) -> bool:
	const PARTS: Dictionary[int, String] = {
		TYPE_VECTOR2: "x y", TYPE_VECTOR2I: "x y", TYPE_VECTOR3: "x y z", TYPE_VECTOR3I: "x y z",
		TYPE_VECTOR4: "x y z w", TYPE_VECTOR4I: "x y z w", TYPE_RECT2: "position size end",
		TYPE_RECT2I: "position size end", TYPE_TRANSFORM2D: "x y origin", TYPE_PLANE: "normal d x y z",
		TYPE_QUATERNION: "x y z w", TYPE_AABB: "position size end", TYPE_BASIS: "x y z",
		TYPE_TRANSFORM3D: "basis origin", TYPE_PROJECTION: "x y z w", TYPE_COLOR: "r g b a h s v r8 g8 b8 a8",
	}
	return key in PARTS.get(typeof(value), "").split(" ")
