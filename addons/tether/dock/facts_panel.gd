@tool
extends GridContainer
## What is known about the server: what it is, whose, for whom, since when, and how it fared.

const TetherControl: GDScript = preload("../control.gd")
const Words: GDScript = preload("status_text.gd")

const FACTS: PackedStringArray = ["Server", "Ports", "Owner", "Used by", "Uptime", "Last exit"]
const HAVE_UPTIME: PackedStringArray = ["starting", "ready", "backoff", "stopping"]

var _control: TetherControl
var _names: Dictionary[String, Label] = {}
var _values: Dictionary[String, Label] = {}
var _clock: Timer = Timer.new()
var _restarts: int = 0


func _init(control: TetherControl) -> void:
	_control = control
	columns = 2
	add_theme_constant_override(&"h_separation", roundi(12 * EditorInterface.get_editor_scale()))
	add_theme_constant_override(&"v_separation", 0)
	for fact: String in FACTS:
		_names[fact] = Label.new()
		_names[fact].text = fact
		_names[fact].size_flags_vertical = Control.SIZE_SHRINK_BEGIN
		_values[fact] = Label.new()
		_values[fact].size_flags_horizontal = Control.SIZE_EXPAND_FILL
		_values[fact].autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
		_values[fact].mouse_filter = Control.MOUSE_FILTER_PASS # for its tooltip
		add_child(_names[fact])
		add_child(_values[fact])
	_values["Server"].autowrap_mode = TextServer.AUTOWRAP_OFF # a command may be long
	_values["Server"].text_overrun_behavior = TextServer.OVERRUN_TRIM_ELLIPSIS
	_clock.wait_time = 1.0
	_clock.timeout.connect(_show_uptime)
	add_child(_clock)


func _notification(what: int) -> void:
	match what:
		NOTIFICATION_THEME_CHANGED when is_inside_tree():
			for label: Label in _names.values():
				label.add_theme_color_override(&"font_color",
						Words.dimmed(get_theme_color(&"font_color", &"Editor")))
		NOTIFICATION_VISIBILITY_CHANGED:
			_run_clock.call_deferred() # on the way into the tree, the timer is not there yet


func refresh() -> void:
	var is_alive: bool = Words.is_about_server(_control.get_state())
	var status: Dictionary = _control.get_status() if is_alive else {}
	var server: Dictionary = Words.dictionary(status, "server")
	var own_pid: int = OS.get_process_id()
	var pid: int = Words.number(server.get("pid"))
	var command: PackedStringArray = Words.running_command(server, _control.server.get("command"))
	_show_fact("Server", Words.command(command) + (" (%d)" % pid if pid else ""), Words.text(" ".join(command)))
	_show_fact("Ports", Words.ports(server))
	_show_fact("Owner", Words.owner(status, own_pid))
	_show_fact("Used by", "\n".join(Words.session_names(status, own_pid)))
	_restarts = Words.number(status.get("restarts"))
	_show_fact("Last exit", Words.last_exit(status))
	_run_clock()


## A fact that is not known has no row.
func _show_fact(fact: String, value: String, tooltip: String = "") -> void:
	_values[fact].text = value
	_values[fact].tooltip_text = tooltip
	_values[fact].visible = value != ""
	_names[fact].visible = value != ""


func _show_uptime() -> void:
	var uptime: int = _control.get_uptime()
	var is_known: bool = uptime >= 0 and _control.get_state() in HAVE_UPTIME
	_show_fact("Uptime", "%s, %s" % [Words.duration(uptime), Words.restarts(_restarts)] if is_known else "")


## The uptime is only counted while somebody sees it.
func _run_clock() -> void:
	_show_uptime()
	if not is_inside_tree() or not is_visible_in_tree() or not _values["Uptime"].visible:
		_clock.stop()
	elif _clock.is_stopped():
		_clock.start()
