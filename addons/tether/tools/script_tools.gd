@tool
extends RefCounted
## The tools that write, check, attach and run scripts. Other text files are written with them, too.

const Context := preload("context.gd")
const FileWriter := preload("file_writer.gd")
const SceneEdits := preload("scene_edits.gd")
const Schema := preload("schema.gd")
const ScriptCheck := preload("script_check.gd")
const SnippetText := preload("snippet_text.gd")
const TextBytes := preload("text_bytes.gd")

const TEXT_FILES: Array[String] = ["gd", "cs", "gdshader", "gdshaderinc", "json", "txt", "md", "cfg", "csv", "xml", "svg", "ini", "toml", "yaml", "yml", "glsl", "translation.csv"]
const RUN_HEAD: Array[String] = ["@tool", "extends RefCounted", "func run(scene: Node, undo: EditorUndoRedoManager, editor: Object) -> Variant:"]

var _context: Context
var _edits: SceneEdits
var _writer: FileWriter = FileWriter.new()


func _init(context: Context) -> void:
	_context = context
	_edits = SceneEdits.new(context)


func get_tools() -> Array[Dictionary]:
	var path: Dictionary = Schema.text("")
	var force: Dictionary = Schema.hidden(Schema.flag("Even with errors."))
	return [
		{"name": "script_create", "call": _create,
				"description": "Writes a new script, or another text file (shader, JSON, …). GDScript with errors is not written.",
				"input": Schema.object({"path": Schema.text(""), "text": Schema.text(""),
					"force": force}, ["path", "text"])},
		{"name": "script_edit", "call": _edit,
				"description": "Changes (fixes) the code of a script or another text file: replaces an exact piece of text, or everything. GDScript with new errors is not written.",
				"input": Schema.object({"path": path,
					"old": Schema.text("Exact text that is there once (or give 'all')."),
					"new": Schema.text(""),
					"text": Schema.text("The whole new text instead."),
					"all": Schema.flag("Replace each 'old'."),
					"force": force}, ["path"])},
		{"name": "script_attach", "call": _edits.alone.bind("script_attach"),
				"description": "Attaches a script to a node, or takes it off (path '').",
				"input": Schema.object({"node": Schema.text(""), "path": Schema.text("")}, ["node", "path"])},
		{"name": "script_check", "read": true, "call": _check,
				"description": "Syntax and type errors of a script with their lines, without running it.",
				"input": Schema.object({"path": path, "text": Schema.text("As if it were in the file.")}, ["path"])},
		{"name": "script_run", "destructive": true, "open_world": true, "call": _run,
				"description": "Runs GDScript in the editor: the body of a function, which may return a value and await. It sees 'scene' (the edited root), 'undo' (EditorUndoRedoManager) and EditorInterface. A loop without end hangs the editor.",
				"input": Schema.object({"code": Schema.text("")}, ["code"])},
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
	if not FileAccess.file_exists(path):
		return Context.failure(_context.missing_file(path))
	if FileWriter.is_being_written(path):
		return Context.failure("The user has unsaved changes of '%s' in the script editor." % path)
	if not TextBytes.is_utf8(FileAccess.get_file_as_bytes(path)):
		return Context.failure("'%s' is not UTF-8, so its other letters would be lost. Whoever wants it changed saves it as UTF-8 first." % path)
	var before: String = FileWriter.read(path)
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
