@tool
extends ScrollContainer
## The Tether dock: the server's state, what is wrong with it, its log, and how clients connect.
## Below or beside each other, whatever there is room for.

const TetherControl: GDScript = preload("../control.gd")
const Settings: GDScript = preload("../settings.gd")
const StatusPanel: GDScript = preload("status_panel.gd")
const TroublePanel: GDScript = preload("trouble_panel.gd")
const LogPanel: GDScript = preload("log_panel.gd")
const ClientsPanel: GDScript = preload("clients_panel.gd")

const TITLE: String = "Tether"
## From this width on, in unscaled pixels, log and clients stand beside the state.
const WIDE: float = 620.0
const ICON: String = """<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16">
<g fill="none" stroke="#e0e0e0" stroke-width="2" stroke-linecap="round"><circle cx="4" cy="4" r="2"/>
<circle cx="12" cy="12" r="2"/><path d="M6 4h3.5a2.5 2.5 0 0 1 0 5h-3a2.5 2.5 0 0 0 0 5H7"/></g></svg>"""

var _control: TetherControl
var _frame: Control # the engine's dock around this one, where the engine has that
var _columns: BoxContainer = BoxContainer.new()
var _status: StatusPanel
var _trouble: TroublePanel
var _log: LogPanel
var _clients: ClientsPanel
var _tabs: TabContainer = TabContainer.new()
var _is_stale: bool = false


func _init(control: TetherControl) -> void:
	name = TITLE
	auto_translate_mode = Node.AUTO_TRANSLATE_MODE_DISABLED
	horizontal_scroll_mode = ScrollContainer.SCROLL_MODE_DISABLED
	_control = control
	_status = StatusPanel.new(control)
	_trouble = TroublePanel.new(control)
	_log = LogPanel.new(Settings.personal(Settings.LINES_KEPT))
	_clients = ClientsPanel.new(control)
	_build()


func _enter_tree() -> void:
	_control.changed.connect(refresh)
	_control.logged.connect(_log.add)
	_log.fill(_control.get_log(_log.get_capacity()))
	apply_personal_settings()
	refresh()


func _exit_tree() -> void:
	_control.changed.disconnect(refresh)
	_control.logged.disconnect(_log.add)


func _notification(what: int) -> void:
	match what:
		NOTIFICATION_RESIZED:
			_arrange()
		NOTIFICATION_VISIBILITY_CHANGED:
			if _is_stale and is_visible_in_tree():
				refresh()


## Puts the dock into the editor.
func add_to(plugin: EditorPlugin) -> void:
	if not ClassDB.class_exists(&"EditorDock"): # before 4.6
		plugin.add_control_to_dock(EditorPlugin.DOCK_SLOT_RIGHT_BL, self)
		return
	_frame = ClassDB.instantiate(&"EditorDock")
	_frame.name = TITLE
	_frame.set("title", TITLE)
	_frame.set("layout_key", "tether")
	_frame.set("default_slot", EditorPlugin.DOCK_SLOT_RIGHT_BL)
	_frame.set("available_layouts", 7) # vertical, horizontal, floating: EditorDock.DOCK_LAYOUT_ALL
	_frame.set("dock_icon", _make_icon())
	_frame.add_child(self)
	plugin.call(&"add_dock", _frame)


## Takes the dock out of the editor and frees it.
func remove_from(plugin: EditorPlugin) -> void:
	if _frame == null:
		plugin.remove_control_from_docks(self)
		queue_free()
	else:
		plugin.call(&"remove_dock", _frame)
		_frame.queue_free()


## Takes over what the user has changed in the editor settings.
func apply_personal_settings() -> void:
	_log.set_capacity(Settings.personal(Settings.LINES_KEPT))
	_log.set_wrapping(Settings.personal(Settings.WRAP_LINES))


## Shows the state as it is now; a hidden dock does so once it is seen again.
func refresh() -> void:
	_is_stale = is_inside_tree() and not is_visible_in_tree()
	_status.note_uptime()
	if _is_stale:
		return
	_status.refresh()
	_trouble.refresh()
	_clients.refresh()


func _build() -> void:
	var scale: float = EditorInterface.get_editor_scale()
	var left: VBoxContainer = VBoxContainer.new()
	left.add_theme_constant_override(&"separation", roundi(8 * scale))
	left.add_child(_status)
	left.add_child(_trouble)
	left.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	_log.name = "Log"
	_clients.name = "Connect a Client"
	_tabs.add_child(_log)
	_tabs.add_child(_clients)
	_tabs.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	_tabs.size_flags_vertical = Control.SIZE_EXPAND_FILL
	_tabs.size_flags_stretch_ratio = 1.6
	_tabs.custom_minimum_size.y = 150 * scale
	_columns.vertical = true
	_columns.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	_columns.size_flags_vertical = Control.SIZE_EXPAND_FILL
	_columns.add_theme_constant_override(&"separation", roundi(8 * scale))
	_columns.add_child(left)
	_columns.add_child(_tabs)
	add_child(_columns)


func _arrange() -> void:
	var is_wide: bool = size.x >= WIDE * EditorInterface.get_editor_scale()
	if _columns.vertical == is_wide:
		_columns.set_deferred(&"vertical", not is_wide)


func _make_icon() -> Texture2D:
	var image: Image = Image.new()
	image.load_svg_from_string(ICON, EditorInterface.get_editor_scale())
	return ImageTexture.create_from_image(image)
