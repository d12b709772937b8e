@tool
extends RefCounted
## Collects the tools of all families, registers them with a server and guards each call.
##
## A family is a script with [code]get_tools() -> Array[Dictionary][/code]. A tool has: "name",
## "description", "input" (schema of its arguments, see schema.gd), "call" (gets the checked
## arguments; answers a Dictionary, {"error": text} if it cannot; may be a coroutine), and what is
## true of "read" (changes nothing), "destructive" (may lose something), "idempotent" (doing it twice
## is doing it once), "while_busy" (works although the editor scans or shows a dialog, as all that
## only read do), "open_world" (may reach anything, for it runs code or methods of others).

const Context := preload("context.gd")
const Schema := preload("schema.gd")
const Words := preload("words.gd")
const FAMILIES: Array[GDScript] = [
	preload("editor_tools.gd"),
	preload("scene_tools.gd"),
	preload("node_tools.gd"),
	preload("file_tools.gd"),
	preload("script_tools.gd"),
	preload("project_tools.gd"),
	preload("game_tools.gd"),
	preload("debug_tools.gd"),
	preload("docs_tools.gd"),
]

## What AI clients are told before they use any tool: what is true of all of them.
const INSTRUCTIONS: String = """You work in a Godot editor that the user has open; what you change shows there and can be undone.
- Begin with editor_state. Files are 'res://…'. Nodes are named from the root of the edited scene: '.', 'Player', 'Player/Sprite'.
- Values are JSON: [x, y] for vectors, '#rrggbb' for colours, 'res://…' for resources, names for enums, {"type": "RectangleShape2D", "properties": {…}} for a new resource.
- node_…, scene_… and script_attach work on the edited scene; scene_save writes it to its file.
- To try the game: project_run (it saves open scenes), then game_play (input, waits, values and a picture in one call), project_output and the other game_… tools (nodes as in the edited scene, or '/root/…'), then project_stop.
- Lists are short at first: give 'next' of an answer as 'offset' for more.
- docs_search, docs_class, docs_method and docs_property know this very version of the engine: ask them before you guess. What no tool does, script_run does."""

var _context: Context
var _families: Array[RefCounted] = []
var _tools: Dictionary[String, Dictionary] = {}
var _server: Object


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
	for name: String in _tools:
		server.call("register_tool", name, describe(_tools[name]), call_tool.bind(name))
	server.set("instructions", INSTRUCTIONS)


## Takes everything back; nothing stays connected. Calls that are under way find out by themselves.
func detach() -> void:
	for name: String in _tools:
		if is_instance_valid(_server):
			_server.call("unregister_tool", name)
	if is_instance_valid(_server):
		_server.set("instructions", "")
	if _context != null:
		_context.close()
		_context = null
	_tools.clear()
	_families.clear()
	_server = null


func get_tools() -> Dictionary[String, Dictionary]:
	return _tools


## A tool as the Model Context Protocol describes it.
static func describe(tool: Dictionary) -> Dictionary:
	var reads: bool = tool.get("read", false)
	return {"description": tool["description"], "inputSchema": tool["input"],
			"annotations": {"readOnlyHint": reads, "destructiveHint": tool.get("destructive", false),
					"idempotentHint": reads or tool.get("idempotent", false), "openWorldHint": tool.get("open_world", false)}}


## Calls a tool: checks the arguments, refuses while the editor is busy, and turns what goes wrong
## inside it into an answer.
func call_tool(arguments: Variant, name: String) -> Variant:
	if not _tools.has(name):
		return Context.failure("There is no tool '%s'.%s" % [name, Words.suggest(name, _tools.keys())])
	var tool: Dictionary = _tools[name]
	var checked: Dictionary = {}
	var problem: String = Schema.check(tool["input"], {} if arguments == null else arguments, checked)
	if not problem.is_empty():
		return Context.failure(problem)
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
	var answer: Variant = await method.call(checked["value"])
	# A script error ends a function early, with the null or {} of its type; no tool answers that.
	if answer == null or answer is Dictionary and answer.is_empty():
		var errors: Array[String] = context.messages.errors_since(mark)
		return Context.failure("The tool '%s' failed inside. %s" % [name, " ".join(errors.slice(0, 3))])
	return answer
