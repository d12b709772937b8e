@tool
extends RefCounted
## Finds the errors of GDScript source without running it, and without touching the loaded script.
##
## The engine tells errors only through its log, so each finding shows in the editor's output, too.
## The source is compiled as a script of its own beside the real one, so that relative paths work; a
## class_name is given another name for that, because the real script holds it.

const LogBuffer := preload("log_buffer.gd")

const SUFFIX: String = "__tether_check"
## Texts, comments, and words; only words are renamed.
const TOKENS: String = "(?s)(\"\"\".*?\"\"\"|'''.*?'''|\"(?:\\\\.|[^\"\\\\\\n])*\"|'(?:\\\\.|[^'\\\\\\n])*'|#[^\\n]*)|\\b%s\\b"


## {"ok": bool, "errors": [{"line", "message"}], "elsewhere": [errors in scripts that it uses]}.
static func check(source: String, path: String, messages: LogBuffer) -> Dictionary:
	var named: String = _class_name_of(source)
	var script: GDScript = GDScript.new()
	script.source_code = source if named.is_empty() else _rename(source, named)
	var place: String = path.get_base_dir().path_join("~%s%s.gd" % [path.get_file().get_basename(), SUFFIX])
	script.resource_path = place
	var mark: int = messages.mark()
	var error: Error = script.reload()
	# The cache of scripts would keep it under that path otherwise.
	script.resource_path = ""
	var errors: Array[Dictionary] = []
	var elsewhere: Array[String] = []
	for entry: Dictionary in messages.since(mark):
		if entry["severity"] != "error" or not entry.has("file"):
			continue
		if entry["file"] == place:
			_add_error(errors, entry, named)
		elif str(entry["file"]).begins_with("res://") and str(entry["text"]).begins_with("Parse Error"):
			elsewhere.append("%s:%d: %s" % [entry["file"], entry["line"], entry["text"]])
	if error != OK and errors.is_empty() and named.is_empty():
		errors.append({"line": 0, "message": "It does not compile (%s).%s" % [error_string(error),
				" " + elsewhere[0] if not elsewhere.is_empty() else ""]})
	var result: Dictionary = {"ok": errors.is_empty(), "errors": errors}
	if not elsewhere.is_empty():
		result["elsewhere"] = elsewhere.slice(0, 10)
	return result


static func _add_error(errors: Array[Dictionary], entry: Dictionary, named: String) -> void:
	var message: String = str(entry["text"]).trim_prefix("Parse Error: ").trim_prefix("Compile Error: ")
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
	var result: String = ""
	var last: int = 0
	for token: RegExMatch in RegEx.create_from_string(TOKENS % named).search_all(source):
		if token.get_start(1) < 0:
			result += source.substr(last, token.get_end() - last) + SUFFIX
			last = token.get_end()
	return result + source.substr(last)
