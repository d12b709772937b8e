@tool
extends RefCounted
## Writes the JSON schemas of tools in a few words each, and checks arguments against them.
##
## Only the part of JSON Schema that the builders below write is understood by check().

const Words := preload("words.gd")


static func object(properties: Dictionary = {}, required: Array = []) -> Dictionary:
	return {"type": "object", "properties": properties, "required": required,
			"additionalProperties": false}


static func text(description: String, default: Variant = null) -> Dictionary:
	return _with_default({"type": "string", "description": description}, default)


static func integer(description: String, minimum: int, maximum: int, default: Variant = null) -> Dictionary:
	return _with_default({"type": "integer", "description": description, "minimum": minimum,
			"maximum": maximum}, default)


static func flag(description: String, default: bool = false) -> Dictionary:
	return {"type": "boolean", "description": description, "default": default}


static func choice(description: String, values: Array, default: Variant = null) -> Dictionary:
	return _with_default({"type": "string", "description": description, "enum": values}, default)


## A list of texts.
static func texts(description: String) -> Dictionary:
	return {"type": "array", "description": description, "items": {"type": "string"}}


static func list(description: String) -> Dictionary:
	return {"type": "array", "description": description, "items": {}}


static func map(description: String) -> Dictionary:
	return {"type": "object", "description": description}


static func anything(description: String) -> Dictionary:
	return {"description": description}


## The two properties of every tool that answers in pages.
static func paged(properties: Dictionary, limit: int, maximum: int = 500) -> Dictionary:
	properties["offset"] = integer("Skip so many; take it from 'next' of the answer before.", 0, 1 << 30, 0)
	properties["limit"] = integer("At most so many.", 1, maximum, limit)
	return properties


static func _with_default(schema: Dictionary, default: Variant) -> Dictionary:
	if default != null:
		schema["default"] = default
	return schema


## Checks a value; returns what is wrong in words, or "". The value with all defaults filled in and
## whole numbers as int is put into [param out] under "value".
static func check(schema: Dictionary, value: Variant, out: Dictionary, where: String = "") -> String:
	var type: String = schema.get("type", "")
	var actual: Variant = value
	if type == "integer" and value is float and value == floorf(value):
		actual = int(value)
	out["value"] = actual
	if not type.is_empty() and not _is_of_type(type, actual):
		return "%s must be %s, not %s." % [_name(where), _a(type), _describe(value)]
	if schema.has("enum") and not actual in schema["enum"]:
		return "%s must be one of %s, not '%s'.%s" % [_name(where), Words.enumerate(schema["enum"]),
				actual, Words.suggest(str(actual), schema["enum"])]
	if schema.has("minimum") and actual < schema["minimum"] or schema.has("maximum") and actual > schema["maximum"]:
		return "%s must be from %d to %d, not %s." % [_name(where), schema["minimum"], schema["maximum"], actual]
	match type:
		"object":
			return _check_object(schema, actual, out, where)
		"array":
			return _check_array(schema, actual, out, where)
	return ""


static func _check_object(schema: Dictionary, value: Dictionary, out: Dictionary, where: String) -> String:
	if not schema.has("properties"):
		return ""
	var known: Dictionary = schema["properties"]
	var result: Dictionary = {}
	for key: Variant in value:
		if not known.has(key):
			return "There is no argument '%s'.%s Allowed: %s." % [_join(where, str(key)),
					Words.suggest(str(key), known.keys()),
					"none" if known.is_empty() else Words.enumerate(known.keys())]
		var inner: Dictionary = {}
		# An argument that is null stands for one that was left out, unless anything is allowed.
		if value[key] == null and known[key].has("type"):
			continue
		var problem: String = check(known[key], value[key], inner, _join(where, str(key)))
		if not problem.is_empty():
			return problem
		result[key] = inner["value"]
	for key: String in schema.get("required", []):
		if not result.has(key):
			return "The argument '%s' is missing: %s" % [_join(where, key), known[key].get("description", "")]
	for key: String in known:
		if not result.has(key) and known[key].has("default"):
			result[key] = known[key]["default"]
	out["value"] = result
	return ""


static func _check_array(schema: Dictionary, value: Array, out: Dictionary, where: String) -> String:
	var result: Array = []
	for index: int in value.size():
		var inner: Dictionary = {}
		var problem: String = check(schema.get("items", {}), value[index], inner, "%s[%d]" % [where, index])
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
