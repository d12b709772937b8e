@tool
extends VBoxContainer
## The state at a glance, why it is so, the buttons that change it, and the address.

const TetherControl: GDScript = preload("../control.gd")
const Words: GDScript = preload("status_text.gd")

const ICONS: Dictionary[Words.Tone, StringName] = {
	Words.Tone.QUIET: &"Unlinked", Words.Tone.BUSY: &"Progress1",
	Words.Tone.GOOD: &"StatusSuccess", Words.Tone.WARNING: &"StatusWarning",
	Words.Tone.BAD: &"StatusError"}
const COLORS: Dictionary[Words.Tone, StringName] = {
	Words.Tone.QUIET: &"font_color", Words.Tone.BUSY: &"accent_color",
	Words.Tone.GOOD: &"success_color", Words.Tone.WARNING: &"warning_color",
	Words.Tone.BAD: &"error_color"}
const CAN_START: PackedStringArray = ["off", "stopped", "failed", "blocked"]
const CAN_STOP: PackedStringArray = ["launching", "starting", "ready", "backoff", "lost"]
const CAN_RESTART: PackedStringArray = ["starting", "ready", "backoff"]
const TURNS: int = 8 # the pictures of the editor's spinning icon

var _control: TetherControl
var _margin: MarginContainer = MarginContainer.new()
var _icon: TextureRect = TextureRect.new()
var _headline: Label = Label.new()
var _reason: Label = Label.new()
var _start: Button
var _stop: Button
var _restart: Button
var _address: HBoxContainer = HBoxContainer.new()
var _url: LineEdit = LineEdit.new()
var _copy_url: Button
var _note: Label = Label.new()
var _pending: HBoxContainer = HBoxContainer.new()
var _pending_text: Label = Label.new()
var _question: ConfirmationDialog = ConfirmationDialog.new()
var _asked_for: Callable # what is done when the question is answered with yes
var _spinner: Timer = Timer.new()
var _turn: int = 0


func _init(control: TetherControl) -> void:
	_control = control
	_build_header()
	_build_url()
	_build_notes()
	_question.ok_button_text = "Stop for All"
	_question.confirmed.connect(_on_confirmed)
	add_child(_question)
	_spinner.wait_time = 0.1
	_spinner.timeout.connect(_spin)
	add_child(_spinner)


func _notification(what: int) -> void:
	match what:
		NOTIFICATION_THEME_CHANGED when is_inside_tree():
			_dress()
		NOTIFICATION_VISIBILITY_CHANGED:
			_run_spinner.call_deferred() # on the way into the tree, the timer is not there yet


func refresh() -> void:
	var state: String = _control.get_state()
	var status: Dictionary = _control.get_status()
	_headline.text = Words.headline(state, status)
	_reason.text = Words.reason(state, status, OS.get_process_id())
	_reason.tooltip_text = Words.text(status.get("why")) if state == "ready" else ""
	_reason.visible = _reason.text != ""
	_stop.disabled = not state in CAN_STOP
	_show_buttons(state)
	_url.text = _control.get_url()
	_url.tooltip_text = "The address for clients: " + _url.text
	_address.visible = not state in ["blocked", "failed"] # nobody answers there, or a stranger does
	_note.text = Words.version_note(status, _control.get_version())
	_note.visible = _note.text != ""
	_pending.visible = _control.are_settings_pending()
	_run_spinner()
	_dress()


## Only what can be pressed is there: in a narrow dock there is no room for more. The keyboard does not
## get lost with a button that goes.
func _show_buttons(state: String) -> void:
	var had_focus: bool = _start.has_focus() or _stop.has_focus() or _restart.has_focus()
	var keeps_focus: bool = _restart.has_focus() and state in CAN_RESTART
	_start.visible = state in CAN_START
	_stop.visible = not _start.visible
	_restart.visible = state in CAN_RESTART
	if had_focus and not keeps_focus:
		(_start if _start.visible else _stop).grab_focus()


## The icon turns only while there is something to wait for, and somebody to see it.
func _run_spinner() -> void:
	if is_inside_tree() and is_visible_in_tree() and Words.tone(_control.get_state()) == Words.Tone.BUSY:
		if _spinner.is_stopped():
			_spinner.start()
	else:
		_spinner.stop()


func _spin() -> void:
	_turn = (_turn + 1) % TURNS
	_icon.texture = get_theme_icon("Progress%d" % (_turn + 1), &"EditorIcons")


## Icons and colours of the editor's theme, which may change at any time.
func _dress() -> void:
	var tone: Words.Tone = Words.tone(_control.get_state())
	_icon.texture = get_theme_icon(ICONS[tone], &"EditorIcons")
	_headline.add_theme_color_override(&"font_color", get_theme_color(COLORS[tone], &"Editor"))
	_reason.add_theme_color_override(&"font_color", Words.dimmed(get_theme_color(&"font_color", &"Editor")))
	_note.add_theme_color_override(&"font_color", get_theme_color(&"warning_color", &"Editor"))
	_pending_text.add_theme_color_override(&"font_color", get_theme_color(&"warning_color", &"Editor"))
	_start.icon = get_theme_icon(&"Play", &"EditorIcons")
	_stop.icon = get_theme_icon(&"Stop", &"EditorIcons")
	_restart.icon = get_theme_icon(&"Reload", &"EditorIcons")
	_copy_url.icon = get_theme_icon(&"ActionCopy", &"EditorIcons")
	_margin.add_theme_constant_override(&"margin_left", # as the words below have it
			roundi(get_theme_stylebox(&"normal", &"Label").get_margin(SIDE_LEFT)))


func _build_header() -> void:
	var row: HBoxContainer = HBoxContainer.new()
	_icon.stretch_mode = TextureRect.STRETCH_KEEP_CENTERED
	_headline.theme_type_variation = &"HeaderSmall"
	_headline.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	_headline.text_overrun_behavior = TextServer.OVERRUN_TRIM_ELLIPSIS
	_start = _make_button("Start the server, or use the one that runs.", _on_start)
	_stop = _make_button("Stop the server.", _on_stop)
	_restart = _make_button("Restart the server.", _on_restart)
	for control: Control in [_icon, _headline, _restart, _start, _stop]:
		row.add_child(control)
	_margin.add_child(row)
	add_child(_margin)
	_reason.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	_reason.mouse_filter = Control.MOUSE_FILTER_PASS # for its tooltip
	add_child(_reason)


func _build_url() -> void:
	_url.editable = false
	_url.selecting_enabled = true
	_url.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	_copy_url = _make_button("Copy the address.", _on_copy_url)
	_address.add_child(_url)
	_address.add_child(_copy_url)
	add_child(_address)


func _build_notes() -> void:
	_note.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	add_child(_note)
	_pending_text.text = "Settings changed: restart to apply."
	_pending_text.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	_pending_text.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	var button: Button = Button.new()
	button.text = "Apply"
	button.size_flags_vertical = Control.SIZE_SHRINK_CENTER
	button.tooltip_text = "Leave the running server and start with the new settings."
	button.pressed.connect(_on_restart)
	_pending.add_child(_pending_text)
	_pending.add_child(button)
	add_child(_pending)


func _make_button(tooltip: String, action: Callable) -> Button:
	var button: Button = Button.new()
	button.flat = true
	button.tooltip_text = tooltip
	button.accessibility_name = tooltip
	button.pressed.connect(action)
	return button


func _on_start() -> void:
	_control.start()


func _on_stop() -> void:
	_do_with_consent(_control.stop)


func _on_restart() -> void:
	if _control.are_settings_pending() and _control.is_staying():
		_do_with_consent(_control.restart)
	else:
		_control.restart() # it is the same for the others, or they keep theirs


## Calls an action that takes the server from all who use it; with true if others do, and the user wants it.
func _do_with_consent(action: Callable) -> void:
	var others: PackedStringArray = _control.get_other_editors()
	if others.is_empty():
		action.call(false)
		return
	_asked_for = action
	_question.dialog_text = "Other editors use this server, too:\n%s\n\nStop it for all of them?" % \
			"\n".join(others)
	_question.popup_centered()


func _on_confirmed() -> void:
	_asked_for.call(true)


func _on_copy_url() -> void:
	DisplayServer.clipboard_set(_url.text)
