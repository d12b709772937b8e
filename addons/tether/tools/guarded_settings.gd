@tool
extends RefCounted
## The one judge of project settings: which of them tools do not change, because they start a program,
## run code with the editor, or name a file that is written.

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
## A part of the name of a setting of any plugin that says that it is about a program.
const PROGRAM: String = "(?i)(?:^|[/_.])(?:command|commands|cmd|cmdline|exec|execute|executable|program|shell|interpreter|launcher|run_args|arguments)(?:$|[/_.])"


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
