@tool
extends RefCounted
## Puts the tools into a server: all that the plugin deals with.
##
## The tools are many scripts, and compiling them takes the editor some hundred milliseconds. So they
## are loaded on a thread, and registered a moment later. Waiting for that is done by a connection and
## not by await, because an editor that quits meanwhile would leak the waiting function.

const TOOLBOX: String = "res://addons/tether/tools/toolbox.gd"

## All tools are registered, or cannot be.
signal ready

var _toolbox: RefCounted
var _plugin: EditorPlugin
var _server: Object


## Registers the tools with [param server], which has the methods of TetherServer. Returns at once.
func attach(plugin: EditorPlugin, server: Object) -> void:
	detach()
	_plugin = plugin
	_server = server
	var error: Error = ResourceLoader.load_threaded_request(TOOLBOX)
	if error != OK:
		push_error("Tether: the tools in %s cannot be loaded: %s." % [TOOLBOX.get_base_dir(), error_string(error)])
		return
	(Engine.get_main_loop() as SceneTree).process_frame.connect(_take_loaded)


## Takes everything back; nothing stays connected.
func detach() -> void:
	var frame: Signal = (Engine.get_main_loop() as SceneTree).process_frame
	if frame.is_connected(_take_loaded):
		frame.disconnect(_take_loaded)
		# The engine leaks what was asked for and never taken, so this waits for the rest of the load.
		ResourceLoader.load_threaded_get(TOOLBOX)
	if _toolbox != null:
		_toolbox.call("detach")
	_toolbox = null
	_plugin = null
	_server = null


## What the tools are kept in; null while they are loaded.
func get_toolbox() -> RefCounted:
	return _toolbox


func _take_loaded() -> void:
	if ResourceLoader.load_threaded_get_status(TOOLBOX) == ResourceLoader.THREAD_LOAD_IN_PROGRESS:
		return
	(Engine.get_main_loop() as SceneTree).process_frame.disconnect(_take_loaded)
	var script: GDScript = ResourceLoader.load_threaded_get(TOOLBOX)
	if script != null: # else the engine has told why
		_toolbox = script.new()
		_toolbox.call("attach", _plugin, _server)
	ready.emit()
