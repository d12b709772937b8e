@tool
extends RefCounted
## Wording that several tools share: messages that name what was wrong, what is allowed and the
## nearest name that exists.

const LONGEST_NAME: int = 200


## A sentence that proposes the candidates most like a word, or "" if none is.
static func suggest(word: String, candidates: Array) -> String:
	if word.length() > LONGEST_NAME:
		return "" # it is no name, and to compare it takes seconds
	var found: Array[String] = nearest(word, candidates)
	if found.is_empty():
		return ""
	return " Did you mean %s?" % " or ".join(found.map(func(name: String) -> String: return "'%s'" % name))


## Up to three candidates that resemble a word, best first.
static func nearest(word: String, candidates: Array) -> Array[String]:
	var scored: Array[Array] = []
	var wanted: String = word.to_lower()
	for candidate: Variant in candidates:
		var name: String = str(candidate)
		var score: float = name.to_lower().similarity(wanted)
		if name.to_lower().contains(wanted) and not wanted.is_empty():
			score = maxf(score, 0.6)
		if score >= 0.5:
			scored.append([score, name])
	scored.sort_custom(func(a: Array, b: Array) -> bool: return a[0] > b[0])
	var found: Array[String] = []
	for entry: Array in scored.slice(0, 3):
		found.append(entry[1])
	return found


## "a, b, c and 12 more": a list that stays readable however long it is.
static func enumerate(names: Array, limit: int = 20) -> String:
	var text: String = ", ".join(names.slice(0, limit).map(func(name: Variant) -> String: return str(name)))
	if names.size() > limit:
		text += " and %d more" % (names.size() - limit)
	return text


## One page of a list with what a caller needs to ask for the next one.
static func page(items: Array, offset: int, limit: int, key: String = "items") -> Dictionary:
	var result: Dictionary = {key: items.slice(offset, offset + limit), "total": items.size()}
	if offset + limit < items.size():
		result["next"] = offset + limit
	return result


## As many whole lines as so many letters hold, at least one: the first ones, or the last ones.
static func fitting(lines: PackedStringArray, letters: int, from_end: bool = false) -> PackedStringArray:
	var left: int = letters
	for count: int in lines.size():
		left -= lines[lines.size() - 1 - count if from_end else count].length() + 1
		if left < 0 and count > 0:
			return lines.slice(lines.size() - count) if from_end else lines.slice(0, count)
	return lines


## Without the codes that colour a terminal.
static func without_colours(text: String) -> String:
	return RegEx.create_from_string("\\x1b\\[[0-9;]*m").sub(text, "", true) if text.contains("\u001b") else text


## Removes the markup of the engine's help texts.
static func plain(text: String) -> String:
	var result: String = _without_block(text.dedent().strip_edges(), "[csharp]", "[/csharp]")
	for tag: String in ["[codeblocks]", "[/codeblocks]", "[gdscript]", "[/gdscript]", "[codeblock]",
			"[/codeblock]", "[b]", "[/b]", "[i]", "[/i]", "[kbd]", "[/kbd]"]:
		result = result.replace(tag, "")
	result = result.replace("[code]", "`").replace("[/code]", "`").replace("[br]", "\n")
	var markup: RegEx = RegEx.create_from_string(
			"\\[(?:(?:method|member|param|signal|constant|enum|annotation|constructor|operator|theme_item|url[^\\]]*) )?(@?[A-Za-z_][\\w.@]*)\\]")
	result = markup.sub(result, "`$1`", true)
	return result.replace("\t", "").strip_edges()


static func _without_block(text: String, start: String, end: String) -> String:
	var result: String = text
	var from: int = result.find(start)
	while from >= 0:
		var to: int = result.find(end, from)
		if to < 0:
			break
		result = result.erase(from, to + end.length() - from)
		from = result.find(start)
	return result
