@tool
extends MarginContainer
## Asks whether an AI client may call a tool, in a corner of the editor's window (tools/approvals.gd).
##
## It takes no focus, so that what is typed elsewhere answers nothing, and its buttons cannot be pressed for a
## moment after a question came up, so that a click that was meant for what is below does not either. The command
## "Tether: Answer the AI Client" of the command palette leads there by the keyboard.

const Words: GDScript = preload("status_text.gd")
const Approvals: GDScript = preload("../tools/approvals.gd")

const COMMAND: String = "tether/answer"
const WIDTH: float = 400.0
const MARGIN: float = 12.0
const ABOVE: float = 44.0 # what is at the bottom of the editor's window stays to be seen
const QUIET: float = 0.7 # seconds
const LINES_MOST: int = 10

var _approvals: RefCounted
var _question: RefCounted # the one that is shown, or null
var _frame: PanelContainer = PanelContainer.new()
var _title: Label = Label.new()
var _arguments: TextEdit = TextEdit.new()
var _time: Label = Label.new()
var _buttons: HFlowContainer = HFlowContainer.new()
var _clock: Timer = Timer.new()
var _quiet: Timer = Timer.new()


func _init(approvals: RefCounted) -> void:
	_approvals = approvals
	name = "TetherQuestion"
	auto_translate_mode = Node.AUTO_TRANSLATE_MODE_DISABLED
	visible = false
	var column: VBoxContainer = VBoxContainer.new()
	_title.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	_arguments.editable = false
	_arguments.wrap_mode = TextEdit.LINE_WRAPPING_BOUNDARY
	_arguments.accessibility_name = "What it would do"
	_arguments.resized.connect(_fit_arguments, CONNECT_DEFERRED) # once it has wrapped its lines
	_time.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	for part: Control in [_title, _arguments, _time, _buttons]:
		column.add_child(part)
	_add_button("Deny", "Nothing is done, and the client is told so.", Approvals.DENIED)
	_add_button("Allow Once", "This call, and no other.", Approvals.ONCE)
	_add_button("Allow This Session", "This client may use it without asking until the editor is closed.", Approvals.SESSION)
	_frame.add_child(column)
	add_child(_frame)
	_clock.timeout.connect(_show_time)
	_quiet.one_shot = true
	_quiet.wait_time = QUIET
	_quiet.timeout.connect(_set_disabled.bind(false))
	add_child(_clock)
	add_child(_quiet)


func _enter_tree() -> void:
	_approvals.connect(&"changed", refresh)
	EditorInterface.get_command_palette().add_command("Tether: Answer the AI Client", COMMAND, _take_focus)
	refresh.call_deferred()


func _exit_tree() -> void:
	_approvals.disconnect(&"changed", refresh)
	EditorInterface.get_command_palette().remove_command(COMMAND)


func _notification(what: int) -> void:
	if what == NOTIFICATION_THEME_CHANGED and is_inside_tree():
		_dress()


## Shows the oldest question, if there is one.
func refresh() -> void:
	var questions: Array = _approvals.get(&"questions")
	var next: RefCounted = questions[0] if not questions.is_empty() else null
	if next != _question:
		_question = next
		visible = next != null
		if next == null:
			_clock.stop()
			return
		_begin()
	if _question != null:
		_show_time()


func _begin() -> void:
	var about: String = "', '".join(_question.get(&"about") as Array[String])
	_title.text = "%s wants to use '%s'" % [Words.text(_question.get(&"client")), Words.text(about)]
	_arguments.text = _question.get(&"arguments")
	_arguments.visible = _arguments.text != ""
	_set_disabled(true) # with that the focus goes, too, if it was here
	_quiet.start()
	_clock.start()
	_place.call_deferred()
	if not get_window().has_focus():
		DisplayServer.window_request_attention()


func _show_time() -> void:
	var seconds: int = maxi(0, roundi((int(_question.get(&"ends_at")) - Time.get_ticks_msec()) / 1000.0))
	var more: int = (_approvals.get(&"questions") as Array).size() - 1
	_time.text = "Without an answer nothing is done, in %d s.%s" % [seconds, " %d more to be asked." % more if more > 0 else ""]


## In the corner, as high as what is in it.
func _place() -> void:
	var scale: float = EditorInterface.get_editor_scale()
	custom_minimum_size.x = WIDTH * scale
	_fit_arguments()
	set_anchors_preset(Control.PRESET_BOTTOM_RIGHT)
	grow_horizontal = Control.GROW_DIRECTION_BEGIN
	grow_vertical = Control.GROW_DIRECTION_BEGIN
	offset_right = -MARGIN * scale
	offset_bottom = -ABOVE * scale
	offset_left = offset_right
	offset_top = offset_bottom


## As high as its lines are, up to a limit; the rest is scrolled to.
func _fit_arguments() -> void:
	var lines: int = _arguments.get_line_count()
	for line: int in mini(lines, LINES_MOST):
		lines += _arguments.get_line_wrap_count(line)
	_arguments.custom_minimum_size.y = (mini(lines, LINES_MOST) + 1) * _arguments.get_line_height()


func _dress() -> void:
	var style: StyleBoxFlat = StyleBoxFlat.new()
	style.bg_color = get_theme_color(&"base_color", &"Editor")
	style.border_color = get_theme_color(&"warning_color", &"Editor")
	style.set_border_width_all(roundi(EditorInterface.get_editor_scale()))
	style.set_corner_radius_all(roundi(4 * EditorInterface.get_editor_scale()))
	style.set_content_margin_all(10 * EditorInterface.get_editor_scale())
	_frame.add_theme_stylebox_override(&"panel", style)
	_title.add_theme_color_override(&"font_color", get_theme_color(&"warning_color", &"Editor"))
	_arguments.add_theme_font_override(&"font", get_theme_font(&"source", &"EditorFonts"))
	_arguments.add_theme_font_size_override(&"font_size", get_theme_font_size(&"main_size", &"EditorFonts"))
	_arguments.add_theme_color_override(&"font_readonly_color", get_theme_color(&"font_color", &"Editor"))
	_time.add_theme_color_override(&"font_color", Words.dimmed(get_theme_color(&"font_color", &"Editor")))


func _add_button(text: String, tooltip: String, word: String) -> void:
	var button: Button = Button.new()
	button.text = text
	button.tooltip_text = tooltip
	button.pressed.connect(_on_pressed.bind(word))
	_buttons.add_child(button)


func _set_disabled(disabled: bool) -> void:
	for button: Button in _buttons.get_children():
		button.disabled = disabled
		if disabled and button.has_focus():
			button.release_focus()


func _take_focus() -> void:
	if _question != null:
		(_buttons.get_child(0) as Button).grab_focus()


## Deferred, for it may be a tool that disables the plugin; but an answer to this question, and not to one that is
## shown in its place meanwhile.
func _on_pressed(word: String) -> void:
	if _question != null:
		_answer.call_deferred(_question, word)


func _answer(question: RefCounted, word: String) -> void:
	question.call(&"answer", word)
