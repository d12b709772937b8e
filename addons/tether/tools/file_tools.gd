@tool
extends RefCounted
## The tools that look at the project's files and resources.

const Context := preload("context.gd")
const ImportSettings := preload("import_settings.gd")
const LoadGuard := preload("load_guard.gd")
const Schema := preload("schema.gd")
const Places := preload("places.gd")
const TextBytes := preload("text_bytes.gd")
const Types := preload("value_types.gd")
const VariantJson := preload("variant_json.gd")
const Words := preload("words.gd")

## Letters of a file's text in one answer.
const LONGEST_TEXT: int = 100000
const LONGEST_GLOB: int = 1000
## Files whose lines nobody wants to search.
const LARGEST_SEARCHED: int = 1 << 20
const BINARY: Array[String] = ["png", "jpg", "jpeg", "webp", "ogg", "wav", "mp3", "ttf", "otf", "woff", "woff2", "glb", "bin", "res", "scn",
		"ctex", "exr", "hdr", "so", "dll", "dylib", "exe", "zip", "pck", "mesh", "material", "fbx", "blend", "ico", "icns", "a", "o"]

var _context: Context
var _imports: ImportSettings = ImportSettings.new()


func _init(context: Context) -> void:
	_context = context


func get_tools() -> Array[Dictionary]:
	return [
		{"name": "file_list", "read": true, "call": _list,
				"description": "Lists files of the project, by folder and pattern.",
				"input": Schema.object(Schema.paged({
					"folder": Schema.text("", "res://"),
					"glob": Schema.text("'*.tscn', 'levels/**/*.gd'.", "*"),
					"addons": Schema.hidden(Schema.flag("Also res://addons."))}, 100))},
		{"name": "file_read", "read": true, "plain": "text", "call": _read,
				"description": "Shows the text of a file: code of scripts, scenes, .tres, settings, …",
				"input": Schema.object({"path": Schema.text("'res://…'"),
					"from": Schema.integer("First line.", 1, 1 << 30, 1),
					"limit": Schema.integer("Lines", 1, 2000, 200)}, ["path"])},
		{"name": "file_search", "read": true, "call": _search,
				"description": "Finds where a text (or a regular expression) is used in the code and other text files of the project.",
				"input": Schema.object(Schema.paged({"text": Schema.text(""),
					"regex": Schema.flag(""),
					"case": Schema.hidden(Schema.flag("Case matters.", true)),
					"folder": Schema.text("", "res://"),
					"glob": Schema.text("", "*"),
					"addons": Schema.hidden(Schema.flag(""))}, 50), ["text"])},
		{"name": "file_import", "call": _import,
				"description": "How a file (texture, sound, model, …) is imported, or imports it again, also with other settings. Without a path: all files whose import failed.",
				"input": Schema.object({"path": Schema.text(""), "reimport": Schema.flag(""), "settings": Schema.map("To change.")})},
		{"name": "resource_read", "read": true, "call": _resource,
				"description": "A resource file of any kind: its class and the properties that are not at their defaults.",
				"input": Schema.object({"path": Schema.text(""), "properties": Schema.texts("")}, ["path"])},
	]


# ---- finding -----------------------------------------------------------------------------------


func _list(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var files: Array[String] = await _find(arguments, problem)
	return problem if problem.has("error") else Words.page(files, arguments["offset"], arguments["limit"], "files")


## All files that a folder and a pattern name, in order; lets the editor draw in between.
func _find(arguments: Dictionary, problem: Dictionary) -> Array[String]:
	var found: Array[String] = []
	if str(arguments["glob"]).length() > LONGEST_GLOB:
		problem["error"] = "'glob' has more than %d letters." % LONGEST_GLOB
		return found
	var start: String = _context.project_path(arguments["folder"], problem)
	if start.is_empty():
		return found
	if not DirAccess.dir_exists_absolute(start):
		problem["error"] = "There is no folder '%s'." % start
		return found
	var context: Context = _context
	var pattern: RegEx = _glob(arguments["glob"])
	var open: Array[String] = [start]
	var root: DirAccess = DirAccess.open("res://")
	context.begin_work()
	while not open.is_empty():
		var folder: String = open.pop_back()
		for name: String in DirAccess.get_files_at(folder):
			var path: String = folder.path_join(name)
			if not name.get_extension() in ["import", "uid"] and pattern.search(path.trim_prefix(start).trim_prefix("/")) != null and \
					not Places.is_secret(path) and not (root.is_link(path) and Places.readable(path, {}).is_empty()):
				found.append(path)
		for name: String in DirAccess.get_directories_at(folder):
			var sub: String = folder.path_join(name)
			if not name.begins_with(".") and not FileAccess.file_exists(sub.path_join(".gdignore")) and \
					(arguments["addons"] or sub != "res://addons" or start.begins_with("res://addons")) and \
					not (root.is_link(sub) and Places.readable(sub, {}).is_empty()):
				open.append(sub)
		await context.breathe()
	found.sort()
	return found


## '*' is anything within a folder, '**' across folders, '?' one letter. A pattern without '/' is
## about the file's name.
static func _glob(pattern: String) -> RegEx:
	var text: String = pattern.trim_prefix("res://")
	if not text.contains("/"):
		text = "**/" + text
	var result: String = ""
	for letter: String in text.replace("**/", "\u0001").replace("**", "\u0002"):
		match letter:
			"\u0001":
				result += "(?:.*/)?"
			"\u0002":
				result += ".*"
			"*":
				result += "[^/]*"
			"?":
				result += "[^/]"
			_:
				result += letter if letter.is_valid_int() or letter.is_valid_ascii_identifier() or letter == "/" else "\\" + letter
	return RegEx.create_from_string("^%s$" % result)


func _search(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var text: String = arguments["text"]
	if text.is_empty():
		return Context.failure("'text' is empty.")
	var pattern: RegEx = RegEx.new()
	var source: String = text if arguments["regex"] else "\\Q%s\\E" % text.replace("\\E", "\\E\\\\E\\Q")
	if pattern.compile(("(?m)" if arguments["case"] else "(?mi)") + source, false) != OK:
		return Context.failure("'%s' is not a regular expression that the engine (PCRE2) knows." % text)
	var files: Array[String] = await _find(arguments, problem)
	if problem.has("error"):
		return problem
	var context: Context = _context
	var hits: Array[String] = []
	var too_large: Array[String] = []
	var wanted: int = arguments["offset"] + arguments["limit"] + 1
	context.begin_work()
	for path: String in files:
		if not path.get_extension().to_lower() in BINARY:
			_search_file(path, pattern, hits, too_large)
		if hits.size() >= wanted:
			break
		await context.breathe()
	var result: Dictionary = {"hits": hits.slice(arguments["offset"], wanted - 1)}
	if hits.size() >= wanted:
		result["next"] = wanted - 1
	if not too_large.is_empty():
		result["not_searched"] = "Too large: %s." % Words.enumerate(too_large, 5)
	return result


func _search_file(path: String, pattern: RegEx, hits: Array[String], too_large: Array[String]) -> void:
	var file: FileAccess = FileAccess.open(path, FileAccess.READ)
	if file == null:
		return
	if file.get_length() > LARGEST_SEARCHED:
		if not file.get_buffer(1024).has(0):
			too_large.append(path)
		return
	var bytes: PackedByteArray = file.get_buffer(file.get_length())
	if bytes.has(0):
		return
	var text: String = TextBytes.read(bytes)
	if pattern.search(text) == null:
		return
	var lines: PackedStringArray = text.split("\n")
	for index: int in lines.size():
		if pattern.search(lines[index]) != null:
			hits.append("%s:%d: %s" % [path, index + 1, lines[index].strip_edges().left(200)])


# ---- reading -----------------------------------------------------------------------------------


func _read(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var path: String = _context.project_path(arguments["path"], problem)
	if path.is_empty():
		return problem
	var file: FileAccess = FileAccess.open(path, FileAccess.READ)
	if file == null:
		return Context.failure(_context.missing_file(path))
	var bytes: PackedByteArray = file.get_buffer(mini(file.get_length(), 16 << 20))
	if bytes.has(0):
		return Context.failure("'%s' is not a text (%d bytes); resource_read shows resources." % [path, file.get_length()])
	var lines: PackedStringArray = TextBytes.read(bytes).split("\n")
	var first: int = arguments["from"] - 1
	var shown: PackedStringArray = Words.fitting(lines.slice(first, first + arguments["limit"]), LONGEST_TEXT)
	var result: Dictionary = {"path": path, "text": "\n".join(shown).left(LONGEST_TEXT), "lines": lines.size()}
	if first + shown.size() < lines.size():
		result["next"] = first + shown.size() + 1
	if not shown.is_empty() and shown[0].length() > LONGEST_TEXT:
		result["cut"] = "Line %d has %d letters; the first %d are shown." % [first + 1, shown[0].length(), LONGEST_TEXT]
	if not TextBytes.is_utf8(bytes):
		result["encoding"] = "It is not UTF-8, and is shown as Latin-1."
	return result


func _resource(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var path: String = _context.project_path(arguments["path"], problem)
	if path.is_empty():
		return problem
	var runs: String = LoadGuard.reason(path) # even to ask whether it exists may run it
	if not runs.is_empty():
		return Context.failure("'%s' is not read, because that would run code: %s. file_read shows the text of text files." % [path, runs])
	if not ResourceLoader.exists(path):
		return Context.failure(_context.missing_file(path) if not FileAccess.file_exists(path) else "'%s' is not a resource; file_read shows texts." % path)
	var resource: Resource = load(path)
	if resource == null:
		return Context.failure("'%s' cannot be loaded; editor_log may say why." % path)
	if resource.get_script() != null and (resource.get_script() as Script).is_tool():
		return Context.failure("'%s' is not read, because that would run its script (@tool)." % path)
	var result: Dictionary = {"path": path, "type": resource.get_class(), "properties": {}}
	var codec: VariantJson = _context.codec(50)
	var chosen: Array = arguments.get("properties", [])
	for name: String in chosen:
		if Types.property_of(resource, name).is_empty():
			return Context.failure("%s has no property '%s'.%s" % [resource.get_class(), name, Words.suggest(name, Types.property_names(resource))])
	for info: Dictionary in resource.get_property_list():
		var name: String = info["name"]
		var current: Variant = resource.get(name)
		if name in chosen or chosen.is_empty() and info["usage"] & PROPERTY_USAGE_STORAGE and not name in ["resource_path", "script"] and \
				not Types.is_same_value(current, ClassDB.class_get_property_default_value(resource.get_class(), name)):
			result["properties"][name] = codec.encode(current, info["type"])
	var script: Script = resource.get_script()
	if script != null:
		result["script"] = script.resource_path
	return result


# ---- imports -----------------------------------------------------------------------------------


func _import(arguments: Dictionary) -> Dictionary:
	if not arguments.has("path"):
		return _failed_imports()
	var problem: Dictionary = {}
	var path: String = _context.project_path(arguments["path"], problem)
	if path.is_empty():
		return problem
	if not FileAccess.file_exists(path):
		return Context.failure(_context.missing_file(path))
	if not FileAccess.file_exists(path + ".import"):
		return Context.failure("'%s' is not a file that is imported; it is used as it is." % path)
	if arguments.has("settings"):
		return await _change_import(path, arguments["settings"])
	if arguments["reimport"]:
		# Importing shows its progress and runs the editor's loop inside; not inside of a tool call.
		EditorInterface.get_resource_filesystem().reimport_files.call_deferred([path] as PackedStringArray)
		await _context.next_frame()
		await _context.next_frame()
	return _import_state(path)


func _change_import(path: String, values: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var before: String = FileAccess.get_file_as_string(path + ".import")
	var after: String = ImportSettings.changed(path, values, problem)
	if problem.has("error"):
		return problem
	var undo: EditorUndoRedoManager = _context.begin("Import %s" % path.get_file(), _imports)
	undo.add_do_method(_imports, "apply", path, before, after)
	undo.add_undo_method(_imports, "apply", path, after, before)
	_context.commit(_imports)
	await _context.next_frame()
	await _context.next_frame()
	return _import_state(path)


func _import_state(path: String) -> Dictionary:
	var settings: ConfigFile = LoadGuard.settings_of(path + ".import")
	if settings == null:
		return Context.failure("'%s.import' is not read: it is not plain, and to read it might run code. file_read shows it." % path)
	var result: Dictionary = {"path": path, "importer": settings.get_value("remap", "importer", ""), "type": settings.get_value("remap", "type", ""),
			"valid": settings.get_value("remap", "valid", true) and ResourceLoader.exists(path), "settings": {}}
	for key: String in settings.get_section_keys("params") if settings.has_section("params") else PackedStringArray():
		result["settings"][key] = _context.codec(50).encode(settings.get_value("params", key))
	return result


func _failed_imports() -> Dictionary:
	var failed: Array[String] = []
	var open: Array[EditorFileSystemDirectory] = [EditorInterface.get_resource_filesystem().get_filesystem()]
	while not open.is_empty():
		var folder: EditorFileSystemDirectory = open.pop_back()
		for index: int in folder.get_file_count():
			if not folder.get_file_import_is_valid(index):
				failed.append(folder.get_file_path(index))
		for index: int in folder.get_subdir_count():
			open.append(folder.get_subdir(index))
	return {"failed": failed.slice(0, 200), "total": failed.size(), "importing": EditorInterface.get_resource_filesystem().is_scanning()}
