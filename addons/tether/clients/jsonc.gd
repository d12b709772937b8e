@tool
extends RefCounted
## One entry in a file of JSON with comments: found, compared and changed, while every other byte
## stays what it is.
##
## The text is scanned once, strictly but for comments and commas behind the last member. Where
## braces and brackets end is remembered, so that members are found by their position; nothing is
## ever written anew but the entry itself.

## What an entry says of the way to its server. The other keys of an entry are the user's.
const TRANSPORT: PackedStringArray = ["type", "url", "httpUrl", "serverUrl", "command", "args"]

enum { VALUE, VALUE_OR_END, KEY_OR_END, COLON, COMMA_OR_END }

const TAB: int = 0x09
const NEWLINE: int = 0x0a
const RETURN: int = 0x0d
const SPACE: int = 0x20
const QUOTE: int = 0x22
const STAR: int = 0x2a
const COMMA: int = 0x2c
const SLASH: int = 0x2f
const COLON_SIGN: int = 0x3a
const BRACKET: int = 0x5b
const BACKSLASH: int = 0x5c
const BRACKET_END: int = 0x5d
const BRACE: int = 0x7b
const BRACE_END: int = 0x7d


class Member:
	var key: String
	var start: int
	var value: int
	var end: int


class Body:
	var open: int
	var close: int
	var members: Array[Member] = []
	var comma: int = -1 ## the one behind the last member, which JSON does not have

	func find(key: String) -> Member:
		for i: int in range(members.size() - 1, -1, -1): # of two with one key the last one counts
			if members[i].key == key:
				return members[i]
		return null


var bytes: PackedByteArray
var error: String = "" ## what is wrong with the text, in words
var is_empty: bool = true ## no value at all, only space and comments

var _size: int
var _root: int = -1
var _ends: Dictionary[int, int] = {} # where what opens here is closed
var _blanks: Array[Vector2i] = [] # comments, and commas that JSON does not have
var _scanning: bool = false
var _newline_at: int = -1 # the next one behind the last string that was looked at
var _literal: RegEx = RegEx.create_from_string(
		"^(true|false|null|-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?)$")
var _newline: String
var _unit: String
var _edits: Array[Array] = [] # position, how many bytes go, text


func _init(text: PackedByteArray) -> void:
	bytes = text
	_size = text.size()
	_scanning = true
	if _scan() and not is_empty:
		_check_with_engine()
	_scanning = false
	_learn_style()


# ---- the scanner ---------------------------------------------------------------------------------

func _fail(what: String, at: int) -> bool:
	error = "line %d: %s" % [bytes.slice(0, at).count(NEWLINE) + 1, what]
	return false


func _scan() -> bool:
	var opens: PackedInt32Array = []
	var expect: int = VALUE
	var comma: int = -1 # the token just read, if it was one
	var at: int = _skip(0)
	while at < _size and error.is_empty():
		var c: int = bytes[at]
		var open: int = bytes[opens[-1]] if opens.size() > 0 else 0
		if expect == COLON:
			if c != COLON_SIGN:
				return _fail("there should be a colon", at)
			expect = VALUE
			at += 1
		elif opens.size() > 0 and c == open + 2 and expect != VALUE: # "}" is "{" + 2, as is "]"
			if comma >= 0:
				_blanks.append(Vector2i(comma, comma + 1))
			_ends[opens[-1]] = at
			opens.remove_at(opens.size() - 1)
			expect = COMMA_OR_END
			at += 1
		elif expect == COMMA_OR_END:
			if opens.is_empty() or c != COMMA:
				return _fail("there should be %s" % ("nothing more" if opens.is_empty() else "a comma"), at)
			expect = KEY_OR_END if open == BRACE else VALUE_OR_END
			comma = at
			at = _skip(at + 1)
			continue
		elif expect == KEY_OR_END:
			if c != QUOTE:
				return _fail("there should be a name in double quotes", at)
			at = _string_end(at)
			expect = COLON
		elif c == BRACE or c == BRACKET:
			if opens.is_empty():
				_root = at
			if opens.size() == 100:
				return _fail("it is nested too deeply", at)
			opens.append(at)
			expect = KEY_OR_END if c == BRACE else VALUE_OR_END
			at += 1
		else:
			at = _string_end(at) if c == QUOTE else _literal_end(at)
			expect = COMMA_OR_END
		comma = -1
		is_empty = false
		at = _skip(at)
	if error.is_empty() and not is_empty and (opens.size() > 0 or expect != COMMA_OR_END):
		return _fail("the end is missing", _size)
	return error.is_empty()


## The next position behind space and comments.
func _skip(at: int) -> int:
	while at < _size:
		var c: int = bytes[at]
		if c == SPACE or c == NEWLINE or c == TAB or c == RETURN:
			at += 1
		elif c == SLASH:
			var end: int = _comment_end(at)
			if _scanning:
				_blanks.append(Vector2i(at, end))
			at = end
		else:
			break
	return at


func _comment_end(at: int) -> int:
	var second: int = bytes[at + 1] if at + 1 < _size else 0
	if second == SLASH:
		var end: int = bytes.find(NEWLINE, at)
		return _size if end < 0 else end - 1 if bytes[end - 1] == RETURN else end
	if second == STAR:
		var star: int = bytes.find(STAR, at + 2)
		while star >= 0 and star + 1 < _size:
			if bytes[star + 1] == SLASH:
				return star + 2
			star = bytes.find(STAR, star + 1)
	_fail("a comment has no end", at)
	return _size


func _string_end(at: int) -> int:
	var end: int = bytes.find(QUOTE, at + 1)
	while end > 0:
		var before: int = end - 1
		while bytes[before] == BACKSLASH:
			before -= 1
		if (end - before) % 2 == 1:
			break
		end = bytes.find(QUOTE, end + 1)
	if _newline_at < at:
		_newline_at = bytes.find(NEWLINE, at)
		if _newline_at < 0:
			_newline_at = _size
	if end < 0 or end > _newline_at:
		_fail("a text has no closing quote", at)
		return _size
	return end + 1


func _literal_end(at: int) -> int:
	var end: int = at
	while end < _size and bytes[end] > SPACE and bytes[end] < 0x7f \
			and not bytes[end] in [COMMA, COLON_SIGN, BRACKET, BRACKET_END, BRACE, BRACE_END, SLASH, QUOTE]:
		end += 1
	if _literal.search(bytes.slice(at, end).get_string_from_ascii()) == null:
		_fail("there should be a value", at)
		return _size
	return end


func _value_end(at: int) -> int:
	if bytes[at] == BRACE or bytes[at] == BRACKET:
		return _ends[at] + 1
	return _string_end(at) if bytes[at] == QUOTE else _literal_end(at)


## The text with spaces in place of all that JSON does not have.
func _plain(from: int, to: int) -> String:
	var copy: PackedByteArray = bytes.slice(from, to)
	for blank: Vector2i in _blanks:
		for at: int in range(maxi(blank.x, from), mini(blank.y, to)):
			copy[at - from] = SPACE
	return copy.get_string_from_utf8()


func _decode(from: int, to: int) -> Variant:
	var json: JSON = JSON.new()
	return json.data if json.parse(_plain(from, to)) == OK else null


func _text(from: int, to: int) -> String:
	var raw: String = bytes.slice(from, to).get_string_from_utf8()
	return raw.substr(1, raw.length() - 2) if not raw.contains("\\") else str(JSON.parse_string(raw))


## The engine's own reader has the last word on what a text may hold, such as its escapes.
func _check_with_engine() -> void:
	var json: JSON = JSON.new()
	if json.parse(_plain(0, _size)) != OK:
		error = "line %d: %s" % [json.get_error_line() + 1, json.get_error_message()]


## All of it as values; null if it is empty.
func data() -> Variant:
	return _decode(0, _size) if not is_empty else null


func _body(open: int) -> Body:
	var body: Body = Body.new()
	body.open = open
	var at: int = _skip(open + 1)
	while bytes[at] != BRACE_END:
		var member: Member = Member.new()
		member.start = at
		at = _string_end(at)
		member.key = _text(member.start, at)
		member.value = _skip(_skip(at) + 1)
		member.end = _value_end(member.value)
		body.members.append(member)
		at = _skip(member.end)
		body.comma = -1
		if bytes[at] == COMMA:
			body.comma = at
			at = _skip(at + 1)
	body.close = at
	return body


# ---- the entry -----------------------------------------------------------------------------------

## Changes the entry [param key] of the object [param container], or adds it, and them. Returns the
## new text, or the same one if the entry is there already. Look at [member error] first and after.
func with_entry(container: String, key: String, entry: Dictionary) -> PackedByteArray:
	_edits.clear()
	if is_empty:
		return _with_document(container, key, entry)
	if _root < 0 or bytes[_root] != BRACE:
		error = "it is not an object"
		return bytes
	var root: Body = _body(_root)
	var holder: Member = root.find(container)
	if holder == null:
		_insert(root, container, {key: entry})
	elif bytes[holder.value] != BRACE:
		error = "\"%s\" is not an object" % container
	else:
		var body: Body = _body(holder.value)
		var member: Member = body.find(key)
		if member == null:
			_insert(body, key, entry)
		else:
			_replace(body, member, entry)
	return _edited()


func _with_document(container: String, key: String, entry: Dictionary) -> PackedByteArray:
	var text: String = bytes.get_string_from_utf8().strip_edges()
	if not text.is_empty():
		text = bytes.get_string_from_utf8()
		text += "" if text.ends_with("\n") else _newline
	return (text + _format({container: {key: entry}}, "", true) + _newline).to_utf8_buffer()


func _replace(body: Body, member: Member, entry: Dictionary) -> void:
	var now: Variant = _decode(member.value, member.end)
	var parts: PackedStringArray = []
	var multi: bool = _has_newline(body.open, body.close)
	var indent: String = _indent_at(member.start)
	if now is Dictionary and _says(now as Dictionary, entry):
		return
	for key: String in entry:
		parts.append(_pair(key, entry[key], indent + _unit, multi))
	if now is Dictionary:
		for old: Member in _body(member.value).members:
			if not old.key in TRANSPORT:
				parts.append(bytes.slice(old.start, old.end).get_string_from_utf8())
	_edits.append([member.value, member.end - member.value, _braced(parts, indent, multi)])


static func _says(now: Dictionary, entry: Dictionary) -> bool:
	for key: String in TRANSPORT:
		if now.has(key) != entry.has(key) or now.get(key) != entry.get(key):
			return false
	return true


func _insert(body: Body, key: String, value: Dictionary) -> void:
	if body.members.is_empty():
		_insert_first(body, key, value)
		return
	var last: Member = body.members[-1]
	var behind: int = last.end if body.comma < 0 else body.comma + 1
	if not _has_newline(body.open, body.close):
		_edits.append([behind, 0, (", " if body.comma < 0 else " ") + _pair(key, value, "", false)
				+ ("" if body.comma < 0 else ",")])
		return
	var indent: String = _indent_at(body.members[0].start)
	if not _begins_line(body.members[0].start):
		indent = _indent_at(body.open) + _unit
	if body.comma < 0:
		_edits.append([last.end, 0, ","])
	_edits.append([_line_rest(behind), 0, _newline + indent + _pair(key, value, indent, true)
			+ ("" if body.comma < 0 else ",")])


func _insert_first(body: Body, key: String, value: Dictionary) -> void:
	var behind: int = body.open + 1 # and behind the comments in it
	for blank: Vector2i in _blanks:
		if blank.x > body.open and blank.y <= body.close:
			behind = maxi(behind, blank.y)
	if not _has_newline(0, _size) and _root != body.open:
		_edits.append([behind, 0, _pair(key, value, "", false)])
		return
	var outer: String = _indent_at(body.open)
	var text: String = _newline + outer + _unit + _pair(key, value, outer + _unit, true)
	if _has_newline(behind, body.close):
		_edits.append([behind, 0, text])
	else:
		_edits.append([behind, body.close - behind, text + _newline + outer])


func _edited() -> PackedByteArray:
	var result: PackedByteArray = []
	var at: int = 0
	if not error.is_empty() or _edits.is_empty():
		return bytes
	for edit: Array in _edits:
		var start: int = edit[0]
		var gone: int = edit[1]
		var text: String = edit[2]
		result.append_array(bytes.slice(at, start))
		result.append_array(text.to_utf8_buffer())
		at = start + gone
	result.append_array(bytes.slice(at))
	return result


# ---- style ---------------------------------------------------------------------------------------

func _learn_style() -> void:
	var first: int = bytes.find(NEWLINE)
	_newline = "\r\n" if first > 0 and bytes[first - 1] == RETURN else "\n"
	_unit = "  "
	if _root >= 0 and bytes[_root] == BRACE and error.is_empty():
		var inner: int = _skip(_root + 1)
		if _begins_line(inner) and bytes[inner] == QUOTE and _indent_at(inner) != "":
			_unit = _indent_at(inner).trim_prefix(_indent_at(_root))
	if _unit.is_empty():
		_unit = "  "


func _line_start(at: int) -> int:
	return bytes.rfind(NEWLINE, at - 1) + 1 if at > 0 else 0


func _indent_at(at: int) -> String:
	var start: int = _line_start(at)
	var end: int = start
	while end < _size and (bytes[end] == SPACE or bytes[end] == TAB):
		end += 1
	return bytes.slice(start, end).get_string_from_ascii()


func _begins_line(at: int) -> bool:
	return _line_start(at) + _indent_at(at).length() == at and _line_start(at) > 0


func _has_newline(from: int, to: int) -> bool:
	var at: int = bytes.find(NEWLINE, from)
	return at >= 0 and at < to


## Behind the comments that belong to what ends here, because they are on the same line.
func _line_rest(at: int) -> int:
	var next: int = at
	while next < _size and (bytes[next] == SPACE or bytes[next] == TAB):
		next += 1
	if next + 1 < _size and bytes[next] == SLASH:
		return _line_rest(_comment_end(next))
	return at


func _format(value: Variant, indent: String, multi: bool) -> String:
	if not value is Dictionary:
		return JSON.stringify(value).replace("\",\"", "\", \"")
	var parts: PackedStringArray = []
	var object: Dictionary = value
	for key: String in object:
		parts.append(_pair(key, object[key], indent + _unit, multi))
	return _braced(parts, indent, multi)


func _pair(key: String, value: Variant, indent: String, multi: bool) -> String:
	return JSON.stringify(key) + ": " + _format(value, indent, multi)


func _braced(parts: PackedStringArray, indent: String, multi: bool) -> String:
	if not multi:
		return "{" + ", ".join(parts) + "}"
	var line: String = _newline + indent
	return "{" + line + _unit + ("," + line + _unit).join(parts) + line + "}"
