@tool
extends RefCounted
## Finds the errors of GDScript source without running anything, and without touching the loaded script.
##
## The engine tells errors only through its log, so each finding shows in the editor's output, too.
## The source is compiled as a script of its own beside the real one, so that relative paths work; a
## class_name is given another name for that, because the real script holds it.
## [br]The engine runs a script's static part when it has been compiled, if it is for the editor: so
## that mark is taken off the copy. It compiles, and runs, what a script uses as well. Where that has
## such a mark and is not loaded yet, the copy ends in an error of ours, which keeps the engine from
## compiling anything; and files that it would load on the way have stand-ins for as long as it looks.

const LoadGuard := preload("load_guard.gd")
const LogBuffer := preload("log_buffer.gd")

const SUFFIX: String = "__tether_check"
## How the type is named that nothing has, in the error of ours; a number behind it that nobody knows.
const END: String = "__TetherRunsNothing"
## Texts, comments, and words; only words are renamed.
const TOKENS: String = LoadGuard.TEXTS + "|\\b%s\\b"
## What may be ahead of a script's own "@tool": other annotations, comments, empty lines.
const HEAD: String = "(?s)^(?:\\s|;|#[^\\n]*|@(?!tool\\b)\\w+(?:[ \\t]*\\([^)]*\\))?)*(@tool\\b[ \\t]*)"

static var _checks: int = 0


## {"ok": bool, "errors": [{"line", "message"}], "elsewhere": [errors in scripts that it uses], "note"}.
static func check(source: String, path: String, messages: LogBuffer) -> Dictionary:
	var named: String = _class_name_of(source)
	var copy: String = _without_tool(source if named.is_empty() else _rename(source, named))
	var guard: LoadGuard = LoadGuard.new()
	guard.look_at_script(copy, path, named)
	var is_bare: bool = guard.runs.is_empty() and not copy.contains("@tool")
	if not guard.untold.is_empty():
		return {"ok": false, "errors": [{"line": 0, "message": "It was not checked, because %s, and that might run code." % guard.untold}]}
	var stand_ins: Array[Resource] = []
	if not is_bare:
		copy += "\nvar %s: %s%d\n" % [END.to_lower(), END, randi()]
		stand_ins = _stand_in(guard.resources)
	var result: Dictionary = _compile(copy, path, named, messages)
	for resource: Resource in stand_ins:
		resource.resource_path = ""
	if not stand_ins.is_empty():
		result["note"] = "To load these would run code, so they were not looked into; errors about their insides may be none: %s." % ", ".join(guard.resources)
	return result


static func _compile(copy: String, path: String, named: String, messages: LogBuffer) -> Dictionary:
	var script: GDScript = GDScript.new()
	script.source_code = copy
	_checks += 1 # the engine remembers what the last script of a path used, and compiles it with the next
	var place: String = path.get_base_dir().path_join("~%s%s%d.gd" % [path.get_file().get_basename(), SUFFIX, _checks])
	script.resource_path = place
	var mark: int = messages.mark()
	var error: Error = script.reload()
	# The cache of scripts would keep it under that path otherwise.
	script.resource_path = ""
	var errors: Array[Dictionary] = []
	var elsewhere: Array[String] = []
	var is_ended: bool = false
	for entry: Dictionary in messages.since(mark):
		if entry["severity"] != "error" or not entry.has("file"):
			continue
		if str(entry["text"]).containsn(END):
			is_ended = true
		elif entry["file"] == place:
			_add_error(errors, entry, named)
		elif str(entry["file"]).begins_with("res://") and str(entry["text"]).begins_with("Parse Error"):
			elsewhere.append("%s:%d: %s" % [entry["file"], entry["line"], entry["text"]])
	if error != OK and errors.is_empty() and named.is_empty() and not is_ended:
		errors.append({"line": 0, "message": "It does not compile (%s).%s" % [error_string(error),
				" " + elsewhere[0] if not elsewhere.is_empty() else ""]})
	var result: Dictionary = {"ok": errors.is_empty(), "errors": errors}
	if not elsewhere.is_empty():
		result["elsewhere"] = elsewhere.slice(0, 10)
	return result


## Resources of the same classes in the place of files, for as long as they are held.
static func _stand_in(paths: Array[String]) -> Array[Resource]:
	var made: Array[Resource] = []
	for path: String in paths:
		var type: String = EditorInterface.get_resource_filesystem().get_file_type(path)
		var resource: Resource = ClassDB.instantiate(type if ClassDB.is_parent_class(type, "Resource") and ClassDB.can_instantiate(type) else "Resource")
		resource.resource_path = path
		made.append(resource)
	return made


## The same text without the mark that it is for the editor; lines stay.
static func _without_tool(source: String) -> String:
	var found: RegExMatch = RegEx.create_from_string(HEAD).search(source)
	return source if found == null else source.left(found.get_start(1)) + source.substr(found.get_end())


static func _add_error(errors: Array[Dictionary], entry: Dictionary, named: String) -> void:
	var message: String = str(entry["text"]).trim_prefix("Parse Error: ").trim_prefix("Compile Error: ")
	# Only the copy lacks it.
	if message.contains("has the \"@tool\" annotation, but this script does not"):
		return
	if not named.is_empty():
		# Both names in one message: the script meets its own class under the real name, no error at all.
		if message.contains(named + SUFFIX) and RegEx.create_from_string("\\b%s\\b" % named).search(message) != null:
			return
		message = message.replace(named + SUFFIX, named)
	for other: Dictionary in errors:
		if other["line"] == entry["line"] and other["message"] == message:
			return
	errors.append({"line": entry["line"], "message": message})


static func _class_name_of(source: String) -> String:
	var found: RegExMatch = RegEx.create_from_string("(?m)^[ \\t]*(?:@\\w+(?:\\([^)]*\\))?[ \\t]+)*class_name[ \\t]+(\\w+)").search(source)
	return found.get_string(1) if found != null else ""


static func _rename(source: String, named: String) -> String:
	var result: PackedStringArray = [] # pieces: a long text that grows is moved each time on Windows
	var last: int = 0
	for token: RegExMatch in RegEx.create_from_string(TOKENS % named).search_all(source):
		if token.get_start(1) < 0 and not token.get_string().begins_with("#"):
			result.append(source.substr(last, token.get_end() - last) + SUFFIX)
			last = token.get_end()
	return "".join(result) + source.substr(last)
