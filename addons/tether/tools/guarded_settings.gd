@tool
extends RefCounted
## The one judge of project settings: which of them tools do not change, because they start a program,
## run code with the editor, or name a file that is written.

const LoadGuard := preload("load_guard.gd")

const CODE: Array[String] = ["gd", "gdc", "cs", "gdextension", "tscn", "scn"]
## What a setting begins with (or is), and what it does.
const GUARDED: Dictionary[String, String] = {
	"tether/": "it is about the server that starts with the editor",
	"editor_plugins/": "it decides what code runs with the editor",
	"editor_overrides/": "it stands in for the user's own editor settings, which name programs",
	"importer_defaults/": "it names scripts that run at each import",
	"editor/run/": "it says what program the editor starts, and how",
	"editor/version_control/": "it decides what code runs with the editor",
	"editor/movie_writer/movie_file": "it names a file that is written, anywhere",
	"filesystem/import/blender/": "it starts a program at each import",
	"filesystem/import/fbx2gltf/": "it starts a program at each import",
	"debug/file_logging/": "it names a file that is written, anywhere",
	"application/config/project_settings_override": "it names a file with more settings",
	"application/run/load_shell_environment": "it starts a shell",
	"dotnet/": "it says what is built and run",
	"mono/": "it says what is built and run",
	"gdextension": "it names libraries that are loaded",
	"native_extensions/": "it names libraries that are loaded",
}
## Where the engine's own settings stand that name files. It loads them at the editor's next start.
const LOADED: Array[String] = ["application/", "audio/", "display/", "gui/", "internationalization/", "rendering/", "xr/"]
## A part of the name of a setting of any plugin that says that it is about a program.
const PROGRAM: String = "(?i)(?:^|[/_.])(?:command|commands|cmd|cmdline|exec|execute|executable|program|shell|interpreter|launcher|run_args|arguments)(?:$|[/_.])"


## Why a tool does not give a setting this value, or "".
static func why_not_set(name: String, value: Variant) -> String:
	if value is Object or not value is String and var_to_str(value).contains("Object("):
		return "Setting '%s': a setting holds no objects; give a resource's path as a text." % name.left(200)
	var is_scene_to_run: bool = name.simplify_path().begins_with("application/run/main_scene")
	for path: String in PackedStringArray(value) if value is Array or value is PackedStringArray else PackedStringArray([value]) if value is String else PackedStringArray():
		var runs: String = "it is code, or may have some inside" if path.get_extension().to_lower() in CODE else LoadGuard.reason(path) if path.contains("://") else ""
		if not runs.is_empty() and not is_scene_to_run and LOADED.any(func(start: String) -> bool: return name.simplify_path().begins_with(start)):
			return "Tools do not set '%s' to '%s': the editor loads it at its next start, and %s. Whoever wants it changes it by hand, in the Project Settings." % [
					name.left(200), path.left(200), runs]
	return ""


## Whether the editor loads a file at its next start, because a setting names it.
static func is_loaded_at_start(path: String) -> bool:
	for info: Dictionary in ProjectSettings.get_property_list():
		var name: String = info["name"]
		if LOADED.any(func(start: String) -> bool: return name.begins_with(start)) and not name.begins_with("application/run/main_scene") \
				and var_to_str(ProjectSettings.get_setting(name)).contains(path):
			return true
	return false


## Why a setting is not changed by a tool, or "".
static func why_kept(name: String) -> String:
	if RegEx.create_from_string("^[\\w ./:+-]+\\z").search(name) == null: # the project's file would not be what it was
		return "'%s' is not the name of a setting." % name.left(200).c_escape()
	var plain: String = name.simplify_path()
	var why: String = ""
	for start: String in GUARDED:
		if plain.begins_with(start): # also with a feature behind it, as in "….windows"
			why = GUARDED[start]
	if why.is_empty() and RegEx.create_from_string(PROGRAM).search(plain) != null:
		why = "its name says that it starts a program"
	return "" if why.is_empty() else "Tools do not change the setting '%s': %s. Whoever wants it changes it by hand, in the Project Settings." % [name.left(200), why]
