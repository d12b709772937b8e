@tool
extends RefCounted
## What a value is expected to be, as the engine's lists of properties and arguments describe it:
## dictionaries with "type", "class_name", "hint", "hint_string".

const FREE: Dictionary = {"type": TYPE_NIL}

## Properties that no value sets, by the class that has them: they decide where something is saved, or
## what belongs to what.
const NOT_SET: Dictionary[String, Array] = {
	"Resource": ["resource_path", "resource_scene_unique_id"],
	"Node": ["scene_file_path", "owner", "multiplayer"],
	"HTTPRequest": ["download_file"],
}

static var _tags: Dictionary[String, int] = {}


## The names of all types, as they stand in JSON.
static func tags() -> Dictionary[String, int]:
	if _tags.is_empty():
		for type: int in range(TYPE_BOOL, TYPE_MAX):
			_tags[type_string(type)] = type
		_tags["Resource"] = TYPE_OBJECT
		_tags["Node"] = TYPE_OBJECT
	return _tags


## The names of an enum's or a bit field's values, as a property or an argument describes them.
static func enum_names(expected: Dictionary) -> Dictionary:
	var names: Dictionary = {}
	var hint: int = expected.get("hint", PROPERTY_HINT_NONE)
	if hint in [PROPERTY_HINT_ENUM, PROPERTY_HINT_FLAGS]:
		var next: int = 0 if hint == PROPERTY_HINT_ENUM else 1
		for part: String in str(expected.get("hint_string", "")).split(","):
			if part.contains(":") and part.get_slice(":", 1).is_valid_int():
				next = part.get_slice(":", 1).to_int()
			names[part.get_slice(":", 0)] = next
			next = next + 1 if hint == PROPERTY_HINT_ENUM else next * 2
	elif expected.get("usage", 0) & (PROPERTY_USAGE_CLASS_IS_ENUM | PROPERTY_USAGE_CLASS_IS_BITFIELD):
		var owner: String = str(expected["class_name"]).get_slice(".", 0)
		for constant: String in ClassDB.class_get_enum_constants(owner, str(expected["class_name"]).get_slice(".", 1)):
			names[constant] = ClassDB.class_get_integer_constant(owner, constant)
	return names


## What the elements of a list must be, from "Texture2D" or "24/17:Texture2D" in a hint.
static func element(hint_string: String) -> Dictionary:
	if hint_string.is_empty():
		return FREE
	if hint_string.get_slice(":", 0).get_slice("/", 0).is_valid_int():
		var head: String = hint_string.get_slice(":", 0)
		return {"type": head.get_slice("/", 0).to_int(), "hint": head.get_slice("/", 1).to_int() if head.contains("/") else 0,
				"hint_string": hint_string.substr(head.length() + 1)}
	return from_kind(hint_string)


## The same for a name as _kind() gives it.
static func from_kind(kind: String) -> Dictionary:
	if kind.is_empty() or kind == "Variant":
		return FREE
	if tags().has(kind) and not kind in ["Resource", "Node"]:
		return {"type": tags()[kind]}
	var info: Dictionary = {"type": TYPE_OBJECT, "class_name": kind}
	if kind.begins_with("res://"):
		info["script"] = load(kind)
		info["class_name"] = info["script"].get_instance_base_type()
	else:
		for entry: Dictionary in ProjectSettings.get_global_class_list():
			if entry["class"] == kind:
				info["script"] = load(entry["path"])
				info["class_name"] = info["script"].get_instance_base_type()
	return info


## How the engine describes a property, with the element type of a list that is there; {} if it has none.
static func property_of(object: Object, name: String) -> Dictionary:
	for info: Dictionary in object.get_property_list():
		if info["name"] == name and not info["usage"] & (PROPERTY_USAGE_CATEGORY | PROPERTY_USAGE_GROUP | PROPERTY_USAGE_SUBGROUP):
			var current: Variant = object.get(name)
			if current is Array and current.is_typed():
				info["element"] = {"type": current.get_typed_builtin(), "class_name": current.get_typed_class_name(),
						"script": current.get_typed_script()}
			return info
	return {}


## Why a value cannot be given to a property, or "".
static func why_not_set(object: Object, name: String) -> String:
	for type: String in NOT_SET:
		if object.is_class(type) and name in NOT_SET[type]:
			return "The property '%s' is not set by tools: it decides where something is saved, or what it belongs to." % name
	return ""


static func property_names(object: Object) -> Array[String]:
	var names: Array[String] = []
	for info: Dictionary in object.get_property_list():
		if info["usage"] & (PROPERTY_USAGE_STORAGE | PROPERTY_USAGE_EDITOR):
			names.append(info["name"])
	return names


## Equality that tells types apart and never compares different types with ==, which is an error.
static func is_same_value(a: Variant, b: Variant) -> bool:
	return typeof(a) == typeof(b) and a == b
