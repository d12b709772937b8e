@tool
extends RefCounted
## The tool that makes resource files and changes them.

const Context := preload("context.gd")
const EditRecord := preload("edit_record.gd")
const GuardedSettings := preload("guarded_settings.gd")
const LoadGuard := preload("load_guard.gd")
const NodeEdits := preload("node_edits.gd")
const Places := preload("places.gd")
const Properties := preload("properties.gd")
const References := preload("references.gd")
const Schema := preload("schema.gd")
const VariantJson := preload("variant_json.gd")
const Words := preload("words.gd")

const KINDS: Array[String] = ["tres", "res"]
const LONGEST_LIST: int = 100
## Where a resource is saved to see whether it would run something.
const TRIAL: String = "res://.godot/tether_trial.tres"


## Saves a resource, or removes its file, also when the action is undone or made again.
class Writer:
	extends RefCounted

	var error: Error = OK
	## The identifiers that files have, or had; the engine gives a new one to what it has not scanned yet.
	var _uids: Dictionary[String, String] = {}
	## Files that changed, and of which the editor has not been told.
	var _untold: Dictionary[String, bool] = {}

	func save(resource: Resource, path: String) -> void:
		var uid: String = _uids.get(path, References.uid_of(path) if FileAccess.file_exists(path) else "")
		error = ERR_FILE_CANT_WRITE if Places.writable(path, {}).is_empty() else ResourceSaver.save(resource, path)
		if error != OK:
			push_warning("Tether: '%s' is left as it is: %s." % [path, error_string(error)])
			return
		if not uid.is_empty() and References.uid_of(path) != uid:
			ResourceSaver.set_uid(path, ResourceUID.text_to_id(uid))
		if resource.resource_path != path:
			resource.take_over_path(path)
		_uids[path] = References.uid_of(path)
		_note(path)

	func remove(resource: Resource, path: String) -> void:
		if Places.writable(path, {}).is_empty():
			return
		DirAccess.remove_absolute(path)
		resource.resource_path = ""
		_note(path)

	func _note(path: String) -> void:
		_untold[path] = true
		tell.call_deferred()

	## Once all is as it stays: a scan that finds a new file would miss it if it is taken back and made again.
	func tell() -> void:
		for path: String in _untold:
			Context.announce(path)
		_untold.clear()


var _context: Context
var _edits: NodeEdits
var _writer: Writer = Writer.new()


func _init(context: Context) -> void:
	_context = context
	_edits = NodeEdits.new(context)
	_edits.is_for_scene = false


func get_tools() -> Array[Dictionary]:
	return [
		{"name": "resource_edit", "call": _edit,
				"description": "Makes a resource file, or sets properties of one, and saves it.",
				"input": Schema.object({"path": Schema.text("'res://….tres'."),
					"type": Schema.text("For a new one: a class, or a script's path.", ""),
					"properties": Schema.map("Values as in node_set.")}, ["path"])},
	]


func _edit(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var path: String = _context.writable_path(arguments["path"], problem)
	if path.is_empty():
		return problem
	if not path.get_extension() in KINDS:
		return Context.failure("A resource's file ends in '.tres' (or '.res'), not '%s'." % path.get_file())
	var is_new: bool = not FileAccess.file_exists(path)
	var resource: Resource = _new(arguments["type"], path, problem) if is_new else _loaded(path, arguments["type"], problem)
	var properties: Dictionary = arguments.get("properties", {})
	if resource == null:
		return problem
	if properties.has("script"):
		return Context.failure("A resource has its script from the beginning: give it as 'type' of a new one.")
	var changes: Array[Dictionary] = _edits.changes_of(resource, properties, problem)
	for change: Dictionary in changes:
		var file: String = (change["object"] as Resource).resource_path.get_slice("::", 0) if change["object"] is Resource else ""
		if not file.is_empty() and file != path:
			problem["error"] = "'%s' is in the file '%s'; change it there." % [change["property"], file]
	if not problem.has("error") and changes.is_empty() and not is_new:
		problem["error"] = "'properties' is empty: nothing to set."
	return problem if problem.has("error") else await _save(resource, path, changes, is_new, properties)


func _new(type: String, path: String, problem: Dictionary) -> Resource:
	var base: String = type
	var script: Script = null
	if type.is_empty():
		problem["error"] = "%s To make one, give its 'type'." % Context.missing_file(path)
		return null
	if not ClassDB.class_exists(type):
		for entry: Dictionary in ProjectSettings.get_global_class_list():
			base = entry["path"] if entry["class"] == type else base
		if base.begins_with("res://"):
			base = _context.project_path(base, problem)
			script = load(base) as Script if ResourceLoader.exists(base, "Script") else null
		base = script.get_instance_base_type() if script != null else ""
	if base.is_empty() or not ClassDB.is_parent_class(base, "Resource") or not ClassDB.can_instantiate(base):
		problem["error"] = "'%s' is not a resource class that can be made.%s" % [type, Words.suggest(type, Array(ClassDB.get_inheriters_from_class("Resource")))]
		return null
	var trouble: String = _context.make_folder(path.get_base_dir())
	if not trouble.is_empty():
		problem["error"] = trouble
		return null
	var resource: Resource = ClassDB.instantiate(base)
	if script != null:
		resource.set_script(script)
	return resource


func _loaded(path: String, type: String, problem: Dictionary) -> Resource:
	var resource: Resource = load(path) if ResourceLoader.exists(path) else null
	if resource == null:
		problem["error"] = "'%s' cannot be loaded; editor_log may say why." % path
	elif resource is PackedScene or resource is Script:
		problem["error"] = "'%s' is a %s; there are other tools for these." % [path, resource.get_class()]
	elif not type.is_empty() and not resource.is_class(type) and (resource.get_script() == null or not type in [
			resource.get_script().get_global_name(), resource.get_script().resource_path]):
		problem["error"] = "'%s' exists and is a %s." % [path, resource.get_class()]
	return null if problem.has("error") else resource


func _save(resource: Resource, path: String, changes: Array[Dictionary], is_new: bool, properties: Dictionary) -> Dictionary:
	var record: EditRecord = EditRecord.new()
	for change: Dictionary in changes:
		record.do_property(change["object"], change["property"], change["value"])
		record.undo_property(change["object"], change["property"], change["object"].get(change["property"]))
	record.make("", _writer)
	if GuardedSettings.is_loaded_at_start(path):
		ResourceSaver.save(resource, TRIAL)
		var runs: String = LoadGuard.reason(TRIAL)
		DirAccess.remove_absolute(TRIAL)
		if not runs.is_empty():
			record.drop()
			return Context.failure("'%s' is loaded by the editor at its next start, and would run code then." % path)
	record.do_method(_writer, &"save", resource, path)
	if is_new:
		record.undo_method(_writer, &"remove", resource, path)
	record.make("", _writer)
	if _writer.error != OK:
		var error: Error = _writer.error
		record.drop()
		return Context.failure("'%s' could not be saved: %s." % [path, error_string(error)])
	if not is_new:
		# When the properties are as they were, the file is, too.
		record.undo_last(_writer, &"save", resource, path)
	record.commit(_context, "%s %s" % ["Make" if is_new else "Edit", path.get_file()])
	_writer.tell()
	await _context.wait_for_scan()
	var result: Dictionary = {"saved": path, "type": resource.get_class(), "properties": {}}
	for name: String in properties:
		result["properties"][name] = Properties.describe(Properties.resolve(resource, name, {}), VariantJson.new(null, LONGEST_LIST))
	return result
