@tool
extends VBoxContainer
## The live log. What is shown follows the ring of lines in steps, a few milliseconds of each frame, so
## that no burst of lines stalls the editor. A hidden or paused log costs nothing.
## [br]A TextEdit shows it: in a RichTextLabel, taking away the oldest line costs as much as all others.

const LogColors: GDScript = preload("log_colors.gd")
const LogRing: GDScript = preload("log_ring.gd")

const USEC_A_FRAME: int = 3000
const LINES_A_STEP: int = 20
## How many lines a step looks at for the filter.
const FILTERED_A_STEP: int = 1000

var _ring: LogRing
var _text: TextEdit = TextEdit.new()
var _colors: LogColors = LogColors.new()
var _filter: LineEdit = LineEdit.new()
var _pause: Button
var _copy: Button
var _clear: Button
var _hint: Label = Label.new()
var _follows: bool = true # new lines are scrolled to
var _next: int = 0 # the number of the line that is to be shown next


func _init(ring: LogRing) -> void:
	_ring = ring
	_build()
	set_process(false)


func _notification(what: int) -> void:
	match what:
		NOTIFICATION_THEME_CHANGED when is_inside_tree():
			_dress()
		NOTIFICATION_VISIBILITY_CHANGED:
			_wake()


func _process(_delta: float) -> void:
	if _next < _ring.next:
		_show_some()
		return
	if _follows: # only now, one frame after the last line, does the scroll bar know of it
		_scroll_to_end()
	set_process(false)


func set_wrapping(is_wrapping: bool) -> void:
	_text.wrap_mode = TextEdit.LINE_WRAPPING_BOUNDARY if is_wrapping else TextEdit.LINE_WRAPPING_NONE


## Says that the ring has a new line.
func note_line() -> void:
	if not is_processing():
		_wake()


func clear() -> void:
	_ring.clear()
	show_again()


## Whether all that is to be seen is shown.
func is_settled() -> bool:
	return not is_processing()


## What is shown, or selected, as text.
func get_shown_text() -> String:
	return _text.get_selected_text() if _text.has_selection() else _text.text


func _wake() -> void:
	var is_paused: bool = _pause.button_pressed
	set_process(is_visible_in_tree() and not is_paused and _next < _ring.next)
	_hint.visible = is_paused
	if is_paused and _next < _ring.next:
		var count: int = _ring.next - maxi(_next, _ring.first)
		_hint.text = "Paused: 1 new line" if count == 1 else "Paused: %d new lines" % count
	else:
		_hint.text = "Paused"


func _show_some() -> void:
	var begin: int = Time.get_ticks_usec()
	while _next < _ring.next and Time.get_ticks_usec() - begin < USEC_A_FRAME:
		if _ring.first - _next > _ring.get_size():
			_empty() # all that is shown is too old by now
		_next = maxi(_next, _ring.first)
		_show_step()


## Takes some lines out of the ring, and shows those that the filter lets through.
func _show_step() -> void:
	var wanted: String = _filter.text
	var lines: PackedStringArray = []
	var streams: PackedByteArray = []
	var last: int = mini(_next + FILTERED_A_STEP, _ring.next)
	while _next < last and lines.size() < LINES_A_STEP:
		if not wanted or _ring.get_line(_next).containsn(wanted):
			lines.append(_ring.get_line(_next))
			streams.append(_ring.get_stream(_next))
		_next += 1
	if not lines.is_empty():
		_append(lines, streams)


func _append(lines: PackedStringArray, streams: PackedByteArray) -> void:
	var first: int = _text.get_first_visible_line()
	var end: int = _text.get_line_count() - 1
	var surplus: int = _colors.streams.size() + lines.size() - _ring.get_size()
	_text.insert_text(("" if _colors.streams.is_empty() else "\n") + "\n".join(lines),
			end, _text.get_line(end).length())
	_colors.streams.append_array(streams)
	if surplus > 0:
		_text.remove_text(0, 0, surplus, 0)
		_colors.streams = _colors.streams.slice(surplus)
	_text.clear_undo_history()
	if _follows:
		_scroll_to_end()
	elif surplus > 0:
		_text.set_line_as_first_visible(maxi(0, first - surplus)) # what is read stays in place


func _scroll_to_end() -> void:
	var last: int = _text.get_line_count() - 1
	_text.set_line_as_last_visible(last, _text.get_line_wrap_count(last))


## Who scrolls up wants to read there; who scrolls down to the end, to follow again.
func _note_place() -> void:
	var bar: VScrollBar = _text.get_v_scroll_bar()
	_follows = not bar.visible or bar.value + bar.page >= bar.max_value - 1


func _on_text_input(_event: InputEvent) -> void:
	_note_place.call_deferred() # once the event has had its effect


func _on_text_resized() -> void:
	if _follows:
		_scroll_to_end()


func _empty() -> void:
	_text.clear()
	_follows = true
	_colors.streams.clear()


## Shows what the ring has from the beginning.
func show_again() -> void:
	_empty()
	_next = _ring.first
	_wake()


func _build() -> void:
	var row: HBoxContainer = HBoxContainer.new()
	_filter.placeholder_text = "Filter Log"
	_filter.clear_button_enabled = true
	_filter.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	_filter.text_changed.connect(_on_filter_changed)
	row.add_child(_filter)
	_pause = _make_button("Pause: keep what is shown in place; new lines are kept for later.")
	_pause.toggle_mode = true
	_pause.toggled.connect(_on_pause_toggled)
	_copy = _make_button("Copy the selected text, or all lines that are shown.")
	_copy.pressed.connect(_on_copy)
	_clear = _make_button("Clear the log here; the files of the log stay.")
	_clear.pressed.connect(clear)
	for button: Button in [_pause, _copy, _clear]:
		row.add_child(button)
	add_child(row)
	_text.size_flags_vertical = Control.SIZE_EXPAND_FILL
	_text.editable = false
	_text.syntax_highlighter = _colors
	_text.gui_input.connect(_on_text_input)
	_text.resized.connect(_on_text_resized)
	_text.get_v_scroll_bar().scrolling.connect(_note_place)
	_text.add_theme_constant_override(&"line_spacing", roundi(EditorInterface.get_editor_scale()))
	add_child(_text)
	add_child(_hint)
	_hint.visible = false


func _make_button(tooltip: String) -> Button:
	var button: Button = Button.new()
	button.flat = true
	button.tooltip_text = tooltip
	button.accessibility_name = tooltip.get_slice(":", 0)
	return button


func _dress() -> void:
	_filter.right_icon = get_theme_icon(&"Search", &"EditorIcons")
	_pause.icon = get_theme_icon(&"Pause", &"EditorIcons")
	_copy.icon = get_theme_icon(&"ActionCopy", &"EditorIcons")
	_clear.icon = get_theme_icon(&"Clear", &"EditorIcons")
	_text.add_theme_font_override(&"font", get_theme_font(&"output_source", &"EditorFonts"))
	_text.add_theme_font_size_override(&"font_size", get_theme_font_size(&"output_source_size", &"EditorFonts"))
	_hint.add_theme_color_override(&"font_color", get_theme_color(&"warning_color", &"Editor"))
	_text.add_theme_color_override(&"font_readonly_color", get_theme_color(&"font_color", &"Editor"))
	_colors.dress(get_theme_color(&"font_color", &"Editor"), get_theme_color(&"error_color", &"Editor"),
			get_theme_color(&"accent_color", &"Editor"))


func _on_filter_changed(_wanted: String) -> void:
	show_again()


func _on_pause_toggled(_is_paused: bool) -> void:
	_wake()


func _on_copy() -> void:
	DisplayServer.clipboard_set(get_shown_text())
