@tool
extends RefCounted
## Moves a file or a folder with all that goes with it, and takes it back when the action is undone.
##
## The undo history keeps an object of this. A plan is {"from", "to", "files" (the files, each as [from, to]),
## "texts" (each [path before, text before, text after]), "settings" (old and new value by name)}.

const Context := preload("context.gd")
const FileWriter := preload("file_writer.gd")
const Places := preload("places.gd")
const References := preload("references.gd")

## Where deleted files lie, so that they can be put back.
const BIN: String = "res://.godot/tether_deleted"
## How long classes may be said to be at their old places.
const CLASSES_MSEC: int = 3000
## What lies beside a file and goes with it.
const BESIDE: Array[String] = [".import", ".uid"]

var _context: Context
## Texts of files that were written, of which the loaded scripts are still the old ones.
var _stale: Dictionary[String, String] = {}
## Moves after which scenes are to be shown again: [plan, is_back, whether it came about, those that were closed].
var _unshown: Array[Array] = []
## The scene that is to be edited, once the others are shown: in a frame of its own, for to load one anew ends in the next.
var _edited: String = ""
## Since when nothing is scanned any more.
var _since: int = 0
## The last move came about.
var is_done: bool = false
## And the editor knows of it.
var is_over: bool = false
## Files that name what was moved, and were changed by somebody before they could be.
var left: Array[String] = []


func _init(context: Context) -> void:
	_context = context


## Not within the undo, for scenes with a history of their own are closed and opened.
func apply(plan: Dictionary, is_back: bool) -> void:
	is_done = false
	is_over = false
	left.clear()
	_apply.call_deferred(plan, is_back)


func _apply(plan: Dictionary, is_back: bool) -> void:
	var from: String = plan["to"] if is_back else plan["from"]
	var to: String = plan["from"] if is_back else plan["to"]
	# What the paths lead to may be another place than when the tool was called, or the action made.
	var why: String = _why_not(from, to)
	for pair: Array in plan["files"] if to.begins_with(BIN) else []:
		if _context.is_unsaved(pair[0]) or FileWriter.is_being_written(pair[0]):
			why = "'%s' has unsaved changes." % pair[0]
	if not why.is_empty():
		push_warning("Tether: '%s' is left as it is. %s" % [from, why])
		is_over = true
		return
	var instead: Dictionary[String, String] = _close_scenes(plan, is_back)
	is_done = _rename(from, to)
	_unshown.append([plan, is_back, is_done, instead])
	if is_done:
		for pair: Array in plan["files"]:
			_hand_over(pair[1] if is_back else pair[0], pair[0] if is_back else pair[1])
		_change_settings(plan["settings"], is_back)
		_write_texts(plan, is_back, false)
		_tell_editor(plan, from, to, is_back)
		_write_texts(plan, is_back, true)
		if DirAccess.dir_exists_absolute(to):
			EditorInterface.get_resource_filesystem().scan()
	if not Context.tree().process_frame.is_connected(_finish):
		Context.tree().process_frame.connect(_finish)


## Whether a class is still said to be where a move took it from; that ends a moment after the scan.
static func _has_old_class(move: Array) -> bool:
	var from: String = move[0]["to"] if move[1] else move[0]["from"]
	return ProjectSettings.get_global_class_list().any(
			func(entry: Dictionary) -> bool: return (str(entry["path"]) + "/").begins_with(from + "/"))


## All of it or nothing.
func _rename(from: String, to: String) -> bool:
	var done: Array[String] = []
	for beside: String in [""] + BESIDE:
		if DirAccess.dir_exists_absolute(from + beside) or FileAccess.file_exists(from + beside):
			var error: Error = DirAccess.rename_absolute(from + beside, to + beside)
			if error != OK:
				push_error("Tether: '%s' could not be moved to '%s': %s." % [from + beside, to + beside, error_string(error)])
				for other: String in done:
					DirAccess.rename_absolute(to + other, from + other)
				return false
			done.append(beside)
	return true


## When the editor has scanned a folder, its classes are known at their new places.
func _finish() -> void:
	if EditorInterface.get_resource_filesystem().is_scanning():
		return
	if not _edited.is_empty():
		_end()
		return
	_since = Time.get_ticks_msec() if _since == 0 else _since
	if Time.get_ticks_msec() - _since < CLASSES_MSEC and _unshown.any(_has_old_class):
		return
	_since = 0
	for path: String in _stale:
		if ResourceLoader.has_cached(path) and FileWriter.read(path) == _stale[path]:
			FileWriter.put(path, _stale[path])
	_stale.clear()
	for shown: Array in _unshown:
		_edited = _show_scenes(shown[0], shown[1], shown[2], shown[3])
	_unshown.clear()
	if _edited.is_empty():
		_end()


func _end() -> void:
	Context.tree().process_frame.disconnect(_finish)
	if _edited in EditorInterface.get_open_scenes():
		EditorInterface.open_scene_from_path(_edited)
	_edited = ""
	is_over = true


static func _why_not(from: String, to: String) -> String:
	var problem: Dictionary = {}
	for path: String in [from, to]:
		if not path.begins_with(BIN):
			Places.writable(path, problem)
	if FileAccess.file_exists(to) or DirAccess.dir_exists_absolute(to):
		problem["error"] = "'%s' exists." % to
	elif not DirAccess.dir_exists_absolute(to.get_base_dir()) and DirAccess.make_dir_recursive_absolute(to.get_base_dir()) != OK:
		problem["error"] = "The folder '%s' cannot be made." % to.get_base_dir()
	return problem.get("error", "")


## What is loaded is at its new place from now on, and what finds it by its identifier finds it there.
func _hand_over(from: String, to: String) -> void:
	_set_uid(to)
	var paths: Array[String] = [""]
	if to.get_extension() in ["tscn", "tres"]:
		for found: RegExMatch in RegEx.create_from_string("(?m)^\\[sub_resource [^\\]]*\\bid=\"([^\"]+)\"").search_all(FileAccess.get_file_as_string(to)):
			paths.append("::" + found.get_string(1))
	for part: String in paths:
		if ResourceLoader.has_cached(from + part):
			var resource: Resource = ResourceLoader.get_cached_ref(from + part)
			if resource != null and to.begins_with(BIN):
				if part.is_empty():
					EditorInterface.get_file_system_dock().resource_removed.emit(resource)
				resource.resource_path = ""
			elif resource != null:
				resource.take_over_path(to + part)


static func _set_uid(path: String) -> void:
	var id: int = ResourceUID.text_to_id(References.uid_of(path))
	if id == ResourceUID.INVALID_ID or path.begins_with(BIN):
		return
	if ResourceUID.has_id(id):
		ResourceUID.set_id(id, path)
	else:
		ResourceUID.add_id(id, path)


func _change_settings(settings: Dictionary, is_back: bool) -> void:
	for name: String in settings:
		ProjectSettings.set_setting(name, settings[name][0 if is_back else 1])
	if not settings.is_empty():
		ProjectSettings.save()


## The texts that name what was moved; scripts when the editor knows its new place, for they are compiled anew.
func _write_texts(plan: Dictionary, is_back: bool, are_scripts: bool) -> void:
	for text: Array in plan["texts"]:
		var path: String = text[0] if is_back else _place_of(plan, text[0])
		if (path.get_extension() == "gd") != are_scripts or text[1] == text[2]:
			continue
		if FileWriter.read(path) != text[2 if is_back else 1] or Places.writable(path, {}).is_empty():
			push_warning("Tether: '%s' changed in the meantime and is left as it is." % path)
			left.append(path)
			continue
		if DirAccess.dir_exists_absolute(plan["from"]) or DirAccess.dir_exists_absolute(plan["to"]):
			FileWriter.put_in_file(path, text[1 if is_back else 2])
			_stale[path] = text[1 if is_back else 2]
			continue
		FileWriter.put(path, text[1 if is_back else 2])
		Context.announce(path)


static func _place_of(plan: Dictionary, path: String) -> String:
	var from: String = plan["from"]
	if path == from or path.begins_with(from + "/") or path.trim_suffix("." + path.get_extension()) == from and "." + path.get_extension() in BESIDE:
		return str(plan["to"]) + path.substr(from.length())
	return path


func _tell_editor(plan: Dictionary, from: String, to: String, is_back: bool) -> void:
	var files: EditorFileSystem = EditorInterface.get_resource_filesystem()
	var dock: FileSystemDock = EditorInterface.get_file_system_dock()
	var is_folder: bool = DirAccess.dir_exists_absolute(to)
	for pair: Array in plan["files"]:
		var old: String = pair[1] if is_back else pair[0]
		var new: String = pair[0] if is_back else pair[1]
		if new.begins_with(BIN):
			dock.file_removed.emit(old)
		elif not old.begins_with(BIN):
			dock.files_moved.emit(old, new)
		if not is_folder and not old.begins_with(BIN):
			files.update_file(old)
			_set_uid(new) # which was forgotten with the old file
		if not is_folder and not new.begins_with(BIN):
			Context.announce(new)
			if FileAccess.file_exists(new + ".import"):
				files.reimport_files.call_deferred([new] as PackedStringArray)
	if is_folder and not from.begins_with(BIN) and not to.begins_with(BIN):
		dock.folder_moved.emit(from + "/", to + "/")
	elif is_folder and to.begins_with(BIN):
		dock.folder_removed.emit(from + "/")


# ---- scenes that are open ----------------------------------------------------------------------


## Closes the scenes that are moved themselves; returns what is open instead by what was, and at "" the edited one.
## A scene that has been changed, as may be when the move is taken back, stays open, and is saved to its new place.
func _close_scenes(plan: Dictionary, is_back: bool) -> Dictionary[String, String]:
	var instead: Dictionary[String, String] = {}
	var edited: String = _context.scene().scene_file_path if _context.scene() != null else ""
	var was: String = edited
	for pair: Array in plan["files"]:
		var old: String = pair[1] if is_back else pair[0]
		var new: String = pair[0] if is_back else pair[1]
		if not old in EditorInterface.get_open_scenes():
			continue
		var is_changed: bool = _context.is_unsaved(old)
		EditorInterface.open_scene_from_path(old)
		edited = new if old == was else edited
		if is_changed:
			_context.scene().scene_file_path = new
		else:
			EditorInterface.close_scene()
			instead[old] = new
	instead[""] = edited
	return instead


## What [method _close_scenes] has left is shown again; where nothing was moved, as it was. Returns which is to be edited.
func _show_scenes(plan: Dictionary, is_back: bool, was_done: bool, instead: Dictionary[String, String]) -> String:
	for text: Array in plan["texts"] if was_done else []:
		var path: String = text[0] if is_back else _place_of(plan, text[0])
		if path in EditorInterface.get_open_scenes() and text[1] != text[2]:
			if _context.is_unsaved(path):
				push_warning("Tether: '%s' has unsaved changes and is not loaded anew." % path)
			else:
				EditorInterface.reload_scene_from_path(path)
	var edited: String = instead[""]
	instead.erase("")
	for old: String in instead:
		var path: String = instead[old] if was_done else old
		if not path.begins_with(BIN):
			EditorInterface.open_scene_from_path(path)
		edited = path if instead[old] == edited else edited
	return edited
