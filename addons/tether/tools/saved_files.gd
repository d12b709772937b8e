@tool
extends RefCounted
## What the editor writes when it saves a scene: besides the scene, each changed resource that has a
## file of its own. Their paths are judged before.

const Places := preload("places.gd")


## Why a scene is not to be saved, or "".
static func why_not(root: Node) -> String:
	var seen: Dictionary[Object, bool] = {}
	var left: Array = [root]
	while not left.is_empty():
		var value: Variant = left.pop_back()
		if value is Array:
			left.append_array(value)
		elif value is Dictionary:
			left.append_array(value.keys() + value.values())
		elif value is Object and is_instance_valid(value) and not seen.has(value):
			seen[value] = true
			var problem: String = _why_not_written(value)
			if not problem.is_empty():
				return problem
			left.append_array(_parts_of(value))
	return ""


static func _parts_of(object: Object) -> Array:
	var parts: Array = []
	if object is Node:
		parts.append_array(object.get_children())
	if object is Script or object is PackedScene or not (object is Node or object is Resource):
		return parts
	for info: Dictionary in object.get_property_list():
		if info["usage"] & PROPERTY_USAGE_STORAGE and info["type"] in [TYPE_NIL, TYPE_OBJECT, TYPE_ARRAY, TYPE_DICTIONARY]:
			parts.append(object.get(info["name"]))
	return parts


## Scripts, scenes and what is imported are not saved with the scene that uses them.
static func _why_not_written(object: Object) -> String:
	var path: String = object.resource_path if object is Resource else ""
	if path.is_empty() or path.contains("::"):
		return ""
	var problem: Dictionary = {}
	var inside: String = Places.plain(path, problem)
	if inside == path and object is not Script and object is not PackedScene and not FileAccess.file_exists(path + ".import"):
		Places.writable(path, problem)
	elif inside != path and not problem.has("error"):
		problem["error"] = "'%s' is another name for '%s'." % [path, inside]
	return "" if not problem.has("error") else "A resource in this scene would be saved to '%s'. %s Give it another path first, or make it unique." % [
			path.left(200), problem["error"]]
