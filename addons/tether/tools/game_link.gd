@tool
extends EditorDebuggerPlugin
## What the debugger knows of the running game, and a picture of it, without any code in the game.
##
## The engine's own game view asks for pictures in the same words. It ignores answers to ids that are
## not its own.

const WAIT_MSEC: int = 5000
## Lines of output that are kept; twice as many at most before the older half is dropped.
const CAPACITY: int = 10000
## What the engine calls text with BBCode, among the kinds of output.
const RICH: int = 2

var _pictures: Dictionary[int, String] = {}
var _waiting: Dictionary[int, bool] = {}
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
func _listen(session_id: int) -> void:
	var debuggers: Array[Node] = EditorInterface.get_base_control().find_children("*", "ScriptEditorDebugger", true, false)
	if session_id < debuggers.size() and not debuggers[session_id].is_connected(&"output", _on_output):
		debuggers[session_id].connect(&"breaked", _on_breaked.bind(session_id))
		debuggers[session_id].connect(&"stack_dump", _on_stack_dump.bind(session_id))
		debuggers[session_id].connect(&"output", _on_output)


func _on_started(session_id: int) -> void:
	_listen(session_id)
	if not has_game():
		_lines.clear()
		_dropped = 0
	_begun[session_id] = true


func _on_stopped(session_id: int) -> void:
	_begun[session_id] = false


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
	_told.erase(session_id)
	_reasons.erase(session_id)
	if is_held:
		_reasons[session_id] = reason


func _on_stack_dump(_stack: Array, session_id: int) -> void:
	_told[session_id] = true


func _has_capture(capture: String) -> bool:
	return capture == "game_view"


func _capture(message: String, data: Array, _session_id: int) -> bool:
	if message != "game_view:get_screenshot" or data.size() < 4 or not _waiting.has(int(data[0])):
		return false
	# It is removed when it has been read, so it has to be such a file.
	if not str(data[3]).get_file().match("scr-*.png"):
		return true
	_pictures[int(data[0])] = str(data[3])
	return true


## The picture, or null if no game answers in time.
func take_picture(tree: SceneTree) -> Image:
	var session: EditorDebuggerSession = _active_session()
	if session == null:
		return null
	var id: int = randi() | 1 << 40
	_waiting[id] = true
	session.send_message("scene:rq_screenshot", [id])
	var end: int = Time.get_ticks_msec() + WAIT_MSEC
	while not _pictures.has(id) and Time.get_ticks_msec() < end and session.is_active():
		await tree.process_frame
	_waiting.erase(id)
	if not _pictures.has(id):
		return null
	var path: String = _pictures[id]
	_pictures.erase(id)
	var image: Image = Image.load_from_file(path)
	DirAccess.remove_absolute(path)
	return image


func _active_session() -> EditorDebuggerSession:
	for id: int in get_sessions().size():
		if _begun.get(id, false) and get_session(id).is_active():
			return get_session(id)
	return null


func has_game() -> bool:
	return _active_session() != null


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
