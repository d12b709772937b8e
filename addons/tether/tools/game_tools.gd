@tool
extends RefCounted
## The tools about the running game: what is in it, and what can be done to it.

const Context := preload("context.gd")
const Schema := preload("schema.gd")

const LONGEST_RUN: int = 60

var _context: Context


func _init(context: Context) -> void:
	_context = context


func get_tools() -> Array[Dictionary]:
	var path: Dictionary = Schema.text("From the root of the game's scene ('.'), or '/root/…'.")
	return [
		{"name": "game_tree", "read": true, "call": _ask.bind("tree"),
				"description": "The nodes of the running game, one line each, as in scene_tree.",
				"input": _object(Schema.paged({"path": Schema.text("Where to begin.", "/root"),
					"depth": Schema.integer("Levels below it.", 0, 64, 64),
					"type": Schema.text("Only nodes of this class.", ""),
					"text": Schema.text("Only nodes with this in their name.", "")}, 100))},
		{"name": "game_get", "read": true, "call": _ask.bind("get"),
				"description": "Properties of a node of the running game, script variables included; otherwise as node_get.",
				"input": _object(Schema.paged({"path": path, "properties": Schema.texts("Only these."),
					"all": Schema.flag("Defaults, too.")}, 60), ["path"])},
		{"name": "game_set", "idempotent": true, "call": _ask.bind("set"), "while_busy": true,
				"description": "Sets properties of a node of the running game, as node_set; not in the scene's file.",
				"input": _object({"path": path, "properties": Schema.map("Values by property name.")}, ["path", "properties"])},
		{"name": "game_run", "destructive": true, "open_world": true, "while_busy": true, "call": _run,
				"description": "Runs GDScript in the running game: calls methods, adds nodes, computes. The body of a function as in script_run; it sees 'scene', 'tree', 'root', node(path) and the autoloads.",
				"input": _object({"code": Schema.text("The lines of the function's body."),
					"limit": Schema.integer("Seconds to wait for it.", 1, LONGEST_RUN, 10)}, ["code"])},
	]


static func _object(properties: Dictionary, required: Array = []) -> Dictionary:
	properties["game"] = Schema.integer("Which one, if several run.", 1, 64)
	return Schema.object(properties, required)


## Asks the helper in the game that is meant, and names the game if it is not the only one.
func _ask(arguments: Dictionary, command: String, limit_msec: int = Context.GameLink.WAIT_MSEC) -> Dictionary:
	var problem: Dictionary = {}
	var session: int = await _context.game.pick(arguments.get("game", 0), problem)
	if session < 0:
		return problem
	var answer: Dictionary = await _context.game.ask(session, command, arguments, limit_msec)
	if _context.game.games().size() > 1:
		answer["game"] = session + 1
		answer["games"] = _context.game.games()
	return answer


func _run(arguments: Dictionary) -> Dictionary:
	return await _ask(arguments, "run", 1000 * int(arguments["limit"]))
