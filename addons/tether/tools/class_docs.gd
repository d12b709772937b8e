@tool
extends RefCounted
## The engine's help texts, from the cache that the editor keeps of them.
##
## The editor does not give its help to scripts, but it stores it as a resource with one dictionary a
## class, which is loaded here on a thread when it is first needed. Classes of extensions and what
## has no text are not in there; the tools fall back to ClassDB and say so.

## Seconds that loading may take before the caller is told to come back.
const WAIT_MSEC: int = 10000

var _classes: Dictionary[String, Dictionary] = {}


func clear() -> void:
	_classes.clear()


## All classes by name; empty if the editor has no help cache (yet).
func classes(tree: SceneTree) -> Dictionary[String, Dictionary]:
	if _classes.is_empty():
		await _load(tree)
	return _classes


func _load(tree: SceneTree) -> void:
	var path: String = _cache_path()
	if path.is_empty() or ResourceLoader.load_threaded_request(path, "", false, ResourceLoader.CACHE_MODE_IGNORE) != OK:
		return
	var end: int = Time.get_ticks_msec() + WAIT_MSEC
	while ResourceLoader.load_threaded_get_status(path) == ResourceLoader.THREAD_LOAD_IN_PROGRESS and Time.get_ticks_msec() < end:
		await tree.process_frame
	if ResourceLoader.load_threaded_get_status(path) != ResourceLoader.THREAD_LOAD_LOADED:
		return
	var cache: Resource = ResourceLoader.load_threaded_get(path)
	for entry: Dictionary in cache.get_meta("classes", []):
		_classes[entry["name"]] = entry


static func _cache_path() -> String:
	var version: Dictionary = Engine.get_version_info()
	var path: String = EditorInterface.get_editor_paths().get_cache_dir().path_join(
			"editor_doc_cache-%d.%d.res" % [version["major"], version["minor"]])
	return path if FileAccess.file_exists(path) else ""


## A class as the cache describes it, made from reflection alone.
static func reflect(name: String) -> Dictionary:
	var entry: Dictionary = {"name": name, "inherits": str(ClassDB.get_parent_class(name)), "reflected": true,
			"methods": [], "properties": [], "signals": [], "constants": []}
	for info: Dictionary in ClassDB.class_get_method_list(name, true):
		entry["methods"].append(reflect_method(info))
	for info: Dictionary in ClassDB.class_get_signal_list(name, true):
		entry["signals"].append(reflect_method(info))
	for info: Dictionary in ClassDB.class_get_property_list(name, true):
		if not info["usage"] & (PROPERTY_USAGE_CATEGORY | PROPERTY_USAGE_GROUP | PROPERTY_USAGE_SUBGROUP):
			entry["properties"].append({"name": info["name"], "type": type_name(info)})
	for constant: String in ClassDB.class_get_integer_constant_list(name, true):
		entry["constants"].append({"name": constant, "value": str(ClassDB.class_get_integer_constant(name, constant)),
				"enumeration": str(ClassDB.class_get_integer_constant_enum(name, constant, true))})
	return entry


static func reflect_method(info: Dictionary) -> Dictionary:
	var arguments: Array = []
	var first_default: int = info["args"].size() - info["default_args"].size()
	for index: int in info["args"].size():
		var argument: Dictionary = {"name": info["args"][index]["name"], "type": type_name(info["args"][index])}
		if index >= first_default:
			argument["default_value"] = var_to_str(info["default_args"][index - first_default])
		arguments.append(argument)
	return {"name": info["name"], "arguments": arguments, "return_type": type_name(info["return"], true)}


## The type of a property, an argument or a result in words.
static func type_name(info: Dictionary, is_result: bool = false) -> String:
	if info["type"] == TYPE_OBJECT or info["usage"] & (PROPERTY_USAGE_CLASS_IS_ENUM | PROPERTY_USAGE_CLASS_IS_BITFIELD):
		return str(info["class_name"]) if info["class_name"] != &"" else "Object"
	if info["type"] == TYPE_NIL:
		return "Variant" if not is_result or info["usage"] & PROPERTY_USAGE_NIL_IS_VARIANT else "void"
	return type_string(info["type"])


## "name(a: int, b: String = "") -> void" of a method or a signal.
static func signature(entry: Dictionary) -> String:
	var parts: Array[String] = []
	for argument: Dictionary in entry.get("arguments", []):
		var text: String = "%s: %s" % [argument["name"], argument.get("enumeration", argument["type"])]
		if argument.has("default_value"):
			text += " = " + str(argument["default_value"])
		parts.append(text)
	if str(entry.get("qualifiers", "")).contains("vararg"):
		parts.append("...")
	var result: String = "%s(%s)" % [entry["name"], ", ".join(parts)]
	if entry.has("return_type"):
		result += " -> " + str(entry.get("return_enum", entry["return_type"]))
	return result
