@tool
extends EditorPlugin
## The editor plugin: holds the one [code]TetherServer[/code] of the editor while it is enabled, starts
## it with the editor, and shows it in a dock.
##
## Nothing is decided here about how the server ends: when the object is dropped, the extension tells
## quit, restart and reload apart. Only disabling is known here, and told.

const Settings: GDScript = preload("settings.gd")
const TetherControl: GDScript = preload("control.gd")
const Dock: GDScript = preload("dock/dock.gd")

const TOOLS: String = "res://addons/tether/tools/registry.gd"
## A command-line import or export without [code]--headless[/code] cannot be told from an editor, but
## quits within three frames of the first scan of the project.
const FRAMES_BEFORE_START: int = 10

var _control: TetherControl
var _dock: Dock
var _tools: RefCounted
var _frames: int = 0


func _enter_tree() -> void:
	set_process(false)
	Settings.define()
	Settings.define_personal(EditorInterface.get_editor_settings())
	if not ClassDB.class_exists(&"TetherServer"):
		# Told in one plain sentence; to name the class in the code would be a parse error instead.
		push_error("Tether: the extension is not loaded. Is there a library for this system in ",
				"res://addons/tether/bin? Restart the editor after putting it there.")
		return
	if _is_for_a_person():
		_set_up(ClassDB.instantiate(&"TetherServer"))


func _exit_tree() -> void:
	if _control == null:
		return
	EditorInterface.get_editor_settings().settings_changed.disconnect(_on_personal_settings_changed)
	_dock.remove_from(self)
	_dock = null
	_tools = null
	_control.release()
	_control.queue_free()
	_control = null


func _disable_plugin() -> void:
	if _control != null:
		_control.server.call("detach", "disable")
	Settings.forget()
	Settings.forget_personal(EditorInterface.get_editor_settings())


func _process(_delta: float) -> void:
	_frames = 0 if EditorInterface.get_resource_filesystem().is_scanning() else _frames + 1
	if _frames >= FRAMES_BEFORE_START:
		set_process(false)
		_control.start()


## Whether somebody works with this editor: not for imports and exports, nor, unless asked for, in an
## editor without a window.
func _is_for_a_person() -> bool:
	for argument: String in OS.get_cmdline_args():
		if argument.begins_with("--export-") or argument == "--import":
			return false
	return DisplayServer.get_name() != "headless" or OS.get_environment("TETHER_HEADLESS") == "1"


func _set_up(server: RefCounted) -> void:
	_control = TetherControl.new(server)
	_control.needs_user.connect(_on_needs_user)
	add_child(_control)
	_dock = Dock.new(_control)
	_dock.add_to(self)
	EditorInterface.get_editor_settings().settings_changed.connect(_on_personal_settings_changed)
	var values: Dictionary[String, Variant] = Settings.read([])
	if (values["command"] as PackedStringArray).is_empty() and ResourceLoader.exists(TOOLS):
		_tools = (load(TOOLS) as GDScript).new()
		_tools.call("register", server)
	set_process(values["autostart"] == Settings.Autostart.WITH_THE_EDITOR)


func _on_needs_user(message: String, severity: EditorToaster.Severity, tooltip: String) -> void:
	if Settings.personal(Settings.SHOW_TOASTS):
		EditorInterface.get_editor_toaster().push_toast(message, severity, tooltip)


func _on_personal_settings_changed() -> void:
	if EditorInterface.get_editor_settings().check_changed_settings_in_group("tether/"):
		_dock.apply_personal_settings()
