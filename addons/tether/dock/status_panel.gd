@tool
extends VBoxContainer
## The state at a glance, why it is so, the buttons that change it, the address, and the facts.

const TetherControl: GDScript = preload("../control.gd")
const Words: GDScript = preload("status_text.gd")

const ICONS: Dictionary[Words.Tone, StringName] = {
	Words.Tone.QUIET: &"StatusIndicator", Words.Tone.BUSY: &"Progress1",
	Words.Tone.GOOD: &"StatusSuccess", Words.Tone.WARNING: &"StatusWarning",
	Words.Tone.BAD: &"StatusError"}
const COLORS: Dictionary[Words.Tone, StringName] = {
	Words.Tone.QUIET: &"font_color", Words.Tone.BUSY: &"accent_color",
	Words.Tone.GOOD: &"success_color", Words.Tone.WARNING: &"warning_color",
	Words.Tone.BAD: &"error_color"}
const CAN_START: PackedStringArray = ["off", "stopped", "failed", "blocked"]
const CAN_STOP: PackedStringArray = ["launching", "starting", "ready", "backoff", "lost"]
const CAN_RESTART: PackedStringArray = ["starting", "ready", "backoff"]
const FACTS: PackedStringArray = ["Server", "Owner", "Used by", "Uptime", "Restarts", "Last exit"]

var _control: TetherControl
var _icon: TextureRect = TextureRect.new()
var _headline: Label = Label.new()
var _reason: Label = Label.new()
var _start: Button
var _stop: Button
var _restart: Button
var _url: LineEdit = LineEdit.new()
var _copy_url: Button
var _values: Dictionary[String, Label] = {}
var _names: Dictionary[String, Label] = {}
var _note: Label = Label.new()
var _pending: HBoxContainer = HBoxContainer.new()
var _pending_text: Label = Label.new()
var _question: ConfirmationDialog = ConfirmationDialog.new()
var _clock: Timer = Timer.new()
var _uptime: int = -1 # as the daemon said it last
var _uptime_at: int = 0 # when that was


func _init(control: TetherControl) -> void:
	_control = control
	_build_header()
	_build_url()
	_build_facts()
	_build_notes()
	_question.ok_button_text = "Stop for All"
	_question.confirmed.connect(_control.stop.bind(true))
	add_child(_question)
	_clock.wait_time = 1.0
	_clock.timeout.connect(_show_uptime)
	add_child(_clock)


func _notification(what: int) -> void:
	match what:
		NOTIFICATION_THEME_CHANGED when is_inside_tree():
			_dress()
		NOTIFICATION_VISIBILITY_CHANGED:
			_run_clock()


## Keeps what the status says of the uptime, with the time at which it was true.
func note_uptime() -> void:
	var uptime: Variant = _control.get_status().get("uptime_ms")
	if uptime == null:
		_uptime = -1
	elif Words.number(uptime) != _uptime:
		_uptime = Words.number(uptime)
		_uptime_at = Time.get_ticks_msec()


func refresh() -> void:
	var state: String = _control.get_state()
	var status: Dictionary = _control.get_status()
	_headline.text = Words.headline(state, status)
	_reason.text = Words.reason(state, status)
	_reason.visible = _reason.text != ""
	_start.disabled = not state in CAN_START
	_stop.disabled = not state in CAN_STOP
	_restart.disabled = not state in CAN_RESTART
	_url.text = _control.get_url()
	_url.editable = false
	_show_facts(status)
	_note.text = Words.version_note(status, _control.get_version())
	_note.visible = _note.text != ""
	_pending.visible = _control.are_settings_pending()
	_run_clock()
	_dress()


func _show_facts(status: Dictionary) -> void:
	var server: Dictionary = Words.dictionary(status, "server")
	var own_pid: int = OS.get_process_id()
	var pid: int = Words.number(server.get("pid"))
	var restarts: int = Words.number(status.get("restarts"))
	var kind: String = "built in" if _control.is_built_in() else " ".join(
			_control.server.get("command") as PackedStringArray)
	_show_fact("Server", kind + (" (%d)" % pid if pid else ""), true)
	_show_fact("Owner", Words.owner(status, own_pid), true)
	_show_fact("Used by", ", ".join(Words.session_names(status, own_pid)), true)
	_show_fact("Restarts", str(restarts), status.has("restarts"))
	_show_fact("Last exit", Words.last_exit(status), true)
	_show_uptime()


func _show_fact(fact: String, value: String, is_known: bool) -> void:
	_values[fact].text = value
	_values[fact].tooltip_text = value
	_values[fact].visible = is_known and value != ""
	_names[fact].visible = _values[fact].visible


func _show_uptime() -> void:
	_show_fact("Uptime", Words.duration(_uptime + Time.get_ticks_msec() - _uptime_at),
			_uptime >= 0 and _control.get_state() in CAN_STOP)


## The uptime is only counted while somebody sees it.
func _run_clock() -> void:
	if not _clock.is_inside_tree():
		return
	if is_visible_in_tree() and _uptime >= 0:
		_show_uptime()
		_clock.start()
	else:
		_clock.stop()


## Icons and colours of the editor's theme, which may change at any time.
func _dress() -> void:
	var tone: Words.Tone = Words.tone(_control.get_state())
	var color: Color = get_theme_color(COLORS[tone], &"Editor")
	_icon.texture = get_theme_icon(ICONS[tone], &"EditorIcons")
	_headline.add_theme_color_override(&"font_color", color)
	for dim: Label in [_reason] + _names.values():
		dim.add_theme_color_override(&"font_color", _dimmed())
	_note.add_theme_color_override(&"font_color", get_theme_color(&"warning_color", &"Editor"))
	_pending_text.add_theme_color_override(&"font_color", get_theme_color(&"warning_color", &"Editor"))
	_start.icon = get_theme_icon(&"Play", &"EditorIcons")
	_stop.icon = get_theme_icon(&"Stop", &"EditorIcons")
	_restart.icon = get_theme_icon(&"Reload", &"EditorIcons")
	_copy_url.icon = get_theme_icon(&"ActionCopy", &"EditorIcons")


func _dimmed() -> Color:
	var color: Color = get_theme_color(&"font_color", &"Editor")
	color.a *= 0.7
	return color


func _build_header() -> void:
	var row: HBoxContainer = HBoxContainer.new()
	_icon.stretch_mode = TextureRect.STRETCH_KEEP_CENTERED
	_headline.theme_type_variation = &"HeaderSmall"
	_headline.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	_headline.text_overrun_behavior = TextServer.OVERRUN_TRIM_ELLIPSIS
	_start = _make_button("Start the server, or use the one that runs.", _on_start)
	_stop = _make_button("Stop the server.", _on_stop)
	_restart = _make_button("Restart the server.", _control.restart)
	for control: Control in [_icon, _headline, _start, _stop, _restart]:
		row.add_child(control)
	add_child(row)
	_reason.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	add_child(_reason)


func _build_url() -> void:
	var row: HBoxContainer = HBoxContainer.new()
	_url.editable = false
	_url.selecting_enabled = true
	_url.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	_url.tooltip_text = "The address for clients."
	_copy_url = _make_button("Copy the address.", _on_copy_url)
	row.add_child(_url)
	row.add_child(_copy_url)
	add_child(row)


func _build_facts() -> void:
	var grid: GridContainer = GridContainer.new()
	grid.columns = 2
	grid.add_theme_constant_override(&"h_separation", roundi(12 * EditorInterface.get_editor_scale()))
	for fact: String in FACTS:
		_names[fact] = Label.new()
		_names[fact].text = fact
		_names[fact].size_flags_vertical = Control.SIZE_SHRINK_BEGIN
		_values[fact] = Label.new()
		_values[fact].size_flags_horizontal = Control.SIZE_EXPAND_FILL
		_values[fact].autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
		_values[fact].mouse_filter = Control.MOUSE_FILTER_PASS # for the tooltip
		grid.add_child(_names[fact])
		grid.add_child(_values[fact])
	add_child(grid)


func _build_notes() -> void:
	_note.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	add_child(_note)
	_pending_text.text = "Settings changed: restart to apply."
	_pending_text.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	_pending_text.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	var button: Button = Button.new()
	button.text = "Apply"
	button.tooltip_text = "Leave the running server and start with the new settings."
	button.pressed.connect(_control.apply_settings)
	_pending.add_child(_pending_text)
	_pending.add_child(button)
	add_child(_pending)


func _make_button(tooltip: String, action: Callable) -> Button:
	var button: Button = Button.new()
	button.flat = true
	button.tooltip_text = tooltip
	button.pressed.connect(action)
	return button


func _on_start() -> void:
	_control.start()


func _on_stop() -> void:
	var others: PackedStringArray = _control.get_other_editors()
	if others.is_empty():
		_control.stop()
		return
	_question.dialog_text = "Other editors use this server, too:\n%s\n\nStop it for all of them?" % \
			"\n".join(others)
	_question.popup_centered()


func _on_copy_url() -> void:
	DisplayServer.clipboard_set(_url.text)
