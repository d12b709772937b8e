@tool
extends EditorDebuggerPlugin
## What the debugger knows of the running games, and what a helper in them answers.
##
## Nothing is in a game until a tool asks something of it. Then the engine's own message for scenes that
## are edited while they run puts the helper below its root (game/helper.gd).

signal game_started(session_id: int)
signal closing

const WAIT_MSEC: int = 5000
## How long a game that is starting may take until it speaks, and to put up the helper.
const START_MSEC: int = 20000
## When the helper is sent again to a game in which it did not show up.
const RETRY_MSEC: int = 500
## How long an answer may still come after an error on the way to it.
const MISHAP_MSEC: int = 500
const HELPER: String = "res://addons/tether/tools/game/helper.tscn"
const OWN_FOLDER: String = "res://addons/tether/"
## Lines of output that are kept; twice as many at most before the older half is dropped.
const CAPACITY: int = 10000
## What the engine calls text with BBCode, among the kinds of output.
const RICH: int = 2
## What the engine gives as the reason at one.
const BREAKPOINT: String = "Breakpoint"

## Answers of helpers by the number of the question, {} until they come.
var _answers: Dictionary[int, Dictionary] = {}
var _last_question: int = 0
## Sessions in whose game the helper is, and those that have one on the way.
var _helpers: Dictionary[int, bool] = {}
var _had_helper: Dictionary[int, bool] = {}
## Games that a tool has frozen.
var _frozen: Dictionary[int, bool] = {}
## How many questions a session's game is at.
var _asked: Dictionary[int, int] = {}
## What went wrong in a game while it worked for us; the debugger held it there, and was told to go on.
var _mishaps: Dictionary[int, String] = {}
## How often a session's game was held, and for which of these the panel has shown the variables.
var _holds: Dictionary[int, int] = {}
var _settled: Dictionary[int, int] = {}
## Where sessions' games are held: the stack, the innermost frame first.
var _stacks: Dictionary[int, Array] = {}
## Games that were told to go on and are about to.
var _let_go: Dictionary[int, bool] = {}
var _is_closed: bool = false
## Why a session's game is held, as long as it is.
var _reasons: Dictionary[int, String] = {}
## Sessions that have heard all that their game said before it was held.
var _told: Dictionary[int, bool] = {}
## What games have printed since the first of those that run was started. The Output panel has not all of
## it: the engine leaves out what comes while the panel is laid out.
var _lines: PackedStringArray = []
var _dropped: int = 0
## Sessions whose game has begun to speak; they are active a moment before.
var _begun: Dictionary[int, bool] = {}
## Sessions of the games since the first of those that run was started.
var _heard: Dictionary[int, bool] = {}
## How many steps a sequence that is played has done, by the number of the question.
var _steps: Dictionary[int, int] = {}
## What is played for a call: [session, number of the question] by the call's number.
var _played_for: Dictionary[int, Array] = {}
## Sequences that were cut by the debugger: the session by the number of the question; and what came of them when the
## game went on.
var _cut: Dictionary[int, int] = {}
var _late: Dictionary[int, Dictionary] = {}
## Sessions whose game has not drawn its first frame.
var _starting: Dictionary[int, bool] = {}


func _setup_session(session_id: int) -> void:
	var session: EditorDebuggerSession = get_session(session_id)
	session.started.connect(_on_started.bind(session_id))
	session.stopped.connect(_on_stopped.bind(session_id))
	_begun[session_id] = session.is_active()
	if session.is_active():
		_listen(session_id)


## Finds the session's debugger among all of the editor's nodes, which takes too long to be done before
## there is a game. The stack is asked for when a game is held; it is sent behind what the game said until
## then.
func _listen(session_id: int) -> Node:
	var debugger: Node = debugger_of(session_id)
	if debugger != null and not debugger.is_connected(&"output", _on_output):
		debugger.connect(&"breaked", _on_breaked.bind(session_id))
		debugger.connect(&"stack_dump", _on_stack_dump.bind(session_id))
		debugger.connect(&"output", _on_output)
	return debugger


## A game tells of its frames about once a second; the first of them says that it is set up.
func _on_early_data(message: String, _data: Array, debugger: Node, session_id: int) -> void:
	if message == "performance:profile_frame":
		_starting.erase(session_id)
		debugger.disconnect(&"debug_data", _on_early_data.bind(debugger, session_id))


func debugger_of(session_id: int) -> Node:
	var debuggers: Array[Node] = EditorInterface.get_base_control().find_children("*", "ScriptEditorDebugger", true, false)
	return debuggers[session_id] if session_id < debuggers.size() else null


func _on_started(session_id: int) -> void:
	var debugger: Node = _listen(session_id)
	if not has_game():
		_lines.clear()
		_dropped = 0
		_heard.clear()
	_heard[session_id] = true
	_begun[session_id] = true
	_starting[session_id] = true
	game_started.emit(session_id)
	if debugger != null and not debugger.is_connected(&"debug_data", _on_early_data.bind(debugger, session_id)):
		debugger.connect(&"debug_data", _on_early_data.bind(debugger, session_id))


func _on_stopped(session_id: int) -> void:
	_begun[session_id] = false
	for notes: Dictionary in [_helpers, _had_helper, _frozen, _stacks, _mishaps, _let_go, _late]:
		notes.erase(session_id)


func _on_output(text: String, kind: int) -> void:
	_lines.append_array((_without_tags(text) if kind == RICH else text).split("\n"))
	if _lines.size() >= 2 * CAPACITY:
		_dropped += _lines.size() - CAPACITY
		_lines = _lines.slice(-CAPACITY)


func _without_tags(text: String) -> String:
	var label: RichTextLabel = RichTextLabel.new()
	label.parse_bbcode(text)
	var plain: String = label.get_parsed_text()
	label.free()
	return plain


## How many lines were printed.
func line_count() -> int:
	return _dropped + _lines.size()


## Some of them, as far as they are still there.
func lines_from(first: int, limit: int) -> PackedStringArray:
	return _lines.slice(maxi(0, first - _dropped), maxi(0, first + limit - _dropped))


func _on_breaked(is_held: bool, _can_debug: bool, reason: String, _has_stack: bool, session_id: int) -> void:
	for notes: Dictionary in [_told, _reasons, _stacks, _let_go]:
		notes.erase(session_id)
	if is_held:
		_reasons[session_id] = reason
		_holds[session_id] = _holds.get(session_id, 0) + 1


func _on_stack_dump(stack: Array, session_id: int) -> void:
	_told[session_id] = true
	_stacks[session_id] = stack
	# An error in what we run there is told in the answer, and holds up nothing.
	if _asked.get(session_id, 0) > 0 and _reasons.get(session_id, "") != BREAKPOINT and stack.any(_is_ours):
		if str(stack[0].get("file", "")).begins_with(OWN_FOLDER): # and what ended there answers no more
			_mishaps[session_id] = "%s (%s)" % [_reasons[session_id], frame_text(stack[0])]
		let_go(session_id, "continue")


## Lets a game that is held go on, as far as the word says.
func let_go(session_id: int, how: String) -> void:
	_let_go[session_id] = true
	get_session(session_id).send_message(how, [])


## Whether it was let go and does not know yet.
func is_leaving(session_id: int) -> bool:
	return _let_go.has(session_id)


func _is_ours(frame: Dictionary) -> bool:
	return str(frame.get("file", "")).begins_with(OWN_FOLDER) or str(frame.get("file", "")).begins_with("gdscript://")


static func frame_text(frame: Dictionary) -> String:
	return "%s:%s in %s" % [frame.get("file", ""), frame.get("line", 0), frame.get("function", "")]


func _has_capture(capture: String) -> bool:
	return capture == "tether"


func _capture(message: String, data: Array, session_id: int) -> bool:
	match message:
		"tether:here":
			_helpers[session_id] = true
			_had_helper[session_id] = true
		"tether:gone":
			_helpers.erase(session_id)
		"tether:freeze":
			_frozen[session_id] = data == [true]
			get_session(session_id).send_message("scene:suspend_changed", [data == [true]])
		"tether:step":
			get_session(session_id).send_message("scene:next_frame", [])
		"tether:played":
			_steps[data[0]] = data[1]
		"tether:answer":
			if data.size() == 2 and _cut.has(data[0]) and data[1] is Dictionary:
				_late[session_id] = data[1]
				_cut.erase(data[0])
			if data.size() == 2 and _answers.has(data[0]) and data[1] is Dictionary:
				_answers[data[0]] = data[1]
		_:
			return false
	return true


## Whether a session's debugger is about the games of now, or the last ones.
func is_heard(session_id: int) -> bool:
	return _heard.is_empty() or _heard.has(session_id)


func has_game() -> bool:
	return not games().is_empty()


## Why the debugger holds the game, at an error or a breakpoint; empty if it does not. The news of it
## is ahead of the error, which is waited for.
func held_by(tree: SceneTree) -> String:
	var end: int = Time.get_ticks_msec() + WAIT_MSEC
	var id: int = _held_session()
	while id >= 0 and not _told.has(id) and Time.get_ticks_msec() < end:
		await tree.process_frame
		id = _held_session()
	if id < 0:
		return ""
	return _reasons[id] if _reasons.get(id) else "Paused."


func _held_session() -> int:
	var sessions: Array = get_sessions()
	for id: int in sessions.size():
		if (sessions[id] as EditorDebuggerSession).is_active() and (sessions[id] as EditorDebuggerSession).is_breaked():
			return id
	return -1


# ---- what the helper does ----------------------------------------------------------------------


## The numbers of the games that run, as they are told: the session's, from 1 on.
func games() -> Array[int]:
	var found: Array[int] = []
	for id: int in get_sessions().size():
		if _begun.get(id, false) and get_session(id).is_active():
			found.append(id + 1)
	return found


## The session of the game with a number, or of the first one that runs if it is 0; waits for one that is
## starting. -1 with an error in [param problem].
func pick(number: int, problem: Dictionary) -> int:
	var end: int = Time.get_ticks_msec() + START_MSEC
	while games().is_empty() and EditorInterface.is_playing_scene() and not _is_closed and Time.get_ticks_msec() < end:
		await _tree().process_frame
	var running: Array[int] = games()
	if running.is_empty():
		problem["error"] = "No game is running. Start it with project_run." if not EditorInterface.is_playing_scene() \
				else "The game has been started, but does not speak to the debugger; project_output may say why."
	elif number > 0 and not number in running:
		problem["error"] = "There is no running game %d; there is %s." % [number, ", ".join(running.map(str))]
	return -1 if problem.has("error") else number - 1 if number > 0 else running[0] - 1


## What the helper answers, {"error": text} if it does not. For a call with a number it can be cancelled.
func ask(session_id: int, command: String, arguments: Dictionary, limit_msec: int = WAIT_MSEC, call: int = 0) -> Dictionary:
	var _self: EditorDebuggerPlugin = self # may be let go while it waits
	_asked[session_id] = _asked.get(session_id, 0) + 1
	_mishaps.erase(session_id)
	var answer: Dictionary = {}
	var held: String = await held_text(session_id)
	if not held.is_empty():
		answer = {"error": held}
	elif await _has_helper(session_id):
		_last_question += 1
		_answers[_last_question] = {}
		get_session(session_id).send_message("tether:ask", [_last_question, command, arguments])
		if call > 0:
			_played_for[call] = [session_id, _last_question]
		answer = await _answer_to(_last_question, session_id, limit_msec)
		_played_for.erase(call)
	else:
		answer = {"error": await _why_silent(session_id)}
	_asked[session_id] -= 1
	return answer


## Nobody waits for a call any more: what is played for it ends.
func cancel(call: int) -> void:
	if _played_for.has(call) and is_alive(_played_for[call][0]):
		get_session(_played_for[call][0]).send_message("tether:stop", [_played_for[call][1]])


## What came of a sequence that was cut when its game was held, once it has come.
func take_late(session_id: int) -> Dictionary:
	var late: Dictionary = _late.get(session_id, {})
	_late.erase(session_id)
	return late


func _answer_to(question: int, session_id: int, limit_msec: int) -> Dictionary:
	var end: int = Time.get_ticks_msec() + limit_msec
	var mishap_end: int = 0
	while _answers[question].is_empty() and is_alive(session_id) and _helpers.has(session_id) and Time.get_ticks_msec() < end:
		await _tree().process_frame
		if _told.get(session_id, false) and _is_held(session_id):
			break
		if _mishaps.has(session_id) and mishap_end == 0:
			mishap_end = Time.get_ticks_msec() + MISHAP_MSEC
		if mishap_end > 0 and Time.get_ticks_msec() > mishap_end:
			break
	var answer: Dictionary = _answers[question]
	_answers.erase(question)
	var steps: int = _steps.get(question, -1)
	_steps.erase(question)
	if answer.is_empty() and steps >= 0 and _is_held(session_id):
		_cut[question] = session_id
		return {"error": "%s It was in step %d of the sequence, which goes on with the game; game_debug tells what came of it, as 'played'." % [
				await _why_silent(session_id), steps + 1]}
	if answer.is_empty():
		return {"error": await _why_silent(session_id)}
	return answer


## Held by the debugger, and not about to go on.
func _is_held(session_id: int) -> bool:
	return is_alive(session_id) and get_session(session_id).is_breaked() and not _let_go.has(session_id)


func is_alive(session_id: int) -> bool:
	return not _is_closed and get_session(session_id).is_active()


func _why_silent(session_id: int) -> String:
	if _is_closed:
		return "Tether was disabled meanwhile."
	if not get_session(session_id).is_active():
		return "The game ended meanwhile; project_output has its last words."
	var held: String = await held_text(session_id)
	if not held.is_empty():
		return held
	if not _helpers.has(session_id) and _had_helper.has(session_id):
		return "The game has removed the node that Tether puts below its root, before that answered. Try again."
	if _mishaps.has(session_id):
		return "An error ended it: %s" % _mishaps[session_id]
	return "The game is not answering: it may be in a long computation, or a loop without end. project_output may say more, and project_stop ends it."


## Where and why the debugger holds a game, or "". The news of it is ahead of the stack, which is waited for.
func held_text(session_id: int) -> String:
	var end: int = Time.get_ticks_msec() + WAIT_MSEC
	while _is_held(session_id) and not _told.has(session_id) and Time.get_ticks_msec() < end:
		await _tree().process_frame
	if not _is_held(session_id):
		return ""
	var stack: Array = _stacks.get(session_id, [])
	return "The debugger holds the game%s: %s Nothing goes on in it until game_debug continues it." % [
			" at " + frame_text(stack[0]) if not stack.is_empty() else "", reason_of(session_id)]


func stack_of(session_id: int) -> Array:
	return _stacks.get(session_id, [])


func holds(session_id: int) -> int:
	return _holds.get(session_id, 0)


## Whether nobody else asks for the variables of the game that is held any more.
func is_settled(session_id: int) -> bool:
	return _settled.get(session_id, 0) == holds(session_id)


func settle(session_id: int) -> void:
	_settled[session_id] = holds(session_id)


## The next frame of the editor.
func frame() -> void:
	await _tree().process_frame


func reason_of(session_id: int) -> String:
	var reason: String = _reasons.get(session_id, "")
	return "it was paused." if reason.is_empty() else reason if reason.ends_with(".") else reason + "."


## Puts the helper into a game that has none. The engine makes a node beside one of a scene that is there:
## the scene that was run is, as a rule; if not, the game is asked which are.
func _has_helper(session_id: int) -> bool:
	# The first line of a game's scripts already hears us, and then its root takes no child.
	var end: int = Time.get_ticks_msec() + START_MSEC
	while _starting.has(session_id) and is_alive(session_id) and not _is_held(session_id) and Time.get_ticks_msec() < end:
		await _tree().process_frame
	end = Time.get_ticks_msec() + WAIT_MSEC
	var scenes: Dictionary[String, int] = {EditorInterface.get_playing_scene(): 1}
	var debugger: Node = debugger_of(session_id) if not _helpers.has(session_id) else null
	var listen: Callable = _note_scenes.bind(scenes)
	var next: int = 0
	while not _helpers.has(session_id) and is_alive(session_id) and not _is_held(session_id) and Time.get_ticks_msec() < end:
		if Time.get_ticks_msec() >= next:
			# The rarest: there will be a helper for each of its nodes, until they find out.
			if not scenes.is_empty():
				_send_helper(session_id, scenes.find_key(scenes.values().min()))
			if next > 0 and debugger != null:
				if not debugger.is_connected(&"debug_data", listen):
					debugger.connect(&"debug_data", listen)
				get_session(session_id).send_message("scene:request_scene_tree", [])
			next = Time.get_ticks_msec() + RETRY_MSEC
		await _tree().process_frame
	if is_instance_valid(debugger) and debugger.is_connected(&"debug_data", listen):
		debugger.disconnect(&"debug_data", listen)
	if debugger != null and is_alive(session_id):
		# As the editor has it, for its own edits of the running game. (Not at once: while the game loads the
		# helper, it may hear of this.)
		var edited: Node = EditorInterface.get_edited_scene_root()
		get_session(session_id).send_message("scene:live_set_root", [NodePath("/root"), edited.scene_file_path if edited != null else ""])
	return _helpers.has(session_id)


## The engine tells six things of each node; the fifth is the scene that it is the root of.
func _note_scenes(message: String, data: Array, scenes: Dictionary[String, int]) -> void:
	if message != "scene:scene_tree":
		return
	scenes.clear()
	for index: int in range(4, data.size(), 6):
		if str(data[index]).begins_with("res://"):
			scenes[data[index]] = scenes.get(data[index], 0) + 1


func _send_helper(session_id: int, scene: String) -> void:
	var session: EditorDebuggerSession = get_session(session_id)
	# Relative paths, because a game that is starting is not in its tree yet.
	session.send_message("scene:live_set_root", [NodePath("."), scene])
	session.send_message("scene:live_instantiate_node", [NodePath(".."), HELPER, "TetherHelper"])


## Takes everything out of the games again.
func close() -> void:
	closing.emit()
	for session_id: int in _helpers:
		if get_session(session_id).is_active():
			if _frozen.get(session_id, false):
				get_session(session_id).send_message("scene:suspend_changed", [false])
			get_session(session_id).send_message("tether:leave", [])
	_is_closed = true


static func _tree() -> SceneTree:
	return Engine.get_main_loop()
