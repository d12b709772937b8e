@tool
extends RefCounted
## The tools about the running game: what is in it, and what can be done to it.

const Context := preload("context.gd")
const Schema := preload("schema.gd")

const LONGEST_RUN: int = 60
const LONGEST_PLAY: int = 120
## How long the answer may take beside what is done for it.
const WAY_MSEC: int = 3000

var _context: Context


func _init(context: Context) -> void:
	_context = context


func get_tools() -> Array[Dictionary]:
	var path: Dictionary = Schema.text("From the game's scene, or '/root/…'.")
	return [
		{"name": "game_tree", "read": true, "call": _ask.bind("tree"),
				"description": "The nodes of the running game, as in scene_tree.",
				"input": with_game(Schema.paged({"path": Schema.text("", "/root"),
					"depth": Schema.integer("", 0, Schema.MOST, 64),
					"type": Schema.text("Only this class.", ""),
					"text": Schema.text("Part of the name.", "")}, 100))},
		{"name": "game_get", "read": true, "call": _ask.bind("get"),
				"description": "Properties and script variables of a node of the running game, while it plays: health, velocity, …",
				"input": with_game(Schema.paged({"path": path, "properties": Schema.texts(""),
					"all": Schema.flag("")}, 60), ["path"])},
		{"name": "game_set", "destructive": true, "call": _ask.bind("set"), "while_busy": true,
				"description": "Sets properties of a node of the running game, as node_set; not in the scene.",
				"input": with_game({"path": path, "properties": Schema.map("")}, ["path", "properties"])},
		{"name": "game_run", "destructive": true, "open_world": true, "while_busy": true, "call": _run,
				"description": "Runs GDScript in the running game, as script_run: call methods, add nodes, compute. It sees 'scene', 'tree', 'root', node(path) and the autoloads.",
				"input": with_game({"code": Schema.text(""),
					"limit": Schema.integer("Seconds", 1, LONGEST_RUN, 10)}, ["code"])},
		{"name": "game_play", "destructive": true, "open_world": true, "while_busy": true, "call": _play,
				"description": "Plays the running game: presses keys, buttons and mouse, waits, then tells values and a picture, in one call.",
				"input": with_game({
					"steps": Schema.objects("Input: {\"action\": \"jump\", \"for\": 0.5}, or key, mouse ('left'), joy_button, joy_axis with 'value', touch (0); 'for' seconds or 'down' true or false; mouse and touch 'at' [x, y] or a node, and 'to'. {\"move\": [x, y]}, {\"by\": [dx, dy]}, {\"text\": \"…\"}. Waits: {\"wait\": seconds}, {\"frames\": n}, {\"until\": \"node('Player').is_on_floor()\"}, {\"signal\": \"Player:died\"}, {\"node\": path}, {\"output\": text}, with 'limit' seconds. Time: {\"freeze\": true}, {\"step\": frames}, {\"speed\": 0.5}."),
					"values": Schema.texts("Expressions to tell at the end."),
					"picture": Schema.integer("Longest side; 0: none.", 0, 4096, 0),
					"limit": Schema.integer("Seconds", 1, LONGEST_PLAY, 30)})},
		{"name": "game_monitor", "read": true, "call": _measure,
				"description": "Why the game is slow: fps and frame times, memory, objects, draw calls, its own monitors; now, or over some seconds.",
				"input": with_game({"seconds": Schema.integer("", 0, LONGEST_PLAY, 0)})},
	]


## A schema for a tool about one of the games that run.
static func with_game(properties: Dictionary, required: Array = []) -> Dictionary:
	properties["game"] = Schema.hidden(Schema.integer("If several run.", 1, Schema.MOST))
	return Schema.object(properties, required)


## Asks the helper in the game that is meant, and names the game if it is not the only one.
func _ask(arguments: Dictionary, command: String, limit_msec: int = Context.GameLink.WAIT_MSEC, call: int = 0) -> Dictionary:
	var problem: Dictionary = {}
	var session: int = await _context.game.pick(arguments.get("game", 0), problem)
	if session < 0:
		return problem
	var answer: Dictionary = await _context.game.ask(session, command, arguments, limit_msec, call)
	if _context.game.games().size() > 1:
		answer["game"] = session + 1
		answer["games"] = _context.game.games()
		answer["several"] = "\"game\": n says which is meant."
	return answer


func _run(arguments: Dictionary) -> Dictionary:
	return await _ask(arguments, "run", 1000 * int(arguments["limit"]) + WAY_MSEC)


func _play(arguments: Dictionary) -> Dictionary:
	var answer: Dictionary = await _ask(arguments, "play", 1000 * int(arguments["limit"]) + WAY_MSEC, _context.call_id)
	if not answer.has("picture"):
		return answer
	var picture: Dictionary = answer["picture"]
	answer.erase("picture")
	if picture.has("error"):
		answer["no_picture"] = picture["error"]
		return answer
	var content: Array = Context.picture("game", picture["png"], picture["size"], picture["shown"])
	content.append({"type": "text", "text": answer})
	return {"content": content}


func _measure(arguments: Dictionary) -> Dictionary:
	return await _ask(arguments, "measure", 1000 * int(arguments["seconds"]) + WAY_MSEC)
