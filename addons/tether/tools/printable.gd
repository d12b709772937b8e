@tool
extends RefCounted
## Makes text of others harmless to look at: names, logs, answers.

## What begins with ESC and colours or moves in a terminal.
static var _sequences: RegEx = RegEx.create_from_string(
		"\\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\\x07\\x1b]*(?:\\x07|\\x1b\\\\)|[ -/]*[0-Z\\\\`-~])")
## Controls, what ends a line, what turns the direction of writing, and what cannot be seen. Tabs stay,
## and so do the joiners that some scripts need.
static var _unseen: RegEx = RegEx.create_from_string("[\\x01-\\x08\\x0a-\\x1f\\x7f-\\x9f\\xad\\x{61c}\\x{180e}\\x{200b}\\x{200e}\\x{200f}"
		+ "\\x{2028}-\\x{202e}\\x{2060}-\\x{206f}\\x{feff}\\x{fff9}-\\x{fffb}\\x{e0000}-\\x{e007f}]")


## One line without terminal sequences; what cannot be seen is told as "\x1b" or "\u202e".
static func line(text: String) -> String:
	if _unseen.search(text) == null:
		return text
	var plain: String = _sequences.sub(text, "", true)
	var result: PackedStringArray = [] # pieces: a long text that grows is moved each time on Windows
	var last: int = 0
	for found: RegExMatch in _unseen.search_all(plain):
		var code: int = plain.unicode_at(found.get_start())
		result.append(plain.substr(last, found.get_start() - last) + ("\\x%02x" % code if code < 0x100 else "\\u%04x" % code))
		last = found.get_end()
	return "".join(result) + plain.substr(last)


## The same for a text of several lines.
static func lines(text: String) -> String:
	return "\n".join(PackedStringArray(Array(text.replace("\r\n", "\n").split("\n")).map(line))) if _unseen.search(text) != null else text
