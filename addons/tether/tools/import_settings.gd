@tool
extends RefCounted
## Changes how a file is imported, and imports it again; also when that is undone.

const Context := preload("context.gd")
const FileWriter := preload("file_writer.gd")
const LoadGuard := preload("load_guard.gd")
const Places := preload("places.gd")
const VariantJson := preload("variant_json.gd")
const Words := preload("words.gd")


## The text of the settings with other values, or "" with an error in [param problem].
static func changed(path: String, values: Dictionary, problem: Dictionary) -> String:
	var settings: ConfigFile = LoadGuard.settings_of(path + ".import")
	if settings == null:
		problem["error"] = "'%s.import' is not plain, and to read it might run code. file_read shows it." % path
		return ""
	for place: String in [path, path + ".import"]:
		if Places.writable(place, problem).is_empty():
			return ""
	var known: PackedStringArray = settings.get_section_keys("params") if settings.has_section("params") else PackedStringArray()
	var codec: VariantJson = VariantJson.new()
	for name: String in values:
		if not name in known:
			problem["error"] = "There is no import setting '%s'.%s" % [name, Words.suggest(name, Array(known))]
		elif name.begins_with("_") or name.containsn("script"):
			problem["error"] = "Tools do not change '%s': it names code that runs at each import, or files that are written." % name
		else:
			var old: Variant = settings.get_value("params", name)
			var value: Variant = codec.decode(values[name], {"type": typeof(old)})
			if not codec.error.is_empty() or value is Object or not value is String and var_to_str(value).contains("Object("):
				problem["error"] = "Import setting '%s': %s" % [name, codec.error if not codec.error.is_empty() else "it holds no objects."]
			settings.set_value("params", name, value)
		if problem.has("error"):
			return ""
	return settings.encode_to_text()


func apply(path: String, before: String, after: String) -> void:
	var place: String = path + ".import"
	if FileWriter.read(place) != before or Places.writable(place, {}).is_empty():
		push_warning("Tether: '%s' changed in the meantime and is left as it is." % place)
		return
	FileWriter.put_in_file(place, after)
	# Importing shows its progress and runs the editor's loop inside; not inside of a tool call.
	EditorInterface.get_resource_filesystem().reimport_files.call_deferred([path] as PackedStringArray)
