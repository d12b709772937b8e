@tool
extends RefCounted
## The tools about nodes of the edited scene. Every change is one action that the user can undo.

const ClassDocs := preload("class_docs.gd")
const Context := preload("context.gd")
const NodeEdits := preload("node_edits.gd")
const Properties := preload("properties.gd")
const Schema := preload("schema.gd")
const Types := preload("value_types.gd")
const VariantJson := preload("variant_json.gd")
const Words := preload("words.gd")

## Methods that would pull the rug from under the editor.
const FORBIDDEN_METHODS: Array[String] = ["free", "queue_free", "set_script", "set_owner", "_notification", "notification",
		"propagate_notification", "replace_by", "cancel_free", "request_ready", "set_scene_file_path"]
## Methods that only do something else, for which the rules of that something would not hold.
const INDIRECT_METHODS: Array[String] = ["set", "set_deferred", "set_indexed", "set_thread_safe", "set_deferred_thread_group",
		"call", "callv", "call_deferred", "call_thread_safe", "call_deferred_thread_group", "propagate_call", "rpc", "rpc_id", "connect",
		"set_download_file"]
const LONGEST_LIST: int = 100

var _context: Context
var _edits: NodeEdits


func _init(context: Context) -> void:
	_context = context
	_edits = NodeEdits.new(context)


func get_tools() -> Array[Dictionary]:
	var path: Dictionary = Schema.text("Path of the node from the scene's root; '.' is the root.")
	return [
		{"name": "node_get", "read": true, "call": _get_node,
				"description": "Properties of a node: those that differ from their defaults, or chosen ones (also 'position:x', 'material:albedo_color'), or all.",
				"input": Schema.object(Schema.paged({"path": path,
					"properties": Schema.texts("Only these."),
					"all": Schema.flag("All properties that the inspector shows, with defaults."),
					"info": Schema.flag("With each property's type and allowed values.")}, 60), ["path"])},
		{"name": "node_set", "idempotent": true, "call": _set_node,
				"description": "Sets properties of a node, as one undoable step. Values as in node_get; short forms work: [1, 2] for vectors, '#ff8000' for colours, 'res://…' for resources, names for enums, {\"type\": \"RectangleShape2D\", \"properties\": {…}} for a new resource. Names may go inside: 'position:x', 'shape:size'.",
				"input": Schema.object({"path": path, "properties": Schema.map("Values by property name.")}, ["path", "properties"])},
		{"name": "node_add", "call": _add,
				"description": "Adds a new node. For an instance of a scene use scene_instantiate.",
				"input": Schema.object({
					"type": Schema.text("Engine class, script class (class_name), or a script's path."),
					"parent": Schema.text("Path of the parent.", "."),
					"name": Schema.text("Name of the new node; by default its class.", ""),
					"index": Schema.integer("Place among the parent's children; -1 for last.", -1, 100000, -1),
					"properties": Schema.map("Properties to begin with, as in node_set.")}, ["type"])},
		{"name": "node_remove", "destructive": true, "call": _remove,
				"description": "Removes a node with all below it. Undoable.",
				"input": Schema.object({"path": path}, ["path"])},
		{"name": "node_move", "call": _move,
				"description": "Moves a node to another parent, another place among its siblings, or gives it another name. Node paths to it in scripts and animations are not adapted.",
				"input": Schema.object({"path": path,
					"parent": Schema.text("The new parent; by default it stays."),
					"index": Schema.integer("Place among the children; by default last in a new parent, unchanged otherwise.", 0, 100000),
					"name": Schema.text("A new name."),
					"keep_transform": Schema.flag("Keep the place on screen or in the world when the parent changes.", true)}, ["path"])},
		{"name": "node_duplicate", "call": _duplicate,
				"description": "Copies a node with all below it and puts the copy beside it (or into another parent).",
				"input": Schema.object({"path": path, "parent": Schema.text("The copy's parent; by default the same."),
					"name": Schema.text("The copy's name.", "")}, ["path"])},
		{"name": "node_call", "destructive": true, "open_world": true, "call": _call_method,
				"description": "Calls a method of a node in the editor. What it changes in the node's properties can be undone, other effects cannot.",
				"input": Schema.object({"path": path, "method": Schema.text("Name of the method."),
					"arguments": Schema.list("Its arguments, as values in node_set.")}, ["path", "method"])},
		{"name": "node_signals", "call": _signals,
				"description": "Lists the signals of a node with their connections in the scene, or connects or disconnects one. Connections are saved with the scene; undoable.",
				"input": Schema.object({"path": path,
					"action": Schema.choice("What to do.", ["list", "connect", "disconnect"], "list"),
					"signal": Schema.text("Name of the signal."),
					"target": Schema.text("Path of the node whose method is called."),
					"method": Schema.text("Name of that method.")}, ["path"])},
	]


# ---- properties --------------------------------------------------------------------------------


func _get_node(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var node: Node = _context.find_node(arguments["path"], problem)
	if node == null:
		return problem
	var result: Dictionary = {"path": _context.path_of(node), "type": node.get_class()}
	if node.get_script() != null:
		result["script"] = node.get_script().resource_path
	var chosen: Array = arguments.get("properties", [])
	var changes: Array[Dictionary] = []
	for name: String in chosen:
		changes.append(Properties.resolve(node, name, problem))
		if problem.has("error"):
			return problem
	if chosen.is_empty():
		changes = Properties.listed(node, PROPERTY_USAGE_EDITOR if arguments["all"] else PROPERTY_USAGE_STORAGE, arguments["all"])
	var page: Array = changes.slice(arguments["offset"], arguments["offset"] + arguments["limit"])
	result["properties"] = {}
	for change: Dictionary in page:
		var name: String = Properties.name_of(change) if chosen.is_empty() else str(chosen[changes.find(change)])
		result["properties"][name] = _describe(change, arguments["info"])
	if arguments["offset"] + page.size() < changes.size():
		result["next"] = arguments["offset"] + page.size()
	return result


func _describe(change: Dictionary, with_info: bool) -> Variant:
	var json: Variant = Properties.describe(change, _context.codec(LONGEST_LIST))
	if not with_info:
		return json
	var result: Dictionary = {"value": json, "type": ClassDocs.type_name(change["info"])}
	if change["info"]["hint_string"] != "":
		result["hint"] = str(change["info"]["hint_string"]).left(300)
	return result


func _set_node(arguments: Dictionary) -> Dictionary:
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
	var changes: Array[Dictionary] = []
	for name: String in properties:
		var change: Dictionary = Properties.resolve(node, name, problem)
		if problem.has("error") or not _edits.decode(change, properties[name], problem):
			return problem
		_merge(changes, change, properties[name], problem)
		if problem.has("error"):
			return problem
	_apply(node, changes, "Set %s of %s" % [Words.enumerate(properties.keys(), 3), node.name])
	return _result_of_set(node, properties)


## Two parts of one property in one call ("position:x" and "position:y") build on each other.
func _merge(changes: Array[Dictionary], change: Dictionary, json: Variant, problem: Dictionary) -> void:
	for other: Dictionary in changes:
		if other["object"] == change["object"] and other["property"] == change["property"]:
			change["old"] = other["value"]
			if _edits.decode(change, json, problem):
				other["value"] = change["value"]
			return
	changes.append(change)


func _apply(node: Node, changes: Array[Dictionary], name: String) -> void:
	# A resource of a file of its own is no part of the scene's history; the action goes where it belongs.
	var context: Object = changes[0]["object"]
	for change: Dictionary in changes:
		if change["object"] == node:
			context = node
	var undo: EditorUndoRedoManager = _context.begin(name, context)
	undo.force_fixed_history()
	for change: Dictionary in changes:
		undo.add_do_property(change["object"], change["property"], change["value"])
		undo.add_undo_property(change["object"], change["property"], change["object"].get(change["property"]))
	undo.add_do_method(node, "notify_property_list_changed")
	undo.add_undo_method(node, "notify_property_list_changed")
	_context.commit(context)


func _result_of_set(node: Node, properties: Dictionary) -> Dictionary:
	var result: Dictionary = {"path": _context.path_of(node), "properties": {}}
	for name: String in properties:
		var change: Dictionary = Properties.resolve(node, name, {})
		if not change.is_empty():
			result["properties"][name] = _describe(change, false)
			if change["object"] is Resource and not change["object"].is_built_in():
				result["note"] = "This changed the shared resource %s, too; it is not saved to its file yet." % change["object"].resource_path
	return result


# ---- the tree ----------------------------------------------------------------------------------


func _add(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var parent: Node = _context.find_node(arguments["parent"], problem)
	var node: Node = _edits.create(arguments["type"], problem) if parent != null else null
	if node == null:
		return problem
	return _edits.add(node, parent, arguments["name"], arguments.get("properties", {}), arguments["index"])


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


func _remove(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var node: Node = _movable(arguments["path"], problem)
	if node == null:
		return problem
	var path: String = _context.path_of(node)
	var root: Node = _context.scene()
	var undo: EditorUndoRedoManager = _context.begin("Remove %s" % node.name, root)
	undo.add_do_method(node.get_parent(), "remove_child", node)
	_add_placing(undo, false, node, node.get_parent(), node.get_index(), _edits.owned(node))
	undo.add_undo_reference(node)
	EditorInterface.get_selection().remove_node(node)
	_context.commit(root)
	return {"removed": path}


## The steps that put a node that is in no tree into a place.
func _add_placing(undo: EditorUndoRedoManager, is_do: bool, node: Node, parent: Node, index: int, owned: Array[Node]) -> void:
	var add: Callable = undo.add_do_method if is_do else undo.add_undo_method
	add.call(parent, "add_child", node, true)
	if index >= 0:
		add.call(parent, "move_child", node, index)
	for each: Node in owned:
		add.call(each, "set_owner", _context.scene())


func _move(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var node: Node = _movable(arguments["path"], problem)
	if node == null:
		return problem
	var parent: Node = _context.find_node(arguments["parent"], problem) if arguments.has("parent") else node.get_parent()
	if parent == null:
		return problem
	if parent == node or node.is_ancestor_of(parent):
		return Context.failure("'%s' is inside '%s'; a node cannot move into itself." % [arguments["parent"], arguments["path"]])
	if not _context.locked_reason(parent).is_empty():
		return Context.failure(_context.locked_reason(parent))
	var name: String = arguments.get("name", str(node.name))
	if name.is_empty() or name.validate_node_name() != name:
		return Context.failure("A node cannot be named '%s'." % name)
	var twin: Node = parent.get_node_or_null(NodePath(name))
	if twin != null and twin != node:
		return Context.failure("'%s' has a child named '%s' already." % [_context.path_of(parent), name])
	_commit_move(node, parent, name, arguments)
	return {"path": _context.path_of(node), "index": node.get_index()}


func _commit_move(node: Node, parent: Node, name: String, arguments: Dictionary) -> void:
	var root: Node = _context.scene()
	var old: Node = node.get_parent()
	var undo: EditorUndoRedoManager = _context.begin("Move %s" % node.name, root)
	if name != str(node.name):
		undo.add_do_property(node, "name", name)
		undo.add_undo_property(node, "name", node.name)
	if parent != old:
		var owned: Array[Node] = _edits.owned(node)
		undo.add_do_method(old, "remove_child", node)
		_add_placing(undo, true, node, parent, arguments.get("index", -1), owned)
		undo.add_undo_method(parent, "remove_child", node)
		_add_placing(undo, false, node, old, node.get_index(), owned)
		if arguments["keep_transform"]:
			_keep_transform(undo, node)
	elif arguments.has("index"):
		undo.add_do_method(old, "move_child", node, mini(arguments["index"], old.get_child_count() - 1))
		undo.add_undo_method(old, "move_child", node, node.get_index())
	_context.commit(root)


func _keep_transform(undo: EditorUndoRedoManager, node: Node) -> void:
	if node is Node2D or node is Node3D:
		undo.add_do_property(node, "global_transform", node.global_transform)
		undo.add_undo_property(node, "transform", node.transform)
	elif node is Control:
		undo.add_do_property(node, "global_position", node.global_position)
		undo.add_undo_property(node, "position", node.position)


func _duplicate(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var node: Node = _movable(arguments["path"], problem)
	if node == null:
		return problem
	var parent: Node = _context.find_node(arguments["parent"], problem) if arguments.has("parent") else node.get_parent()
	if parent == null:
		return problem
	if not _context.locked_reason(parent).is_empty():
		return Context.failure(_context.locked_reason(parent))
	var copy: Node = node.duplicate()
	var name: String = arguments["name"]
	copy.name = _edits.free_name(parent, name if not name.is_empty() else str(node.name))
	var owned: Array[Node] = []
	for each: Node in _edits.owned(node):
		var twin: Node = copy.get_node_or_null(node.get_path_to(each)) if each != node else copy
		if twin != null:
			owned.append(twin)
	var root: Node = _context.scene()
	var undo: EditorUndoRedoManager = _context.begin("Duplicate %s" % node.name, root)
	_add_placing(undo, true, copy, parent, node.get_index() + 1 if parent == node.get_parent() else -1, owned)
	undo.add_do_reference(copy)
	undo.add_undo_method(parent, "remove_child", copy)
	_context.commit(root)
	return {"added": _context.path_of(copy), "type": copy.get_class()}


# ---- methods -----------------------------------------------------------------------------------


func _call_method(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var node: Node = _context.find_node(arguments["path"], problem)
	if node == null:
		return problem
	var method: String = arguments["method"]
	var info: Dictionary = _method_of(node, method, problem)
	if info.is_empty():
		return problem
	var values: Array = _decode_arguments(info, arguments.get("arguments", []), problem)
	if problem.has("error"):
		return problem
	var before: Dictionary = _stored(node)
	var mark: int = _context.messages.mark()
	var returned: Variant = await node.callv(method, values)
	var errors: Array[String] = _context.messages.errors_since(mark)
	var result: Dictionary = {"returned": _context.codec(LONGEST_LIST).encode(returned, info["return"]["type"])}
	if is_instance_valid(node) and _context.scene() != null:
		result["changed"] = _record_changes(node, before, method)
	if not errors.is_empty():
		result["errors"] = errors.slice(0, 10)
	return result


func _method_of(node: Node, method: String, problem: Dictionary) -> Dictionary:
	if method in FORBIDDEN_METHODS:
		problem["error"] = "'%s' would break the editor's hold on the node. Use node_remove, script_attach or the other tools." % method
		return {}
	if method in INDIRECT_METHODS:
		problem["error"] = "'%s' only leads to something else. Set properties with node_set, and call methods by their own names." % method
		return {}
	var found: Dictionary = {}
	var names: Array[String] = []
	for info: Dictionary in node.get_method_list():
		names.append(info["name"])
		if info["name"] == method and found.is_empty():
			found = info
	var script: Script = node.get_script()
	if found.is_empty():
		problem["error"] = "%s has no method '%s'.%s" % [node.get_class(), method, Words.suggest(method, names)]
	elif script != null and not script.is_tool() and not ClassDB.class_has_method(node.get_class(), method):
		problem["error"] = "The script of '%s' does not run in the editor (it has no @tool), so its method '%s' cannot be called here." % [node.name, method]
		return {}
	return found


func _decode_arguments(info: Dictionary, given: Array, problem: Dictionary) -> Array:
	var wanted: Array = info["args"]
	var least: int = wanted.size() - info["default_args"].size()
	if given.size() < least or given.size() > wanted.size() and not info["flags"] & METHOD_FLAG_VARARG:
		problem["error"] = "%s takes %s arguments, not %d: %s" % [info["name"],
				str(least) if least == wanted.size() else "%d to %d" % [least, wanted.size()], given.size(), _signature(info)]
		return []
	var codec: VariantJson = _context.codec()
	var values: Array = []
	for index: int in given.size():
		values.append(codec.decode(given[index], wanted[index] if index < wanted.size() else Types.FREE))
		if not codec.error.is_empty():
			problem["error"] = "Argument %d of %s: %s" % [index + 1, _signature(info), codec.error]
			return []
	return values


func _signature(info: Dictionary) -> String:
	var parts: Array[String] = []
	for argument: Dictionary in info["args"]:
		parts.append("%s: %s" % [argument["name"], ClassDocs.type_name(argument)])
	return "%s(%s)" % [info["name"], ", ".join(parts)]


func _stored(node: Node) -> Dictionary:
	var values: Dictionary = {}
	for info: Dictionary in node.get_property_list():
		if info["usage"] & PROPERTY_USAGE_STORAGE and info["name"] != "script":
			var value: Variant = node.get(info["name"])
			values[info["name"]] = value.duplicate() if value is Array or value is Dictionary else value
	return values


## Makes what a method changed in the node's own properties undoable, after the fact.
func _record_changes(node: Node, before: Dictionary, method: String) -> Array:
	var after: Dictionary = _stored(node)
	var changed: Array = after.keys().filter(func(name: String) -> bool:
		return before.has(name) and not Types.is_same_value(before[name], after[name]))
	if changed.is_empty():
		return changed
	var undo: EditorUndoRedoManager = _context.begin("Call %s of %s" % [method, node.name], node)
	for name: String in changed:
		undo.add_do_property(node, name, after[name])
		undo.add_undo_property(node, name, before[name])
	_context.commit(node, false)
	return changed


# ---- signals -----------------------------------------------------------------------------------


func _signals(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var node: Node = _context.find_node(arguments["path"], problem)
	if node == null:
		return problem
	if arguments["action"] == "list":
		return _list_signals(node, arguments.get("signal", ""))
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
	return _change_connection(node, named, Callable(target, arguments["method"]), arguments["action"] == "connect")


func _list_signals(node: Node, only: String) -> Dictionary:
	var found: Array = []
	for info: Dictionary in node.get_signal_list():
		if not only.is_empty() and info["name"] != only:
			continue
		var connections: Array = []
		for connection: Dictionary in node.get_signal_connection_list(info["name"]):
			var target: Object = connection["callable"].get_object()
			if connection["flags"] & CONNECT_PERSIST and target is Node and (target == _context.scene() or _context.scene().is_ancestor_of(target)):
				connections.append("%s.%s" % [_context.path_of(target), connection["callable"].get_method()])
		var entry: Variant = _signature(info)
		if not connections.is_empty():
			entry = {"signal": entry, "connected": connections}
		found.append(entry)
	return {"path": _context.path_of(node), "signals": found}


func _change_connection(node: Node, named: String, callable: Callable, connecting: bool) -> Dictionary:
	var target: Node = callable.get_object()
	var text: String = "%s.%s to %s.%s" % [_context.path_of(node), named, _context.path_of(target), callable.get_method()]
	if connecting == node.is_connected(named, callable):
		return Context.failure("%s is %s." % [text, "connected already" if connecting else "not connected"])
	if connecting and not target.has_method(callable.get_method()):
		return Context.failure("'%s' has no method '%s'; add it to its script first (script_edit).%s" % [_context.path_of(target), callable.get_method(),
				Words.suggest(callable.get_method(), target.get_method_list().map(func(info: Dictionary) -> String: return info["name"]))])
	var undo: EditorUndoRedoManager = _context.begin("%s %s" % ["Connect" if connecting else "Disconnect", named], node)
	var arguments: Array = [node, "connect", named, callable, CONNECT_PERSIST]
	var back: Array = [node, "disconnect", named, callable]
	undo.add_do_method.callv(arguments if connecting else back)
	undo.add_undo_method.callv(back if connecting else arguments)
	_context.commit(node)
	return {"connected" if connecting else "disconnected": text}
