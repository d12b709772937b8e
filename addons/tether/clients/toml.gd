@tool
extends RefCounted
## One table in a TOML file: found, compared and changed, while every other byte stays what it is.
##
## The text is scanned once into headers and statements with their positions. What a value is does
## not matter, only where it ends, so all that TOML has is understood.

const TRANSPORT: PackedStringArray = ["url", "command", "args"]

const TAB: int = 0x09
const NEWLINE: int = 0x0a
const RETURN: int = 0x0d
const SPACE: int = 0x20
const QUOTE: int = 0x22
const HASH: int = 0x23
const APOSTROPHE: int = 0x27
const COMMA: int = 0x2c
const DOT: int = 0x2e
const EQUALS: int = 0x3d
const BRACKET: int = 0x5b
const BACKSLASH: int = 0x5c
const BRACKET_END: int = 0x5d
const BRACE: int = 0x7b
const BRACE_END: int = 0x7d


## A header, or a key with its value.
class Part:
	var path: PackedStringArray
	var unique: String ## the path, told from the same one in another table of an array of tables
	var is_header: bool
	var is_array: bool ## a header in double brackets
	var is_inline: bool ## within the braces of a value
	var start: int
	var key_ends: PackedInt32Array ## behind each part of its own key
	var value: int
	var end: int


var bytes: PackedByteArray
var error: String = "" ## what is wrong with the text, in words
var parts: Array[Part] = []

var _size: int
var _table: PackedStringArray = []
var _table_unique: String = ""
var _seen: Dictionary[String, bool] = {}
var _arrays: Array[PackedStringArray] = [] # of tables
var _serial: int = 0 # counts what has no name of its own: tables in arrays
var _scalar: RegEx = RegEx.create_from_string(
		"\\G(true|false|[+-]?(inf|nan)|0x[0-9A-Fa-f_]+|0o[0-7_]+|0b[01_]+"
		+ "|\\d{4}-\\d\\d-\\d\\d([Tt ]\\d\\d:\\d\\d(:\\d\\d(\\.\\d+)?)?([Zz]|[+-]\\d\\d:\\d\\d)?)?"
		+ "|\\d\\d:\\d\\d(:\\d\\d(\\.\\d+)?)?"
		+ "|[+-]?(0|[1-9](_?\\d)*)(\\.\\d(_?\\d)*)?([eE][+-]?\\d(_?\\d)*)?)(?=[\\s,\\]}#]|$)")
var _escape: RegEx = RegEx.create_from_string(
		r'\\([btnfre"\\]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[ \t\r]*\n)')
var _bare: RegEx = RegEx.create_from_string("^[A-Za-z0-9_-]+$")
var _newline: String


func _init(text: PackedByteArray) -> void:
	bytes = text
	_size = text.size()
	var first: int = bytes.find(NEWLINE)
	_newline = "\r\n" if first > 0 and bytes[first - 1] == RETURN else "\n"
	_scan()


# ---- the scanner ---------------------------------------------------------------------------------

## Notes the first fault and returns the end of the text, where every loop ends.
func _fail(what: String, at: int) -> int:
	if error.is_empty():
		error = "line %d: %s" % [bytes.slice(0, at).count(NEWLINE) + 1, what]
	return _size


func _scan() -> void:
	var at: int = _skip(0, true)
	while at < _size:
		at = _header(at) if bytes[at] == BRACKET else _statement(at, _table, false)
		at = _skip(at, false)
		if at < _size and bytes[at] != NEWLINE:
			at = _fail("there should be nothing more on this line", at)
		at = _skip(at, true)


func _at(at: int) -> int:
	return bytes[at] if at < _size else 0


## The next position behind space and comments, and behind the ends of lines if wanted.
func _skip(at: int, lines: bool) -> int:
	while at < _size:
		var c: int = bytes[at]
		if c == HASH:
			at = _line_end(at)
		elif c == SPACE or c == TAB or (c == NEWLINE and lines) or (c == RETURN and _at(at + 1) == NEWLINE):
			at += 1
		else:
			break
	return at


func _line_end(at: int) -> int:
	var end: int = bytes.find(NEWLINE, at) if at < _size else -1
	return _size if end < 0 else end


func _header(at: int) -> int:
	var part: Part = Part.new()
	part.is_header = true
	part.start = at
	part.is_array = _at(at + 1) == BRACKET
	at = _key(_skip(at + (2 if part.is_array else 1), false), part)
	for _i: int in 2 if part.is_array else 1:
		if _at(at) != BRACKET_END:
			return _fail("there should be a closing bracket", at)
		at += 1
	part.end = at
	_table = part.path
	if part.is_array:
		_serial += 1
		if not part.path in _arrays:
			_arrays.append(part.path)
	_table_unique = ("%d\n" % _serial if _is_in_array(part) else "") + "\n".join(part.path)
	part.unique = "[%s]" % _table_unique
	_add(part)
	return at


## Tables in an array may repeat, and so may what is below them.
func _is_in_array(part: Part) -> bool:
	return _arrays.any(func(path: PackedStringArray) -> bool: return path == part.path.slice(0, path.size()))


func _statement(at: int, outer: PackedStringArray, inline: bool, outer_unique: String = _table_unique) -> int:
	var part: Part = Part.new()
	part.start = at
	part.is_inline = inline
	at = _key(at, part)
	part.unique = outer_unique + "\n" + "\n".join(part.path)
	part.path = outer + part.path
	if _at(at) != EQUALS:
		return _fail("there should be \"=\"", at)
	part.value = _skip(at + 1, false)
	_add(part)
	part.end = _value(part.value, part.path, part.unique)
	return part.end


func _add(part: Part) -> void:
	if _seen.has(part.unique):
		_fail("\"%s\" is there twice" % ".".join(part.path), part.start)
	_seen[part.unique] = true
	parts.append(part)


func _key(at: int, part: Part) -> int:
	while at < _size:
		var end: int = at
		if _at(at) == QUOTE or _at(at) == APOSTROPHE:
			end = _text_end(at)
			part.path.append(decode(at, end))
		else:
			while end < _size and not bytes[end] in [DOT, EQUALS, BRACKET_END, SPACE, TAB, NEWLINE, RETURN]:
				end += 1
			part.path.append(bytes.slice(at, end).get_string_from_utf8())
			if _bare.search(part.path[-1]) == null:
				return _fail("there should be a name", at)
		part.key_ends.append(end)
		at = _skip(end, false)
		if _at(at) != DOT:
			return at
		at = _skip(at + 1, false)
	return _fail("there should be a name", at)


func _text_end(at: int) -> int:
	var end: int = _closing_quote(at)
	var raw: String = bytes.slice(at, end).get_string_from_utf8() if bytes[at] == QUOTE else ""
	if raw.contains("\\") and _escape.sub(raw, "", true).contains("\\"):
		return _fail("a backslash stands before something unknown", at)
	return end


## Behind it, or the end of the text if there is none.
func _closing_quote(at: int) -> int:
	var quote: int = bytes[at]
	var long: bool = _at(at + 1) == quote and _at(at + 2) == quote
	var end: int = at + 3 if long else at + 1
	while end < _size:
		end = bytes.find(quote, end)
		if end < 0 or (not long and _line_end(at) < end):
			break
		var before: int = end - 1
		while quote == QUOTE and before > at and bytes[before] == BACKSLASH:
			before -= 1
		if (end - before) % 2 == 1:
			if not long:
				return end + 1
			if _at(end + 1) == quote and _at(end + 2) == quote:
				end += 3
				for _i: int in 2: # up to two quotes may stand before the closing three
					end += 1 if _at(end) == quote else 0
				return end
		end += 1
	return _fail("a text has no closing quote", at)


func _value(at: int, path: PackedStringArray, unique: String, depth: int = 0) -> int:
	var c: int = _at(at)
	if depth > 100:
		return _fail("it is nested too deeply", at)
	if c == QUOTE or c == APOSTROPHE:
		return _text_end(at)
	if c == BRACKET or c == BRACE:
		return _list(at, path, unique, depth)
	var found: RegExMatch = _scalar.search(bytes.slice(at, mini(at + 200, _line_end(at))).get_string_from_utf8())
	return at + found.get_end(1) if found != null else _fail("there should be a value", at)


## An array, or a table in braces.
func _list(at: int, path: PackedStringArray, unique: String, depth: int) -> int:
	var closing: int = bytes[at] + 2
	var in_braces: bool = bytes[at] == BRACE
	at = _skip(at + 1, true)
	while at < _size and bytes[at] != closing:
		if in_braces:
			at = _statement(at, path, true, unique)
		else:
			_serial += 1
			at = _value(at, path, "%s\n%d" % [unique, _serial], depth + 1)
		at = _skip(at, true)
		if _at(at) == COMMA:
			at = _skip(at + 1, true)
		elif _at(at) != closing:
			return _fail("there should be a comma", at)
	return at + 1 if at < _size else _fail("the end is missing", at)


## A text without its quotes; what has rarer escapes is given as it stands.
func decode(from: int, to: int) -> String:
	var raw: String = bytes.slice(from, to).get_string_from_utf8()
	var inner: String = raw.substr(1, raw.length() - 2)
	if raw.begins_with("'") or not raw.contains("\\"):
		return inner
	var json: JSON = JSON.new()
	return str(json.data) if json.parse(raw) == OK else raw


# ---- the entry -----------------------------------------------------------------------------------

## All that the file says outside of one table, by what it says it of.
func others(table: PackedStringArray) -> Dictionary[String, String]:
	var found: Dictionary[String, String] = {}
	for part: Part in parts:
		if part.path.slice(0, table.size()) != table and not _leads_to(part, table):
			found[part.unique] = "" if part.is_header else bytes.slice(part.value, part.end).get_string_from_utf8()
	return found


## A table in braces is what its statements are.
func _leads_to(part: Part, table: PackedStringArray) -> bool:
	return not part.is_header and part.path == table.slice(0, part.path.size()) and bytes[part.value] == BRACE


## What the table says of the way to its server.
func entry(table: PackedStringArray) -> Dictionary[String, String]:
	var found: Dictionary[String, String] = {}
	for part: Part in parts:
		if not part.is_header and part.path.size() == table.size() + 1 and part.path[-1] in TRANSPORT \
				and part.path.slice(0, -1) == table:
			found[part.path[-1]] = decode(part.value, part.end)
	return found


## Changes a table, or adds it. Returns the new text, or the same one if the entry is there already.
func with_entry(table: PackedStringArray, wanted: Dictionary[String, String]) -> PackedByteArray:
	var header: Part = null
	var own: Array[Part] = []
	if entry(table) == wanted:
		return bytes
	for part: Part in parts:
		var shared: PackedStringArray = part.path.slice(0, table.size())
		if part.path.size() < table.size() and shared == table.slice(0, part.path.size()) \
				and (part.is_array or not part.is_header):
			if part.is_array or bytes[part.value] != BRACE or not _has_below(table):
				error = "\"%s\" is written in a way that cannot be added to" % ".".join(part.path)
				return bytes
		if part.is_header and part.path == table:
			header = part
		elif shared == table and not part.is_header:
			own.append(part)
	if header != null and header.is_array:
		error = "\"%s\" is an array" % ".".join(table)
		return bytes
	if own.size() > 0 and own[0].path == table:
		return _with_braces(own, table, wanted)
	if header == null and not own.any(func(part: Part) -> bool: return _names(part, table)):
		return _with_table(table, wanted)
	return _with_lines(header, own, table, wanted)


## Whether a statement's own key goes through the table, so that no header does.
func _names(part: Part, table: PackedStringArray) -> bool:
	return part.path.size() - part.key_ends.size() < table.size()


func _has_below(table: PackedStringArray) -> bool:
	return parts.any(func(part: Part) -> bool: return not part.is_header and part.path.slice(0, table.size()) == table)


func _with_table(table: PackedStringArray, wanted: Dictionary[String, String]) -> PackedByteArray:
	var lead: String = ""
	if _size > 0:
		lead = _newline if bytes[-1] == NEWLINE else _newline + _newline
	return bytes + (lead + text_of(table, wanted, _newline)).to_utf8_buffer()


static func text_of(table: PackedStringArray, wanted: Dictionary[String, String], newline: String) -> String:
	var text: String = "[%s]" % ".".join(table) + newline
	for key: String in wanted:
		text += "%s = %s" % [key, JSON.stringify(wanted[key])] + newline
	return text


func _with_braces(own: Array[Part], table: PackedStringArray, wanted: Dictionary[String, String]) -> PackedByteArray:
	var inner: PackedStringArray = []
	if bytes[own[0].value] != BRACE:
		error = "\"%s\" is not a table" % ".".join(table)
		return bytes
	for key: String in wanted:
		inner.append("%s = %s" % [key, JSON.stringify(wanted[key])])
	for part: Part in own.slice(1):
		if part.is_inline and part.key_ends.size() + table.size() == part.path.size() \
				and not part.path[table.size()] in TRANSPORT:
			inner.append(bytes.slice(part.start, part.end).get_string_from_utf8())
	return _spliced([[own[0].value, own[0].end, "{ " + ", ".join(inner) + " }"]])


func _with_lines(header: Part, own: Array[Part], table: PackedStringArray,
		wanted: Dictionary[String, String]) -> PackedByteArray:
	var edits: Array[Array] = []
	var there: PackedStringArray = []
	for part: Part in own:
		var key: String = part.path[table.size()]
		if wanted.has(key) and part.path.size() == table.size() + 1:
			there.append(key)
			edits.append([part.value, part.end, JSON.stringify(wanted[key])])
		elif key in TRANSPORT and not part.is_inline:
			edits.append([_line_start(part.start), mini(_line_end(part.end) + 1, _size), ""])
	for key: String in wanted:
		var line: String = "%s = %s" % [key, JSON.stringify(wanted[key])]
		if key in there:
			continue
		if header != null:
			var end: int = _line_end(header.end)
			var stop: int = end - 1 if end > 0 and end < _size and bytes[end - 1] == RETURN else end
			edits.append([stop, stop, _newline + _indent_at(header.start) + line])
		else:
			var first: Part = own[own.find_custom(func(part: Part) -> bool: return _names(part, table))]
			var outer: int = first.path.size() - first.key_ends.size()
			var prefix: String = bytes.slice(first.start, first.key_ends[table.size() - outer - 1]).get_string_from_utf8()
			var start: int = _line_start(first.start)
			edits.append([start, start, _indent_at(first.start) + prefix + "." + line + _newline])
	return _spliced(edits)


func _line_start(at: int) -> int:
	return bytes.rfind(NEWLINE, at - 1) + 1 if at > 0 else 0


func _indent_at(at: int) -> String:
	return bytes.slice(_line_start(at), at).get_string_from_ascii()


func _spliced(edits: Array[Array]) -> PackedByteArray:
	var result: PackedByteArray = []
	var at: int = 0
	edits.sort_custom(func(a: Array, b: Array) -> bool: return [a[0], a[1]] < [b[0], b[1]])
	for edit: Array in edits:
		var start: int = edit[0]
		var text: String = edit[2]
		result.append_array(bytes.slice(at, start))
		result.append_array(text.to_utf8_buffer())
		at = edit[1]
	result.append_array(bytes.slice(at))
	return result
