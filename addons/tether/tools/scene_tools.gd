@tool
extends RefCounted
## The tools about whole scenes.

const Context := preload("context.gd")
const SavedFiles := preload("saved_files.gd")
const SceneEdits := preload("scene_edits.gd")
const SceneFiles := preload("scene_files.gd")
const Schema := preload("schema.gd")
const Words := preload("words.gd")
const NodeEdits := preload("node_edits.gd")

var _context: Context
var _edits: NodeEdits
var _scene_edits: SceneEdits


func _init(context: Context) -> void:
	_context = context
	_edits = NodeEdits.new(context)
	_scene_edits = SceneEdits.new(context)


func get_tools() -> Array[Dictionary]:
	return [
		{"name": "scene_tree", "read": true, "call": _tree,
				"description": "The nodes that are in the edited scene: path, type, script, instance. Node paths begin at the root, which is '.'.",
				"input": Schema.object(Schema.paged({
					"path": Schema.text("", "."),
					"depth": Schema.integer("", 0, 64, 4),
					"type": Schema.text("Only this class, at any depth.", "")}, 100))},
		{"name": "scene_open", "call": _open,
				"description": "Opens a scene file in the editor.",
				"input": Schema.object({"path": Schema.text("")}, ["path"])},
		{"name": "scene_save", "call": _save,
				"description": "Saves the edited scene, to its own file or as another one.",
				"input": Schema.object({"path": Schema.text("Save as this file.", "")})},
		{"name": "scene_new", "call": _new,
				"description": "Makes a new scene file ('res://….tscn') with a root node and opens it.",
				"input": Schema.object({
					"path": Schema.text(""),
					"root_type": Schema.text("", "Node2D"),
					"root_name": Schema.hidden(Schema.text("", ""))}, ["path"])},
		{"name": "scene_instantiate", "call": _scene_edits.alone.bind("scene_instantiate"),
				"description": "Adds an instance of a scene file (also .glb and the like) to the edited scene: an enemy, a level, a model.",
				"input": Schema.object({
					"path": Schema.text(""),
					"parent": Schema.text("", "."),
					"name": Schema.text("", ""),
					"properties": Schema.map("As in node_set.")}, ["path"])},
	]


# ---- the tree ----------------------------------------------------------------------------------


func _tree(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var start: Node = _context.find_node(arguments["path"], problem)
	if start == null:
		return problem
	var type: String = arguments["type"]
	var lines: Array = []
	_collect(start, 0, 64 if not type.is_empty() else int(arguments["depth"]), type, lines)
	var result: Dictionary = Words.page(lines, arguments["offset"], arguments["limit"], "nodes")
	result["scene"] = _context.scene().scene_file_path
	return result


func _collect(node: Node, level: int, depth: int, type: String, lines: Array) -> void:
	var script: Script = node.get_script()
	if type.is_empty() or node.is_class(type) or script != null and script.get_global_name() == type:
		lines.append(_line(node, script, level == depth))
	if level == depth:
		return
	for child: Node in node.get_children():
		if _is_shown(child):
			_collect(child, level + 1, depth, type, lines)


## What the scene tree dock shows: nodes of the scene, not the insides of instances.
func _is_shown(node: Node) -> bool:
	var root: Node = _context.scene()
	return node.owner == root or node.owner != null and root.is_editable_instance(node.owner)


func _line(node: Node, script: Script, is_last: bool) -> String:
	var text: String = "%s (%s)" % [_context.path_of(node), node.get_class()]
	if script != null:
		text += " script=%s" % (script.resource_path if not script.resource_path.is_empty() else "built-in")
	if not node.scene_file_path.is_empty() and node != _context.scene():
		text += " instance=%s" % node.scene_file_path
	var hidden: int = node.get_children().filter(_is_shown).size() if is_last else 0
	return text if hidden == 0 else text + " +%d children" % hidden


# ---- files -------------------------------------------------------------------------------------


func _open(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var path: String = SceneFiles.usable(arguments["path"], problem)
	if path.is_empty():
		return problem
	if FileAccess.file_exists(path + ".import"):
		# The editor would ask the user what to do.
		return Context.failure("'%s' is imported and cannot be edited itself. Use scene_instantiate to add it to a scene." % path)
	EditorInterface.open_scene_from_path(path)
	var root: Node = _context.scene()
	if root == null or root.scene_file_path != path:
		await _context.next_frame()
		root = _context.scene()
	if root == null or root.scene_file_path != path:
		return Context.failure("The editor did not open '%s'; editor_log may say why." % path)
	return {"opened": path, "root": str(root.name), "type": root.get_class(), "nodes": _count(root)}


func _count(node: Node) -> int:
	var total: int = 1
	for child: Node in node.get_children():
		total += _count(child)
	return total


func _save(arguments: Dictionary) -> Dictionary:
	var root: Node = _context.scene()
	if root == null:
		return Context.failure("No scene is being edited.")
	var target: String = arguments["path"]
	if target.is_empty() and root.scene_file_path.is_empty():
		return Context.failure("This scene has no file yet; give a 'path'.")
	var problem: Dictionary = {}
	var path: String = _context.writable_path(root.scene_file_path if target.is_empty() else target, problem)
	if path.is_empty() or not _may_be_scene(path, path == root.scene_file_path, problem):
		return problem
	var why_not: String = SavedFiles.why_not(root)
	if not why_not.is_empty():
		return Context.failure(why_not)
	var before: int = FileAccess.get_modified_time(path)
	var mark: int = _context.messages.mark()
	# Without a window there is nothing to make a preview from.
	EditorInterface.save_scene_as(path, DisplayServer.get_name() != "headless")
	var failed: bool = FileAccess.get_modified_time(path) == before and not _context.messages.errors_since(mark).is_empty()
	return {"saved": path} if FileAccess.file_exists(path) and not failed else Context.failure("'%s' could not be saved; editor_log may say why." % path)


## What would be lost with another file is not to be had back by undo, so it is never written over.
func _may_be_scene(path: String, is_own: bool, problem: Dictionary) -> bool:
	if not path.get_extension() in ["tscn", "scn"]:
		problem["error"] = "A scene's file ends in '.tscn' (or '.scn'), not '%s'." % path.get_file()
	elif FileAccess.file_exists(path) and not is_own:
		problem["error"] = "'%s' exists. Give another path, or take it away with file_delete first, which can be undone." % path
	else:
		var trouble: String = _context.make_folder(path.get_base_dir())
		if not trouble.is_empty():
			problem["error"] = trouble
	return not problem.has("error")


func _new(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var path: String = _context.writable_path(arguments["path"], problem)
	if path.is_empty() or not _may_be_scene(path, false, problem):
		return problem
	if path in EditorInterface.get_open_scenes():
		return Context.failure("'%s' is open in the editor; close it first." % path)
	var root: Node = _edits.create(arguments["root_type"], problem)
	if root == null:
		return problem
	var name: String = arguments["root_name"]
	root.name = name if not name.is_empty() else path.get_file().get_basename().to_pascal_case()
	var scene: PackedScene = PackedScene.new()
	var error: Error = scene.pack(root)
	if error == OK:
		error = ResourceSaver.save(scene, path)
	root.free()
	if error != OK:
		return Context.failure("'%s' could not be made: %s." % [path, error_string(error)])
	Context.announce(path)
	await _context.wait_for_scan()
	return await _open({"path": path})
