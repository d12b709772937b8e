@tool
extends MarginContainer
## What is wrong, with what is known about it: who holds the port and the way out, or how the server
## ended and what it wrote last.

const TetherControl: GDScript = preload("../control.gd")
const Words: GDScript = preload("status_text.gd")

var _control: TetherControl
# A child, because what changes a control's look notifies that control of a new theme.
var _box: PanelContainer = PanelContainer.new()
var _message: Label = Label.new()
var _details: Label = Label.new()
var _ports: Button = Button.new()
var _style: StyleBoxFlat = StyleBoxFlat.new()


func _init(control: TetherControl) -> void:
	_control = control
	var scale: float = EditorInterface.get_editor_scale()
	var rows: VBoxContainer = VBoxContainer.new()
	for label: Label in [_message, _details]:
		label.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
		rows.add_child(label)
	_ports.size_flags_horizontal = Control.SIZE_SHRINK_BEGIN
	_ports.tooltip_text = "Write this pair of ports into the project's settings and start the server there."
	_ports.pressed.connect(_on_ports_pressed)
	rows.add_child(_ports)
	_box.add_child(rows)
	add_child(_box)
	_style.set_content_margin_all(8 * scale)
	_style.set_corner_radius_all(roundi(3 * scale))
	_style.border_width_left = roundi(3 * scale)
	_box.add_theme_stylebox_override(&"panel", _style)
	visible = false


func _notification(what: int) -> void:
	if what == NOTIFICATION_THEME_CHANGED and is_inside_tree():
		_dress()


func refresh() -> void:
	var state: String = _control.get_state()
	var status: Dictionary = _control.get_status()
	var said: String = Words.trouble(status)
	visible = state in ["blocked", "failed", "backoff", "lost"] and said != ""
	if state == "blocked":
		_show_holder(status, said)
	else:
		_message.text = Words.sentence(said.get_slice("\n", 0))
		_details.text = said.substr(_message.text.length() + 1).strip_edges()
		_ports.visible = false
	_dress()
	_message.visible = _message.text != ""
	_details.visible = _details.text != ""


func _show_holder(status: Dictionary, said: String) -> void:
	var holder: Dictionary = Words.dictionary(status, "holder")
	var next: PackedInt32Array = Words.next_ports(status)
	visible = true
	if holder.is_empty():
		# What follows is for the command line; here is a button for it.
		_message.text = Words.sentence(said.get_slice("; ", 0) if not next.is_empty() else said)
		_details.text = ""
	else:
		_message.text = "It is held by %s. Tether does not touch it." % Words.holder(status)
		_details.text = Words.text(holder.get("command"))
	_ports.visible = not next.is_empty()
	if _ports.visible:
		_ports.text = "Use %d / %d" % [next[0], next[1]] if next[1] else "Use %d" % next[0]


func _dress() -> void:
	var is_mending: bool = _control.get_state() in ["backoff", "lost"]
	var color: Color = get_theme_color(&"warning_color" if is_mending else &"error_color", &"Editor")
	_style.border_color = color
	_style.bg_color = Color(color, 0.1)
	_details.add_theme_font_override(&"font", get_theme_font(&"source", &"EditorFonts"))
	_details.add_theme_font_size_override(&"font_size", get_theme_font_size(&"main_size", &"EditorFonts") - 1)


func _on_ports_pressed() -> void:
	var next: PackedInt32Array = Words.next_ports(_control.get_status())
	if not next.is_empty():
		_control.use_ports(next[0], next[1])
