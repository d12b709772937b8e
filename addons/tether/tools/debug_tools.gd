@tool
extends RefCounted
## The tools that debug the running game.

const Context := preload("context.gd")
const DebugLink := preload("debug_link.gd")
const GameTools := preload("game_tools.gd")
const Schema := preload("schema.gd")

const MOVES: Dictionary[String, String] = {"pause": "break", "continue": "continue", "into": "step", "over": "next", "out": "out"}
const STEP_SECONDS: float = 5.0

var _context: Context
var _debug: DebugLink


func _init(context: Context) -> void:
	_context = context
	_debug = DebugLink.new(context.game)


func get_tools() -> Array[Dictionary]:
	return [
		{"name": "game_debug", "destructive": true, "open_world": true, "while_busy": true, "call": _debug_game,
				"description": "Debugs the scripts of the running game. 'break' and 'clear' set and remove a breakpoint, also before it runs; 'pause', 'continue', 'into', 'over' and 'out' go on until it is held; 'evaluate' an expression in a frame. Tells where it is held: stack, variables, breakpoints.",
				"input": GameTools.with_game({
					"action": Schema.choice("", ["look", "break", "clear", "pause", "continue", "into", "over", "out", "evaluate"], "look"),
					"path": Schema.text("Script; clear: all without."),
					"line": Schema.integer("", 1, Schema.MOST),
					"frame": Schema.integer("0: innermost.", 0, Schema.MOST, 0),
					"expression": Schema.text(""),
					"wait": Schema.integer("continue: seconds", 0, 60, 0)})},
		{"name": "game_profile", "read": true, "call": _profile,
				"description": "Which script functions of the running game take the longest time.",
				"input": GameTools.with_game({"seconds": Schema.integer("", 1, 60, 3)})},
	]


func _debug_game(arguments: Dictionary) -> Dictionary:
	var action: String = arguments["action"]
	var problem: Dictionary = {}
	if action in ["break", "clear"]:
		_change_breakpoints(arguments, problem)
		if problem.has("error"):
			return problem
		if not EditorInterface.is_playing_scene() and not _context.game.has_game():
			return _with_breakpoints({"running": false})
	var session: int = await _context.game.pick(arguments.get("game", 0), problem)
	if session < 0:
		return problem
	var result: Dictionary = {}
	var is_held: bool = not (await _context.game.held_text(session)).is_empty()
	if MOVES.has(action):
		if is_held == (action == "pause"):
			return Context.failure("The game is held already." if is_held else "The game is not held, so it cannot go on. 'pause' holds it, or a breakpoint.")
		var seconds: float = arguments["wait"] if action == "continue" else STEP_SECONDS
		await _debug.move(session, MOVES[action], int(1000.0 * seconds))
	elif action == "evaluate":
		result = await _evaluate(session, arguments, is_held)
		if result.has("error"):
			return result
	return await _look(session, arguments["frame"], result)


func _change_breakpoints(arguments: Dictionary, problem: Dictionary) -> void:
	if arguments["action"] == "clear" and not arguments.has("path"):
		for place: String in _debug.breakpoints():
			_debug.set_breakpoint(place, false)
		return
	var path: String = _context.project_path(arguments.get("path", ""), problem)
	if path.is_empty():
		return
	if not FileAccess.file_exists(path) or path.get_extension() != "gd":
		problem["error"] = _context.missing_file(path) if not FileAccess.file_exists(path) else "'%s' is not a script." % path
		return
	var lines: PackedStringArray = FileAccess.get_file_as_string(path).split("\n")
	var line: int = arguments.get("line", 0)
	if line < 1 or line > lines.size():
		problem["error"] = "'%s' has %d lines; give one of them as 'line'." % [path, lines.size()]
	elif arguments["action"] == "break" and (lines[line - 1].strip_edges().is_empty() or lines[line - 1].strip_edges().begins_with("#")):
		problem["error"] = "Nothing is done in line %d of '%s', so the game would not be held there." % [line, path]
	else:
		_debug.set_breakpoint("%s:%d" % [path, line], arguments["action"] == "break")


func _evaluate(session: int, arguments: Dictionary, is_held: bool) -> Dictionary:
	if not is_held:
		return Context.failure("The game is not held; game_run computes something in a game that runs.")
	if str(arguments.get("expression", "")).is_empty():
		return Context.failure("'evaluate' needs an 'expression'.")
	# The engine lets the game go when it is asked for something in a frame without an object.
	var known: Dictionary = await _debug.variables(session, arguments["frame"])
	if not known.get("members", {}).has("self"):
		return Context.failure("There is no object in that frame, as in a static function; 'look' shows its locals.")
	return await _debug.evaluate(session, arguments["frame"], arguments["expression"])


func _look(session: int, frame: int, result: Dictionary) -> Dictionary:
	var held: String = await _context.game.held_text(session)
	result["held"] = held if not held.is_empty() else null
	if not held.is_empty():
		var stack: Array = _context.game.stack_of(session)
		result["stack"] = stack.slice(0, 30).map(Context.GameLink.frame_text)
		if frame < stack.size():
			result["frame"] = frame
			result.merge(await _debug.variables(session, frame))
		elif not stack.is_empty():
			return Context.failure("The stack has %d frames, from 0 on." % stack.size())
	elif not _context.game.is_alive(session):
		result["running"] = false
	var late: Dictionary = _context.game.take_late(session)
	late.erase("picture")
	if not late.is_empty():
		result["played"] = late
	if _context.game.games().size() > 1:
		result["game"] = session + 1
	return _with_breakpoints(result)


func _with_breakpoints(result: Dictionary) -> Dictionary:
	result["breakpoints"] = _debug.breakpoints()
	var others: Array = Array(EditorInterface.get_script_editor().get_breakpoints())
	if not others.is_empty():
		result["users_breakpoints"] = others
	return result


func _profile(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var session: int = await _context.game.pick(arguments.get("game", 0), problem)
	if session < 0:
		return problem
	var held: String = await _context.game.held_text(session)
	if not held.is_empty():
		return Context.failure(held)
	return {"functions": await _debug.profile(session, arguments["seconds"]), "seconds": arguments["seconds"]}
