@tool
extends RefCounted
## Calls of the tether program that answer in JSON, one after another, on a thread: the editor does not
## wait for them.

var _thread: Thread = null
var _waiting: Array[Array] = [] # program, words, what to call with the answer


## Runs the program and calls [param done] with what it said, a Dictionary that is empty if it said nothing.
func ask(program: String, words: PackedStringArray, done: Callable) -> void:
	_waiting.append([program, words, done])
	if _thread == null:
		_next()


## Forgets what has not been asked yet, and waits for the one call that is under way.
func finish() -> void:
	_waiting.clear()
	if _thread != null:
		_thread.wait_to_finish()
		_thread = null


func _next() -> void:
	if _waiting.is_empty():
		return
	var call: Array = _waiting.pop_front()
	_thread = Thread.new()
	_thread.start(_run.bind(call[0], call[1], call[2]))


func _run(program: String, words: PackedStringArray, done: Callable) -> void:
	var output: Array = []
	if program:
		OS.execute(program, words, output)
	var said: String = str(output[0]) if output.size() > 0 else ""
	_finish.call_deferred(said, done)


func _finish(said: String, done: Callable) -> void:
	if _thread == null:
		return # nobody waits any more
	_thread.wait_to_finish()
	_thread = null
	var json: JSON = JSON.new()
	var is_read: bool = json.parse(said.get_slice("\n", 0)) == OK and json.data is Dictionary
	if done.is_valid():
		done.call(json.data if is_read else {})
	_next()
