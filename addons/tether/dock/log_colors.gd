@tool
extends SyntaxHighlighter
## Colours the lines of the log by the stream they came on. Asked only for lines that are to be seen.

const LogRing: GDScript = preload("log_ring.gd")

## The stream of each line of the text.
var streams: PackedByteArray = []
var colors: Dictionary[int, Color] = {}


func _get_line_syntax_highlighting(line: int) -> Dictionary:
	var stream: int = streams[line] if line < streams.size() else LogRing.Stream.OUT
	return {0: {"color": colors[stream]}} if colors.has(stream) else {}


func dress(plain: Color, error: Color, accent: Color) -> void:
	colors[LogRing.Stream.OUT] = plain
	colors[LogRing.Stream.ERROR] = plain.lerp(error, 0.5) # many servers write everything there
	colors[LogRing.Stream.LAUNCHER] = accent
	clear_highlighting_cache()
