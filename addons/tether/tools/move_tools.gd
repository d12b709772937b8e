@tool
extends RefCounted
## The tools that move and delete files, and tell who uses them.

const Context := preload("context.gd")
const FileMoves := preload("file_moves.gd")
const FileWriter := preload("file_writer.gd")
const GuardedSettings := preload("guarded_settings.gd")
const LoadGuard := preload("load_guard.gd")
const Places := preload("places.gd")
const References := preload("references.gd")
const Schema := preload("schema.gd")
const Words := preload("words.gd")

## How long the editor may take to look at what was moved.
const WAIT_MSEC: int = 20000
## For how long what was deleted is kept for another editor, which may want to undo it.
const KEPT_SECONDS: int = 86400
const MOST_FILES: int = 5000

var _context: Context
var _moves: FileMoves
var _deleted: int = 0
var _is_at_work: bool = false


func _init(context: Context) -> void:
	_context = context
	_moves = FileMoves.new(context)


func get_tools() -> Array[Dictionary]:
	var path: Dictionary = Schema.text("A file or folder, 'res://…'.")
	return [
		{"name": "file_uses", "read": true, "call": _uses,
				"description": "Who uses a file or folder: scenes, resources, scripts, project settings.",
				"input": Schema.object(Schema.paged({"path": path}, 100), ["path"])},
		{"name": "file_move", "call": _in_turn.bind(_move),
				"description": "Moves or renames a file or folder; whoever names it is changed too.",
				"input": Schema.object({"path": path, "to": Schema.text("The new path.")}, ["path", "to"])},
		{"name": "file_delete", "call": _in_turn.bind(_delete),
				"description": "Deletes a file or folder that nobody uses.",
				"input": Schema.object({"path": path, "force": Schema.hidden(Schema.flag("Although it is used."))}, ["path"])},
	]


func _existing(given: String, problem: Dictionary) -> String:
	var path: String = _context.project_path(given.trim_suffix("/"), problem)
	if not path.is_empty() and not FileAccess.file_exists(path) and not DirAccess.dir_exists_absolute(path):
		problem["error"] = _context.missing_file(path)
	return "" if problem.has("error") else path


func _uses(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var path: String = _existing(arguments["path"], problem)
	if path.is_empty():
		return problem
	var found: References = References.new(path)
	await found.look(_context)
	return Words.page(found.told(), arguments["offset"], arguments["limit"], "used_by")


## All files that a move moves, each as [from, to]. What tools do not write does not move, either.
func _files(from: String, to: String, problem: Dictionary) -> Array[Array]:
	var found: Array[Array] = []
	var open: Array[String] = [from]
	var root: DirAccess = DirAccess.open("res://")
	while not open.is_empty() and not problem.has("error"):
		var path: String = open.pop_back()
		var place: String = to + path.substr(from.length())
		Places.writable(path, problem)
		if not place.begins_with(FileMoves.BIN):
			Places.writable(place, problem)
		if root.is_link(path):
			problem["error"] = "'%s' is a link; whoever wants it moved does it by hand." % path
		elif FileAccess.file_exists(path):
			found.append([path, place])
		else:
			open.append_array(_inside(path))
		if found.size() + open.size() > MOST_FILES:
			problem["error"] = "'%s' has more than %d files." % [from, MOST_FILES]
	return found.filter(func(pair: Array) -> bool: return not "." + str(pair[0]).get_extension() in FileMoves.BESIDE)


## One after another: what one of them has found out about the files is not so any more after the next.
func _in_turn(arguments: Dictionary, what: Callable) -> Variant:
	var context: Context = _context
	while _is_at_work:
		await context.next_frame()
		if context.plugin == null:
			return Context.failure("Tether was disabled meanwhile.")
	_is_at_work = true
	var answer: Variant = await what.call(arguments)
	_is_at_work = false
	return answer


func _move(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var from: String = _existing(arguments["path"], problem)
	var to: String = _context.writable_path(str(arguments["to"]).trim_suffix("/"), problem) if not from.is_empty() else ""
	if to.is_empty():
		return problem
	if DirAccess.dir_exists_absolute(to) and FileAccess.file_exists(from):
		to = to.path_join(from.get_file())
	if FileAccess.file_exists(to) or DirAccess.dir_exists_absolute(to):
		return Context.failure("'%s' exists." % to)
	if (to + "/").begins_with(from + "/"):
		return Context.failure("'%s' cannot be moved into itself." % from)
	if FileAccess.file_exists(from) and to.get_extension() != from.get_extension():
		return Context.failure("A file keeps its kind: '%s' must end in '.%s'." % [to, from.get_extension()])
	var files: Array[Array] = _files(from, to, problem)
	for pair: Array in files if not problem.has("error") else []:
		var runs: String = LoadGuard.reason(pair[0]) if GuardedSettings.is_loaded_at_start(pair[1]) else ""
		if not runs.is_empty():
			problem["error"] = "'%s' is loaded by the editor at its next start, and %s." % [pair[1], runs]
	if problem.has("error"):
		return problem
	var found: References = References.new(from, to)
	await found.look(_context)
	return await _make("Move %s" % from.get_file(), found, files)


func _delete(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var from: String = _existing(arguments["path"], problem)
	if from.is_empty() or _context.writable_path(from, problem).is_empty():
		return problem
	var to: String = _place_in_bin().path_join(from.get_file())
	var files: Array[Array] = _files(from, to, problem)
	if problem.has("error"):
		return problem
	var found: References = References.new(from, to)
	await found.look(_context)
	var users: Array[String] = found.told()
	if found.is_used() and not arguments["force"]:
		return Context.failure("'%s' is used: %s. (\"force\": true deletes it all the same.)" % [from, Words.enumerate(users, 5)])
	found.texts.clear()
	found.settings.clear()
	var answer: Dictionary = await _make("Delete %s" % from.get_file(), found, files)
	if answer.has("error"):
		return answer
	return {"deleted": from, "files": files.size(), "was_used_by": users.slice(0, 20)} if not users.is_empty() else {"deleted": from, "files": files.size()}


## A folder for what is deleted next. What other editors have deleted goes from there when it is old.
func _place_in_bin() -> String:
	var own: String = "%d_" % OS.get_process_id()
	for folder: String in _inside(FileMoves.BIN) if _deleted == 0 else []:
		var made: int = FileAccess.get_modified_time(folder)
		if not folder.get_file().begins_with(own) and made > 0 and Time.get_unix_time_from_system() - made > KEPT_SECONDS:
			_empty(folder)
	_deleted += 1
	while DirAccess.dir_exists_absolute(FileMoves.BIN.path_join(own + str(_deleted))): # made while the plugin was enabled before
		_deleted += 1
	return FileMoves.BIN.path_join(own + str(_deleted))


## What lies in a folder, also what has a name that begins with a dot.
static func _inside(folder: String) -> Array[String]:
	var found: Array[String] = []
	var directory: DirAccess = DirAccess.open(folder)
	if directory != null:
		directory.include_hidden = true
		for name: String in directory.get_files() + directory.get_directories():
			found.append(folder.path_join(name))
	return found


static func _empty(path: String) -> void:
	if DirAccess.dir_exists_absolute(path) and not DirAccess.open("res://").is_link(path):
		for inner: String in _inside(path):
			_empty(inner)
	DirAccess.remove_absolute(path)


func _make(name: String, found: References, files: Array[Array]) -> Dictionary:
	var left: Array[String] = found.others.duplicate()
	var texts: Array[Array] = []
	var changed: Array[String] = []
	for entry: Dictionary in found.texts:
		if entry["before"] == entry["after"]:
			continue
		var why: String = _why_not_changed(entry)
		if not why.is_empty():
			return Context.failure("Nothing was moved. " + why)
		if Places.writable(entry["path"], {}).is_empty():
			left.append("%s, lines %s" % [entry["path"], ", ".join(entry["lines"].map(str))])
			continue
		texts.append([entry["path"], entry["before"], entry["after"]])
		if not str(entry["path"]).ends_with(".import"):
			changed.append(entry["path"])
	for setting: String in found.settings:
		if not GuardedSettings.why_kept(setting).is_empty():
			return Context.failure("Nothing was moved. The setting '%s' names it. %s" % [setting, GuardedSettings.why_kept(setting)])
	for pair: Array in files:
		if _context.is_unsaved(pair[0]):
			return Context.failure("Nothing was moved. The scene '%s' has unsaved changes; save it first (scene_save)." % pair[0])
		if FileWriter.is_being_written(pair[0]):
			return Context.failure("Nothing was moved. The user has unsaved changes of '%s' in the script editor." % pair[0])
	var plan: Dictionary = {"from": found.from, "to": found.to, "files": files, "texts": texts, "settings": found.settings}
	var undo: EditorUndoRedoManager = _context.begin(name, _moves)
	undo.add_do_method(_moves, "apply", plan, false)
	undo.add_undo_method(_moves, "apply", plan, true)
	_context.commit(_moves)
	var moves: FileMoves = _moves
	var context: Context = _context
	var end: int = Time.get_ticks_msec() + WAIT_MSEC
	while not moves.is_over and Time.get_ticks_msec() < end:
		await context.next_frame()
	if not moves.is_done:
		return Context.failure("'%s' could not be moved; editor_log says why." % found.from)
	left.append_array(moves.left)
	changed = changed.filter(func(path: String) -> bool: return not path in moves.left)
	var result: Dictionary = {"moved": found.to, "files": files.size(), "changed": changed, "settings": found.settings.keys()}
	if not left.is_empty():
		result["left"] = left
		result["note"] = "Those in 'left' name it and were not changed. Binary resources find it by its identifier; save them again to be sure."
	return result


## A text that the user has changed in an editor cannot be changed as a file.
func _why_not_changed(entry: Dictionary) -> String:
	var path: String = entry["path"]
	if _context.is_unsaved(path):
		return "The scene '%s' names it and has unsaved changes; save it first (scene_save)." % path
	return "The user has unsaved changes of '%s' in the script editor." % path if FileWriter.is_being_written(path) else ""
