@tool
extends RefCounted
## Collects the tools of all families, registers them with a server and guards each call.
##
## A family is a script with [code]get_tools() -> Array[Dictionary][/code]. A tool has: "name",
## "description", "input" (schema of its arguments, see schema.gd), "call" (gets the checked
## arguments; answers a Dictionary, {"error": text} if it cannot; may be a coroutine), and what is
## true of "read" (changes nothing), "destructive" (may lose something), "while_busy" (works although
## the editor scans or shows a dialog, as all that only read do), "open_world" (may reach anything, for it runs code or methods of others). What
## editor_undo takes back is not destructive. "plain" names the member of the answer that is a text of
## lines, and is told as such. "title" is made of the name if there is none. "does" tells by the arguments which
## other tools' work it does.

const Approvals := preload("approvals.gd")
const Context := preload("context.gd")
const Journal := preload("journal.gd")
const Library := preload("library.gd")
const Profiles := preload("profiles.gd")
const Schema := preload("schema.gd")
const Switches := preload("switches.gd")
const Words := preload("words.gd")
const FAMILIES: Array[GDScript] = [
	preload("editor_tools.gd"),
	preload("scene_tools.gd"),
	preload("node_tools.gd"),
	preload("file_tools.gd"),
	preload("move_tools.gd"),
	preload("resource_tools.gd"),
	preload("script_tools.gd"),
	preload("batch_tools.gd"),
	preload("project_tools.gd"),
	preload("game_tools.gd"),
	preload("debug_tools.gd"),
	preload("run_tools.gd"),
	preload("docs_tools.gd"),
]

## Tools whose code may make actions of its own.
const RUNS_CODE: Array[String] = ["script_run", "node_call"]

## What AI clients are told before they use any tool: what is true of all of them.
const INSTRUCTIONS: String = """You work in a Godot editor that the user has open; what you change shows there and can be undone.
- Begin with editor_state. Files are 'res://…'. Nodes are named from the root of the edited scene: '.', 'Player', 'Player/Sprite'.
- Values are JSON: [x, y] for vectors, '#rrggbb' for colours, 'res://…' for resources, names for enums, {"type": "RectangleShape2D", "properties": {…}} for a new resource.
- node_…, scene_… and script_attach work on the edited scene; scene_save writes it to its file.
- To try the game: project_run (it saves open scenes), then game_play (input, waits, values and a picture in one call), project_output and the other game_… tools (nodes as in the edited scene, or '/root/…'), then project_stop.
- Lists are short at first: give 'next' of an answer as 'offset' for more.
- docs_search, docs_class and docs_member know this very version of the engine: ask them before you guess. What no tool does, script_run does."""

var journal: Journal = Journal.new()
var approvals: Approvals = Approvals.new()

var _context: Context
var _families: Array[RefCounted] = []
var _tools: Dictionary[String, Dictionary] = {}
var _server: Object
var _library: Library
var _listed: Dictionary[String, bool] = {}


## Makes the tools for a plugin and registers each with [param server], which has the methods of
## TetherServer. Undo it with detach().
func attach(plugin: EditorPlugin, server: Object) -> void:
	_context = Context.new(plugin)
	for script: GDScript in FAMILIES:
		var family: RefCounted = script.new(_context)
		_families.append(family)
		for tool: Dictionary in family.call("get_tools"):
			tool["family"] = family
			_tools[tool["name"]] = tool
	_server = server
	_apply_switches()
	ProjectSettings.settings_changed.connect(_apply_switches)
	if server.has_signal("call_cancelled"):
		server.connect("call_cancelled", _on_cancelled)
	server.set("profiles", Profiles.of(_tools))
	server.set("instructions", INSTRUCTIONS)
	_library = Library.new(server, call_tool)


## Lists what the user has not switched off. A new list is told to all clients, so it is made for changes only.
func _apply_switches() -> void:
	for name: String in _tools:
		var is_on: bool = Switches.why_off(name, _tools[name].get("read", false)).is_empty()
		if is_on and not _listed.has(name):
			_server.call("register_tool", name, describe(_tools[name]), serve_tool.bind(name))
			_listed[name] = true
		elif not is_on and _listed.erase(name):
			_server.call("unregister_tool", name)


## Takes back what a call did, as in the journal; in words why not, or "".
func undo_call(entry: Dictionary) -> String:
	return journal.undo(entry, _context) if _context != null else "Tether is disabled."


## Takes everything back; nothing stays connected. Calls that are under way find out by themselves.
func detach() -> void:
	if ProjectSettings.settings_changed.is_connected(_apply_switches):
		ProjectSettings.settings_changed.disconnect(_apply_switches)
	for name: String in _listed:
		if is_instance_valid(_server):
			_server.call("unregister_tool", name)
	_listed.clear()
	approvals.close()
	if is_instance_valid(_server):
		if _server.has_signal("call_cancelled"):
			_server.disconnect("call_cancelled", _on_cancelled)
		_server.set("instructions", "")
		_server.set("profiles", {})
		_library.close()
	_library = null
	if _context != null:
		_context.close()
		_context = null
	_tools.clear()
	_families.clear()
	_server = null


func get_tools() -> Dictionary[String, Dictionary]:
	return _tools


## A tool as the Model Context Protocol describes it. A hint that says what is assumed anyway is left out.
static func describe(tool: Dictionary) -> Dictionary:
	var name: String = tool["name"]
	var hints: Dictionary = {}
	if tool.get("read", false):
		hints["readOnlyHint"] = true
	elif not tool.get("destructive", false):
		hints["destructiveHint"] = false
	if not tool.get("open_world", false):
		hints["openWorldHint"] = false
	return {"title": tool.get("title", name.capitalize()), "description": tool["description"],
			"inputSchema": Schema.published(tool["input"]), "annotations": hints}


## Calls a tool for a client: its answer as content.
func serve_tool(arguments: Variant, name: String) -> Variant:
	var _self: RefCounted = self
	var plain: String = _tools[name].get("plain", "") if _tools.has(name) else ""
	var context: Context = _context
	var call: Dictionary = _call()
	var entry: Dictionary = journal.begin(name, arguments, Approvals.client_of(call), _tools.get(name, {}).get("read", false))
	var why_not: String = await _ask_first(arguments, name, call, entry)
	# What the user does while a question waits is not the tool's work.
	var before: Dictionary = context.undo_states() if context != null and context.plugin != null else {}
	var answer: Variant = Context.failure(why_not) if not why_not.is_empty() else await _run(arguments, name, call)
	journal.end(entry, answer, _made_by(name, context, before) if context != null and context.plugin != null else [])
	if not answer is Dictionary or not answer.has(plain):
		return answer
	# Lines as they are: as one line of JSON they cost a fifth more, and cannot be searched.
	var facts: Dictionary = answer.duplicate()
	facts.erase(plain)
	return {"content": [{"type": "text", "text": answer[plain]}, {"type": "text", "text": facts}]}


## What a tool has left in the editor's histories, beside what the user did meanwhile; [] if nothing.
func _made_by(name: String, context: Context, before: Dictionary) -> Array:
	var made: Array = []
	var after: Dictionary = context.undo_states()
	for id: int in after:
		if before.has(id) and after[id] != before[id] and (name in RUNS_CODE or context.is_made_by_tool(after[id])):
			made = after[id]
	return [] if name in ["editor_undo", "editor_redo"] or _tools.get(name, {}).get("read", false) else made


## Calls a tool, after asking the user if that is wanted.
func call_tool(arguments: Variant, name: String) -> Variant:
	var _self: RefCounted = self
	var call: Dictionary = _call()
	var why_not: String = await _ask_first(arguments, name, call, {})
	return Context.failure(why_not) if not why_not.is_empty() else await _run(arguments, name, call)


func _on_cancelled(call: int) -> void:
	approvals.withdraw(call)
	if _context != null:
		_context.game.cancel(call)


## Who calls just now: only to be asked before anything is awaited.
func _call() -> Dictionary:
	return _server.call("get_call") if _server != null and _server.has_method("get_call") else {}


## Why the user does not let a call be made, or "". What cannot be called anyway is not asked about.
func _ask_first(arguments: Variant, name: String, call: Dictionary, entry: Dictionary) -> String:
	var checked: Dictionary = {}
	if not Switches.asks_at_all() or not _why_not(arguments, name, checked).is_empty():
		return ""
	var does: Array = [name]
	if _tools[name].has("does"):
		does.append_array((_tools[name]["does"] as Callable).call(checked["value"]))
	var about: Array[String] = []
	for tool: String in does:
		if not tool in about and Switches.mode_of(tool) == Switches.Use.ASK:
			about.append(tool)
	if about.is_empty():
		return ""
	var said: String = Approvals.SESSION
	if not approvals.is_allowed(about, call):
		journal.note(entry, "waits for you")
		said = await approvals.ask(_server, call, about, describe(_tools[name])["title"], arguments)
	journal.note(entry, said)
	return Approvals.why_not(said, about)


## Why a tool cannot be called so, or "" with the arguments in [param checked].
func _why_not(arguments: Variant, name: String, checked: Dictionary) -> String:
	if not _tools.has(name):
		return "There is no tool '%s'.%s" % [name, Words.suggest(name, _tools.keys())]
	var off: String = Switches.why_off(name, _tools[name].get("read", false))
	return off if not off.is_empty() else Schema.check(_tools[name]["input"], {} if arguments == null else arguments, checked)


## Runs a tool: checks the arguments, refuses while the editor is busy, and turns what goes wrong
## inside it into an answer.
func _run(arguments: Variant, name: String, call: Dictionary) -> Variant:
	if _context == null:
		return Context.failure("Tether was disabled meanwhile.")
	var checked: Dictionary = {}
	var problem: String = _why_not(arguments, name, checked)
	if not problem.is_empty():
		return Context.failure(problem)
	var tool: Dictionary = _tools[name]
	if not tool.get("read", false) and not tool.get("while_busy", false):
		await _context.wait_for_scan()
		if _context == null:
			return Context.failure("Tether was disabled meanwhile.")
		var busy: String = _context.busy_reason()
		if not busy.is_empty():
			return Context.failure("The editor is busy: %s. Try again in a moment." % busy)
	# Callables hold nothing. What a call needs is kept here, because the plugin may be disabled while
	# the tool waits for something; [code]tool[/code] keeps its family.
	var context: Context = _context
	var _self: RefCounted = self
	var mark: int = context.messages.mark()
	var method: Callable = tool["call"]
	context.call_id = int(call.get("id", 0))
	var answer: Variant = await method.call(checked["value"])
	# A script error ends a function early, with the null or {} of its type; no tool answers that.
	if answer == null or answer is Dictionary and answer.is_empty():
		var errors: Array[String] = context.messages.errors_since(mark)
		return Context.failure("The tool '%s' failed inside. %s" % [name, " ".join(errors.slice(0, 3))])
	return _with_notes(answer, checked.get("notes", []))


## Says what was not taken as the client gave it.
static func _with_notes(answer: Variant, notes: Array) -> Variant:
	if notes.is_empty():
		return answer
	var said: String = " ".join(PackedStringArray(notes))
	if answer.has("content"):
		(answer["content"] as Array).append({"type": "text", "text": said})
	elif answer.has("error"):
		answer["error"] += " " + said
	else:
		answer["arguments_note"] = said
	return answer
