@tool
extends ScrollContainer
## The Tether dock: the server's state, what is wrong with it, the facts, the log, and how clients
## connect. At the bottom of the editor they stand beside each other, at its sides below each other.
## [br]All of that is made when it is first seen; until then there are a tab and a ring of log lines, so
## that the start of the editor does not wait for it.

const TetherControl: GDScript = preload("../control.gd")
const Settings: GDScript = preload("../settings.gd")
const ActivityPanel: GDScript = preload("activity_panel.gd")
const FactsPanel: GDScript = preload("facts_panel.gd")
const StatusPanel: GDScript = preload("status_panel.gd")
const TroublePanel: GDScript = preload("trouble_panel.gd")
const LogRing: GDScript = preload("log_ring.gd")
const Words: GDScript = preload("status_text.gd")
const LogPanel: GDScript = preload("log_panel.gd")
const ClientsPanel: GDScript = preload("clients_panel.gd")
const ToolsPanel: GDScript = preload("tools_panel.gd")

const TITLE: String = "Tether"
## Read as it is: the engine imports no picture of ours, so that it leaves nothing in this folder.
const ICON: String = "res://addons/tether/images/icon.svg"
const ICON_SCALE: float = 0.125 # as large as the editor's own
## From this width on, in unscaled pixels, log and clients stand beside the state.
const WIDE: float = 620.0
## What the wide form needs for all that matters, in unscaled pixels.
const WIDE_HEIGHT: float = 270.0

var _control: TetherControl
var _icon: Texture2D = _load_icon()
var _frame: Control # the engine's dock around this one, where the engine has that
var _ring: LogRing
var _columns: BoxContainer # null until all is made
var _left: VBoxContainer
var _left_scroll: ScrollContainer
var _status: StatusPanel
var _facts: FactsPanel
var _trouble: TroublePanel
var _log: LogPanel
var _clients: ClientsPanel
var _activity: ActivityPanel
var _tools: ToolsPanel
var _tabs: TabContainer
var _is_welcome: bool = false # the plugin has been enabled for the first time


func _init(control: TetherControl) -> void:
	name = TITLE
	auto_translate_mode = Node.AUTO_TRANSLATE_MODE_DISABLED
	horizontal_scroll_mode = ScrollContainer.SCROLL_MODE_DISABLED
	_control = control
	_ring = LogRing.new(Settings.personal(Settings.LINES_KEPT))


func _enter_tree() -> void:
	_control.changed.connect(refresh)
	_control.logged.connect(_on_logged)
	_control.launching.connect(_on_launching)
	_ring.clear()
	for line: String in _control.get_log(_ring.get_size()):
		_ring.add("stdout", line)
	if _log != null:
		_log.show_again()
	refresh.call_deferred()


func _exit_tree() -> void:
	_control.changed.disconnect(refresh)
	_control.logged.disconnect(_on_logged)
	_control.launching.disconnect(_on_launching)


func _notification(what: int) -> void:
	match what:
		NOTIFICATION_RESIZED when _columns != null:
			_arrange()
		NOTIFICATION_THEME_CHANGED when is_inside_tree():
			_show_on_tab()
		NOTIFICATION_VISIBILITY_CHANGED:
			refresh.call_deferred()


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


## Opens the dock on what comes first: connecting a client.
func welcome(plugin: EditorPlugin) -> void:
	if _frame == null:
		plugin.make_bottom_panel_item_visible(self)
	else:
		_frame.call(&"make_visible")
	_is_welcome = true
	_open_first_tab()


## What is open when the dock is seen first.
func _open_first_tab() -> void:
	if _is_welcome and _tabs != null:
		_tabs.current_tab = _tabs.get_tab_idx_from_control(_clients)


## Takes over what the user has changed in the editor settings.
func apply_personal_settings() -> void:
	_ring.set_size(Settings.personal(Settings.LINES_KEPT))
	if _log != null:
		_log.set_wrapping(Settings.personal(Settings.WRAP_LINES))
		_log.show_again()


## Shows the state as it is now. A hidden dock shows it on its tab only, and catches up once it is seen.
func refresh() -> void:
	if not is_inside_tree():
		return
	_show_on_tab()
	if not is_visible_in_tree():
		return
	if _columns == null:
		_build()
	_status.refresh()
	_trouble.refresh()
	_facts.refresh()
	_clients.refresh()
	_activity.refresh()
	_tools.refresh()


func _build() -> void:
	var scale: float = EditorInterface.get_editor_scale()
	_columns = BoxContainer.new()
	_left = VBoxContainer.new()
	_left_scroll = ScrollContainer.new()
	_tabs = TabContainer.new()
	_status = StatusPanel.new(_control)
	_facts = FactsPanel.new(_control)
	_trouble = TroublePanel.new(_control)
	_log = LogPanel.new(_ring)
	_log.set_wrapping(Settings.personal(Settings.WRAP_LINES))
	_clients = ClientsPanel.new(_control)
	_activity = ActivityPanel.new(_control)
	_tools = ToolsPanel.new(_control)
	for box: BoxContainer in [_columns, _left]:
		box.add_theme_constant_override(&"separation", roundi(8 * scale))
	for part: Control in [_status, _trouble, _facts]:
		_left.add_child(part)
	for part: Control in [_left, _left_scroll, _columns, _tabs]:
		part.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	_left_scroll.horizontal_scroll_mode = ScrollContainer.SCROLL_MODE_DISABLED
	_left_scroll.add_child(_left)
	_log.name = "Log"
	_clients.name = "Connect"
	_tabs.add_child(_log)
	_tabs.add_child(_clients)
	_activity.name = "Activity"
	_tabs.add_child(_activity)
	_tools.name = "Tools"
	_tabs.add_child(_tools)
	_tabs.size_flags_vertical = Control.SIZE_EXPAND_FILL
	_tabs.size_flags_stretch_ratio = 1.8
	_tabs.custom_minimum_size.y = 160 * scale
	_columns.size_flags_vertical = Control.SIZE_EXPAND_FILL
	_columns.add_child(_left_scroll)
	_columns.add_child(_tabs)
	_set_wide(size.x >= WIDE * scale)
	add_child(_columns)
	_open_first_tab()


func _arrange() -> void:
	var is_wide: bool = size.x >= WIDE * EditorInterface.get_editor_scale()
	if _columns.vertical == is_wide:
		_set_wide.call_deferred(is_wide) # not while the container sorts its children


## Wide: two columns, the left one scrolls by itself. Narrow: one column that scrolls as a whole, with
## the facts on a tab of their own.
func _set_wide(is_wide: bool) -> void:
	_columns.vertical = not is_wide
	custom_minimum_size.y = WIDE_HEIGHT * EditorInterface.get_editor_scale() if is_wide else 0.0
	vertical_scroll_mode = SCROLL_MODE_DISABLED if is_wide else SCROLL_MODE_AUTO
	_left_scroll.vertical_scroll_mode = SCROLL_MODE_AUTO if is_wide else SCROLL_MODE_DISABLED
	if is_wide == (_facts.get_parent() == _left):
		return
	_facts.get_parent().remove_child(_facts)
	(_left if is_wide else _tabs as Node).add_child(_facts)
	_facts.name = "Info"
	if not is_wide:
		_tabs.move_child(_facts, 0)
		_tabs.current_tab = 0
	_facts.visible = true if is_wide else _tabs.current_tab == 0


static func _load_icon() -> Texture2D:
	var icon: Image = Image.new()
	var size: float = ICON_SCALE * EditorInterface.get_editor_scale()
	if icon.load_svg_from_string(FileAccess.get_file_as_string(ICON), size) != OK:
		return null
	return ImageTexture.create_from_image(icon)


## The tab tells how it is: by an icon, which is Tether's if all is well, and by a colour if something is wrong.
func _show_on_tab() -> void:
	if _frame == null:
		return
	var tone: Words.Tone = Words.tone(_control.get_state())
	_frame.set("dock_icon", _icon if tone == Words.Tone.GOOD and _icon != null
			else get_theme_icon(StatusPanel.ICONS[tone], &"EditorIcons"))
	_frame.set("title_color", get_theme_color(StatusPanel.COLORS[tone], &"Editor")
			if tone in [Words.Tone.BAD, Words.Tone.WARNING] else Color(0, 0, 0, 0)) # 0: the theme's own


func _on_logged(stream: String, line: String) -> void:
	_ring.add(stream, line)
	if _log != null:
		_log.note_line()


func _on_launching() -> void:
	_ring.clear()
	if _log != null:
		_log.show_again()
