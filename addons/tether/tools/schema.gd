@tool
extends RefCounted
## Writes the JSON schemas of tools in a few words each, and reads arguments by them.
##
## Every word is paid for by each client in each session: what a name says needs no description.
## What clients are shown is a part of it, see [method published]: many drop bounds and defaults, so these
## stand in the descriptions. Read is with patience: what is not known is left out and named, a number
## out of bounds becomes the bound, and a value may come as its text. Only the part of JSON Schema that
## the builders below write is understood.

const Words := preload("words.gd")

## A bound that nobody meets, and that is not told.
const MOST: int = 1 << 20


static func object(properties: Dictionary = {}, required: Array = []) -> Dictionary:
	return {"type": "object", "properties": properties, "required": required}


static func text(description: String, default: Variant = null) -> Dictionary:
	return _with_default({"type": "string", "description": description}, default)


static func integer(description: String, minimum: int, maximum: int, default: Variant = null) -> Dictionary:
	return _with_default({"type": "integer", "description": description, "minimum": minimum,
			"maximum": maximum}, default)


static func number(description: String, minimum: float, maximum: float, default: Variant = null) -> Dictionary:
	return _with_default({"type": "number", "description": description, "minimum": minimum,
			"maximum": maximum}, default)


static func flag(description: String, default: bool = false) -> Dictionary:
	return {"type": "boolean", "description": description, "default": default}


static func choice(description: String, values: Array, default: Variant = null) -> Dictionary:
	return _with_default({"type": "string", "description": description, "enum": values}, default)


## A list of texts.
static func texts(description: String) -> Dictionary:
	return {"type": "array", "description": description, "items": {"type": "string"}}


## A list of anything, and an object with any members. Strict readers of schemas have no such thing, so
## clients are shown a text that holds JSON; what comes as list or object is taken, too.
static func list(description: String) -> Dictionary:
	return {"type": "array", "description": description}


## A list of objects.
static func objects(description: String) -> Dictionary:
	return {"type": "array", "description": description, "items": {"type": "object"}}


static func map(description: String) -> Dictionary:
	return {"type": "object", "description": description}


## The two properties of every tool that answers in pages.
static func paged(properties: Dictionary, limit: int, maximum: int = 500) -> Dictionary:
	properties["offset"] = integer("'next'", 0, 1 << 30, 0)
	properties["limit"] = integer("", 1, maximum, limit)
	return properties


## Taken, but not shown: for what answers ask for when it is needed.
static func hidden(schema: Dictionary) -> Dictionary:
	schema["hidden"] = true
	return schema


static func _with_default(schema: Dictionary, default: Variant) -> Dictionary:
	if default != null:
		schema["default"] = default
	return schema


# ---- what clients are shown --------------------------------------------------------------------


## A schema as strict readers take it: OpenAI's and Gemini's.
static func published(schema: Dictionary) -> Dictionary:
	var shown: Dictionary = {"type": schema["type"]}
	if schema.has("properties"):
		shown["properties"] = {}
		for name: String in schema["properties"]:
			if not schema["properties"][name].get("hidden", false):
				shown["properties"][name] = published(schema["properties"][name])
		if not (schema["required"] as Array).is_empty():
			shown["required"] = schema["required"]
		return shown
	var description: String = (schema["description"] + " " + _limits(schema)).strip_edges()
	if schema.has("enum"):
		shown["enum"] = schema["enum"]
	if _is_json(schema):
		shown["type"] = "string"
		description += " JSON %s." % ("list" if schema["type"] == "array" else "object")
	elif schema.has("items"):
		shown["items"] = schema["items"]
	if not description.is_empty():
		shown["description"] = description.strip_edges()
	return shown


static func _is_json(schema: Dictionary) -> bool:
	return schema["type"] == "object" and not schema.has("properties") or \
			schema["type"] == "array" and schema.get("items", {}).get("type") != "string"


## "(default 100, max 500)": what is taken if nothing is given, and a bound that somebody may meet.
static func _limits(schema: Dictionary) -> String:
	var parts: PackedStringArray = []
	var default: Variant = schema.get("default")
	if default != null and not default in [false, ""] and not (default is int and default == 0):
		parts.append("default " + str(default))
	if schema.has("maximum") and schema["maximum"] < MOST:
		parts.append("max " + str(schema["maximum"]))
	return ", ".join(parts) if (schema["description"] as String).is_empty() or parts.is_empty() else "(%s)" % ", ".join(parts)


# ---- reading arguments -------------------------------------------------------------------------


## Checks a value; returns what is wrong in words, or "". The value with all defaults filled in and
## whole numbers as int is put into [param out] under "value"; under "notes" what was not taken as it came.
static func check(schema: Dictionary, value: Variant, out: Dictionary, where: String = "") -> String:
	var type: String = schema["type"]
	var actual: Variant = _from_text(schema, value) if value is String else value
	if type == "integer" and actual is float and actual == floorf(actual):
		actual = int(actual)
	out["value"] = actual
	if not _is_of_type(type, actual):
		return "%s must be %s, not %s." % [_name(where), _a(type), _describe(value)]
	if schema.has("enum") and not actual in schema["enum"]:
		return "%s must be one of %s, not '%s'.%s" % [_name(where), Words.enumerate(schema["enum"]),
				actual, Words.suggest(str(actual), schema["enum"])]
	if schema.has("minimum"):
		out["value"] = clamp(actual, schema["minimum"], schema["maximum"])
		if out["value"] != actual:
			_note(out, "%s is from %s to %s, so %s was taken." % [_name(where), schema["minimum"], schema["maximum"], out["value"]])
	match type:
		"object":
			return _check_object(schema, actual, out, where)
		"array":
			return _check_array(schema, actual, out, where)
	return ""


static func _note(out: Dictionary, words: String) -> void:
	(out.get_or_add("notes", []) as Array).append(words)


## What a text stands for where no text is wanted: some clients write all values as texts.
static func _from_text(schema: Dictionary, value: String) -> Variant:
	if schema["type"] == "array" and schema.has("items") and not value.strip_edges().begins_with("["):
		return [value]
	if schema["type"] == "string":
		return value
	var json: JSON = JSON.new() # which does not tell the log what is wrong, as JSON.parse_string does
	return json.data if json.parse(value) == OK else value


static func _check_object(schema: Dictionary, value: Dictionary, out: Dictionary, where: String) -> String:
	if not schema.has("properties"):
		return ""
	var known: Dictionary = schema["properties"]
	var result: Dictionary = {}
	for key: Variant in value:
		if not known.has(key):
			_note(out, "There is no argument '%s'; it was ignored.%s" % [_join(where, str(key).left(60)), Words.suggest(str(key), known.keys())])
			continue
		var inner: Dictionary = {}
		# An argument that is null stands for one that was left out.
		if value[key] == null:
			continue
		var problem: String = check(known[key], value[key], inner, _join(where, str(key)))
		if not problem.is_empty():
			return problem
		result[key] = inner["value"]
		for note: String in inner.get("notes", []):
			_note(out, note)
	for key: String in schema["required"]:
		if not result.has(key):
			var ignored: String = " ".join(PackedStringArray(out.get("notes", []) as Array))
			return ("The argument '%s' is missing: %s %s" % [_join(where, key), known[key]["description"], ignored]).strip_edges()
	for key: String in known:
		if not result.has(key) and known[key].has("default"):
			result[key] = known[key]["default"]
	out["value"] = result
	return ""


static func _check_array(schema: Dictionary, value: Array, out: Dictionary, where: String) -> String:
	if not schema.has("items"):
		return ""
	var result: Array = []
	for index: int in value.size():
		var inner: Dictionary = {}
		var problem: String = check(schema["items"], value[index], inner, "%s[%d]" % [where, index])
		if not problem.is_empty():
			return problem
		result.append(inner["value"])
	out["value"] = result
	return ""


static func _is_of_type(type: String, value: Variant) -> bool:
	match type:
		"string":
			return value is String or value is StringName
		"integer":
			return value is int
		"number":
			return value is int or value is float
		"boolean":
			return value is bool
		"array":
			return value is Array
		"object":
			return value is Dictionary
	return true


static func _describe(value: Variant) -> String:
	match typeof(value):
		TYPE_NIL:
			return "null"
		TYPE_STRING:
			return "the text '%s'" % str(value).left(60)
		TYPE_BOOL, TYPE_INT, TYPE_FLOAT:
			return str(value)
		TYPE_ARRAY:
			return "a list"
		TYPE_DICTIONARY:
			return "an object"
	return type_string(typeof(value))


static func _a(type: String) -> String:
	match type:
		"string":
			return "a text"
		"integer":
			return "a whole number"
		"number":
			return "a number"
		"boolean":
			return "true or false"
		"array":
			return "a list"
	return "an object"


static func _name(where: String) -> String:
	return "The arguments" if where.is_empty() else "'%s'" % where


static func _join(where: String, key: String) -> String:
	return key if where.is_empty() else where + "." + key
