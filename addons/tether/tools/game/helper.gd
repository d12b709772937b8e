extends Node
## Answers in a running game what the tools in the editor ask, over the debugger's connection.
##
## The editor puts it below /root when a tool wants something of a game, by the engine's own message for
## scenes that are edited while they run (game_link.gd). No project names it. It stays until the game ends
## or the tools go, whatever scene is shown, and does nothing while nobody asks.

const Eyes := preload("eyes.gd")
const Meter := preload("meter.gd")
const Player := preload("player.gd")
const Snippet := preload("snippet.gd")

const CHANNEL: String = "tether"
## After all nodes of the game.
const LAST: int = 1 << 30

var _eyes: Eyes = Eyes.new()
var _is_in_use: bool = false
## The tools have gone. Who said so hears no answer any more, and the editor warns of messages that nobody hears.
var is_sent_away: bool = false
## What is at work for the tools, and ends before the helper does.
var _at_work: int = 0
## Those that play, by the number of the question.
var _players: Dictionary[int, Player] = {}
## How fast the game went, and how fast a tool has made it, if one has.
var _speeds: PackedFloat64Array = []
## A frozen game is about to go on for one frame.
var is_stepping: bool = false


func _ready() -> void:
	if EngineDebugger.has_capture(CHANNEL):
		queue_free()
		return
	_is_in_use = true
	process_mode = Node.PROCESS_MODE_ALWAYS
	process_priority = LAST
	set_process(false)
	EngineDebugger.register_message_capture(CHANNEL, _on_message)
	_hide.call_deferred()
	EngineDebugger.send_message(CHANNEL + ":here", [])


## Games look at the children of the root; this is none that they see.
func _hide() -> void:
	var root: Node = get_tree().root
	get_parent().remove_child(self)
	root.add_child(self, false, Node.INTERNAL_MODE_BACK)


func _notification(what: int) -> void:
	if what == NOTIFICATION_PREDELETE and _is_in_use:
		_stop_listening()
		if not is_sent_away:
			EngineDebugger.send_message(CHANNEL + ":gone", [])


func _stop_listening() -> void:
	if _is_in_use:
		_is_in_use = false
		EngineDebugger.unregister_message_capture(CHANNEL)


func _on_message(message: String, data: Array) -> bool:
	match message:
		"ask":
			_answer(data[0], data[1], data[2])
		"stop":
			if _players.has(data[0]):
				_players[data[0]].stop("it was cancelled.")
		"leave":
			_leave()
		_:
			return false
	return true


func _answer(id: int, command: String, arguments: Dictionary) -> void:
	var method: StringName = StringName("_do_" + command)
	var answer: Variant = {"error": "The helper in the game does not know '%s'." % command}
	if command == "play":
		arguments["question"] = id
	_at_work += 1
	if has_method(method):
		answer = await call(method, arguments)
	if not is_sent_away:
		EngineDebugger.send_message(CHANNEL + ":answer", [id, answer])
	_end_work()


func _end_work() -> void:
	_at_work -= 1
	if is_sent_away and _at_work == 0:
		queue_free()


## Leaves the game as it would be without tools, also what they are at.
func _leave() -> void:
	is_sent_away = true
	_stop_listening.call_deferred() # not within what it hears
	for player: Player in _players.values():
		player.stop("Tether was disabled.")
	if not _speeds.is_empty() and Engine.time_scale == _speeds[1]:
		Engine.time_scale = _speeds[0]
	if _at_work == 0:
		queue_free()


func set_speed(speed: float) -> void:
	_speeds = [_speeds[0] if not _speeds.is_empty() else Engine.time_scale, speed]
	Engine.time_scale = speed


## The engine freezes a game again when it has drawn the frame. One that draws nothing is told that it has.
func begin_step() -> void:
	is_stepping = true
	set_process(true)


func _process(_delta: float) -> void:
	set_process(false)
	is_stepping = false
	if not DisplayServer.window_can_draw():
		RenderingServer.frame_post_draw.emit()


func _do_tree(arguments: Dictionary) -> Dictionary:
	return _eyes.tree(get_tree(), arguments)


func _do_get(arguments: Dictionary) -> Dictionary:
	return _eyes.properties(get_tree(), arguments)


func _do_set(arguments: Dictionary) -> Dictionary:
	return _eyes.change(get_tree(), arguments)


func _do_run(arguments: Dictionary) -> Dictionary:
	var done: Dictionary = {}
	_run(arguments["code"], done)
	var end: int = Time.get_ticks_msec() + 1000 * int(arguments["limit"])
	while done.is_empty() and Time.get_ticks_msec() < end and not is_sent_away:
		await get_tree().process_frame
	return done.get("answer", {"error": "It is not over after %d s (\"limit\") and goes on: it awaits something. The game itself goes on, too." % arguments["limit"]})


func _run(code: String, done: Dictionary) -> void:
	_at_work += 1
	done["answer"] = await Snippet.run_once(get_tree(), code)
	_end_work()


func _do_picture(arguments: Dictionary) -> Dictionary:
	return await _eyes.picture(get_tree(), arguments["max_size"])


func _do_play(arguments: Dictionary) -> Dictionary:
	var player: Player = Player.new(self)
	var question: int = arguments["question"]
	_players[question] = player
	var result: Dictionary = await player.play(arguments)
	_players.erase(question)
	return result


func _do_measure(arguments: Dictionary) -> Dictionary:
	return await Meter.measure(get_tree(), arguments["seconds"])
