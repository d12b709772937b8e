@tool
extends RefCounted
## The tools that write, check, attach and run scripts. Other text files are written with them, too.

const Context := preload("context.gd")
const FileWriter := preload("file_writer.gd")
const Schema := preload("schema.gd")
const ScriptCheck := preload("script_check.gd")
const SnippetText := preload("snippet_text.gd")

const TEXT_FILES: Array[String] = ["gd", "gdshader", "gdshaderinc", "json", "txt", "md", "cfg", "csv", "xml", "svg", "ini", "toml", "yaml", "yml", "glsl", "translation.csv"]
const RUN_HEAD: Array[String] = ["@tool", "extends RefCounted", "func run(scene: Node, undo: EditorUndoRedoManager, editor: Object) -> Variant:"]

var _context: Context
var _writer: FileWriter = FileWriter.new()


func _init(context: Context) -> void:
	_context = context


func get_tools() -> Array[Dictionary]:
	var path: Dictionary = Schema.text("Its path, 'res://….gd'.")
	var force: Dictionary = Schema.flag("Write even if the script has errors.")
	return [
		{"name": "script_create", "call": _create,
				"description": "Makes a new script, or another text file (shader, JSON, …). GDScript is checked first and not written if it has errors. Undoable.",
				"input": Schema.object({"path": Schema.text("The new file, 'res://….gd'."), "text": Schema.text("All of its text."),
					"force": force}, ["path", "text"])},
		{"name": "script_edit", "destructive": true, "call": _edit,
				"description": "Changes a script or another text file: replaces an exact piece of text, or everything. GDScript is checked first and not written if the change brings errors. Undoable.",
				"input": Schema.object({"path": path,
					"old": Schema.text("The exact text to replace; must be there once (or give 'all')."),
					"new": Schema.text("What comes in its place."),
					"text": Schema.text("All of the new text, instead of 'old' and 'new'."),
					"all": Schema.flag("Replace every place where 'old' is."),
					"force": force}, ["path"])},
		{"name": "script_attach", "idempotent": true, "call": _attach,
				"description": "Attaches a script to a node of the edited scene, or takes it off (path ''). Undoable.",
				"input": Schema.object({"node": Schema.text("Path of the node."), "path": Schema.text("The script, 'res://….gd', or '' for none.")}, ["node", "path"])},
		{"name": "script_check", "read": true, "call": _check,
				"description": "Errors of a script with their lines, without running it: of a file, or of a text given here.",
				"input": Schema.object({"path": path, "text": Schema.text("Check this text as if it were in the file.")}, ["path"])},
		{"name": "script_run", "destructive": true, "open_world": true, "call": _run,
				"description": "Runs GDScript in the editor: the body of a function, which may return a value and use await. It sees 'scene' (root of the edited scene), 'undo' (EditorUndoRedoManager), EditorInterface and all else. Answers the result, what was printed, and errors. A loop without end hangs the editor.",
				"input": Schema.object({"code": Schema.text("The lines of the function's body.")}, ["code"])},
	]


# ---- writing -----------------------------------------------------------------------------------


func _text_path(path: String, problem: Dictionary) -> String:
	var plain: String = _context.writable_path(path, problem)
	if not plain.is_empty() and not plain.get_extension().to_lower() in TEXT_FILES:
		problem["error"] = "'%s' is not a kind of text file that this writes; there are .%s." % [plain.get_file(), ", .".join(TEXT_FILES)]
		return ""
	return plain


func _create(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var path: String = _text_path(arguments["path"], problem)
	if path.is_empty():
		return problem
	if FileAccess.file_exists(path):
		return Context.failure("'%s' exists; change it with script_edit." % path)
	var refused: Dictionary = _refuse(path, arguments["text"], arguments["force"])
	if not refused.is_empty():
		return refused
	var trouble: String = _context.make_folder(path.get_base_dir())
	if not trouble.is_empty():
		return Context.failure(trouble)
	return await _write(path, null, arguments["text"], "Create")


func _edit(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var path: String = _text_path(arguments["path"], problem)
	if path.is_empty():
		return problem
	var before: Variant = FileWriter.read(path)
	if before == null:
		return Context.failure(_context.missing_file(path))
	if ResourceLoader.has_cached(path) and path.get_extension() == "gd":
		var code: CodeEdit = FileWriter.editor_of(load(path))
		if code != null and code.text != before:
			return Context.failure("The user has unsaved changes of '%s' in the script editor." % path)
	var after: String = _edited(before, arguments, problem)
	if problem.has("error"):
		return problem
	if after == before:
		return Context.failure("That changes nothing.")
	var refused: Dictionary = _refuse(path, after, arguments["force"])
	if not refused.is_empty():
		return refused
	return await _write(path, before, after, "Edit")


func _edited(before: String, arguments: Dictionary, problem: Dictionary) -> String:
	if arguments.has("text") and not arguments.has("old"):
		return arguments["text"]
	var old: String = arguments.get("old", "")
	if old.is_empty() or not arguments.has("new") or arguments.has("text"):
		problem["error"] = "Give 'old' and 'new', or the whole 'text'."
		return ""
	var count: int = before.count(old)
	if count == 0:
		problem["error"] = "The text in 'old' is not in the file. It must match exactly, tabs and line ends included.%s" % _nearest_line(before, old)
	elif count > 1 and not arguments["all"]:
		problem["error"] = "The text in 'old' is there %d times. Give more of it, or \"all\": true." % count
	return before.replace(old, arguments["new"])


func _nearest_line(text: String, old: String) -> String:
	var wanted: String = old.strip_edges().get_slice("\n", 0)
	var lines: PackedStringArray = text.split("\n")
	var best: int = -1
	var score: float = 0.5
	for index: int in mini(lines.size(), 3000):
		var similar: float = lines[index].strip_edges().similarity(wanted)
		if similar > score:
			score = similar
			best = index
	return "" if best < 0 else " Line %d is like it: %s" % [best + 1, JSON.stringify(lines[best])]


## The answer to a text that does not parse, {} for one that does.
func _refuse(path: String, text: String, force: bool) -> Dictionary:
	if force or path.get_extension() != "gd":
		return {}
	var found: Dictionary = ScriptCheck.check(text, path, _context.messages)
	if found["ok"]:
		return {}
	return Context.failure("Not written, because it has errors: %s (\"force\": true writes it all the same.)" % _told(found["errors"]))


func _told(errors: Array) -> String:
	return "; ".join(errors.slice(0, 10).map(func(entry: Dictionary) -> String: return "line %d: %s" % [entry["line"], entry["message"]]))


func _write(path: String, before: Variant, after: String, verb: String) -> Dictionary:
	var undo: EditorUndoRedoManager = _context.begin("%s %s" % [verb, path.get_file()], _writer)
	undo.add_do_method(_writer, "replace", path, before, after)
	undo.add_undo_method(_writer, "replace", path, after, before)
	_context.commit(_writer)
	# Then the editor knows the class of a new script, too.
	await _context.next_frame()
	await _context.wait_for_scan()
	if FileWriter.read(path) != after:
		return Context.failure("'%s' could not be written; editor_log may say why." % path)
	return {"written": path, "lines": after.count("\n") + 1}


# ---- the rest ----------------------------------------------------------------------------------


func _attach(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var node: Node = _context.find_node(arguments["node"], problem)
	if node == null:
		return problem
	var script: Script = null
	if not str(arguments["path"]).is_empty():
		var path: String = _context.project_path(arguments["path"], problem)
		if path.is_empty():
			return problem
		if not ResourceLoader.exists(path, "Script"):
			return Context.failure(_context.missing_file(path) if not FileAccess.file_exists(path) else "'%s' is not a script." % path)
		script = load(path)
		if script == null or script.get_instance_base_type().is_empty():
			return Context.failure("'%s' has errors; script_check tells them." % path)
		if not node.is_class(script.get_instance_base_type()):
			return Context.failure("'%s' is for %s, and '%s' is a %s." % [path, script.get_instance_base_type(), node.name, node.get_class()])
	var undo: EditorUndoRedoManager = _context.begin("Attach script to %s" % node.name, node)
	undo.add_do_property(node, "script", script)
	undo.add_undo_property(node, "script", node.get_script())
	_context.commit(node)
	return {"node": _context.path_of(node), "script": script.resource_path if script != null else ""}


func _check(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var path: String = _context.project_path(arguments["path"], problem)
	if path.is_empty():
		return problem
	if path.get_extension() != "gd":
		return Context.failure("Only GDScript ('.gd') can be checked.")
	var text: Variant = arguments.get("text", FileWriter.read(path))
	if text == null:
		return Context.failure(_context.missing_file(path))
	return ScriptCheck.check(text, path, _context.messages)


func _run(arguments: Dictionary) -> Dictionary:
	var script: GDScript = GDScript.new()
	script.source_code = SnippetText.compose(RUN_HEAD, arguments["code"])
	var mark: int = _context.messages.mark()
	if script.reload() != OK:
		script.resource_path = ""
		return Context.failure("It was not run, because it has errors: %s" % "; ".join(SnippetText.errors(_context.messages, mark, RUN_HEAD.size())))
	var runner: RefCounted = script.new()
	mark = _context.messages.mark()
	var value: Variant = await runner.call("run", _context.scene(), _context.plugin.get_undo_redo(), EditorInterface)
	# The cache of scripts would keep each of them otherwise. Errors that come later, from what the
	# snippet left behind, name no file then.
	script.resource_path = ""
	var result: Dictionary = {"result": _context.codec(500).encode(value), "type": type_string(typeof(value))}
	return SnippetText.add_said(result, _context.messages, mark, RUN_HEAD.size())
