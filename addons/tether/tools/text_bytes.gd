@tool
extends RefCounted
## The bytes of files as text. The engine reads UTF-8, and complains about whatever else there is; files of
## other programs may be in another encoding, and would not be the same when written again.

## A byte that belongs to no letter of UTF-8.
const STRAY: String = "(?:[\\xC2-\\xDF][\\x80-\\xBF]|\\xE0[\\xA0-\\xBF][\\x80-\\xBF]|\\xED[\\x80-\\x9F][\\x80-\\xBF]|[\\xE1-\\xEC\\xEE\\xEF][\\x80-\\xBF]{2}|" \
		+ "\\xF0[\\x90-\\xBF][\\x80-\\xBF]{2}|[\\xF1-\\xF3][\\x80-\\xBF]{3}|\\xF4[\\x80-\\x8F][\\x80-\\xBF]{2})(*SKIP)(*FAIL)|[\\x80-\\xFF]"

static var _stray: RegEx = RegEx.create_from_string(STRAY)


static func is_utf8(bytes: PackedByteArray) -> bool:
	return _stray.search(bytes.get_string_from_ascii()) == null # which takes each byte for a letter


## What they say; what is not UTF-8 is read as Latin-1, in which all is a letter.
static func read(bytes: PackedByteArray) -> String:
	return bytes.get_string_from_utf8() if is_utf8(bytes) else bytes.get_string_from_ascii()
