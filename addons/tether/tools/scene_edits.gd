@tool
extends RefCounted
## The edits of the scene that tools make, one alone or many at once. Each checks first and then makes its
## change, so that one that is refused leaves nothing behind.

const Context := preload("context.gd")
const EditRecord := preload("edit_record.gd")
const NodeEdits := preload("node_edits.gd")
const Properties := preload("properties.gd")
const SceneFiles := preload("scene_files.gd")
const VariantJson := preload("variant_json.gd")
const Words := preload("words.gd")

const LONGEST_LIST: int = 100

## By the name of the tool that makes one of them alone.
var edits: Dictionary[String, Callable] = {
	"node_add": _add, "node_set": _set_properties, "node_move": _move, "node_remove": _remove, "node_duplicate": _duplicate,
	"node_groups": _groups, "node_signals": _connection, "scene_instantiate": _instantiate, "script_attach": _attach,
}

var _context: Context
var _edits: NodeEdits


func _init(context: Context) -> void:
	_context = context
	_edits = NodeEdits.new(context)


## Makes one edit as an action of its own.
func alone(arguments: Dictionary, tool: String) -> Dictionary:
	var record: EditRecord = EditRecord.new()
	var result: Dictionary = edits[tool].call(arguments, record)
	if not result.has("error") and not result.is_empty():
		record.commit(_context)
	return result


## Makes all edits, each [tool, arguments], as one action; or none of them.
func together(wanted: Array[Array]) -> Dictionary:
	var record: EditRecord = EditRecord.new()
	var results: Array[Dictionary] = []
	for index: int in wanted.size():
		var result: Dictionary = edits[wanted[index][0]].call(wanted[index][1], record)
		if result.has("error") or result.is_empty():
			record.drop()
			return Context.failure("Nothing was changed. Edit %d (%s): %s" % [index + 1, wanted[index][0], result.get("error", "It failed inside; editor_log says why.")])
		results.append(result)
	record.commit(_context)
	return {"edits": results}


# ---- properties --------------------------------------------------------------------------------


func _set_properties(arguments: Dictionary, record: EditRecord) -> Dictionary:
	var problem: Dictionary = {}
	var node: Node = _context.find_node(arguments["path"], problem)
	if node == null:
		return problem
	var properties: Dictionary = arguments["properties"]
	if properties.is_empty():
		return Context.failure("'properties' is empty: nothing to set.")
	if properties.has("name"):
		return Context.failure("A node is renamed with node_move.")
	if properties.has("script"):
		return Context.failure("A script is attached with script_attach.")
	var changes: Array[Dictionary] = _edits.changes_of(node, properties, problem)
	if problem.has("error"):
		return problem
	# A resource of a file of its own is no part of the scene's history; the action goes where it belongs.
	var target: Object = changes[0]["object"]
	for change: Dictionary in changes:
		if change["object"] == node:
			target = _context.scene()
		record.do_property(change["object"], change["property"], change["value"])
		record.undo_property(change["object"], change["property"], change["object"].get(change["property"]))
	record.do_method(node, &"notify_property_list_changed")
	record.undo_method(node, &"notify_property_list_changed")
	record.make("Set %s of %s" % [Words.enumerate(properties.keys(), 3), node.name], target)
	return _result_of_set(node, properties)


func _result_of_set(node: Node, properties: Dictionary) -> Dictionary:
	var result: Dictionary = {"path": _context.path_of(node), "properties": {}}
	for name: String in properties:
		var change: Dictionary = Properties.resolve(node, name, {})
		if not change.is_empty():
			result["properties"][name] = Properties.describe(change, _context.codec(LONGEST_LIST))
			if change["object"] is Resource and not change["object"].is_built_in():
				result["note"] = "This changed the shared resource %s, too; it is not saved to its file yet." % change["object"].resource_path
	return result


# ---- the tree ----------------------------------------------------------------------------------


func _add(arguments: Dictionary, record: EditRecord) -> Dictionary:
	var problem: Dictionary = {}
	var parent: Node = _context.find_node(arguments["parent"], problem)
	var node: Node = _edits.create(arguments["type"], problem) if parent != null else null
	if node == null:
		return problem
	return _edits.add(node, parent, arguments["name"], arguments.get("properties", {}), arguments["index"], record)


func _instantiate(arguments: Dictionary, record: EditRecord) -> Dictionary:
	var problem: Dictionary = {}
	var path: String = SceneFiles.usable(arguments["path"], problem)
	var parent: Node = _context.find_node(arguments["parent"], problem) if not path.is_empty() else null
	if parent == null:
		return problem
	var own: String = _context.scene().scene_file_path
	if not own.is_empty() and SceneFiles.uses(path, own, {}):
		return Context.failure("'%s' is or uses the edited scene; a scene cannot hold itself." % path)
	var packed: PackedScene = load(path)
	var node: Node = packed.instantiate(PackedScene.GEN_EDIT_STATE_INSTANCE) if packed != null else null
	if node == null:
		return Context.failure("'%s' cannot be instantiated." % path)
	return _edits.add(node, parent, arguments["name"], arguments.get("properties", {}), -1, record)


## A node of the scene that is not its root and may be moved; null with an error.
func _movable(path: String, problem: Dictionary) -> Node:
	var node: Node = _context.find_node(path, problem)
	if node == null:
		return null
	if node == _context.scene():
		problem["error"] = "The root of the scene stays; this is for nodes below it."
	elif not _context.locked_reason(node).is_empty():
		problem["error"] = _context.locked_reason(node)
	elif node.owner != _context.scene():
		problem["error"] = "'%s' comes from the instanced scene '%s' and stays in it." % [path, node.owner.scene_file_path]
	return null if problem.has("error") else node


## Where a node is to go: where it is said, or where it is; null with an error.
func _parent_for(node: Node, arguments: Dictionary, problem: Dictionary) -> Node:
	var parent: Node = _context.find_node(arguments["parent"], problem) if arguments.has("parent") else node.get_parent()
	if parent != null and not _context.locked_reason(parent).is_empty():
		problem["error"] = _context.locked_reason(parent)
	return null if problem.has("error") else parent


func _remove(arguments: Dictionary, record: EditRecord) -> Dictionary:
	var problem: Dictionary = {}
	var node: Node = _movable(arguments["path"], problem)
	if node == null:
		return problem
	var path: String = _context.path_of(node)
	record.do_method(node.get_parent(), &"remove_child", node)
	_place(record.undo_method, node, node.get_parent(), node.get_index(), _edits.owned(node))
	record.owns_removed(node)
	EditorInterface.get_selection().remove_node(node)
	record.make("Remove %s" % node.name, _context.scene())
	return {"removed": path}


## The steps that put a node that is in no tree into a place.
func _place(add: Callable, node: Node, parent: Node, index: int, owned: Array[Node]) -> void:
	add.call(parent, &"add_child", node, true)
	if index >= 0:
		add.call(parent, &"move_child", node, index)
	for each: Node in owned:
		add.call(each, &"set_owner", _context.scene())


func _move(arguments: Dictionary, record: EditRecord) -> Dictionary:
	var problem: Dictionary = {}
	var node: Node = _movable(arguments["path"], problem)
	if node == null:
		return problem
	var parent: Node = _parent_for(node, arguments, problem)
	if parent == null:
		return problem
	if parent == node or node.is_ancestor_of(parent):
		return Context.failure("'%s' is inside '%s'; a node cannot move into itself." % [arguments["parent"], arguments["path"]])
	var name: String = arguments.get("name", str(node.name))
	if name.is_empty() or name.validate_node_name() != name:
		return Context.failure("A node cannot be named '%s'." % name)
	var twin: Node = parent.get_node_or_null(NodePath(name))
	if twin != null and twin != node:
		return Context.failure("'%s' has a child named '%s' already." % [_context.path_of(parent), name])
	_make_move(node, parent, name, arguments, record)
	return {"path": _context.path_of(node), "index": node.get_index()}


func _make_move(node: Node, parent: Node, name: String, arguments: Dictionary, record: EditRecord) -> void:
	var old: Node = node.get_parent()
	var old_name: String = node.name
	if parent != old:
		var owned: Array[Node] = _edits.owned(node)
		record.do_method(old, &"remove_child", node)
		_place(record.do_method, node, parent, arguments.get("index", -1), owned)
		record.undo_method(parent, &"remove_child", node)
		_place(record.undo_method, node, old, node.get_index(), owned)
	if name != old_name: # among those beside whom nobody has that name
		record.do_property(node, &"name", name)
		record.undo_property(node, &"name", node.name)
	if parent != old:
		if arguments["keep_transform"]:
			_keep_transform(node, record)
	elif arguments.has("index"):
		record.do_method(old, &"move_child", node, mini(arguments["index"], old.get_child_count() - 1))
		record.undo_method(old, &"move_child", node, node.get_index())
	record.make("Move %s" % old_name, _context.scene())


func _keep_transform(node: Node, record: EditRecord) -> void:
	if node is Node2D or node is Node3D:
		record.do_property(node, &"global_transform", node.get("global_transform"))
		record.undo_property(node, &"transform", node.get("transform"))
	elif node is Control:
		record.do_property(node, &"global_position", (node as Control).global_position)
		record.undo_property(node, &"position", (node as Control).position)


func _duplicate(arguments: Dictionary, record: EditRecord) -> Dictionary:
	var problem: Dictionary = {}
	var node: Node = _movable(arguments["path"], problem)
	if node == null:
		return problem
	var parent: Node = _parent_for(node, arguments, problem)
	if parent == null:
		return problem
	var copy: Node = node.duplicate()
	var name: String = arguments["name"]
	copy.name = _edits.free_name(parent, name if not name.is_empty() else str(node.name))
	var owned: Array[Node] = []
	for each: Node in _edits.owned(node):
		var twin: Node = copy.get_node_or_null(node.get_path_to(each)) if each != node else copy
		if twin != null:
			owned.append(twin)
	_place(record.do_method, copy, parent, node.get_index() + 1 if parent == node.get_parent() else -1, owned)
	record.owns_made(copy)
	record.undo_method(parent, &"remove_child", copy)
	record.make("Duplicate %s" % node.name, _context.scene())
	return {"added": _context.path_of(copy), "type": copy.get_class()}


# ---- scripts, signals and groups ---------------------------------------------------------------


func _attach(arguments: Dictionary, record: EditRecord) -> Dictionary:
	var problem: Dictionary = {}
	var node: Node = _context.find_node(arguments["node"], problem)
	if node == null:
		return problem
	var script: Script = null
	if not str(arguments["path"]).is_empty():
		var path: String = _context.project_path(arguments["path"], problem)
		if path.is_empty():
			return problem
		if not ResourceLoader.exists(path, "Script"):
			return Context.failure(_context.missing_file(path) if not FileAccess.file_exists(path) else "'%s' is not a script." % path)
		script = load(path)
		if script == null or script.get_instance_base_type().is_empty():
			return Context.failure("'%s' has errors; script_check tells them." % path)
		if not node.is_class(script.get_instance_base_type()):
			return Context.failure("'%s' is for %s, and '%s' is a %s." % [path, script.get_instance_base_type(), node.name, node.get_class()])
	record.do_property(node, &"script", script)
	record.undo_property(node, &"script", node.get_script())
	_keep_script_values(node, script, record)
	record.make("Attach script to %s" % node.name, _context.scene())
	return {"node": _context.path_of(node), "script": script.resource_path if script != null else ""}


## What the variables of a node's script are set to goes with the script, and comes back with it; another script that
## has them, too, takes them over.
func _keep_script_values(node: Node, script: Script, record: EditRecord) -> void:
	var types: Dictionary[String, int] = _variables_of(script)
	var own: Dictionary[String, int] = _variables_of(node.get_script())
	for name: String in own:
		record.undo_property(node, name, node.get(name))
		if types.get(name, TYPE_NIL) == own[name]:
			record.do_property(node, name, node.get(name))


## The types of a script's variables that are kept in scenes. (A node whose script does not run here does not say whose
## its properties are.)
static func _variables_of(script: Script) -> Dictionary[String, int]:
	var types: Dictionary[String, int] = {}
	for info: Dictionary in script.get_script_property_list() if script != null else ([] as Array[Dictionary]):
		if info["usage"] & PROPERTY_USAGE_STORAGE:
			types[info["name"]] = info["type"]
	return types


func _connection(arguments: Dictionary, record: EditRecord) -> Dictionary:
	var problem: Dictionary = {}
	var node: Node = _context.find_node(arguments["path"], problem)
	if node == null:
		return problem
	if arguments["action"] == "list":
		return Context.failure("'action' is connect or disconnect here.")
	for needed: String in ["signal", "target", "method"]:
		if not arguments.has(needed):
			return Context.failure("To %s, '%s' is needed." % [arguments["action"], needed])
	var target: Node = _context.find_node(arguments["target"], problem)
	if target == null:
		return problem
	var named: String = arguments["signal"]
	if not node.has_signal(named):
		return Context.failure("%s has no signal '%s'.%s" % [node.get_class(), named,
				Words.suggest(named, node.get_signal_list().map(func(info: Dictionary) -> String: return info["name"]))])
	return _change_connection(node, named, Callable(target, arguments["method"]), arguments["action"] == "connect", record)


func _change_connection(node: Node, named: String, callable: Callable, connecting: bool, record: EditRecord) -> Dictionary:
	var target: Node = callable.get_object()
	var text: String = "%s.%s to %s.%s" % [_context.path_of(node), named, _context.path_of(target), callable.get_method()]
	if connecting == node.is_connected(named, callable):
		return Context.failure("%s is %s." % [text, "connected already" if connecting else "not connected"])
	if connecting and not target.has_method(callable.get_method()):
		return Context.failure("'%s' has no method '%s'; add it to its script first (script_edit).%s" % [_context.path_of(target), callable.get_method(),
				Words.suggest(callable.get_method(), target.get_method_list().map(func(info: Dictionary) -> String: return info["name"]))])
	if connecting:
		record.do_method(node, &"connect", named, callable, CONNECT_PERSIST)
		record.undo_method(node, &"disconnect", named, callable)
	else:
		record.do_method(node, &"disconnect", named, callable)
		for connection: Dictionary in node.get_signal_connection_list(named):
			if connection["callable"].get_object() == target and connection["callable"].get_method() == callable.get_method():
				record.undo_method(node, &"connect", named, connection["callable"], connection["flags"]) # with its own arguments
	record.make("%s %s" % ["Connect" if connecting else "Disconnect", named], _context.scene())
	return {"connected" if connecting else "disconnected": text}


## The groups of a node that are saved with the scene; those of the engine's own begin with "_".
static func groups_of(node: Node) -> Array[String]:
	var names: Array[String] = []
	for name: StringName in node.get_groups():
		if not str(name).begins_with("_"):
			names.append(str(name))
	names.sort()
	return names


func _groups(arguments: Dictionary, record: EditRecord) -> Dictionary:
	var problem: Dictionary = {}
	var node: Node = _context.find_node(arguments["path"], problem)
	if node == null:
		return problem
	for name: String in arguments.get("add", []):
		if name.strip_edges().is_empty() or name.begins_with("_"):
			return Context.failure("A group cannot be named '%s'." % name)
		if not node.is_in_group(name):
			record.do_method(node, &"add_to_group", name, true)
			record.undo_method(node, &"remove_from_group", name)
	for name: String in arguments.get("remove", []):
		if not name in groups_of(node):
			return Context.failure("'%s' is not in the group '%s'.%s" % [_context.path_of(node), name, Words.suggest(name, groups_of(node))])
		record.do_method(node, &"remove_from_group", name)
		record.undo_method(node, &"add_to_group", name, true)
	record.make("Change groups of %s" % node.name, _context.scene())
	return {"path": _context.path_of(node), "groups": groups_of(node)}
