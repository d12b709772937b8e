@tool
extends RefCounted
## The last lines of the log. Lines are numbered from 0 without end; number N stands in place
## N modulo the size. Adding a line costs the same however many there are.

enum Stream { OUT, ERROR, LAUNCHER }

const STREAMS: Dictionary[String, Stream] = {
	"stdout": Stream.OUT, "stderr": Stream.ERROR, "launcher": Stream.LAUNCHER}
## A longer line is cut: laying it out would stall the editor.
const MAX_LENGTH: int = 2000

## The number of the oldest line that is still there.
var first: int = 0
## The number that the next line gets.
var next: int = 0

var _lines: PackedStringArray = []
var _streams: PackedByteArray = []


func _init(size: int) -> void:
	_lines.resize(size)
	_streams.resize(size)


func get_size() -> int:
	return _lines.size()


func add(stream: String, line: String) -> void:
	var place: int = next % _lines.size()
	_lines[place] = line if line.length() <= MAX_LENGTH else line.left(MAX_LENGTH) + " …"
	_streams[place] = STREAMS.get(stream, Stream.OUT)
	next += 1
	if next - first > _lines.size():
		first += 1


func get_line(number: int) -> String:
	return _lines[number % _lines.size()]


func get_stream(number: int) -> Stream:
	return _streams[number % _lines.size()] as Stream


func clear() -> void:
	first = next
