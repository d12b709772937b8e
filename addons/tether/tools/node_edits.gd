@tool
extends RefCounted
## What several edits of the scene need: new nodes, and properties that are judged before they are set.

const Context := preload("context.gd")
const EditRecord := preload("edit_record.gd")
const Places := preload("places.gd")
const Properties := preload("properties.gd")
const Types := preload("value_types.gd")
const VariantJson := preload("variant_json.gd")
const Words := preload("words.gd")

## Whether values may name nodes of the edited scene.
var is_for_scene: bool = true

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
func add(node: Node, parent: Node, name: String, properties: Dictionary, index: int, record: EditRecord) -> Dictionary:
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
	record.do_method(parent, &"add_child", node, true)
	if index >= 0:
		record.do_method(parent, &"move_child", node, mini(index, parent.get_child_count()))
	record.do_method(node, &"set_owner", root)
	record.owns_made(node)
	record.undo_method(parent, &"remove_child", node)
	record.make("Add %s" % node.name, root)
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
		var change: Dictionary = Properties.resolve(node, path, problem)
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


## What is to be set, by what an object's properties, or parts of them, are to be.
func changes_of(object: Object, properties: Dictionary, problem: Dictionary) -> Array[Dictionary]:
	var changes: Array[Dictionary] = []
	for name: String in properties:
		var change: Dictionary = Properties.resolve(object, name, problem)
		if problem.has("error") or not decode(change, properties[name], problem):
			break
		_merge(changes, change, properties[name], problem)
		if problem.has("error"):
			break
	return changes


## Two parts of one property in one call ("position:x" and "position:y") build on each other.
func _merge(changes: Array[Dictionary], change: Dictionary, json: Variant, problem: Dictionary) -> void:
	for other: Dictionary in changes:
		if other["object"] == change["object"] and other["property"] == change["property"]:
			change["old"] = other["value"]
			if decode(change, json, problem):
				other["value"] = change["value"]
			return
	changes.append(change)


## Puts the value that JSON stands for into change["value"]; false with an error if it does not fit.
func decode(change: Dictionary, json: Variant, problem: Dictionary) -> bool:
	problem.merge(_why_not_set(change))
	if problem.has("error"):
		return false
	return Properties.decode(change, json, _context.codec() if is_for_scene else VariantJson.new(), problem)


## An error if a change sets what is not to be set, or something in a file that tools do not write: the
## file is saved with the scene.
func _why_not_set(change: Dictionary) -> Dictionary:
	var object: Object = change["object"]
	var why: String = Types.why_not_set(object, change["property"])
	var problem: Dictionary = {"error": why} if not why.is_empty() else {}
	if object is Resource and not object.resource_path.is_empty():
		Places.writable(object.resource_path.get_slice("::", 0), problem)
	return problem
