@tool
extends RefCounted
## The last lines of the log. Lines are numbered from 0 without end; number N stands in place
## N modulo the size. Adding a line costs the same however many there are.

const Printable: GDScript = preload("../tools/printable.gd")

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


## How many lines are kept from now on; the newest ones stay.
func set_size(size: int) -> void:
	if size == _lines.size():
		return
	var kept: Array = range(maxi(first, next - size), next).map(
			func(number: int) -> Array: return [get_stream(number), get_line(number)])
	_lines.resize(size)
	_streams.resize(size)
	next -= kept.size()
	first = next
	for line: Array in kept:
		_put(line[0], line[1])


func add(stream: String, line: String) -> void:
	_put(STREAMS.get(stream, Stream.OUT),
			Printable.line(line if line.length() <= MAX_LENGTH else line.left(MAX_LENGTH) + " …"))


func get_line(number: int) -> String:
	return _lines[number % _lines.size()]


func get_stream(number: int) -> Stream:
	return _streams[number % _lines.size()] as Stream


func clear() -> void:
	first = next


func _put(stream: Stream, line: String) -> void:
	_lines[next % _lines.size()] = line
	_streams[next % _lines.size()] = stream
	next += 1
	if next - first > _lines.size():
		first += 1
