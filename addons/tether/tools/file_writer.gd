@tool
extends RefCounted
## Writes text files so that the editor notices, and takes it back when the action is undone.
##
## The undo history keeps an object of this; a file that changed in the meantime is left alone.


const Context := preload("context.gd")
const Places := preload("places.gd")


## Writes [param after] if the file still holds [param before]; null stands for no file.
func replace(path: String, before: Variant, after: Variant) -> void:
	if read(path) != before:
		push_warning("Tether: '%s' changed in the meantime and is left as it is." % path)
		return
	# What the path leads to may be another place than when the tool was called, or the action made.
	var problem: Dictionary = {}
	if Places.writable(path, problem).is_empty():
		push_warning("Tether: '%s' is left as it is. %s" % [path, problem["error"]])
		return
	if after == null:
		DirAccess.remove_absolute(path)
		DirAccess.remove_absolute(path + ".uid")
	else:
		put(path, after)
	Context.announce(path)


## What a file holds, or null if there is none.
static func read(path: String) -> Variant:
	if not FileAccess.file_exists(path):
		return null
	return FileAccess.get_file_as_string(path)


## Writes a text; a script that is loaded is changed with its file.
static func put(path: String, text: String) -> void:
	if path.get_extension() == "gd" and ResourceLoader.has_cached(path):
		var script: Script = load(path)
		script.source_code = text
		ResourceSaver.save(script, path)
		script.reload(true)
		_show(script, text)
		return
	put_in_file(path, text)


static func put_in_file(path: String, text: String) -> void:
	var file: FileAccess = FileAccess.open(path, FileAccess.WRITE)
	if file == null:
		push_error("Tether: cannot write '%s': %s." % [path, error_string(FileAccess.get_open_error())])
		return
	file.store_string(text)
	file.close()


## The tab of the script editor that shows a script gets the new text, too.
static func _show(script: Script, text: String) -> void:
	var code: CodeEdit = editor_of(script)
	if code != null and code.text != text:
		var line: int = code.get_caret_line()
		var scroll: int = code.get_v_scroll() as int
		code.text = text
		code.set_caret_line(mini(line, code.get_line_count() - 1))
		code.scroll_vertical = scroll
		code.tag_saved_version()


## Whether the user has changed a script in its tab and not saved it.
static func is_being_written(path: String) -> bool:
	var code: CodeEdit = editor_of(load(path)) if path.get_extension() == "gd" and ResourceLoader.has_cached(path) else null
	return code != null and code.text != read(path)


## The open tab of a script, or null.
static func editor_of(script: Script) -> CodeEdit:
	var editors: Array = EditorInterface.get_script_editor().get_open_script_editors().filter(
			func(editor: ScriptEditorBase) -> bool: return editor.is_class("ScriptTextEditor"))
	var index: int = EditorInterface.get_script_editor().get_open_scripts().find(script)
	return editors[index].get_base_editor() as CodeEdit if index >= 0 and index < editors.size() else null
