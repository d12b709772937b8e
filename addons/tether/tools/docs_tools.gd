@tool
extends RefCounted
## The tools that tell about the engine's classes, from its own help and by reflection.

const ClassDocs := preload("class_docs.gd")
const Context := preload("context.gd")
const LoadGuard := preload("load_guard.gd")
const Schema := preload("schema.gd")
const Words := preload("words.gd")

## The lists of a class in the help, and what one entry is called.
const KINDS: Dictionary[String, String] = {
	"methods": "method", "properties": "property", "signals": "signal", "constants": "constant",
	"theme_properties": "theme_item", "annotations": "annotation", "constructors": "constructor", "operators": "operator",
}

var _context: Context


func _init(context: Context) -> void:
	_context = context


func get_tools() -> Array[Dictionary]:
	return [
		{"name": "docs_class", "read": true, "call": _class,
				"description": "What a class of the engine (or @GDScript, @GlobalScope, Vector2, a script class) is for, and its members.",
				"input": Schema.object(Schema.paged({"name": Schema.text(""),
					"members": Schema.hidden(Schema.choice("", ["none", "all"] + KINDS.keys(), "all")),
					"inherited": Schema.hidden(Schema.flag("Also of the classes above."))}, 100), ["name"])},
		{"name": "docs_member", "read": true, "call": _member,
				"description": "What a method, function, property, signal, constant or annotation of a class does: signature, default and explanation.",
				"input": Schema.object({"class": Schema.text(""), "name": Schema.text("")}, ["class", "name"])},
		{"name": "docs_search", "read": true, "call": _search,
				"description": "Finds which class, method or property of the engine does something, by words of its name or explanation.",
				"input": Schema.object(Schema.paged({"text": Schema.text("Words, all there."),
					"kind": Schema.hidden(Schema.choice("", ["any", "class"] + KINDS.values(), "any")),
					"names_only": Schema.hidden(Schema.flag(""))}, 20), ["text"])},
	]


# ---- finding -----------------------------------------------------------------------------------


## A class from the help, or by reflection if the help does not have it; {} with an error.
func _entry(name: String, problem: Dictionary) -> Dictionary:
	var classes: Dictionary[String, Dictionary] = await _context.docs.classes(Context.tree())
	if classes.has(name):
		return classes[name]
	if ClassDB.class_exists(name):
		return ClassDocs.reflect(name)
	for entry: Dictionary in ProjectSettings.get_global_class_list():
		if entry["class"] == name:
			var runs: String = "" if ResourceLoader.has_cached(entry["path"]) else LoadGuard.reason(entry["path"])
			if runs.is_empty():
				return _reflect_script(entry)
			problem["error"] = "'%s' is not told about, because to load it would run code: %s. file_read shows it." % [name, runs]
			return {}
	problem["error"] = "There is no class '%s'.%s" % [name, Words.suggest(name, classes.keys() if not classes.is_empty() else Array(ClassDB.get_class_list()))]
	return {}


func _reflect_script(entry: Dictionary) -> Dictionary:
	var script: Script = load(entry["path"])
	var result: Dictionary = {"name": entry["class"], "inherits": str(entry["base"]), "reflected": true, "script": entry["path"],
			"methods": [], "properties": [], "signals": [], "constants": []}
	if script == null:
		return result
	for info: Dictionary in script.get_script_method_list():
		result["methods"].append(ClassDocs.reflect_method(info))
	for info: Dictionary in script.get_script_signal_list():
		result["signals"].append(ClassDocs.reflect_method(info))
	for info: Dictionary in script.get_script_property_list():
		if not info["usage"] & (PROPERTY_USAGE_CATEGORY | PROPERTY_USAGE_GROUP | PROPERTY_USAGE_SUBGROUP):
			result["properties"].append({"name": info["name"], "type": ClassDocs.type_name(info)})
	for name: String in script.get_script_constant_map():
		result["constants"].append({"name": name, "value": str(script.get_script_constant_map()[name])})
	return result


func _line(kind: String, entry: Dictionary) -> String:
	match kind:
		"methods", "signals", "annotations", "constructors", "operators":
			return ClassDocs.signature(entry)
		"constants":
			var group: String = entry.get("enumeration", "")
			return "%s%s = %s" % [group + "." if not group.is_empty() else "", entry["name"], entry.get("value", "")]
	var text: String = "%s: %s" % [entry["name"], entry.get("enumeration", entry.get("type", ""))]
	return text + " = " + str(entry["default_value"]) if entry.has("default_value") else text


func _class(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var entry: Dictionary = await _entry(arguments["name"], problem)
	if entry.is_empty():
		return problem
	var result: Dictionary = {"name": entry["name"], "inherits": entry.get("inherits", ""),
			"brief": Words.plain(entry.get("brief_description", ""))}
	if arguments["offset"] == 0:
		result["description"] = Words.plain(entry.get("description", "")).left(4000)
	if entry.get("reflected", false):
		result["note"] = "There is no help text for this class; this is from reflection."
	if entry.has("script"):
		result["script"] = entry["script"]
	if arguments["members"] != "none":
		var lines: Array[String] = []
		while not entry.is_empty():
			_add_members(entry, arguments["members"], lines)
			entry = await _entry(entry["inherits"], {}) if arguments["inherited"] and entry.get("inherits", "") != "" else {}
		result.merge(Words.page(lines, arguments["offset"], arguments["limit"], "members"))
	return result


func _add_members(entry: Dictionary, wanted: String, lines: Array[String]) -> void:
	for kind: String in KINDS:
		if wanted in ["all", kind]:
			for member: Dictionary in entry.get(kind, []):
				lines.append("%s %s" % [KINDS[kind], _line(kind, member)])


func _member(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var entry: Dictionary = await _entry(arguments["class"], problem)
	if entry.is_empty():
		return problem
	var names: Array[String] = []
	while not entry.is_empty():
		var found: Array[Dictionary] = []
		for kind: String in KINDS:
			for member: Dictionary in entry.get(kind, []):
				names.append(member["name"])
				if member["name"] == arguments["name"] or kind == "annotations" and member["name"] == "@" + arguments["name"]:
					found.append(_told(kind, member))
		if not found.is_empty():
			var result: Dictionary = found[0]
			result["class"] = entry["name"]
			if found.size() > 1:
				result["also"] = found.slice(1).map(func(other: Dictionary) -> String: return other["signature"])
			if entry.get("reflected", false):
				result["note"] = "There is no help text; this is from reflection."
			return result
		entry = await _entry(entry["inherits"], {}) if entry.get("inherits", "") != "" else {}
	return Context.failure("%s has no such member '%s'.%s" % [arguments["class"], arguments["name"], Words.suggest(arguments["name"], names)])


func _told(kind: String, member: Dictionary) -> Dictionary:
	var result: Dictionary = {"kind": KINDS[kind], "signature": _line(kind, member), "description": Words.plain(member.get("description", ""))}
	for key: String in ["qualifiers", "setter", "getter", "deprecated_message", "experimental_message"]:
		if str(member.get(key, "")) != "":
			result[key] = member[key]
	return result


# ---- searching ---------------------------------------------------------------------------------


func _search(arguments: Dictionary) -> Dictionary:
	var words: PackedStringArray = str(arguments["text"]).to_lower().split(" ", false)
	if words.is_empty():
		return Context.failure("'text' is empty.")
	var context: Context = _context
	var classes: Dictionary[String, Dictionary] = await context.docs.classes(Context.tree())
	var hits: Array[Array] = []
	context.begin_work()
	for name: String in classes:
		_search_class(classes[name], words, arguments, hits)
		await context.breathe()
	hits.sort_custom(func(a: Array, b: Array) -> bool: return a[0] > b[0] if a[0] != b[0] else a[1].naturalnocasecmp_to(b[1]) < 0)
	var lines: Array = hits.map(func(hit: Array) -> String: return hit[1])
	var result: Dictionary = Words.page(lines, arguments["offset"], arguments["limit"], "hits")
	if classes.is_empty():
		result["note"] = "This editor has made no help cache yet; docs_class works by reflection."
	return result


func _search_class(entry: Dictionary, words: PackedStringArray, arguments: Dictionary, hits: Array[Array]) -> void:
	var name: String = entry["name"]
	if arguments["kind"] in ["any", "class"]:
		_score(name, name, entry.get("brief_description", ""), words, arguments["names_only"], "class %s: %s" % [name, Words.plain(entry.get("brief_description", "")).left(120)], hits)
	for kind: String in KINDS:
		if arguments["kind"] in ["any", KINDS[kind]]:
			for member: Dictionary in entry.get(kind, []):
				_score(member["name"], name, member.get("description", ""), words, arguments["names_only"],
						"%s %s.%s" % [KINDS[kind], name, member["name"]], hits)


func _score(name: String, owner: String, text: String, words: PackedStringArray, names_only: bool, line: String, hits: Array[Array]) -> void:
	var in_name: int = 0
	for word: String in words:
		if name.containsn(word):
			in_name += 1
		elif not owner.containsn(word) and (names_only or not text.containsn(word)):
			return
	if names_only and in_name == 0:
		return
	var score: float = 10.0 * in_name / words.size() + name.to_lower().similarity(" ".join(words)) * 5.0
	hits.append([score if in_name > 0 else 0.5, line])
