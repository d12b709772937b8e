@tool
extends RefCounted
## Values of the engine as JSON and back, so that nothing is lost on the way.
##
## What JSON has stays plain: null, true, 3, 0.5, "text", lists, objects with text keys. All else is
## an object whose only key is the type: {"Vector2": [1, 2]}, {"NodePath": "../A"},
## {"Color": [1, 0, 0, 1]}, {"Resource": "res://icon.svg"}, {"Node": "Player/Sprite"},
## {"PackedByteArray": "base64"}, {"Dictionary": [[key, value], …]}. A number without fraction is an
## int where nothing says otherwise; a float without one is {"float": 1.0} there.
##
## Decoding is guided by what is expected, as the engine's property lists describe it ("type",
## "class_name", "hint", "hint_string"). Then short forms do: [1, 2] or {"x": 1, "y": 2} or
## "Vector2(1, 2)" for a vector, "#ff8000" or "red" for a colour, "res://…" for a resource, the name
## for the value of an enum.

const Components := preload("components.gd")
const Places := preload("places.gd")
const Types := preload("value_types.gd")
const Words := preload("words.gd")

const MAX_EXACT: int = 1 << 53
const MAX_DEPTH: int = 8

## What nodes are named relative to; may be null, then nodes cannot be named.
var root: Node
## Lists that are longer are cut to a description, which cannot be decoded. 0: never.
var longest: int = 0
## What was wrong with the last decode(), or "".
var error: String = ""


func _init(scene_root: Node = null, longest_list: int = 0) -> void:
	root = scene_root
	longest = longest_list


# ---- to JSON -----------------------------------------------------------------------------------


## The JSON form of a value; [param type] is the type that the reader knows it to have.
func encode(value: Variant, type: int = TYPE_NIL, depth: int = 0) -> Variant:
	var known: bool = type == typeof(value)
	match typeof(value):
		TYPE_NIL, TYPE_BOOL, TYPE_STRING:
			return value
		TYPE_INT:
			if value < -MAX_EXACT or value > MAX_EXACT:
				return _tag(value, str(value))
			return value
		TYPE_FLOAT:
			return _encode_float(value, known)
		TYPE_STRING_NAME, TYPE_NODE_PATH:
			return _bare(value, str(value), known)
		TYPE_ARRAY:
			return _encode_array(value, known, depth)
		TYPE_DICTIONARY:
			return _encode_dictionary(value, depth)
		TYPE_OBJECT:
			return _encode_object(value, depth)
		TYPE_CALLABLE:
			return _tag(value, _encode_callable(value, depth))
		TYPE_SIGNAL:
			return _tag(value, _encode_signal(value, depth))
		TYPE_RID:
			return _tag(value, str(value.get_id()))
	if Components.SIZES.has(typeof(value)):
		return _tag(value, _numbers(value))
	return _tag(value, _encode_packed(value))


func _tag(value: Variant, body: Variant) -> Dictionary:
	return {type_string(typeof(value)): body}


## The body alone, where the reader knows the type.
func _bare(value: Variant, body: Variant, known: bool) -> Variant:
	if known:
		return body
	return _tag(value, body)


func _encode_float(value: float, known: bool) -> Variant:
	if is_nan(value) or is_inf(value):
		return {"float": _special(value)}
	# What the engine keeps in 32 bits, as most properties are, comes with digits that nobody wrote.
	var shown: float = Components.shorten(value) if PackedFloat32Array([value])[0] == value else value
	return _bare(value, shown, known or shown != floorf(shown))


func _number(value: float) -> Variant:
	if not is_finite(value):
		return _special(value)
	return Components.shorten(value)


func _special(value: float) -> String:
	return "nan" if is_nan(value) else "inf" if value > 0 else "-inf"


func _numbers(value: Variant) -> Array:
	if typeof(value) in Components.WHOLE:
		return Components.take(value)
	return Components.take(value).map(_number)


func _too_long(size: int) -> bool:
	return longest > 0 and size > longest


func _encode_packed(value: Variant) -> Variant:
	var items: Variant = value.slice(0, longest) if _too_long(value.size()) else value
	var body: Variant
	match typeof(value):
		TYPE_PACKED_BYTE_ARRAY:
			body = Marshalls.raw_to_base64(items)
		TYPE_PACKED_VECTOR2_ARRAY, TYPE_PACKED_VECTOR3_ARRAY, TYPE_PACKED_VECTOR4_ARRAY, TYPE_PACKED_COLOR_ARRAY:
			body = Array(items).map(_numbers)
		TYPE_PACKED_FLOAT32_ARRAY:
			body = Array(items).map(_number)
		_:
			body = Array(items).map(func(item: Variant) -> Variant: return encode(item, typeof(item)))
	return {"size": value.size(), "first": body} if _too_long(value.size()) else body


func _encode_array(value: Array, known: bool, depth: int) -> Variant:
	var type: int = value.get_typed_builtin()
	var cut: bool = _too_long(value.size())
	if depth >= MAX_DEPTH:
		return {"Array": {"size": value.size()}}
	var items: Array = []
	for item: Variant in value.slice(0, longest) if cut else value:
		items.append(encode(item, type, depth + 1))
	if cut:
		return {"Array": {"size": value.size(), "first": items}}
	if value.is_typed() and not known:
		return {"Array": {"of": _kind(type, value.get_typed_class_name(), value.get_typed_script()), "items": items}}
	return items


func _encode_dictionary(value: Dictionary, depth: int) -> Variant:
	if depth >= MAX_DEPTH:
		return {"Dictionary": {"size": value.size()}}
	if not value.is_typed() and _is_plain(value):
		var result: Dictionary = {}
		for key: String in value:
			result[key] = encode(value[key], TYPE_NIL, depth + 1)
		return result
	var pairs: Array = []
	for key: Variant in value:
		pairs.append([encode(key, value.get_typed_key_builtin(), depth + 1),
				encode(value[key], value.get_typed_value_builtin(), depth + 1)])
	if not value.is_typed():
		return {"Dictionary": pairs}
	return {"Dictionary": {"pairs": pairs,
			"key": _kind(value.get_typed_key_builtin(), value.get_typed_key_class_name(), value.get_typed_key_script()),
			"value": _kind(value.get_typed_value_builtin(), value.get_typed_value_class_name(), value.get_typed_value_script())}}


func _is_plain(value: Dictionary) -> bool:
	for key: Variant in value:
		if not key is String or value.size() == 1 and Types.tags().has(key):
			return false
	return true


## The name of an element type: "int", "Texture2D", or a script's path; "" for any.
func _kind(type: int, class_named: StringName, script: Variant) -> String:
	if script is Script:
		return script.resource_path
	if type == TYPE_OBJECT:
		return class_named
	return "" if type == TYPE_NIL else type_string(type)


func _encode_callable(value: Callable, depth: int) -> Variant:
	if value.is_null():
		return null
	if not value.is_standard():
		return {"description": str(value)}
	return {"object": _encode_object(value.get_object(), depth), "method": value.get_method()}


func _encode_signal(value: Signal, depth: int) -> Variant:
	if value.is_null():
		return null
	return {"object": _encode_object(value.get_object(), depth), "name": value.get_name()}


func _encode_object(value: Object, depth: int) -> Variant:
	if not is_instance_valid(value):
		return null
	if value is Node and root != null and (value == root or root.is_ancestor_of(value)):
		return {"Node": str(root.get_path_to(value))}
	if value is Node and value.is_inside_tree() and not Engine.is_editor_hint():
		return {"Node": str(value.get_path())} # of a running game, all of which is there to be named
	if value is EncodedObjectAsID: # an object of a game that the debugger holds
		return {"Object": {"id": str((value as EncodedObjectAsID).object_id)}}
	if value is Resource:
		return {"Resource": _encode_resource(value, depth)}
	return {"Object": {"type": value.get_class(), "id": str(value.get_instance_id())}}


func _encode_resource(value: Resource, depth: int) -> Variant:
	if not value.resource_path.is_empty() and not value.is_built_in():
		return value.resource_path
	var result: Dictionary = {"type": value.get_class()}
	if not value.resource_path.is_empty():
		result["path"] = value.resource_path
	if depth >= MAX_DEPTH:
		return result
	var properties: Dictionary = {}
	for info: Dictionary in value.get_property_list():
		var name: String = info["name"]
		if not info["usage"] & PROPERTY_USAGE_STORAGE or name in ["resource_path", "resource_scene_unique_id"]:
			continue
		var current: Variant = value.get(name)
		if not Types.is_same_value(current, ClassDB.class_get_property_default_value(value.get_class(), name)):
			properties[name] = encode(current, info["type"], depth + 1)
	if not properties.is_empty():
		result["properties"] = properties
	return result


# ---- from JSON ---------------------------------------------------------------------------------


## The value that a JSON form stands for, guided by what is expected. Look at [member error] after.
func decode(json: Variant, expected: Dictionary = Types.FREE) -> Variant:
	error = ""
	return _decode(json, expected)


func _fail(message: String) -> Variant:
	if error.is_empty():
		error = message
	return null


func _decode(json: Variant, expected: Dictionary) -> Variant:
	var type: int = expected.get("type", TYPE_NIL)
	if json is Dictionary and json.size() == 1 and json.keys()[0] is String and Types.tags().has(json.keys()[0]):
		return _fit(_decode_tagged(json.keys()[0], json.values()[0], expected), expected)
	match type:
		TYPE_NIL:
			return _decode_free(json)
		TYPE_BOOL:
			return json if json is bool else _wrong(json, "true or false")
		TYPE_INT:
			return _decode_int(json, expected)
		TYPE_FLOAT:
			return _decode_float(json)
		TYPE_STRING:
			return str(json) if json is String or json is StringName else _wrong(json, "a text")
		TYPE_STRING_NAME:
			return StringName(json) if json is String else _wrong(json, "a text (StringName)")
		TYPE_NODE_PATH:
			return NodePath(json) if json is String else _wrong(json, "the text of a node path")
		TYPE_ARRAY:
			return _decode_array(json, expected)
		TYPE_DICTIONARY:
			return _decode_dictionary(json, expected)
		TYPE_OBJECT:
			return _decode_object(json, expected)
	if Components.SIZES.has(type):
		return _decode_numbers(json, type)
	if Components.PACKED.has(type):
		return _decode_packed(json, type)
	return _wrong(json, "an object like {\"%s\": …}" % type_string(type))


func _wrong(json: Variant, wanted: String) -> Variant:
	return _fail("Wanted is %s, not %s." % [wanted, JSON.stringify(json).left(100)])


## A tagged value where another type is expected: converted if nothing is lost.
func _fit(value: Variant, expected: Dictionary) -> Variant:
	var type: int = expected.get("type", TYPE_NIL)
	if not error.is_empty() or type == TYPE_NIL or typeof(value) == type:
		return value
	if value == null and type in [TYPE_OBJECT, TYPE_CALLABLE, TYPE_SIGNAL]:
		return value
	for pair: Array in [[TYPE_STRING, TYPE_STRING_NAME], [TYPE_STRING, TYPE_NODE_PATH], [TYPE_INT, TYPE_FLOAT],
			[TYPE_VECTOR2, TYPE_VECTOR2I], [TYPE_VECTOR3, TYPE_VECTOR3I], [TYPE_VECTOR4, TYPE_VECTOR4I]]:
		if typeof(value) in pair and type in pair:
			return type_convert(value, type)
	return _fail("Wanted is %s, not %s." % [type_string(type), type_string(typeof(value))])


func _decode_free(json: Variant) -> Variant:
	if json is float and json == floorf(json) and absf(json) <= MAX_EXACT:
		return int(json)
	if json is Array:
		return json.map(func(item: Variant) -> Variant: return _decode(item, Types.FREE))
	if json is Dictionary:
		var result: Dictionary = {}
		for key: Variant in json:
			result[key] = _decode(json[key], Types.FREE)
		return result
	return json


func _decode_tagged(tag: String, body: Variant, expected: Dictionary) -> Variant:
	var type: int = Types.tags()[tag]
	match tag:
		"int":
			return body.to_int() if body is String and body.is_valid_int() else _decode_int(body, Types.FREE)
		"Resource", "Node", "Object":
			return _decode_object({tag: body}, expected if expected.get("type", TYPE_NIL) == TYPE_OBJECT else {"type": TYPE_OBJECT})
		"Callable":
			return _decode_callable(body)
		"Signal":
			return _decode_signal(body)
		"RID":
			return rid_from_int64(str(body).to_int())
		"Array":
			return _decode_tagged_array(body, expected)
		"Dictionary":
			return _decode_tagged_dictionary(body, expected)
	return _decode(body, {"type": type})


func _decode_int(json: Variant, expected: Dictionary) -> Variant:
	if json is int:
		return json
	if json is float and json == floorf(json):
		return int(json)
	if json is String or json is Array:
		var names: Dictionary = Types.enum_names(expected)
		if not names.is_empty():
			return _decode_enum(json, names, expected)
	return _wrong(json, "a whole number" if Types.enum_names(expected).is_empty()
			else "one of " + Words.enumerate(Types.enum_names(expected).keys()))


func _decode_enum(json: Variant, names: Dictionary, expected: Dictionary) -> Variant:
	var result: int = 0
	for word: Variant in json if json is Array else [json]:
		var found: Variant = _find_name(str(word), names)
		if found == null:
			return _fail("There is no value '%s' here; there are %s.%s" % [word, Words.enumerate(names.keys()),
					Words.suggest(str(word), names.keys())])
		result |= int(found)
	if json is Array and expected.get("hint", 0) == PROPERTY_HINT_ENUM and json.size() != 1:
		return _wrong(json, "one name")
	return result


func _find_name(word: String, names: Dictionary) -> Variant:
	var wanted: String = word.to_snake_case().replace(" ", "_")
	for suffix: bool in [false, true]:
		for name: String in names:
			var plain: String = name.replace(" ", "_").to_snake_case()
			if plain == wanted or suffix and (wanted.ends_with("_" + plain) or plain.ends_with("_" + wanted)):
				return names[name]
	return null


func _decode_float(json: Variant) -> Variant:
	if json is int or json is float:
		return float(json)
	if json is String and json in ["nan", "inf", "-inf"]:
		return {"nan": NAN, "inf": INF, "-inf": -INF}[json]
	return _wrong(json, "a number")


func _decode_numbers(json: Variant, type: int) -> Variant:
	var given: Variant = json
	if json is String:
		return _decode_text(json, type)
	if json is Dictionary and Components.NAMES.has(type):
		given = []
		for name: String in Components.NAMES[type]:
			given.append(json.get(name))
		if type == TYPE_COLOR and given[3] == null:
			given[3] = 1.0
	if given is Array and type == TYPE_COLOR and given.size() == 3:
		given = given + [1.0]
	if not given is Array or given.size() != Components.SIZES[type]:
		return _wrong(json, "%s as a list of %d numbers" % [type_string(type), Components.SIZES[type]])
	var numbers: Array = []
	for number: Variant in given:
		numbers.append(_decode_int(number, Types.FREE) if type in Components.WHOLE else _decode_float(number))
	return Components.make(type, numbers) if error.is_empty() else null


func _decode_text(text: String, type: int) -> Variant:
	if type == TYPE_COLOR and (Color.html_is_valid(text) or Color.from_string(text, Color(-1, 0, 0)) != Color(-1, 0, 0)):
		return Color.from_string(text, Color())
	if text.begins_with(type_string(type) + "("):
		var value: Variant = str_to_var(text)
		if typeof(value) == type:
			return value
	return _wrong(text, "%s as a list of %d numbers" % [type_string(type), Components.SIZES[type]])


func _decode_packed(json: Variant, type: int) -> Variant:
	if type == TYPE_PACKED_BYTE_ARRAY and json is String:
		return Marshalls.base64_to_raw(json)
	if not json is Array:
		return _wrong(json, "a list for " + type_string(type))
	var items: Array = []
	for item: Variant in json:
		items.append(_decode(item, {"type": Components.PACKED[type]}))
	return type_convert(items, type) if error.is_empty() else null


# ---- lists and dictionaries --------------------------------------------------------------------


func _decode_array(json: Variant, expected: Dictionary) -> Variant:
	if not json is Array:
		return _wrong(json, "a list")
	var info: Dictionary = Types.element(expected.get("hint_string", "")) if expected.get("hint", 0) in \
			[PROPERTY_HINT_ARRAY_TYPE, PROPERTY_HINT_TYPE_STRING] else Types.FREE
	return _fill(json, expected.get("element", info))


func _fill(items: Array, info: Dictionary) -> Variant:
	var values: Array = []
	for item: Variant in items:
		values.append(_decode(item, info))
	if not error.is_empty():
		return null
	if info["type"] == TYPE_NIL:
		return values
	return Array(values, info["type"], info.get("class_name", "") if info["type"] == TYPE_OBJECT else "", info.get("script"))


func _decode_tagged_array(body: Variant, expected: Dictionary) -> Variant:
	if body is Dictionary and body.get("items") is Array:
		return _fill(body["items"], Types.from_kind(str(body.get("of", ""))))
	return _decode_array(body, expected)


func _decode_dictionary(json: Variant, expected: Dictionary) -> Variant:
	if not json is Dictionary:
		return _wrong(json, "an object")
	var pairs: Array = []
	for key: Variant in json:
		pairs.append([key, json[key]])
	var kinds: Array = [Types.FREE, Types.FREE]
	if expected.get("hint", 0) in [PROPERTY_HINT_DICTIONARY_TYPE, PROPERTY_HINT_TYPE_STRING] and str(expected["hint_string"]).contains(";"):
		kinds = [Types.element(str(expected["hint_string"]).get_slice(";", 0)), Types.element(str(expected["hint_string"]).get_slice(";", 1))]
	return _fill_pairs(pairs, kinds[0], kinds[1])


func _decode_tagged_dictionary(body: Variant, expected: Dictionary) -> Variant:
	if body is Dictionary and body.get("pairs") is Array:
		return _fill_pairs(body["pairs"], Types.from_kind(str(body.get("key", ""))), Types.from_kind(str(body.get("value", ""))))
	if body is Array:
		return _fill_pairs(body, Types.FREE, Types.FREE)
	return _decode_dictionary(body, expected)


func _fill_pairs(pairs: Array, key: Dictionary, value: Dictionary) -> Variant:
	var result: Dictionary = {}
	if key["type"] != TYPE_NIL or value["type"] != TYPE_NIL:
		result = Dictionary(result, key["type"], StringName(key.get("class_name", "")), key.get("script"),
				value["type"], StringName(value.get("class_name", "")), value.get("script"))
	for pair: Variant in pairs:
		if not pair is Array or pair.size() != 2:
			return _wrong(pair, "a pair of key and value")
		var decoded_key: Variant = _decode_key(pair[0], key)
		var decoded: Variant = _decode(pair[1], value)
		if not error.is_empty():
			return null
		result[decoded_key] = decoded
	return result


## Keys of JSON objects are texts; where an int or a float is expected, they are read as such.
func _decode_key(json: Variant, expected: Dictionary) -> Variant:
	if json is String and expected["type"] in [TYPE_INT, TYPE_FLOAT] and json.is_valid_float():
		return _decode(json.to_float(), expected)
	return _decode(json, expected)


# ---- objects -----------------------------------------------------------------------------------


func _decode_object(json: Variant, expected: Dictionary) -> Variant:
	var value: Object = null
	if json is String:
		value = _named_object(json, expected)
	elif json is Dictionary:
		value = _described_object(json)
	elif json != null:
		return _wrong(json, "null, a path, or an object like {\"Resource\": …}")
	if not error.is_empty():
		return null
	var wanted: String = _wanted_class(expected)
	if value != null and not wanted.is_empty() and not _is_any(value, wanted):
		return _fail("Wanted is %s, not a %s." % [wanted.replace(",", " or "), value.get_class()])
	return value


func _wanted_class(expected: Dictionary) -> String:
	if expected.get("hint", 0) in [PROPERTY_HINT_RESOURCE_TYPE, PROPERTY_HINT_NODE_TYPE]:
		return expected.get("hint_string", "")
	return expected.get("class_name", "")


func _is_any(value: Object, classes: String) -> bool:
	var script: Script = value.get_script()
	for name: String in classes.split(","):
		if value.is_class(name):
			return true
		var base: Script = script
		while base != null:
			if base.get_global_name() == name or base.resource_path == name:
				return true
			base = base.get_base_script()
	return false


func _named_object(path: String, expected: Dictionary) -> Object:
	if path.begins_with("res://") or path.begins_with("uid://"):
		return _load(path)
	var wanted: String = _wanted_class(expected)
	if wanted.is_empty() or ClassDB.is_parent_class(wanted, "Resource"):
		return _fail("Wanted is a resource: its path ('res://…'), or {\"type\": \"ClassName\", \"properties\": {…}}, not '%s'." % path)
	return _find_node(path)


func _load(given: String) -> Object:
	var problem: Dictionary = {}
	var path: String = given if given.contains("::") and ResourceLoader.has_cached(given) else Places.readable(given, problem)
	if path.is_empty():
		return _fail(problem["error"])
	if not ResourceLoader.exists(path):
		return _fail("There is no resource at '%s'." % path)
	var value: Resource = load(path)
	return value if value != null else _fail("The resource '%s' cannot be loaded." % path)


func _find_node(path: String) -> Object:
	var node: Node = root.get_node_or_null(path) if root != null else null
	return node if node != null else _fail("There is no node '%s' in the edited scene." % path)


func _described_object(json: Dictionary) -> Object:
	if json.size() == 1 and json.has("Node"):
		return _find_node(str(json["Node"]))
	if json.size() == 1 and json.has("Object"):
		return _find_object(json["Object"])
	if json.size() == 1 and json.has("Resource"):
		if json["Resource"] is String:
			return _load(json["Resource"])
		if json["Resource"] is Dictionary:
			return _described_object(json["Resource"])
	if json.get("type") is String:
		return _build_resource(json)
	return _wrong(json, "{\"Resource\": \"res://…\"} or {\"type\": \"ClassName\", \"properties\": {…}}")


func _find_object(json: Variant) -> Object:
	if json == null:
		return null
	var id: int = str(json.get("id", "0")).to_int() if json is Dictionary else 0
	return instance_from_id(id) if is_instance_id_valid(id) else _fail("That object is not alive any more.")


func _build_resource(json: Dictionary) -> Object:
	var type: String = json["type"]
	if not ClassDB.class_exists(type) or not ClassDB.is_parent_class(type, "Resource") or not ClassDB.can_instantiate(type):
		return _fail("'%s' is not a resource class that can be made.%s" % [type,
				Words.suggest(type, Array(ClassDB.get_inheriters_from_class("Resource")))])
	# A resource inside a scene that is given back as it was read stays the one that it is.
	var path: String = str(json.get("path", ""))
	if path.contains("::") and ResourceLoader.has_cached(path):
		var known: Resource = load(path)
		if JSON.stringify(_encode_resource(known, 0)) == JSON.stringify(json):
			return known
	var value: Resource = ClassDB.instantiate(type)
	var properties: Dictionary = json.get("properties", {})
	if properties.has("script"):
		value.set_script(_decode(properties["script"], {"type": TYPE_OBJECT}))
	for name: String in properties:
		var info: Dictionary = Types.property_of(value, name)
		if info.is_empty():
			return _fail("%s has no property '%s'.%s" % [type, name, Words.suggest(name, Types.property_names(value))])
		if not Types.why_not_set(value, name).is_empty():
			return _fail(Types.why_not_set(value, name))
		value.set(name, _decode(properties[name], info))
	return value if error.is_empty() else null


func _decode_callable(body: Variant) -> Variant:
	if body == null:
		return Callable()
	if not body is Dictionary or not body.has("method"):
		return _fail("This callable cannot be made again from its description.")
	var object: Object = _decode(body.get("object"), {"type": TYPE_OBJECT})
	return Callable(object, str(body["method"])) if object != null else _fail("The callable's object is missing.")


func _decode_signal(body: Variant) -> Variant:
	if body == null:
		return Signal()
	var object: Object = _decode(body.get("object"), {"type": TYPE_OBJECT}) if body is Dictionary else null
	return Signal(object, str(body["name"])) if object != null else _fail("The signal's object is missing.")
