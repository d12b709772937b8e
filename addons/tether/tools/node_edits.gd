@tool
extends RefCounted
## The changes of the scene tree and of properties that several tools make, each one undoable action.

const Context := preload("context.gd")
const Places := preload("places.gd")
const Types := preload("value_types.gd")
const VariantJson := preload("variant_json.gd")
const Words := preload("words.gd")

var _context: Context


func _init(context: Context) -> void:
	_context = context


## A new node of an engine class, a script class or a script's path; null with an error in
## [param problem].
func create(type: String, problem: Dictionary) -> Node:
	if ClassDB.class_exists(type):
		if not ClassDB.is_parent_class(type, "Node") or not ClassDB.can_instantiate(type):
			problem["error"] = "'%s' is not a node class that can be made." % type
			return null
		return ClassDB.instantiate(type)
	var path: String = ""
	if type.begins_with("res://"):
		path = Places.readable(type, problem)
		if path.is_empty():
			return null
	var names: Array = Array(ClassDB.get_inheriters_from_class("Node"))
	for entry: Dictionary in ProjectSettings.get_global_class_list():
		names.append(entry["class"])
		if entry["class"] == type:
			path = entry["path"]
	var script: Script = load(path) as Script if ResourceLoader.exists(path, "Script") else null
	if script == null:
		problem["error"] = "There is no node class or script '%s'.%s" % [type, Words.suggest(type, names)]
		return null
	var base: String = script.get_instance_base_type()
	if base.is_empty() or not ClassDB.is_parent_class(base, "Node") or not ClassDB.can_instantiate(base):
		problem["error"] = "The script '%s' is not for nodes, or does not parse." % path
		return null
	var node: Node = ClassDB.instantiate(base)
	node.set_script(script)
	if node.name.is_empty():
		node.name = type if not type.begins_with("res://") else path.get_file().get_basename().to_pascal_case()
	return node


## Adds a new node to the edited scene; frees it if it cannot.
func add(node: Node, parent: Node, name: String, properties: Dictionary, index: int) -> Dictionary:
	var problem: Dictionary = {}
	var locked: String = _context.locked_reason(parent)
	if not locked.is_empty():
		problem["error"] = locked
	elif not name.is_empty() and name.validate_node_name() != name:
		problem["error"] = "A node cannot be named '%s'; these characters are not allowed: . : @ / \" %%" % name
	else:
		_set_directly(node, properties, problem)
	if problem.has("error"):
		node.free()
		return problem
	node.name = free_name(parent, name if not name.is_empty() else str(node.name) if not node.name.is_empty() else node.get_class())
	var root: Node = _context.scene()
	var undo: EditorUndoRedoManager = _context.begin("Add %s" % node.name, root)
	undo.add_do_method(parent, "add_child", node, true)
	if index >= 0:
		undo.add_do_method(parent, "move_child", node, mini(index, parent.get_child_count()))
	undo.add_do_method(node, "set_owner", root)
	undo.add_do_reference(node)
	undo.add_undo_method(parent, "remove_child", node)
	_context.commit(root)
	return {"added": _context.path_of(node), "type": node.get_class()}


## A name that no other child has, by counting up.
func free_name(parent: Node, wanted: String) -> String:
	var stem: String = wanted.rstrip("0123456789")
	var number: int = maxi(2, wanted.substr(stem.length()).to_int())
	var name: String = wanted
	while parent.has_node(NodePath(name)):
		name = stem + str(number)
		number += 1
	return name


func _set_directly(node: Node, properties: Dictionary, problem: Dictionary) -> void:
	for path: String in properties:
		var change: Dictionary = resolve(node, path, problem)
		if problem.has("error") or not decode(change, properties[path], problem):
			return
		change["object"].set(change["property"], change["value"])


## The nodes below (and with) a node that belong to the scene and not to an instance inside it.
func owned(node: Node) -> Array[Node]:
	var root: Node = _context.scene()
	var found: Array[Node] = []
	var open: Array[Node] = [node]
	while not open.is_empty():
		var next: Node = open.pop_back()
		if next.owner == root:
			found.append(next)
		open.append_array(next.get_children())
	return found


# ---- properties --------------------------------------------------------------------------------


## Finds what "position", "position:x" or "material:albedo_color" of an object names: {"object",
## "property", "info", "sub" (the rest inside the value)}.
func resolve(object: Object, path: String, problem: Dictionary) -> Dictionary:
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
func decode(change: Dictionary, json: Variant, problem: Dictionary) -> bool:
	if change["info"]["usage"] & PROPERTY_USAGE_READ_ONLY:
		problem["error"] = "The property '%s' cannot be set." % change["property"]
		return false
	problem.merge(_why_not_set(change))
	if problem.has("error"):
		return false
	var codec: VariantJson = _context.codec()
	var sub: PackedStringArray = change["sub"]
	if sub.is_empty():
		change["value"] = codec.decode(json, change["info"])
	else:
		change["value"] = _with_part(change["old"], sub, json, codec)
	if not codec.error.is_empty():
		problem["error"] = "Property '%s': %s" % [":".join([change["property"]] + Array(sub)), codec.error]
		return false
	return true


## An error if a change sets what is not to be set, or something in a file that tools do not write: the
## file is saved with the scene.
func _why_not_set(change: Dictionary) -> Dictionary:
	var object: Object = change["object"]
	var why: String = Types.why_not_set(object, change["property"])
	var problem: Dictionary = {"error": why} if not why.is_empty() else {}
	if object is Resource and not object.resource_path.is_empty():
		Places.writable(object.resource_path.get_slice("::", 0), problem)
	return problem


## A copy of a value of the engine with one part of it changed: x of a position, basis:x:y of a transform.
func _with_part(whole: Variant, parts: PackedStringArray, json: Variant, codec: VariantJson) -> Variant:
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
func part_of(value: Variant, part: String) -> Variant:
	var key: Variant = part
	if typeof(value) == TYPE_ARRAY and part.is_valid_int():
		key = part.to_int()
	return value[key] if _has_part(value, key) else null


func _has_part(value: Variant, key: Variant) -> bool:
	match typeof(value):
		TYPE_DICTIONARY:
			return value.has(key)
		TYPE_ARRAY:
			return key is int and key >= 0 and key < value.size()
		TYPE_NIL, TYPE_BOOL, TYPE_INT, TYPE_FLOAT, TYPE_STRING, TYPE_STRING_NAME, TYPE_NODE_PATH, TYPE_OBJECT:
			return false
	return _part_exists(value, key)


func _part_exists(value: Variant, key: String) -> bool:
	const PARTS: Dictionary[int, String] = {
		TYPE_VECTOR2: "x y", TYPE_VECTOR2I: "x y", TYPE_VECTOR3: "x y z", TYPE_VECTOR3I: "x y z",
		TYPE_VECTOR4: "x y z w", TYPE_VECTOR4I: "x y z w", TYPE_RECT2: "position size end",
		TYPE_RECT2I: "position size end", TYPE_TRANSFORM2D: "x y origin", TYPE_PLANE: "normal d x y z",
		TYPE_QUATERNION: "x y z w", TYPE_AABB: "position size end", TYPE_BASIS: "x y z",
		TYPE_TRANSFORM3D: "basis origin", TYPE_PROJECTION: "x y z w", TYPE_COLOR: "r g b a h s v r8 g8 b8 a8",
	}
	return key in PARTS.get(typeof(value), "").split(" ")
