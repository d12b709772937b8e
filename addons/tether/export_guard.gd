@tool
extends EditorExportPlugin
## Keeps Tether out of exported games: the pack is the one that the project without the addon has.
##
## The extension installs this in every editor, also in one that only exports and where the plugin is
## not enabled. What the engine exports besides files it takes from its caches on the disk and from the
## project's settings; both are without us for as long as an export takes. A cache that an export leaves
## behind by a crash is filled again by the next start of the editor.

const ADDON: String = "res://addons/tether/"
const SETTINGS: String = "tether/"
const ENABLED: String = "editor_plugins/enabled"
const EXTENSION_LIST: String = "res://.godot/extension_list.cfg"
const UID_CACHE: String = "res://.godot/uid_cache.bin"
const PROJECT: String = "res://project.godot"

static var _is_installed: bool = false

var _settings: Dictionary[String, Array] = {} # what was taken out: value and order
var _caches: Dictionary[String, Array] = {} # the bytes before, and those without us
var _saved_lines: PackedStringArray # of the project's file, those that tell of us


## Adds this to the editor's export plugins, once.
static func install() -> void:
	if not _is_installed:
		_is_installed = true
		var plugin: EditorPlugin = EditorPlugin.new() # only they can; the engine keeps what is added
		plugin.add_export_plugin(new())
		plugin.free()


## The engine asks in the order of the names: this one has to skip the extension before "GDExtension"
## warns that it has no library for games.
func _get_name() -> String:
	return "Addon Tether"


func _export_begin(_features: PackedStringArray, _is_debug: bool, _path: String, _flags: int) -> void:
	_restore() # should an export have had no end
	_saved_lines = _lines_of_ours()
	for property: Dictionary in ProjectSettings.get_property_list():
		var name: String = property["name"]
		if name.begins_with(SETTINGS) and ProjectSettings.property_can_revert(name):
			_replace_setting(name, ProjectSettings.property_get_revert(name)) # the default, if it has one
	var enabled: PackedStringArray = ProjectSettings.get_setting(ENABLED, PackedStringArray())
	var others: PackedStringArray = Array(enabled).filter(_is_not_ours)
	if others != enabled:
		_replace_setting(ENABLED, others if others else null)
	var stuck: PackedStringArray = []
	for cache: Array in [[EXTENSION_LIST, _list_without_us], [UID_CACHE, _uids_without_us]]:
		if not _replace_cache(cache[0], cache[1]):
			stuck.append(cache[0])
	if stuck:
		push_warning("Tether: cannot write ", " and ".join(stuck), ", so the game names files of the addon, ",
				"which it has not. Look who may write there, and export again.")


func _export_file(path: String, _type: String, _features: PackedStringArray) -> void:
	if path.begins_with(ADDON):
		skip()


func _export_end() -> void:
	_restore()


func _restore() -> void:
	for name: String in _settings:
		ProjectSettings.set_setting(name, _settings[name][0])
		ProjectSettings.set_order(name, _settings[name][1])
	# Who saved them meanwhile, saved them without ours.
	if _settings and _lines_of_ours() != _saved_lines and ProjectSettings.save() != OK:
		push_error("Tether: cannot write ", PROJECT, ", which lost Tether's settings. Save the project's settings.")
	_settings.clear()
	for path: String in _caches:
		# Whoever wrote it since knows better.
		if FileAccess.get_file_as_bytes(path) == _caches[path][1]:
			_write(path, _caches[path][0])
	_caches.clear()


static func _is_not_ours(path: String) -> bool:
	return not path.begins_with(ADDON)


func _replace_setting(name: String, value: Variant) -> void:
	_settings[name] = [ProjectSettings.get_setting(name), ProjectSettings.get_order(name)]
	ProjectSettings.set_setting(name, value)


static func _lines_of_ours() -> PackedStringArray:
	return Array(FileAccess.get_file_as_string(PROJECT).split("\n")).filter(
			func(line: String) -> bool: return line == "[tether]" or ADDON in line)


## Whether it is without us now.
func _replace_cache(path: String, without_us: Callable) -> bool:
	if not FileAccess.file_exists(path):
		return true
	var before: PackedByteArray = FileAccess.get_file_as_bytes(path)
	var after: PackedByteArray = without_us.call(before)
	if after == before:
		return true
	if not _write(path, after):
		return false
	_caches[path] = [before, after]
	return true


## In one step, so that nobody finds half a file; without bytes there is none.
static func _write(path: String, bytes: PackedByteArray) -> bool:
	if bytes.is_empty():
		return DirAccess.remove_absolute(path) == OK
	var file: FileAccess = FileAccess.open(path + ".tether", FileAccess.WRITE)
	if file == null or not file.store_buffer(bytes):
		return false
	file.close()
	return DirAccess.rename_absolute(path + ".tether", path) == OK


static func _list_without_us(bytes: PackedByteArray) -> PackedByteArray:
	var lines: PackedStringArray = Array(bytes.get_string_from_utf8().split("\n", false)).filter(_is_not_ours)
	return ("\n".join(lines) + "\n").to_utf8_buffer() if lines else PackedByteArray()


## A number of entries, and each entry: the identifier in 8 bytes, a length in 4, and the path.
static func _uids_without_us(bytes: PackedByteArray) -> PackedByteArray:
	var others: PackedByteArray = [0, 0, 0, 0]
	var count: int = 0
	var at: int = 4
	while at + 12 <= bytes.size():
		var end: int = at + 12 + bytes.decode_u32(at + 8)
		if end > bytes.size():
			break
		if _is_not_ours(bytes.slice(at + 12, end).get_string_from_utf8()):
			others.append_array(bytes.slice(at, end))
			count += 1
		at = end
	if at != bytes.size():
		return bytes # not what this knows: left as it is
	others.encode_u32(0, count)
	return others if count else PackedByteArray()
