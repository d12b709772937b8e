@tool
extends RefCounted
## The text of a script around a few lines that somebody wants to run, and what those lines said.

const LogBuffer := preload("log_buffer.gd")


## The lines as the body of the function that the last line of [param head] begins. One line is put ahead
## of the head.
static func compose(head: Array[String], code: String) -> String:
	return "\n".join([_ignored_warnings()] + head) + "\n" + _indented(code) + "\n"


## What a project warns of, or counts as an error, is a matter of its style; a snippet need not keep to it.
static func _ignored_warnings() -> String:
	var names: Array[String] = []
	for info: Dictionary in ProjectSettings.get_property_list():
		var name: String = info["name"]
		if name.begins_with("debug/gdscript/warnings/") and info["type"] == TYPE_INT and ProjectSettings.get_setting(name) > 0:
			names.append("\"%s\"" % name.get_file())
	return "" if names.is_empty() else "@warning_ignore_start(%s)" % ", ".join(names)


static func _indented(code: String) -> String:
	var spaces: bool = RegEx.create_from_string("(?m)^ +\\S").search(code) != null
	var indent: String = "    " if spaces else "\t"
	var body: String = code.dedent().strip_edges(false, true)
	return (body if not body.is_empty() else "pass").indent(indent) + "\n" + indent + "@warning_ignore(\"unreachable_code\")\n" + indent + "return null"


## The errors since a mark, those of the snippet with its own lines; [param head] is how many lines compose()
## was given to put ahead.
static func errors(messages: LogBuffer, mark: int, head: int) -> Array[String]:
	var found: Array[String] = []
	for entry: Dictionary in messages.since(mark):
		if entry["severity"] != "error" or not entry.has("file"):
			continue
		var text: String = str(entry["text"]).trim_prefix("Parse Error: ")
		var line: int = entry["line"]
		found.append("line %d: %s" % [line - head - 1, text] if str(entry["file"]).begins_with("gdscript://") else
				"%s (%s:%d)" % [text, entry["file"], line])
	return found


## Adds what was printed and what went wrong since a mark to the result of a snippet.
static func add_said(result: Dictionary, messages: LogBuffer, mark: int, head: int) -> Dictionary:
	var printed: Array[String] = []
	for entry: Dictionary in messages.since(mark):
		if not entry.has("file"):
			printed.append(entry["text"])
	if not printed.is_empty():
		result["printed"] = "\n".join(printed).left(20000)
	var wrong: Array[String] = errors(messages, mark, head)
	if not wrong.is_empty():
		result["errors"] = wrong.slice(0, 20)
	return result
