@tool
extends ScrollContainer
## The Tether dock. What is in it is made when it is seen for the first time, because compiling and
## making that takes longer than all else of the addon's start; until then there is only its tab.
## At the bottom of the editor its parts stand beside each other, at its sides below each other.

const TetherControl: GDScript = preload("../control.gd")
const Settings: GDScript = preload("../settings.gd")
const LogRing: GDScript = preload("log_ring.gd")
const Words: GDScript = preload("status_text.gd")

const CONTENT: String = "res://addons/tether/dock/content.gd"
const TITLE: String = "Tether"
## From this width on, in unscaled pixels, log and clients stand beside the state.
const WIDE: float = 620.0
## What the wide form needs for all that matters, in unscaled pixels.
const WIDE_HEIGHT: float = 270.0

var _control: TetherControl
var _frame: Control # the engine's dock around this one, where the engine has that
var _content: BoxContainer # a content.gd, once it was seen
var _log: Control # the part of it that shows the log
var _ring: LogRing # the log until then


func _init(control: TetherControl) -> void:
	name = TITLE
	auto_translate_mode = Node.AUTO_TRANSLATE_MODE_DISABLED
	horizontal_scroll_mode = ScrollContainer.SCROLL_MODE_DISABLED
	_control = control
	_ring = LogRing.new(Settings.personal(Settings.LINES_KEPT) as int)


func _enter_tree() -> void:
	_control.changed.connect(refresh)
	_control.logged.connect(_on_logged)
	_control.launching.connect(_clear_log)
	_clear_log()
	for line: String in _control.get_log(Settings.personal(Settings.LINES_KEPT) as int):
		_on_logged("stdout", line)
	apply_personal_settings()
	refresh.call_deferred() # the theme is not here yet


func _exit_tree() -> void:
	_control.changed.disconnect(refresh)
	_control.logged.disconnect(_on_logged)
	_control.launching.disconnect(_clear_log)


func _notification(what: int) -> void:
	match what:
		NOTIFICATION_RESIZED:
			_arrange()
		NOTIFICATION_THEME_CHANGED when is_inside_tree():
			_show_on_tab.call_deferred() # once the parts have their new icons
		NOTIFICATION_VISIBILITY_CHANGED when is_visible_in_tree():
			refresh.call_deferred() # not for the moment that it is visible while it is added


## Puts the dock into the editor.
func add_to(plugin: EditorPlugin) -> void:
	if not ClassDB.class_exists(&"EditorDock"): # before 4.6
		plugin.add_control_to_bottom_panel(self, TITLE)
		return
	_frame = ClassDB.instantiate(&"EditorDock")
	_frame.name = TITLE
	_frame.set("title", TITLE)
	_frame.set("layout_key", "tether")
	_frame.set("default_slot", 8) # EditorDock.DOCK_SLOT_BOTTOM
	_frame.set("available_layouts", 7) # EditorDock.DOCK_LAYOUT_ALL
	_frame.set("force_show_icon", true)
	_frame.add_child(self)
	plugin.call(&"add_dock", _frame)


## Takes the dock out of the editor and frees it.
func remove_from(plugin: EditorPlugin) -> void:
	if _frame == null:
		plugin.remove_control_from_bottom_panel(self)
		queue_free()
	else:
		plugin.call(&"remove_dock", _frame)
		_frame.queue_free()


## Takes over what the user has changed in the editor settings.
func apply_personal_settings() -> void:
	if _log != null:
		_log.call("set_capacity", Settings.personal(Settings.LINES_KEPT))
		_log.call("set_wrapping", Settings.personal(Settings.WRAP_LINES))


## Shows the state as it is now; of a hidden dock, only its tab does, until it is seen again.
func refresh() -> void:
	if not is_inside_tree():
		return
	if is_visible_in_tree():
		if _content == null:
			_fill()
		_content.call("refresh")
	_show_on_tab()


func _fill() -> void:
	_content = (load(CONTENT) as GDScript).new(_control, _ring)
	_log = _content.call("get_log_panel")
	add_child(_content)
	apply_personal_settings()
	_set_wide(true)
	_arrange()


func _on_logged(stream: String, line: String) -> void:
	if _log == null:
		_ring.add(stream, line)
	else:
		_log.call("add", stream, line)


func _clear_log() -> void:
	if _log == null:
		_ring.clear()
	else:
		_log.call("clear")


func _arrange() -> void:
	var is_wide: bool = size.x >= WIDE * EditorInterface.get_editor_scale()
	if _content != null and _content.vertical == is_wide:
		_set_wide.call_deferred(is_wide) # not while the container sorts its children


func _set_wide(is_wide: bool) -> void:
	custom_minimum_size.y = WIDE_HEIGHT * EditorInterface.get_editor_scale() if is_wide else 0.0
	vertical_scroll_mode = SCROLL_MODE_DISABLED if is_wide else SCROLL_MODE_AUTO
	_content.call("set_wide", is_wide)


## The state's icon, and a colour if there is trouble.
func _show_on_tab() -> void:
	if _frame == null or not is_inside_tree():
		return
	var tone: Words.Tone = Words.tone(_control.get_state())
	var color: Color = Color(0, 0, 0, 0) # the theme's own
	if tone in [Words.Tone.BAD, Words.Tone.WARNING]:
		color = get_theme_color(Words.COLORS[tone], &"Editor")
	var icon: Texture2D = get_theme_icon(Words.ICONS[tone], &"EditorIcons")
	if _content != null and is_visible_in_tree():
		icon = _content.call("get_icon") # it may turn
	_frame.set("dock_icon", icon)
	_frame.set("title_color", color)
