@tool
extends RefCounted
## The tools about nodes of the edited scene. Every change is one action that the user can undo.

const ClassDocs := preload("class_docs.gd")
const Context := preload("context.gd")
const Properties := preload("properties.gd")
const SceneEdits := preload("scene_edits.gd")
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
var _edits: SceneEdits


func _init(context: Context) -> void:
	_context = context
	_edits = SceneEdits.new(context)


func get_tools() -> Array[Dictionary]:
	var path: Dictionary = Schema.text("")
	return [
		{"name": "node_get", "read": true, "call": _get_node,
				"description": "Properties of a node: those that are not at their defaults, or chosen ones (also 'position:x'), or all.",
				"input": Schema.object(Schema.paged({"path": path,
					"properties": Schema.texts(""),
					"all": Schema.flag(""),
					"info": Schema.hidden(Schema.flag("With types and allowed values."))}, 60), ["path"])},
		{"name": "node_set", "call": _edits.alone.bind("node_set"),
				"description": "Sets properties of a node: move it left, rotate, scale, hide, color, … Values: [1, 2] for vectors, '#ff8000', 'res://…' for resources, names for enums, {\"type\": \"RectangleShape2D\", \"properties\": {…}} for a new resource. Also inside: 'position:x', 'shape:size'.",
				"input": Schema.object({"path": path, "properties": Schema.map("")}, ["path", "properties"])},
		{"name": "node_add", "call": _edits.alone.bind("node_add"),
				"description": "Adds a new node; an instance of a scene with scene_instantiate.",
				"input": Schema.object({
					"type": Schema.text("Engine class, class_name, or a script's path."),
					"parent": Schema.text("", "."),
					"name": Schema.text("", ""),
					"index": Schema.hidden(Schema.integer("Among the children; -1: last.", -1, Schema.MOST, -1)),
					"properties": Schema.map("As in node_set.")}, ["type"])},
		{"name": "node_remove", "call": _edits.alone.bind("node_remove"),
				"description": "Removes (deletes) a node with all below it.",
				"input": Schema.object({"path": path}, ["path"])},
		{"name": "node_move", "call": _edits.alone.bind("node_move"),
				"description": "Gives a node another parent, place among its siblings, or name (rename). Node paths in scripts and animations stay.",
				"input": Schema.object({"path": path,
					"parent": Schema.text(""),
					"index": Schema.integer("Among the children.", 0, Schema.MOST),
					"name": Schema.text(""),
					"keep_transform": Schema.flag("Stay in place in the world.", true)}, ["path"])},
		{"name": "node_duplicate", "call": _edits.alone.bind("node_duplicate"),
				"description": "Duplicates (copies) a node with all below it, beside it or into another parent.",
				"input": Schema.object({"path": path, "parent": Schema.text(""),
					"name": Schema.text("", "")}, ["path"])},
		{"name": "node_call", "destructive": true, "open_world": true, "call": _call_method,
				"description": "Calls a method of a node in the editor. Only what it changes in the node's properties can be undone.",
				"input": Schema.object({"path": path, "method": Schema.text(""),
					"arguments": Schema.list("Values as in node_set.")}, ["path", "method"])},
		{"name": "node_signals", "call": _signals,
				"description": "Lists the signals of a node and their connections, connects one to a method (function), or disconnects it.",
				"input": Schema.object({"path": path,
					"action": Schema.choice("", ["list", "connect", "disconnect"], "list"),
					"signal": Schema.text(""),
					"target": Schema.text("Node with the method."),
					"method": Schema.text("")}, ["path"])},
		{"name": "node_groups", "call": _groups,
				"description": "The groups of a node; puts it into a group, takes it out.",
				"input": Schema.object({"path": path, "add": Schema.texts(""), "remove": Schema.texts("")}, ["path"])},
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
	Properties.tell(node, arguments, PROPERTY_USAGE_EDITOR if arguments["all"] else PROPERTY_USAGE_STORAGE,
			_describe.bind(arguments["info"]), result, problem)
	return problem if problem.has("error") else result


func _describe(change: Dictionary, with_info: bool) -> Variant:
	var json: Variant = Properties.describe(change, _context.codec(LONGEST_LIST))
	if not with_info:
		return json
	var result: Dictionary = {"value": json, "type": ClassDocs.type_name(change["info"])}
	if change["info"]["hint_string"] != "":
		result["hint"] = str(change["info"]["hint_string"]).left(300)
	return result


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
	return _edits.alone(arguments, "node_signals")


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


# ---- groups ------------------------------------------------------------------------------------


func _groups(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var node: Node = _context.find_node(arguments["path"], problem)
	if node == null:
		return problem
	if arguments.get("add", []).is_empty() and arguments.get("remove", []).is_empty():
		return {"path": _context.path_of(node), "groups": SceneEdits.groups_of(node)}
	return _edits.alone(arguments, "node_groups")
