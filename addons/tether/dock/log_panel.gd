@tool
extends VBoxContainer
## The live log. Lines go into a ring at once; what is shown follows in bounded steps, one a frame, so
## that no burst of lines stalls the editor. A hidden or paused log costs nothing.

const LogRing: GDScript = preload("log_ring.gd")

## How many lines one frame shows at most, and how many it looks at for the filter.
const SHOWN_A_FRAME: int = 120
const FILTERED_A_FRAME: int = 4000

var _ring: LogRing
var _text: RichTextLabel = RichTextLabel.new()
var _filter: LineEdit = LineEdit.new()
var _pause: Button
var _copy: Button
var _clear: Button
var _hint: Label = Label.new()
var _next: int = 0 # the number of the line that is to be shown next
var _paragraphs: int = 0


func _init(capacity: int) -> void:
	_ring = LogRing.new(capacity)
	_build()
	set_process(false)


func _notification(what: int) -> void:
	match what:
		NOTIFICATION_THEME_CHANGED when is_inside_tree():
			_dress()
		NOTIFICATION_VISIBILITY_CHANGED:
			_wake()


func _process(_delta: float) -> void:
	_show_some()
	set_process(_next < _ring.next)


func get_capacity() -> int:
	return _ring.get_size()


## How many lines are kept; the newest ones stay.
func set_capacity(capacity: int) -> void:
	if capacity == _ring.get_size():
		return
	var old: LogRing = _ring
	_ring = LogRing.new(capacity)
	for number: int in range(maxi(old.first, old.next - capacity), old.next):
		_ring.add(LogRing.STREAMS.find_key(old.get_stream(number)), old.get_line(number))
	_show_again()


func set_wrapping(is_wrapping: bool) -> void:
	_text.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART if is_wrapping else TextServer.AUTOWRAP_OFF


## Takes over lines of the past.
func fill(lines: PackedStringArray) -> void:
	clear()
	for line: String in lines:
		add("stdout", line)


func clear() -> void:
	_ring.clear()
	_show_again()


func add(stream: String, line: String) -> void:
	_ring.add(stream, line)
	if not is_processing():
		_wake()


## Whether all that is to be seen is shown.
func is_settled() -> bool:
	return not is_processing()


## What is shown, or selected, as text.
func get_shown_text() -> String:
	var selected: String = _text.get_selected_text()
	return selected if selected else _text.get_parsed_text()


func _wake() -> void:
	var is_paused: bool = _pause.button_pressed
	set_process(is_visible_in_tree() and not is_paused and _next < _ring.next)
	_hint.visible = is_paused
	if is_paused and _next < _ring.next:
		_hint.text = "Paused: %d new lines" % (_ring.next - maxi(_next, _ring.first))
	else:
		_hint.text = "Paused"


func _show_some() -> void:
	_next = maxi(_next, _ring.first)
	var wanted: String = _filter.text
	var shown: int = 0
	var last: int = mini(_next + FILTERED_A_FRAME, _ring.next)
	while _next < last and shown < SHOWN_A_FRAME:
		if not wanted or _ring.get_line(_next).containsn(wanted):
			_show_line(_next)
			shown += 1
		_next += 1
	# Without invalidating: each paragraph closes the colour that it opens.
	while _paragraphs > _ring.get_size() and _text.remove_paragraph(0, true):
		_paragraphs -= 1


func _show_line(number: int) -> void:
	if _paragraphs > 0:
		_text.newline()
	_paragraphs += 1
	match _ring.get_stream(number):
		LogRing.Stream.OUT:
			_text.add_text(_ring.get_line(number))
			return
		LogRing.Stream.ERROR:
			_text.push_color(get_theme_color(&"error_color", &"Editor"))
		LogRing.Stream.LAUNCHER:
			_text.push_color(get_theme_color(&"accent_color", &"Editor"))
	_text.add_text(_ring.get_line(number))
	_text.pop()


func _show_again() -> void:
	_text.clear()
	_paragraphs = 0
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
	_text.scroll_following = true
	_text.selection_enabled = true
	_text.context_menu_enabled = true
	_text.focus_mode = Control.FOCUS_CLICK
	add_child(_text)
	add_child(_hint)
	_hint.visible = false


func _make_button(tooltip: String) -> Button:
	var button: Button = Button.new()
	button.flat = true
	button.tooltip_text = tooltip
	return button


func _dress() -> void:
	_filter.right_icon = get_theme_icon(&"Search", &"EditorIcons")
	_pause.icon = get_theme_icon(&"Pause", &"EditorIcons")
	_copy.icon = get_theme_icon(&"ActionCopy", &"EditorIcons")
	_clear.icon = get_theme_icon(&"Clear", &"EditorIcons")
	_text.add_theme_font_override(&"normal_font", get_theme_font(&"output_source", &"EditorFonts"))
	_text.add_theme_font_size_override(&"normal_font_size",
			get_theme_font_size(&"output_source_size", &"EditorFonts"))
	_hint.add_theme_color_override(&"font_color", get_theme_color(&"warning_color", &"Editor"))
	_show_again() # its colours are in the text


func _on_filter_changed(_wanted: String) -> void:
	_show_again()


func _on_pause_toggled(_is_paused: bool) -> void:
	_wake()


func _on_copy() -> void:
	DisplayServer.clipboard_set(get_shown_text())
